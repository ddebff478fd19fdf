#include "sample_pack.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static tsw_config_t parse_ok(const tsw_pack_t *pack, const char *text)
{
    tsw_config_t config = {{0}, {0, 0}};
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_config_parse(pack, text, &config, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return config;
}

static void check_text(const tsw_pack_t *pack, const tsw_config_t *config, const char *wanted)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_config_format(pack, config, &text);
    assert_string_equal(tsw_buf_text(&text), wanted);
    tsw_buf_fini(&text);
}

static void test_parse_takes_keys_in_any_order(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    tsw_config_t a = parse_ok(pack, "TILE_M=128 TILE_N=64 occupancy=2 num_ctas=1");
    tsw_config_t b = parse_ok(pack, "  num_ctas=1 TILE_N=64   TILE_M=128 occupancy=2 ");
    tsw_config_t baseline = tsw_config_baseline(pack, 90);
    assert_true(tsw_key_equal(a.key, b.key));
    assert_true(tsw_key_equal(a.key, baseline.key));
    check_text(pack, &b, "TILE_M=128 TILE_N=64 occupancy=2 num_ctas=1");
    tsw_pack_free(pack);
}

static void test_key_changes_with_every_value(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    const tsw_config_t base = tsw_config_baseline(pack, 90);
    for (size_t k = 0; k < pack->knob_count; k++) {
        tsw_config_t other = base;
        other.values[k]++;
        tsw_config_set_key(pack, &other);
        assert_false(tsw_key_equal(other.key, base.key));
    }
    tsw_config_t swapped = base; /* 128 64 -> 64 128: the same values elsewhere */
    swapped.values[0] = base.values[1];
    swapped.values[1] = base.values[0];
    tsw_config_set_key(pack, &swapped);
    assert_false(tsw_key_equal(swapped.key, base.key));
    tsw_pack_free(pack);
}

static void test_parse_refuses_and_names_the_word(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"TILE_M=1 TILE_N=2 occupancy=3", "num_ctas is missing"},
        {"TILE_M=1 TILE_N=2 occupancy=3 num_ctas=1 occupancy=3", "occupancy is there twice"},
        {"TILE_M=1 TILE_N=2 ocupancy=3 num_ctas=1", "did you mean \"occupancy\"?"},
        {"TILE_M=1.5 TILE_N=2 occupancy=3 num_ctas=1", "TILE_M=1.5: not a 64-bit integer"},
        {"TILE_M= TILE_N=2 occupancy=3 num_ctas=1", "not a 64-bit integer"},
        {"TILE_M=99999999999999999999 TILE_N=2 occupancy=3 num_ctas=1", "not a 64-bit integer"},
        {"TILE_M TILE_N=2 occupancy=3 num_ctas=1", "NAME=VALUE"},
        {"=1", "has no \"\""},
        {"", "TILE_M is missing"},
    };
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_config_t config = {.values = {77}};
        tsw_err_t err = TSW_ERR_INIT;
        assert_int_equal(tsw_config_parse(pack, cases[i].text, &config, &err), TSW_ERR_ARG);
        if (strstr(err.text, cases[i].part) == NULL)
            fail_msg("\"%s\" does not have \"%s\"", err.text, cases[i].part);
        assert_int_equal(config.values[0], 77);
    }
    char long_text[1000];
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    tsw_config_t config;
    assert_int_equal(tsw_config_parse(pack, long_text, &config, NULL), TSW_ERR_ARG);
    tsw_pack_free(pack);
}

static void test_variant_and_shape_have_text(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    tsw_variant_t variant = {
        .pack = pack, .dtype = TSW_DTYPE_F16, .flags = {1}, .static_dims = {0, 0, 96}};
    const int64_t dims[TSW_DIM_MAX] = {4096, 5, 96};
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_variant_format(&variant, &text);
    assert_string_equal(tsw_buf_text(&text), "dtype=f16 causal=yes D=96");
    tsw_buf_clear(&text);
    tsw_shape_format(pack, dims, &text);
    assert_string_equal(tsw_buf_text(&text), "M=4096 N=5 D=96");
    tsw_buf_fini(&text);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_takes_keys_in_any_order),
        cmocka_unit_test(test_key_changes_with_every_value),
        cmocka_unit_test(test_parse_refuses_and_names_the_word),
        cmocka_unit_test(test_variant_and_shape_have_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
