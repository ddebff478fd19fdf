#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "table/table_import.h"

#include <stdio.h>
#include <string.h>

static tsw_status_t read_text(const char *text, tsw_import_t *import, tsw_err_t *err)
{
    *import = (tsw_import_t){0};
    return tsw_import_read("f.json", text, strlen(text), import, err);
}

static tsw_import_t read_good(const char *text)
{
    tsw_import_t import;
    tsw_err_t err = TSW_ERR_INIT;
    if (read_text(text, &import, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return import;
}

static void assert_ns(double value, double wanted)
{
    assert_true(value > wanted * 0.999999 && value < wanted * 1.000001);
}

#define CACHE_HEAD                                                                                 \
    "{\"device_name\": \"A100\", \"kernel_name\": \"k\", \"objective\": \"time\","                 \
    " \"tune_params_keys\": [\"b\", \"a\"], \"cache\": {\n"

#define T4_HEAD "{\"metadata\": {\"timeunit\": \"milliseconds\"}, \"results\": ["

static void test_cache_file_yields_times_and_failures(void **state)
{
    (void)state;
    tsw_import_t import = read_good(
        CACHE_HEAD "\"1,2\": {\"a\": 2, \"b\": 1, \"time\": 0.5, \"times\": [0.4, 0.6]},\n"
                   "\"1,3\": {\"a\": 3, \"b\": 1, \"time\": \"RuntimeFailedConfig\"},\n"
                   "\"1,4\": {\"a\": 4, \"b\": 1, \"time\": \"InvalidConfig\"},\n"
                   "\"1,5\": {\"a\": 5, \"b\": 1, \"__error__\": \"CompilationFailedConfig\"},\n"
                   "\"x,6\": {\"a\": 6.5, \"b\": \"x\", \"time\": 2}}}");
    assert_string_equal(import.device, "A100");
    assert_string_equal(import.kernel, "k");
    assert_int_equal(import.count, 5);
    assert_string_equal(import.configs[0].config, "b=1 a=2"); /* in the order of the keys */
    assert_int_equal(import.configs[0].count, 2);
    assert_ns(import.configs[0].times_ns[1], 6e5);
    assert_int_equal(import.configs[1].outcome, TSW_OUTCOME_LAUNCH_FAILED);
    assert_int_equal(import.configs[1].count, 0);
    assert_int_equal(import.configs[2].outcome, TSW_OUTCOME_INVALID);
    assert_int_equal(import.configs[3].outcome, TSW_OUTCOME_COMPILE_FAILED);
    assert_string_equal(import.configs[4].config, "b=x a=6.5");
    assert_int_equal(import.configs[4].value_count, 2);
    assert_string_equal(import.configs[4].values[0].name, "b");
    assert_string_equal(import.configs[4].values[1].value, "6.5");
    assert_int_equal(import.configs[4].count, 1);
    assert_ns(import.configs[4].times_ns[0], 2e6);
    tsw_import_fini(&import);
}

static void test_cache_file_may_be_open_ended(void **state)
{
    (void)state;
    tsw_import_t import = read_good(CACHE_HEAD "\"1\": {\"a\": 1, \"b\": 1, \"time\": 1},\n\n");
    assert_int_equal(import.count, 1);
    tsw_import_fini(&import);
    import = read_good(CACHE_HEAD);
    assert_int_equal(import.count, 0);
    tsw_import_fini(&import);
}

static void test_results_yield_times_and_failures(void **state)
{
    (void)state;
    tsw_import_t import = read_good(
        "{\"schema_version\": \"1.0.0\", \"metadata\": {\"timeunit\": \"miliseconds\"}, "
        "\"results\": ["
        "{\"configuration\": {\"a\": 1}, \"times\": {\"runtimes\": [1, 0, 3]},"
        " \"invalidity\": \"correct\", \"correctness\": 1},"
        "{\"configuration\": {\"a\": 2}, \"times\": {}, \"invalidity\": \"RuntimeFailedConfig\"},"
        "{\"configuration\": {\"a\": 3}, \"times\": {\"runtimes\": [1]}, \"invalidity\": "
        "\"correct\","
        " \"correctness\": 0},"
        "{\"configuration\": {\"a\": 4}, \"invalidity\": \"timeout\"},"
        "{\"configuration\": {\"a\": 5}, \"times\": {\"runtimes\": []}}]}");
    assert_int_equal(import.count, 5);
    assert_string_equal(import.configs[0].config, "a=1");
    assert_int_equal(import.configs[0].count, 2); /* 0 is no time */
    assert_ns(import.configs[0].times_ns[1], 3e6);
    assert_int_equal(import.configs[1].outcome, TSW_OUTCOME_LAUNCH_FAILED);
    assert_int_equal(import.configs[2].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_int_equal(import.configs[3].outcome, TSW_OUTCOME_RUN_TIMEOUT);
    assert_int_equal(import.configs[4].outcome, TSW_OUTCOME_SKIPPED);
    tsw_import_fini(&import);
    import = read_good("{\"metadata\": {\"timeunit\": \"seconds\"}, \"results\": ["
                       "{\"configuration\": {\"a\": 1}, \"times\": {\"runtimes\": [1]}}]}");
    assert_ns(import.configs[0].times_ns[0], 1e9);
    tsw_import_fini(&import);
}

/* In any case and in short; a time beyond all bounds is one that no launch reaches. */
static void test_units(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        double ns;
    } units[] = {{"Milliseconds", 1e6}, {"ms", 1e6}, {"US", 1e3}, {"ns", 1}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"metadata\": {\"timeunit\": \"%s\"}, \"results\": [{\"configuration\": "
                 "{\"a\": 1}, \"times\": {\"runtimes\": [1, -1, 1e300]}}]}",
                 units[i].word);
        tsw_import_t import = read_good(text);
        assert_int_equal(import.configs[0].count, 2);
        assert_ns(import.configs[0].times_ns[0], units[i].ns);
        assert_ns(import.configs[0].times_ns[1], 1e18);
        tsw_import_fini(&import);
    }
}

/* Where the objective of a cache file is another one, failures stand in place of the time. */
static void test_failures_beside_another_objective(void **state)
{
    (void)state;
    tsw_import_t import = read_good("{\"tune_params_keys\": [\"a\"], \"objective\": \"GFLOP/s\", "
                                    "\"cache\": {\"1\": {\"a\": 1, \"time\": \"InvalidConfig\"}}}");
    assert_int_equal(import.configs[0].outcome, TSW_OUTCOME_INVALID);
    tsw_import_fini(&import);
}

static void assert_refused(const char *text, const char *why)
{
    tsw_import_t import;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(read_text(text, &import, &err), TSW_ERR_INPUT);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.text, why);
    assert_null(import.configs);
}

static void test_other_files_are_refused(void **state)
{
    (void)state;
    assert_refused("", "f.json:1:0: the file is empty");
    assert_refused("{\"a\": 1,\n\"b\" 2}", "f.json:2:");
    assert_refused("{}", "neither a cache file");
    assert_refused("[1]", "neither a cache file");
    assert_refused("{\"cache\": []}", "needs a map 'cache'");
    assert_refused("{\"cache\": {}}", "'tune_params_keys'");
    assert_refused("{\"results\": {}}", "'results' is no list");
    assert_refused("{\"results\": [], \"metadata\": {\"timeunit\": \"days\"}}",
                   "'days' is unknown");
    assert_refused("{\"results\": []}", "no unit of time");
    assert_refused("{\"results\": [], \"metadata\": {\"timeunit\": \"\"}}", "no unit of time");
    assert_refused(T4_HEAD "{}]}", "config 0: no 'configuration'");
    assert_refused(T4_HEAD "{\"configuration\": {}, \"invalidity\": \"odd\"}]}", "config 0: an");
    assert_refused(T4_HEAD "{\"configuration\": {\"a\": null}}]}",
                   "config 0 has neither a number nor a word as 'a'");
    assert_refused(T4_HEAD "{\"configuration\": {\"a\": [1]}}]}", "config 0 has neither");
    assert_refused("{\"tune_params_keys\": [1], \"cache\": {}}", "a list of names");
    assert_refused(CACHE_HEAD "\"1\": {\"a\": 1, \"time\": 1}}}", "config 0 has no 'b'");
    assert_refused(CACHE_HEAD "\"1\": 5}}", "config 0: no object");
    assert_refused(CACHE_HEAD "\"1\": {\"a\": 1, \"b\": 1, \"time\": \"Odd\"}}}",
                   "config 0: an error");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] = CACHE_HEAD "\"1\": {\"a\": 1, \"b\": 1, \"time\": 1}}}";
    for (long n = 1; n <= 5; n++) {
        tsw_import_t import;
        tsw_mem_fail_at(n);
        tsw_status_t status = read_text(text, &import, NULL);
        tsw_mem_fail_at(0);
        assert_int_equal(status, TSW_ERR_NOMEM);
        assert_null(import.configs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_file_yields_times_and_failures),
        cmocka_unit_test(test_cache_file_may_be_open_ended),
        cmocka_unit_test(test_results_yield_times_and_failures),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_failures_beside_another_objective),
        cmocka_unit_test(test_other_files_are_refused),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
