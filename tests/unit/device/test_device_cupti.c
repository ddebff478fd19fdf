/* CUPTI through a stand-in: fake_cupti.c. */
#include "device/cupti.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_kernels_alone_are_seen_each_time_anew(void **state)
{
    (void)state;
    tsw_cupti_t *cupti = NULL;
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_CUPTI"), 1);
    setenv("TSW_FAKE_CUPTI", "5000 memset 5100 4900", 1);
    assert_int_equal(tsw_cupti_open(&cupti, NULL), TSW_OK);
    for (int i = 0; i < 2; i++) {
        uint64_t *ns = NULL;
        size_t count = 0;
        assert_int_equal(tsw_cupti_begin(cupti, NULL), TSW_OK);
        assert_int_equal(tsw_cupti_end(cupti, &ns, &count, NULL), TSW_OK);
        assert_int_equal(count, 3);
        assert_int_equal(ns[0], 5000);
        assert_int_equal(ns[1], 5100);
        assert_int_equal(ns[2], 4900);
        tsw_free(ns);
    }
    tsw_cupti_close(cupti);
}

static void test_what_fails_is_told(void **state)
{
    (void)state;
    tsw_cupti_t *cupti = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    setenv("TSW_LIBCUPTI", "/nowhere/libcupti.so", 1);
    assert_int_equal(tsw_cupti_open(&cupti, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "needs CUPTI"));
    assert_non_null(strstr(err.text, "/nowhere/libcupti.so"));
    tsw_err_clear(&err);
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_NVML"), 1); /* another library */
    assert_int_equal(tsw_cupti_open(&cupti, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "lacks the activity functions"));
    tsw_err_clear(&err);
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_CUPTI"), 1);
    setenv("TSW_FAKE_CUPTI", "refuse", 1);
    assert_int_equal(tsw_cupti_open(&cupti, &err), TSW_OK);
    assert_int_equal(tsw_cupti_begin(cupti, &err), TSW_ERR_DEVICE);
    assert_non_null(
        strstr(err.text, "cuptiActivityEnable failed (35): profiling needs more rights"));
    tsw_cupti_close(cupti);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_alone_are_seen_each_time_anew),
        cmocka_unit_test(test_what_fails_is_told),
    };
    return cmocka_run_group_tests_name("device_cupti", tests, NULL, NULL);
}
