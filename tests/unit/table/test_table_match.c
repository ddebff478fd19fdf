/* Configs of a pack in a file of another tuner. What cannot match is in cli.run_replay_foreign_bad.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "sample_pack.h"
#include "table/table_match.h"

#include <stdio.h>
#include <string.h>

enum { CONFIGS = 3 };

static tsw_config_t configs[CONFIGS];

static void make_configs(const tsw_pack_t *pack)
{
    static const int64_t values[CONFIGS][4] = {{128, 64, 2, 1}, {64, 64, 2, 1}, {64, 128, 2, 1}};
    for (size_t i = 0; i < CONFIGS; i++) {
        memcpy(configs[i].values, values[i], sizeof(values[i]));
        tsw_config_set_key(pack, &configs[i]);
    }
}

static const char results[] = "{\"metadata\": {\"timeunit\": \"seconds\"}, \"results\": ["
                              "{\"configuration\": {\"bx\": 64, \"tile_n\": \"128\", \"x\": true},"
                              " \"times\": {\"runtimes\": [2]}},"
                              "{\"configuration\": {\"bx\": 128.0, \"tile_n\": 64, \"x\": true},"
                              " \"times\": {\"runtimes\": [1]}}]}";

static tsw_status_t match(const tsw_pack_t *pack, const char *names, uint32_t *index_of,
                          size_t *found_p)
{
    tsw_import_t import = {.count = 0};
    tsw_status_t status = tsw_import_read("f.json", results, strlen(results), &import, NULL);
    const tsw_match_t wanted = {.label = "f.json",
                                .import = &import,
                                .names = names,
                                .pack = pack,
                                .configs = configs,
                                .config_count = CONFIGS};
    if (status == TSW_OK)
        status = tsw_match_configs(&wanted, index_of, found_p, NULL);
    tsw_import_fini(&import);
    return status;
}

static void test_names_values_and_constants_match(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    uint32_t index_of[CONFIGS] = {9, 9, 9};
    size_t found = 0;
    make_configs(pack);
    /* occupancy and num_ctas are the same in all; tile_n is TILE_N; x is the same in the file. */
    assert_int_equal(match(pack, "TILE_M=bx", index_of, &found), TSW_OK);
    assert_int_equal(found, 2);
    assert_int_equal(index_of[0], 1);
    assert_int_equal(index_of[1], UINT32_MAX);
    assert_int_equal(index_of[2], 0);
    assert_int_equal(match(pack, "TILE_M=tile_n,TILE_N=tile_n,TILE_M=bx", index_of, &found),
                     TSW_OK); /* the last word counts, whole */
    assert_int_equal(index_of[2], 0);
    configs[1].values[2] = 4; /* now occupancy varies, and the file does not say it */
    tsw_config_set_key(pack, &configs[1]);
    found = 7;
    assert_int_equal(match(pack, "TILE_M=bx", index_of, &found), TSW_ERR_INPUT);
    assert_int_equal(match(pack, "TILE_M=by", index_of, &found), TSW_ERR_INPUT);
    assert_int_equal(match(pack, "TILE_X=bx", index_of, &found), TSW_ERR_ARG);
    assert_int_equal(match(pack, "TILE_M=", index_of, &found), TSW_ERR_ARG);
    assert_int_equal(found, 7);
    tsw_pack_free(pack);
}

/* What the file says of TILE_M, and what that is; -1: no whole number. */
static void test_values_are_whole_numbers_however_written(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int64_t value;
    } cases[] = {{"true", 1},   {"false", 0},    {"\"True\"", 1}, {"\"False\"", 0}, {"7", 7},
                 {"\"8\"", 8},  {"1e3", 1000},   {"9.0", 9},      {"1.5", -1},      {"1e300", -1},
                 {"\"x\"", -1}, {"\"nan\"", -1}, {"\"\"", -1},    {"\"4 \"", -1}};
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_import_t import = {.count = 0};
        tsw_config_t config = {.values = {cases[i].value, 64, 2, 1}};
        tsw_match_t wanted = {.label = "f.json",
                              .import = &import,
                              .pack = pack,
                              .configs = &config,
                              .config_count = 1};
        char text[256];
        uint32_t index = 9;
        size_t found = 0;
        snprintf(text, sizeof(text),
                 "{\"metadata\": {\"timeunit\": \"ms\"}, \"results\": [{\"configuration\": "
                 "{\"TILE_M\": %s, \"TILE_N\": 64}, \"times\": {\"runtimes\": [1]}}]}",
                 cases[i].json);
        tsw_config_set_key(pack, &config);
        assert_int_equal(tsw_import_read("f.json", text, strlen(text), &import, NULL), TSW_OK);
        tsw_status_t status = tsw_match_configs(&wanted, &index, &found, NULL);
        if (status != (cases[i].value >= 0 ? TSW_OK : TSW_ERR_INPUT))
            fail_msg("%s: %d", cases[i].json, (int)status);
        assert_int_equal(found, cases[i].value >= 0);
        tsw_import_fini(&import);
    }
    tsw_pack_free(pack);
}

static void test_match_without_memory(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    uint32_t index_of[CONFIGS];
    size_t found = 0;
    tsw_status_t status = TSW_ERR_NOMEM;
    make_configs(pack);
    for (long n = 1; status != TSW_OK; n++) {
        assert_true(n < 200);
        tsw_mem_fail_at(n);
        status = match(pack, "TILE_M=bx", index_of, &found);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
    }
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_values_and_constants_match),
        cmocka_unit_test(test_values_are_whole_numbers_however_written),
        cmocka_unit_test(test_match_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
