#include "base/mem.h"
#include "table/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char full_text[] =
    "{\n"
    "  \"format\": \"tilesweep-table\",\n"
    "  \"schema\": 3,\n"
    "  \"arch\": \"sm_90\",\n"
    "  \"mode\": \"cuda\",\n"
    "  \"purpose\": \"release\",\n"
    "  \"toolchain\": \"nvrtc 13.5\",\n"
    "  \"device\": \"NVIDIA \\\"H200\\\"\",\n"
    "  \"clocks\": \"free\",\n"
    "  \"cache_mode\": \"cold\",\n"
    "  \"objective\": \"energy\",\n"
    "  \"digest\": \"00000000000000010000000000000002\",\n"
    "  \"packs\": [\n"
    "    {\n"
    "      \"name\": \"matmul\",\n"
    "      \"pack_key\": \"00000000000000030000000000000004\",\n"
    "      \"variant\": null,\n"
    "      \"candidates\": 21,\n"
    "      \"mean_regret\": 0.001,\n"
    "      \"worst_regret\": 0.0123456789012,\n"
    "      \"baseline_mean_regret\": null,\n"
    "      \"baseline_worst_regret\": null,\n"
    "      \"verdict\": \"done\",\n"
    "      \"gain\": 1.25,\n"
    "      \"gain_low\": 1.2,\n"
    "      \"gain_high\": 1.3,\n"
    "      \"configs\": [\n"
    "        \"TILE_M=128 occupancy=2\",\n"
    "        \"TILE_M=64 occupancy=1\"\n"
    "      ],\n"
    "      \"choices\": [\n"
    "        {\"variant\": \"dtype=f16\", \"shape\": \"M=512\", \"config\": 0, "
    "\"time_ns\": 1234.5, \"ci_low_ns\": 1230.0, \"ci_high_ns\": 1240.25, \"speedup\": 1.0, "
    "\"regret\": 0.0, \"ties\": 2, \"unstable\": null, \"energy_mj\": 1.25, "
    "\"energy_low_mj\": 1.2, \"energy_high_mj\": 1.5, \"power_w\": 512.5},\n"
    "        {\"variant\": \"dtype=f16\", \"shape\": \"M=1024\", \"config\": 1, "
    "\"time_ns\": 2000.0, \"ci_low_ns\": null, \"ci_high_ns\": null, \"speedup\": 1.5, "
    "\"regret\": 0.01, \"ties\": 0, \"unstable\": \"clock+drift\", \"energy_mj\": null, "
    "\"energy_low_mj\": null, \"energy_high_mj\": null, \"power_w\": null}\n"
    "      ]\n"
    "    },\n"
    "    {\n"
    "      \"name\": \"rope\",\n"
    "      \"pack_key\": \"00000000000000050000000000000006\",\n"
    "      \"variant\": \"dtype=f32\",\n"
    "      \"candidates\": 1,\n"
    "      \"mean_regret\": 0.0,\n"
    "      \"worst_regret\": 0.0,\n"
    "      \"baseline_mean_regret\": 0.0,\n"
    "      \"baseline_worst_regret\": 0.0,\n"
    "      \"verdict\": \"none\",\n"
    "      \"gain\": 0.0,\n"
    "      \"gain_low\": null,\n"
    "      \"gain_high\": null,\n"
    "      \"configs\": [],\n"
    "      \"choices\": []\n"
    "    }\n"
    "  ]\n"
    "}\n";

static tsw_table_t read_ok(const char *text)
{
    tsw_table_t table = {0};
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_table_read(text, strlen(text), &table, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return table;
}

/* full_text with one word replaced: caller frees. */
static char *edited(const char *old, const char *new)
{
    const char *at = strstr(full_text, old);
    assert_non_null(at);
    tsw_buf_t buf = TSW_BUF_INIT;
    tsw_buf_append(&buf, full_text, (size_t)(at - full_text));
    tsw_buf_append_text(&buf, new);
    tsw_buf_append_text(&buf, at + strlen(old));
    char *text = tsw_buf_take_text(&buf);
    assert_non_null(text);
    return text;
}

static void check_refused(const char *old, const char *new, tsw_status_t wanted, const char *part)
{
    char *text = edited(old, new);
    tsw_table_t table = {.schema = 77};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_table_read(text, strlen(text), &table, &err), wanted);
    if (strstr(err.text, part) == NULL)
        fail_msg("\"%s\" does not have \"%s\"", err.text, part);
    assert_int_equal(table.schema, 77);
    tsw_free(text);
}

static void test_read_then_write_gives_the_same_bytes(void **state)
{
    (void)state;
    tsw_table_t table = read_ok(full_text);
    assert_int_equal(table.arch, 90);
    assert_string_equal(table.device, "NVIDIA \"H200\"");
    assert_int_equal(table.packs[0].row_count, 2);
    assert_null(table.packs[0].variant);
    assert_string_equal(table.packs[1].variant, "dtype=f32");
    assert_true(isinf(table.packs[0].baseline_worst_regret));
    assert_true(table.packs[0].rows[0].ci_high_ns == 1240.25);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_table_write(&table, &out, &err), TSW_OK);
    assert_string_equal(tsw_buf_text(&out), full_text);
    tsw_buf_fini(&out);
    tsw_table_fini(&table);
    tsw_table_fini(&table);
}

static void test_read_names_the_place_of_a_fault(void **state)
{
    (void)state;
    check_refused("\"clocks\"", "\"clock\"", TSW_ERR_INPUT,
                  "9:3: unknown key \"clock\"; did you mean \"clocks\"?");
    check_refused("\"speedup\": 1.5", "\"zzzzzzzz\": 1.5", TSW_ERR_INPUT,
                  "33:124: unknown key \"zzzzzzzz\"");
    check_refused("\"config\": 1,", "\"config\": -1,", TSW_ERR_INPUT, "33:53: a whole number");
    check_refused("\"config\": 1,", "\"config\": 4294967296,", TSW_ERR_INPUT, "33:");
    check_refused("\"sm_90\"", "\"sm90\"", TSW_ERR_INPUT, "4:3: an arch");
    check_refused("\"cuda\"", "1", TSW_ERR_INPUT, "5:3: a string");
    check_refused("\"TILE_M=64 occupancy=1\"", "null", TSW_ERR_INPUT, "29:9: a string");
    check_refused("1234.5", "\"fast\"", TSW_ERR_INPUT, "32:65: a number");
    check_refused("\"choices\": []", "\"choices\": {}", TSW_ERR_INPUT, "50:7: an array");
    check_refused("      \"variant\": null,\n", "", TSW_ERR_INPUT,
                  "14:5: this object lacks the key \"variant\"");
    check_refused("0000000000000002", "000000000000000g", TSW_ERR_INPUT, "12:3: 32 hexadecimal");
}

static void test_read_refuses_what_is_no_table(void **state)
{
    (void)state;
    check_refused("\"schema\": 3", "\"schema\": 2", TSW_ERR_VERSION, "schema 2");
    check_refused("tilesweep-table", "other", TSW_ERR_INPUT, "tilesweep-table");
    check_refused("\"clocks\"", "\"mode\"", TSW_ERR_INPUT, "duplicate");
    check_refused("1234.5", "NaN", TSW_ERR_INPUT, "32:");
    check_refused("1234.5", "Infinity", TSW_ERR_INPUT, "32:");
    check_refused("{\n  \"format\"", "[\n  \"format\"", TSW_ERR_INPUT, "not JSON");
    tsw_table_t table = {0};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_table_read("[]", 2, &table, &err), TSW_ERR_INPUT);
    assert_int_equal(tsw_table_read("", 0, &table, NULL), TSW_ERR_INPUT);
}

static void test_read_refuses_every_truncation(void **state)
{
    (void)state;
    for (size_t size = 0; size + 2 < sizeof(full_text); size++) {
        tsw_table_t table = {0};
        tsw_err_t err = TSW_ERR_INIT;
        assert_int_equal(tsw_table_read(full_text, size, &table, &err), TSW_ERR_INPUT);
    }
}

/* Any byte changed: an error or a table, never a crash. */
static void test_read_survives_garbage(void **state)
{
    (void)state;
    char text[sizeof(full_text)];
    for (size_t i = 0; i + 1 < sizeof(full_text); i++) {
        memcpy(text, full_text, sizeof(text));
        text[i] = i % 3 == 0 ? '\0' : i % 3 == 1 ? '{' : '\xff';
        tsw_table_t table = {0};
        tsw_err_t err = TSW_ERR_INIT;
        if (tsw_table_read(text, sizeof(text) - 1, &table, &err) == TSW_OK)
            tsw_table_fini(&table);
        else
            assert_true(err.code == TSW_ERR_INPUT || err.code == TSW_ERR_VERSION);
    }
}

static void test_write_refuses_numbers_that_json_lacks(void **state)
{
    (void)state;
    tsw_table_t table = read_ok(full_text);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    table.packs[0].rows[0].time_ns = NAN;
    assert_int_equal(tsw_table_write(&table, &out, &err), TSW_ERR_ARG);
    assert_non_null(strstr(err.text, "time_ns"));
    table.packs[0].rows[0].time_ns = INFINITY;
    assert_int_equal(tsw_table_write(&table, &out, &err), TSW_ERR_ARG);
    table.packs[0].rows[0].time_ns = 1.0;
    table.packs[0].mean_regret = NAN;
    assert_int_equal(tsw_table_write(&table, &out, &err), TSW_ERR_ARG);
    table.packs[0].mean_regret = 0.0;
    table.device[0] = '\xff';
    assert_int_equal(tsw_table_write(&table, &out, &err), TSW_ERR_ARG);
    assert_int_equal(out.size, 0);
    tsw_table_fini(&table);
    tsw_buf_fini(&out);
}

static void test_read_and_write_survive_a_lack_of_memory(void **state)
{
    (void)state;
    tsw_table_t table = read_ok(full_text);
    bool written = false;
    bool read = false;
    for (long n = 1; n < 2000 && !(written && read); n++) {
        tsw_table_t again = {0};
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        written = tsw_table_write(&table, &out, &err) == TSW_OK;
        tsw_mem_fail_at(n);
        read = tsw_table_read(full_text, strlen(full_text), &again, &err) == TSW_OK;
        tsw_mem_fail_at(0);
        if (written)
            assert_string_equal(tsw_buf_text(&out), full_text);
        tsw_buf_fini(&out);
        tsw_table_fini(&again);
    }
    assert_true(written && read);
    tsw_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_then_write_gives_the_same_bytes),
        cmocka_unit_test(test_read_names_the_place_of_a_fault),
        cmocka_unit_test(test_read_refuses_what_is_no_table),
        cmocka_unit_test(test_read_refuses_every_truncation),
        cmocka_unit_test(test_read_survives_garbage),
        cmocka_unit_test(test_write_refuses_numbers_that_json_lacks),
        cmocka_unit_test(test_read_and_write_survive_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
