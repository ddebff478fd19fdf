#include "base/mem.h"
#include "build/build.h"
#include "build/cache.h"
#include "build_plan_maker.h"
#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static tsw_build_request_t make(const plan_maker_t *maker, size_t build)
{
    tsw_build_request_t request;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_build_request_make(&maker->plan, &maker->builds[build], &request, &err),
                     TSW_OK);
    return request;
}

static void assert_defines(const tsw_build_request_t *request, const char *const *wanted,
                           size_t count)
{
    assert_int_equal(request->define_count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(request->defines[i], wanted[i]);
}

static void test_config_gives_macros_of_variant_and_knobs(void **state)
{
    (void)state;
    static const char *const wanted[] = {"DTYPE=__half", "DTYPE_F16=1", "FLAG_CAUSAL=1",
                                         "DIM_D=96",     "TILE_M=128",  "OCCUPANCY=1"};
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    tsw_build_request_t request = make(&maker, 3);
    assert_defines(&request, wanted, 6);
    assert_int_equal(request.language, TSW_LANGUAGE_TILE);
    assert_string_equal(request.source, "work.cu");
    assert_string_equal(request.entry, "work");
    assert_int_equal(request.files.count, 2);
    assert_int_equal(request.option_count, 1);
    assert_string_equal(request.options[0], "-DEXTRA");
    assert_int_equal(request.arch_count, 1);
    assert_int_equal(request.archs[0], 90);
    assert_true(request.cpu_limit_s == 60.0);
    tsw_build_request_fini(&request);
    plan_maker_fini(&maker);
}

static void test_reference_is_plain_cuda_without_knobs_and_options(void **state)
{
    (void)state;
    static const char *const wanted[] = {"DTYPE=__half", "DTYPE_F16=1", "FLAG_CAUSAL=1",
                                         "DIM_D=96"};
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    maker.pack.arch_dependent = true;
    tsw_build_request_t request = make(&maker, 1);
    assert_defines(&request, wanted, 4);
    assert_int_equal(request.language, TSW_LANGUAGE_CUDA);
    assert_string_equal(request.source, "plain.cu");
    assert_string_equal(request.entry, "plain");
    assert_int_equal(request.option_count, 0);
    assert_false(request.arch_dependent);
    assert_int_equal(request.arch_count, 2);
    assert_int_equal(request.archs[1], 80);
    tsw_build_request_fini(&request);
    plan_maker_fini(&maker);
}

static void test_tool_is_the_devices_own_source(void **state)
{
    (void)state;
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    tsw_build_request_t request = make(&maker, 0);
    assert_int_equal(request.language, TSW_LANGUAGE_CUDA);
    assert_string_equal(request.entry, tsw_tool_entry);
    assert_int_equal(request.files.count, 1);
    assert_string_equal((const char *)request.files.items[0].bytes, tsw_tool_source());
    assert_int_equal(request.define_count, 0);
    tsw_build_request_fini(&request);
    plan_maker_fini(&maker);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    for (size_t build = 0; build < 3; build++) {
        tsw_status_t status = TSW_ERR_NOMEM;
        for (long n = 1; status != TSW_OK; n++) {
            assert_true(n < 200);
            tsw_build_request_t request;
            tsw_err_t err = TSW_ERR_INIT;
            tsw_mem_fail_at(n);
            status = tsw_build_request_make(&maker.plan, &maker.builds[build], &request, &err);
            tsw_mem_fail_at(0);
            if (status == TSW_OK)
                tsw_build_request_fini(&request);
            else
                assert_int_equal(status, TSW_ERR_NOMEM);
        }
    }
    plan_maker_fini(&maker);
}

static void test_key_changes_with_all_that_matters_and_nothing_else(void **state)
{
    (void)state;
    static char other_define[] = "TILE_M=32", other_text[] = "other";
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    tsw_build_request_t request = make(&maker, 2);
    tsw_key_t key = tsw_cache_key(&request, 90);
    assert_true(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    assert_false(tsw_key_equal(key, tsw_cache_key(&request, 80)));

    request.cpu_limit_s = 1;
    assert_true(tsw_key_equal(key, tsw_cache_key(&request, 90)));

    char *kept = request.defines[4];
    request.defines[4] = other_define;
    assert_false(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    request.defines[4] = kept;

    kept = request.options[0];
    request.options[0] = other_text;
    assert_false(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    request.options[0] = kept;

    kept = request.entry;
    request.entry = other_text;
    assert_false(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    request.entry = kept;

    request.language = TSW_LANGUAGE_CUDA;
    assert_false(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    request.language = TSW_LANGUAGE_TILE;

    request.files.items[1].bytes[0] ^= 1; /* not the source itself: some file that it may include */
    assert_false(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    request.files.items[1].bytes[0] ^= 1;
    assert_true(tsw_key_equal(key, tsw_cache_key(&request, 90)));
    tsw_build_request_fini(&request);
    plan_maker_fini(&maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_gives_macros_of_variant_and_knobs),
        cmocka_unit_test(test_reference_is_plain_cuda_without_knobs_and_options),
        cmocka_unit_test(test_tool_is_the_devices_own_source),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
        cmocka_unit_test(test_key_changes_with_all_that_matters_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
