/* When to stop. */
#include "rules/verdict.h"

#include "rules_pack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check_kind(const tsw_kind_t *kind, double ratio, double low, bool covered,
                       const char *name)
{
    tsw_verdict_t verdict = tsw_verdict_of(ratio, low, tsw_verdict_space(kind, covered));
    assert_string_equal(tsw_verdict_name(verdict), name);
}

static const tsw_kind_t with_tiles = {.tiles = true};
static const tsw_kind_t without_tiles = {.tiles = false};

static void check(double ratio, double low, bool covered, const char *name)
{
    check_kind(&with_tiles, ratio, low, covered, name);
}

static void test_verdict_at_the_ends_of_the_band(void **state)
{
    (void)state;
    check(0.979, 0.97, true, "probe-needed");
    check(0.979, 0.97, false, "probe-needed");
    check(0.98, 0.97, true, "probe-needed");
    check(0.98, 0.97, false, "no-effect");
    check(0.999, 0.99, true, "probe-needed");
    check(1.0, 0.99, true, "stop-covered");
    check(1.02, 1.01, true, "stop-covered");
    check(1.02, 1.01, false, "no-effect");
    check(1.021, 1.01, true, "done");
    check(1.021, 1.01, false, "done");
}

/* Of a kernel without tiles all is tried once the four occupancies are; the rest is as for others.
 */
static void test_verdict_when_nothing_is_left_to_probe_then_stops_in_the_band(void **state)
{
    (void)state;
    check_kind(&without_tiles, 0.979, 0.97, true, "probe-needed");
    check_kind(&without_tiles, 0.98, 0.97, true, "stop-covered");
    check_kind(&without_tiles, 0.999, 0.998, true, "stop-covered");
    check_kind(&without_tiles, 0.999, 0.998, false, "no-effect");
    check_kind(&without_tiles, 1.0, 0.99, true, "stop-covered");
    check_kind(&without_tiles, 1.021, 1.01, true, "done");
    check_kind(NULL, 0.999, 0.998, false, "no-effect");
}

static void test_verdict_above_the_band_wants_confidence(void **state)
{
    (void)state;
    check(1.05, 1.0, true, "undecided");
    check(1.05, 0.99, false, "undecided");
    check(1.5, (double)NAN, true, "undecided");
    check(1.05, 1.001, true, "done");
}

static void test_verdict_without_a_ratio_is_none(void **state)
{
    (void)state;
    check(0, (double)NAN, true, "none");
    check((double)NAN, (double)NAN, true, "none");
}

static tsw_lint_t coverage(const tsw_pack_t *pack, tsw_arch_t arch, const char *shape)
{
    tsw_lint_t missing = {0};
    size_t broken = 99;
    assert_int_equal(
        tsw_verdict_coverage(pack, arch, &shape, shape != NULL ? 1 : 0, &missing, &broken, NULL),
        TSW_OK);
    assert_int_equal(broken, 0);
    return missing;
}

static void check_broken(const rules_base_t *base, const char *old, const char *new_text,
                         tsw_arch_t arch, size_t wanted)
{
    tsw_pack_t *pack = rules_pack_new(base, old, new_text);
    tsw_lint_t missing = {0};
    size_t broken = 99;
    assert_int_equal(tsw_verdict_coverage(pack, arch, NULL, 0, &missing, &broken, NULL), TSW_OK);
    assert_int_equal(broken, wanted);
    tsw_lint_fini(&missing);
    tsw_pack_free(pack);
}

/* What is no coverage, on all archs and on one. */
static void test_other_findings_are_counted(void **state)
{
    (void)state;
    check_broken(&rules_matmul, "options: []", "options: [--use_fast_math]", 90, 1);
    check_broken(&rules_matmul, "  default:",
                 "  sm_80:\n    source: tests\n    configs:\n      - {TILE_M: [64, 128], TILE_N: "
                 "[64, 128], TILE_K: 64, occupancy: [1, 2], num_ctas: [1, 2]}\n  default:",
                 80, 1);
    check_broken(&rules_dual, "occupancy: [1, 2]", "occupancy: [1, 2, 4]", 90, 1);
    check_broken(&rules_rows, "[1, 2, 4, 8]", "[1, 2, 4]", 90, 0);
}

/* A space that lacks pairs of CTAs is to be widened by one, on the archs that want them. */
static void test_coverage_names_what_widens_the_space(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(
        &rules_matmul,
        "      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}\n", "");
    tsw_lint_t missing = coverage(pack, 100, NULL);
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.findings[0].rule, "both_num_ctas");
    assert_non_null(strstr(missing.findings[0].row, "num_ctas: 2"));
    tsw_lint_fini(&missing);
    missing = coverage(pack, 90, NULL);
    assert_int_equal(missing.count, 0);
    tsw_lint_fini(&missing);
    tsw_pack_free(pack);
}

static void test_coverage_when_small_shapes_have_few_tiles_asks_smaller_ones(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_matmul, NULL, NULL);
    tsw_lint_t missing = coverage(pack, 90, "M=512 N=256 K=8192");
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.findings[0].number, "R38");
    assert_string_equal(missing.findings[0].row,
                        "{TILE_M: 32, TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: 1}");
    tsw_lint_fini(&missing);
    missing = coverage(pack, 90, "M=512 N=960 K=64"); /* 15 tiles of 64 */
    assert_int_equal(missing.count, 1);
    tsw_lint_fini(&missing);
    static const char *const enough[] = {"M=16 N=1024 K=64", "M=512 N=961 K=64"};
    for (size_t i = 0; i < 2; i++) {
        missing = coverage(pack, 90, enough[i]);
        assert_int_equal(missing.count, 0);
        tsw_lint_fini(&missing);
    }
    tsw_pack_free(pack);
}

static void test_coverage_when_shapes_are_skinny_asks_longer_tiles(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_matmul, "TILE_M: [64, 128], TILE_N: [64, 128]",
                                      "TILE_M: 128, TILE_N: [64, 128]");
    tsw_lint_t missing = coverage(pack, 90, "M=512 N=8192 K=4096");
    assert_int_equal(missing.count, 1);
    assert_non_null(strstr(missing.findings[0].text, "no config has a larger TILE_N than TILE_M"));
    assert_string_equal(missing.findings[0].row,
                        "{TILE_M: 128, TILE_N: 256, TILE_K: 64, occupancy: 2, num_ctas: 1}");
    tsw_lint_fini(&missing);
    missing = coverage(pack, 90, "M=8192 N=512 K=4096");
    assert_int_equal(missing.count, 0);
    tsw_lint_fini(&missing);
    missing = coverage(pack, 90, "M=2048 N=8192 K=4096");
    assert_int_equal(missing.count, 0);
    tsw_lint_fini(&missing);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_at_the_ends_of_the_band),
        cmocka_unit_test(test_verdict_when_nothing_is_left_to_probe_then_stops_in_the_band),
        cmocka_unit_test(test_verdict_above_the_band_wants_confidence),
        cmocka_unit_test(test_verdict_without_a_ratio_is_none),
        cmocka_unit_test(test_other_findings_are_counted),
        cmocka_unit_test(test_coverage_names_what_widens_the_space),
        cmocka_unit_test(test_coverage_when_shapes_are_skinny_asks_longer_tiles),
        cmocka_unit_test(test_coverage_when_small_shapes_have_few_tiles_asks_smaller_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
