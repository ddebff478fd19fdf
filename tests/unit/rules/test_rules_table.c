/* The rules of release tables. */
#include "rules/lint.h"

#include "rules_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BASELINE "TILE_M=128 TILE_N=64 TILE_K=64 occupancy=2 num_ctas=1"
#define PAIR     "TILE_M=256 TILE_N=128 TILE_K=64 occupancy=1 num_ctas=2"

static char name[] = "t", cuda[] = "cuda", sim[] = "sim", release[] = "release", probe[] = "probe";
static char baseline[] = BASELINE, pair[] = PAIR;

/* One pack, two configs; nothing is freed. */
typedef struct {
    tsw_pack_t *pack;
    char *configs[9];
    tsw_table_pack_t entry;
    tsw_table_t table;
} fixture_t;

static void set_up(fixture_t *f)
{
    *f =
        (fixture_t){.pack = rules_pack_new(&rules_matmul, NULL, NULL), .configs = {baseline, pair}};
    f->entry = (tsw_table_pack_t){
        .name = name, .pack_key = f->pack->key, .configs = f->configs, .config_count = 2};
    f->table = (tsw_table_t){
        .arch = 90, .mode = cuda, .purpose = release, .packs = &f->entry, .pack_count = 1};
}

/* rule NULL: none is broken. */
static void check(fixture_t *f, const char *rule)
{
    tsw_lint_t lint = {0};
    const tsw_pack_t *packs[] = {f->pack};
    assert_int_equal(tsw_lint_table(&f->table, packs, 1, &lint, NULL), TSW_OK);
    assert_int_equal(lint.count, rule != NULL ? 1 : 0);
    if (rule != NULL) {
        assert_string_equal(lint.findings[0].rule, rule);
        assert_null(lint.findings[0].place.file);
        assert_non_null(lint.findings[0].fix);
    }
    tsw_lint_fini(&lint);
    tsw_pack_free(f->pack);
}

static void test_table_when_clean_has_no_finding(void **state)
{
    fixture_t f;
    (void)state;
    set_up(&f);
    check(&f, NULL);
}

static void test_nine_configs_are_too_many(void **state)
{
    fixture_t f;
    (void)state;
    set_up(&f);
    for (size_t i = 2; i < 9; i++)
        f.configs[i] = pair;
    f.entry.config_count = 9;
    check(&f, "at_most_8");
}

static void test_baseline_is_first(void **state)
{
    fixture_t f;
    (void)state;
    set_up(&f);
    f.configs[0] = pair;
    f.configs[1] = baseline;
    check(&f, "baseline_first");
}

static void test_probes_and_simulations_are_refused(void **state)
{
    fixture_t f;
    (void)state;
    set_up(&f);
    f.table.purpose = probe;
    check(&f, "release_only");
    set_up(&f);
    f.table.mode = sim;
    check(&f, "release_only");
}

static void test_num_ctas_of_1_stays(void **state)
{
    static char other[] = "TILE_M=128 TILE_N=64 TILE_K=64 occupancy=2 num_ctas=2";
    fixture_t f;
    (void)state;
    set_up(&f);
    tsw_pack_free(f.pack);
    f.pack =
        rules_pack_new(&rules_matmul, "occupancy: 2, num_ctas: 1}", "occupancy: 2, num_ctas: 2}");
    f.entry.pack_key = f.pack->key;
    f.configs[0] = other;
    check(&f, "fallback");
    set_up(&f);
    f.table.arch = 80;
    check(&f, "fallback");
    set_up(&f);
    f.table.arch = 80;
    f.entry.config_count = 1; /* the baseline alone */
    check(&f, NULL);
}

static void test_pack_has_changed(void **state)
{
    fixture_t f;
    (void)state;
    set_up(&f);
    f.entry.pack_key.lo ^= 1;
    check(&f, "same_pack");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_when_clean_has_no_finding),
        cmocka_unit_test(test_nine_configs_are_too_many),
        cmocka_unit_test(test_baseline_is_first),
        cmocka_unit_test(test_probes_and_simulations_are_refused),
        cmocka_unit_test(test_num_ctas_of_1_stays),
        cmocka_unit_test(test_pack_has_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
