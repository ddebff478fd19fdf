/* Private to the lint: what a rule sees, and how it reports. */
#ifndef TSW_RULES_LINT_INTERNAL_H
#define TSW_RULES_LINT_INTERNAL_H

#include "space/kind.h"
#include "rules/lint.h"
#include "space/space.h"

typedef struct tsw_lint_rule tsw_lint_rule_t;

typedef struct {
    const tsw_pack_t *pack;
    const tsw_kind_t *kind;
    /* rules of lists */
    const tsw_config_list_t *list; /* NULL: the arch has none */
    tsw_arch_t arch;
    const tsw_variant_t *variant;
    const tsw_space_t *space; /* after the filters, of any size */
    tsw_eval_t *eval;
    /* rules of tables */
    const tsw_table_t *table;
    const tsw_table_pack_t *entry;
    /* the report */
    const tsw_lint_rule_t *rule;
    tsw_lint_t *lint;
    tsw_status_t status; /* the first failure; later reports do nothing */
    tsw_err_t *err;
} tsw_lint_ctx_t;

typedef void (*tsw_lint_fn_t)(tsw_lint_ctx_t *c);

struct tsw_lint_rule {
    const char *number, *name;
    tsw_entry_t entry;
    tsw_lint_fn_t check;
    const char *title;
};

/* ---- lint_rules.c ---- */
typedef enum {
    TSW_LINT_OF_PACKS,
    TSW_LINT_OF_LISTS,
    TSW_LINT_OF_EXCEPTIONS, /* after both, as it sees which were needed */
    TSW_LINT_OF_TABLES,
    TSW_LINT_GROUP_COUNT
} tsw_lint_group_t;
/* All rules of a group, until one fails. */
void tsw_lint_apply(tsw_lint_ctx_t *c, tsw_lint_group_t group);

/* ---- lint_finding.c ---- */
/* A new finding at a place; then its fix. */
void tsw_lint_find(tsw_lint_ctx_t *c, tsw_place_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tsw_lint_fix(tsw_lint_ctx_t *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A status of a callee; keeps the first. False: stop. */
bool tsw_lint_ok(tsw_lint_ctx_t *c, tsw_status_t status);
/* The report of all, the same of several archs and variants once; or what failed, and no report. */
tsw_status_t tsw_lint_end(tsw_lint_ctx_t *c, tsw_lint_t *lint_p);

/* ---- lint_row.c ---- */
/* The config to add for it: the baseline, but one knob. */
void tsw_lint_row(tsw_lint_ctx_t *c, size_t knob, int64_t value);
/* The same where the filters of the list must leave it: the baseline, or else another config of the
 * list, but this one knob. */
bool tsw_lint_find_row(tsw_lint_ctx_t *c, size_t knob, int64_t value, tsw_config_t *row_p);
void tsw_lint_config(tsw_lint_ctx_t *c, const tsw_config_t *config);

/* ---- lint_ask.c ---- */
/* Whether the dim is one of an output's. */
bool tsw_lint_dim_of_output(const tsw_pack_t *pack, size_t dim);
/* The text of a file of the pack; "" when it is not there. */
const char *tsw_lint_source(const tsw_pack_t *pack);
/* The value of a dim, tunable or hint in "A=1 B=2"; 0: it is not there. */
int64_t tsw_lint_value_in(const char *text, const char *name);
bool tsw_lint_arch_has_clusters(tsw_arch_t arch);

/* ---- lint_pack.c ---- */
void tsw_rule_kind_fits(tsw_lint_ctx_t *c);
void tsw_rule_no_num_ctas(tsw_lint_ctx_t *c);
void tsw_rule_fixed_block(tsw_lint_ctx_t *c);
void tsw_rule_only_tiles(tsw_lint_ctx_t *c);
void tsw_rule_size_guard(tsw_lint_ctx_t *c);
void tsw_rule_grid_formula(tsw_lint_ctx_t *c);
void tsw_rule_persistent_grid(tsw_lint_ctx_t *c);
void tsw_rule_math_flags(tsw_lint_ctx_t *c);
/* ---- lint_source.c ---- */
void tsw_rule_split_buffers(tsw_lint_ctx_t *c);
void tsw_rule_hints_in_source(tsw_lint_ctx_t *c);
void tsw_rule_hint_for_arch(tsw_lint_ctx_t *c);
/* ---- lint_list.c ---- */
void tsw_rule_has_list(tsw_lint_ctx_t *c);
void tsw_rule_at_most_30(tsw_lint_ctx_t *c);
void tsw_rule_baseline_listed(tsw_lint_ctx_t *c);
void tsw_rule_baseline_legal(tsw_lint_ctx_t *c);
void tsw_rule_two_values(tsw_lint_ctx_t *c);
void tsw_rule_both_num_ctas(tsw_lint_ctx_t *c);
void tsw_rule_four_occupancies(tsw_lint_ctx_t *c);
void tsw_rule_dual_occupancy(tsw_lint_ctx_t *c);
void tsw_rule_dual_start(tsw_lint_ctx_t *c);
void tsw_rule_power_of_two(tsw_lint_ctx_t *c);
void tsw_rule_fp8_block(tsw_lint_ctx_t *c);
void tsw_rule_ctas_have_clusters(tsw_lint_ctx_t *c);
void tsw_rule_empty_list(tsw_lint_ctx_t *c);
/* ---- lint_table.c ---- */
void tsw_rule_at_most_8(tsw_lint_ctx_t *c);
void tsw_rule_baseline_first(tsw_lint_ctx_t *c);
void tsw_rule_release_only(tsw_lint_ctx_t *c);
void tsw_rule_fallback(tsw_lint_ctx_t *c);
void tsw_rule_same_pack(tsw_lint_ctx_t *c);

#endif
