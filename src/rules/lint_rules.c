/* All rules, in their order. */
#include "lint_internal.h"

#include "base/text.h"

#include <string.h>

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

static void exceptions(tsw_lint_ctx_t *c);

static const tsw_lint_rule_t pack_rules[] = {
    {"R2", "kind_fits", TSW_ENTRY_NEW_KERNEL, tsw_rule_kind_fits,
     "a kind has the class of its template"},
    {"R9", "no_num_ctas", TSW_ENTRY_NEW_KERNEL, tsw_rule_no_num_ctas,
     "num_ctas is searched only where blocks share tiles"},
    {"R10", "fixed_block", TSW_ENTRY_NEW_KERNEL, tsw_rule_fixed_block,
     "the block size is a constant where only the occupancy is searched"},
    {"R28", "only_tiles", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_only_tiles,
     "a Tile pack tunes tile sizes, occupancy and num_ctas, nothing else"},
    {"R35", "size_guard", TSW_ENTRY_CORRUPT_RESULT, tsw_rule_size_guard,
     "a tile size is tied to its dim, or a constraint guards it"},
    {"R31", "grid_formula", TSW_ENTRY_CORRUPT_RESULT, tsw_rule_grid_formula,
     "the grid follows the tiles of the output"},
    {"R32", "persistent_grid", TSW_ENTRY_NEW_KERNEL, tsw_rule_persistent_grid,
     "a persistent grid follows multiprocessors and occupancy"},
    {"R63", "math_flags", TSW_ENTRY_CORRUPT_RESULT, tsw_rule_math_flags,
     "options do not change the arithmetic"},
    {"R67", "split_buffers", TSW_ENTRY_CORRUPT_RESULT, tsw_rule_split_buffers,
     "pointers of an in-place argument may be equal"},
    {"R29", "hints_in_source", TSW_ENTRY_SLOW_TUNING, tsw_rule_hints_in_source,
     "hints reach the compiler as macros, once per build"},
    {"R20", "hint_for_arch", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_hint_for_arch,
     "hints in the source hold for every arch"},
};

static const tsw_lint_rule_t list_rules[] = {
    {"R3", "has_list", TSW_ENTRY_EMPTY_SPACE, tsw_rule_has_list, "every arch has configs"},
    {"R27", "empty_list", TSW_ENTRY_EMPTY_SPACE, tsw_rule_empty_list,
     "filters leave more than the baseline"},
    {"R18", "at_most_30", TSW_ENTRY_SLOW_TUNING, tsw_rule_at_most_30,
     "at most 30 configs per arch"},
    {"R22", "baseline_listed", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_baseline_listed,
     "the list has the baseline"},
    {"R22", "baseline_legal", TSW_ENTRY_EMPTY_SPACE, tsw_rule_baseline_legal,
     "the baseline itself passes the filters"},
    {"R24", "two_values", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_two_values,
     "two values of every main dimension"},
    {"R23", "both_num_ctas", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_both_num_ctas,
     "num_ctas 1 and 2 where matmuls have clusters"},
    {"R8", "four_occupancies", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_four_occupancies,
     "occupancy 1, 2, 4 and 8 where nothing else is searched"},
    {"R5", "dual_occupancy", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_dual_occupancy,
     "fused matmuls have occupancy 1 or 2"},
    {"R38", "dual_start", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_dual_start,
     "fused matmuls try tiles of 128 x 128"},
    {"R37", "power_of_two", TSW_ENTRY_EMPTY_SPACE, tsw_rule_power_of_two,
     "tile sizes are powers of two"},
    {"R36", "fp8_block", TSW_ENTRY_CORRUPT_RESULT, tsw_rule_fp8_block,
     "tiles of block-scaled fp8 are the blocks of the scales"},
    {"R33", "ctas_have_clusters", TSW_ENTRY_EMPTY_SPACE, tsw_rule_ctas_have_clusters,
     "num_ctas above 1 only where there are clusters"},
};

static const tsw_lint_rule_t exception_rules[] = {
    {"own", "exceptions", TSW_ENTRY_EXISTING_CONFIGS, exceptions,
     "an exception names a rule that the pack breaks"},
};

static const tsw_lint_rule_t table_rules[] = {
    {"R19", "at_most_8", TSW_ENTRY_SLOW_TUNING, tsw_rule_at_most_8, "at most 8 configs in a table"},
    {"R22", "baseline_first", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_baseline_first,
     "config 0 of a table is the pack's baseline"},
    {"R42", "release_only", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_release_only,
     "a table comes from measurements for release"},
    {"R34", "fallback", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_fallback,
     "a config with num_ctas 1 stays as the fallback"},
    {"R54", "same_pack", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_same_pack,
     "a table and its pack have the same sources"},
};

static const struct {
    const tsw_lint_rule_t *rules;
    size_t count;
} groups[TSW_LINT_GROUP_COUNT] = {
    [TSW_LINT_OF_PACKS] = {pack_rules, COUNT_OF(pack_rules)},
    [TSW_LINT_OF_LISTS] = {list_rules, COUNT_OF(list_rules)},
    [TSW_LINT_OF_EXCEPTIONS] = {exception_rules, COUNT_OF(exception_rules)},
    [TSW_LINT_OF_TABLES] = {table_rules, COUNT_OF(table_rules)},
};

bool tsw_lint_rule(size_t index, tsw_rule_t *rule_p)
{
    for (size_t g = 0; g < TSW_LINT_GROUP_COUNT; g++) {
        if (index < groups[g].count) {
            const tsw_lint_rule_t *rule = &groups[g].rules[index];
            *rule_p = (tsw_rule_t){rule->number, rule->name, rule->title};
            return true;
        }
        index -= groups[g].count;
    }
    return false;
}

void tsw_lint_apply(tsw_lint_ctx_t *c, tsw_lint_group_t group)
{
    for (size_t i = 0; c->status == TSW_OK && i < groups[group].count; i++) {
        c->rule = &groups[group].rules[i];
        c->rule->check(c);
    }
}

/* ---- the rule that knows all others ---- */

enum { RULES_MAX = 64 };

static bool is_rule(const char *name)
{
    tsw_rule_t rule;
    for (size_t i = 0; tsw_lint_rule(i, &rule); i++) {
        if (strcmp(rule.name, name) == 0)
            return true;
    }
    return false;
}

static bool is_needed(const tsw_lint_t *lint, const tsw_exception_t *exception)
{
    for (size_t i = 0; i < lint->count; i++) {
        if (lint->findings[i].reason == exception->reason)
            return true;
    }
    return false;
}

static void no_such_rule(tsw_lint_ctx_t *c, const tsw_exception_t *exception)
{
    const char *names[RULES_MAX];
    size_t count = 0;
    tsw_rule_t rule;
    while (count < RULES_MAX && tsw_lint_rule(count, &rule))
        names[count++] = rule.name;
    const char *near = tsw_text_nearest(exception->rule, names, count);
    tsw_lint_find(c, exception->place, "there is no rule '%s'%s%s%s", exception->rule,
                  near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
                  near != NULL ? "'?)" : "");
}

static void exceptions(tsw_lint_ctx_t *c)
{
    for (size_t i = 0; i < c->pack->exception_count; i++) {
        const tsw_exception_t *exception = &c->pack->exceptions[i];
        if (is_needed(c->lint, exception))
            continue;
        if (is_rule(exception->rule))
            tsw_lint_find(c, exception->place, "no exception from %s is needed", exception->rule);
        else
            no_such_rule(c, exception);
        tsw_lint_fix(c, "take it out");
    }
}
