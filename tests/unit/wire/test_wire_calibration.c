#include "wire/wire.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static tsw_buf_t packed;

static int setup(void **state)
{
    (void)state;
    tsw_calibration_t calibration = {.gpu = {.uuid = "GPU-1", .mode = "cuda", .arch = 90},
                                     .wall_ns = 5,
                                     .values = tsw_calibration_unknown(),
                                     .absent = "e4m3"};
    calibration.values.copy_bytes_per_s = 4e12;
    tsw_put_calibration(&packed, &calibration);
    return tsw_buf_ok(&packed) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tsw_buf_fini(&packed);
    return 0;
}

static void test_calibration_comes_back(void **state)
{
    (void)state;
    tsw_calibration_t calibration;
    tsw_reader_t in = tsw_reader(packed.data, packed.size);
    tsw_get_calibration(&in, &calibration);
    assert_true(tsw_reader_done(&in));
    assert_string_equal(calibration.gpu.uuid, "GPU-1");
    assert_int_equal(calibration.wall_ns, 5);
    assert_true(calibration.values.copy_bytes_per_s == 4e12);
    assert_true(isnan(calibration.values.timer_step_ns));
    assert_string_equal(calibration.absent, "e4m3");
}

static void test_every_cut_is_seen(void **state)
{
    (void)state;
    for (size_t size = 0; size < packed.size; size++) {
        tsw_calibration_t calibration;
        tsw_reader_t in = tsw_reader(packed.data, size);
        tsw_get_calibration(&in, &calibration);
        assert_false(tsw_reader_done(&in));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calibration_comes_back),
        cmocka_unit_test(test_every_cut_is_seen),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
