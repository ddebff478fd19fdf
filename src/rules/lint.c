#include "lint_internal.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC_DIM = 128 }; /* what a dim that is part of the build stands at */

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

/* After all others, as it sees which exceptions were needed. */
static const tsw_lint_rule_t last_rules[] = {
    {"own", "exceptions", TSW_ENTRY_EXISTING_CONFIGS, tsw_rule_exceptions,
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

/* What tables are made for. */
static const tsw_arch_t release_archs[] = {80, 86, 89, 90, 100, 103, 120};

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

static const struct {
    const tsw_lint_rule_t *rules;
    size_t count;
} groups[] = {{pack_rules, COUNT_OF(pack_rules)},
              {list_rules, COUNT_OF(list_rules)},
              {last_rules, COUNT_OF(last_rules)},
              {table_rules, COUNT_OF(table_rules)}};

bool tsw_lint_rule(size_t index, tsw_rule_t *rule_p)
{
    for (size_t g = 0; g < COUNT_OF(groups); g++) {
        if (index < groups[g].count) {
            const tsw_lint_rule_t *rule = &groups[g].rules[index];
            *rule_p = (tsw_rule_t){rule->number, rule->name, rule->title};
            return true;
        }
        index -= groups[g].count;
    }
    return false;
}

const char *tsw_entry_anchor(tsw_entry_t entry)
{
    static const char *const anchors[TSW_ENTRY_COUNT] = {
        "docs/rules.md#a-new-kernel", "docs/rules.md#results-are-corrupt",
        "docs/rules.md#tuning-is-slow", "docs/rules.md#the-space-is-empty",
        "docs/rules.md#better-configs-for-a-kernel-that-has-some"};
    return anchors[entry];
}

bool tsw_finding_is_on(const tsw_finding_t *finding, tsw_arch_t arch)
{
    char name[16];
    tsw_arch_format(arch, name);
    size_t length = strlen(name);
    for (const char *at = finding->archs; (at = strstr(at, name)) != NULL; at += length) {
        if (at[length] == '\0' || at[length] == ',')
            return true;
    }
    return finding->archs[0] == '\0';
}

bool tsw_finding_is_coverage(const tsw_finding_t *finding)
{
    static const char *const names[] = {"two_values", "both_num_ctas", "four_occupancies"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(finding->rule, names[i]) == 0)
            return finding->reason == NULL;
    }
    return false;
}

/* ---- what rules ask ---- */

bool tsw_lint_dim_of_output(const tsw_pack_t *pack, size_t dim)
{
    for (size_t i = 0; i < pack->arg_count; i++) {
        const tsw_arg_t *arg = &pack->args[i];
        if ((arg->role == TSW_ROLE_OUT || arg->role == TSW_ROLE_INOUT) &&
            tsw_expr_uses(&arg->size, pack->dims[dim]))
            return true;
    }
    return false;
}

const char *tsw_lint_source(const tsw_pack_t *pack)
{
    const tsw_fileset_item_t *item = tsw_fileset_find(&pack->files, pack->kernel.source);
    return item != NULL ? (const char *)item->bytes : "";
}

int64_t tsw_lint_value_in(const char *config, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = config; (at = strstr(at, name)) != NULL; at += length) {
        if ((at == config || at[-1] == ' ') && at[length] == '=')
            return strtoll(at + length + 1, NULL, 10);
    }
    return 0;
}

bool tsw_lint_arch_has_clusters(tsw_arch_t arch)
{
    const tsw_arch_traits_t *traits = tsw_arch_traits(arch);
    return traits != NULL && traits->max_cluster > 1;
}

/* ---- the report ---- */

bool tsw_lint_ok(tsw_lint_ctx_t *c, tsw_status_t status)
{
    if (c->status == TSW_OK)
        c->status = status;
    return c->status == TSW_OK;
}

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format, va_list args)
{
    tsw_buf_t out = TSW_BUF_INIT;
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    tsw_buf_append_text(&out, text);
    return tsw_buf_take_text(&out);
}

static const char *reason_of(const tsw_lint_ctx_t *c)
{
    if (c->pack == NULL || c->rule->check == tsw_rule_exceptions)
        return NULL;
    return tsw_pack_exception(c->pack, c->rule->name, c->arch);
}

void tsw_lint_find(tsw_lint_ctx_t *c, tsw_place_t place, const char *format, ...)
{
    tsw_lint_t *lint = c->lint;
    if (c->status != TSW_OK)
        return;
    if (!TSW_GROW(lint->findings, lint->capacity, lint->count)) {
        c->status = tsw_err_nomem(c->err);
        return;
    }
    va_list args;
    va_start(args, format);
    tsw_finding_t *finding = &lint->findings[lint->count++];
    *finding = (tsw_finding_t){.number = c->rule->number,
                               .rule = c->rule->name,
                               .entry = c->rule->entry,
                               .place = place,
                               .arch = c->arch,
                               .reason = reason_of(c),
                               .text = format_text(format, args)};
    va_end(args);
    if (c->arch != 0)
        tsw_arch_format(c->arch, finding->archs);
    if (finding->text == NULL)
        c->status = tsw_err_nomem(c->err);
}

void tsw_lint_fix(tsw_lint_ctx_t *c, const char *format, ...)
{
    if (c->status != TSW_OK)
        return;
    va_list args;
    va_start(args, format);
    char *fix = format_text(format, args);
    va_end(args);
    c->lint->findings[c->lint->count - 1].fix = fix;
    if (fix == NULL)
        c->status = tsw_err_nomem(c->err);
}

/* A list that is full gets no more: something else has to go. */
static bool is_full(const tsw_lint_ctx_t *c, const tsw_config_t *config)
{
    tsw_key_t baseline = tsw_config_baseline(c->pack, c->arch).key;
    return c->space != NULL && c->space->count >= TSW_SPACE_MAX_RELEASE &&
           !tsw_key_equal(config->key, baseline);
}

void tsw_lint_config(tsw_lint_ctx_t *c, const tsw_config_t *config)
{
    if (c->status != TSW_OK || is_full(c, config))
        return;
    tsw_buf_t row = TSW_BUF_INIT;
    for (size_t k = 0; k < c->pack->knob_count; k++)
        tsw_buf_printf(&row, "%s%s: %lld", k == 0 ? "{" : ", ", c->pack->knobs[k].name,
                       (long long)config->values[k]);
    tsw_buf_append_text(&row, "}");
    char *text = tsw_buf_take_text(&row);
    c->lint->findings[c->lint->count - 1].row = text;
    if (text == NULL)
        c->status = tsw_err_nomem(c->err);
}

static tsw_config_t with_value(const tsw_lint_ctx_t *c, const tsw_config_t *config, size_t knob,
                               int64_t value)
{
    tsw_config_t with = *config;
    with.values[knob] = value;
    tsw_config_set_key(c->pack, &with);
    return with;
}

void tsw_lint_row(tsw_lint_ctx_t *c, size_t knob, int64_t value)
{
    tsw_config_t baseline = tsw_config_baseline(c->pack, c->arch);
    tsw_config_t config = with_value(c, &baseline, knob, value);
    tsw_lint_config(c, &config);
}

/* Whether the filters leave it; they pass the baseline over. */
static bool is_kept(tsw_lint_ctx_t *c, tsw_config_t *config)
{
    tsw_config_row_t row = {.place = {.file = NULL}};
    const tsw_job_entry_t entry = {.rows = &row, .row_count = 1};
    tsw_space_t space = {0};
    bool kept = false;
    for (size_t k = 0; k < c->pack->knob_count; k++) {
        row.values[k] = &config->values[k];
        row.count[k] = 1;
    }
    if (!tsw_lint_ok(c, tsw_space_make(c->variant, c->arch, TSW_PURPOSE_RESEARCH, &entry, c->eval,
                                       &space, c->err)))
        return false;
    for (size_t i = 0; i < space.count; i++)
        kept = kept || tsw_key_equal(space.configs[i].key, config->key);
    tsw_space_fini(&space);
    return kept;
}

bool tsw_lint_find_row(tsw_lint_ctx_t *c, size_t knob, int64_t value, tsw_config_t *row_p)
{
    for (size_t i = 0; i < c->space->count; i++) { /* the baseline is the first */
        tsw_config_t config = with_value(c, &c->space->configs[i], knob, value);
        if (!is_kept(c, &config))
            continue;
        *row_p = config;
        return true;
    }
    return false;
}

static void finding_fini(tsw_finding_t *finding)
{
    tsw_free(finding->text);
    tsw_free(finding->fix);
    tsw_free(finding->row);
}

void tsw_lint_fini(tsw_lint_t *lint)
{
    for (size_t i = 0; i < lint->count; i++)
        finding_fini(&lint->findings[i]);
    tsw_free(lint->findings);
    *lint = (tsw_lint_t){0};
}

static bool is_same(const tsw_finding_t *a, const tsw_finding_t *b)
{
    return a->rule == b->rule && a->place.line == b->place.line &&
           a->place.column == b->place.column && (a->arch != 0) == (b->arch != 0) &&
           a->reason == b->reason && strcmp(a->text, b->text) == 0;
}

static void name_arch(tsw_finding_t *finding, tsw_arch_t number)
{
    size_t used = strlen(finding->archs);
    char arch[16];
    if (used > 0 && tsw_finding_is_on(finding, number))
        return;
    tsw_arch_format(number, arch);
    snprintf(finding->archs + used, sizeof(finding->archs) - used, "%s%s", used > 0 ? ", " : "",
             arch);
}

/* The same on several archs and variants is one finding. */
static void merge_findings(tsw_lint_t *lint)
{
    size_t kept = 0;
    for (size_t i = 0; i < lint->count; i++) {
        size_t same = 0;
        while (same < kept && !is_same(&lint->findings[same], &lint->findings[i]))
            same++;
        if (same < kept) {
            if (lint->findings[i].arch != 0)
                name_arch(&lint->findings[same], lint->findings[i].arch);
            finding_fini(&lint->findings[i]);
        } else {
            lint->findings[kept++] = lint->findings[i];
        }
    }
    lint->count = kept;
    lint->open = 0;
    for (size_t i = 0; i < lint->count; i++)
        lint->open += lint->findings[i].reason == NULL;
}

static tsw_status_t end_lint(tsw_lint_ctx_t *c, tsw_lint_t *lint_p)
{
    if (c->status == TSW_OK) {
        merge_findings(c->lint);
        *lint_p = *c->lint;
    } else {
        tsw_lint_fini(c->lint);
    }
    return c->status;
}

/* ---- running ---- */

static void apply(tsw_lint_ctx_t *c, const tsw_lint_rule_t *rules, size_t count)
{
    for (size_t i = 0; c->status == TSW_OK && i < count; i++) {
        c->rule = &rules[i];
        rules[i].check(c);
    }
}

static void lint_variant(tsw_lint_ctx_t *c, const tsw_variant_t *variant)
{
    tsw_space_t space = {0};
    c->variant = variant;
    if (c->list != NULL && !tsw_lint_ok(c, tsw_space_make(variant, c->arch, TSW_PURPOSE_RESEARCH,
                                                          NULL, c->eval, &space, c->err)))
        return;
    c->space = &space;
    apply(c, list_rules, COUNT_OF(list_rules));
    tsw_space_fini(&space);
    c->space = NULL;
}

/* The next combination of flags; false after the last. */
static bool next_flags(const tsw_pack_t *pack, uint32_t flags[TSW_FLAG_MAX])
{
    for (size_t i = pack->flag_count; i-- > 0;) {
        if (++flags[i] < pack->flags[i].value_count)
            return true;
        flags[i] = 0;
    }
    return false;
}

static void lint_arch(tsw_lint_ctx_t *c, tsw_arch_t arch)
{
    const tsw_pack_t *pack = c->pack;
    tsw_variant_t variant = {.pack = pack};
    c->arch = arch;
    c->list = tsw_pack_list(pack, arch);
    for (size_t i = 0; i < pack->dim_count; i++)
        variant.static_dims[i] = pack->dim_is_static[i] ? STATIC_DIM : 0;
    for (int d = 0; d < TSW_DTYPE_COUNT; d++) {
        variant.dtype = (tsw_dtype_t)d;
        if (!pack->dtypes[d] || tsw_pack_lacking(pack, variant.dtype, arch) != TSW_DTYPE_OF_CELL)
            continue;
        do
            lint_variant(c, &variant);
        while (c->status == TSW_OK && next_flags(pack, variant.flags));
    }
    c->arch = 0;
    c->list = NULL;
}

static bool has_own_list(const tsw_pack_t *pack, tsw_arch_t arch)
{
    const tsw_config_list_t *list = tsw_pack_list(pack, arch);
    return list != NULL && list->arch == arch;
}

static bool is_linted(const tsw_pack_t *pack, tsw_arch_t arch)
{
    for (size_t i = 0; i < COUNT_OF(release_archs); i++) {
        if (release_archs[i] == arch)
            return true;
    }
    return has_own_list(pack, arch);
}

tsw_status_t tsw_lint_pack(const tsw_pack_t *pack, tsw_lint_t *lint_p, tsw_err_t *err)
{
    tsw_lint_t lint = {0};
    tsw_lint_ctx_t c = {.pack = pack, .kind = tsw_kind_of(pack), .lint = &lint, .err = err};
    size_t arch_count = 0;
    const tsw_arch_traits_t *archs = tsw_arch_all(&arch_count);
    tsw_lint_ok(&c, tsw_eval_new(&c.eval, err));
    apply(&c, pack_rules, COUNT_OF(pack_rules));
    for (size_t i = 0; c.status == TSW_OK && i < arch_count; i++) {
        if (is_linted(pack, archs[i].arch))
            lint_arch(&c, archs[i].arch);
    }
    apply(&c, last_rules, COUNT_OF(last_rules));
    tsw_eval_free(c.eval);
    return end_lint(&c, lint_p);
}

static const tsw_pack_t *find_pack(const char *name, const tsw_pack_t *const *packs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (packs[i] != NULL && strcmp(packs[i]->name, name) == 0)
            return packs[i];
    }
    return NULL;
}

tsw_status_t tsw_lint_table(const tsw_table_t *table, const tsw_pack_t *const *packs,
                            size_t pack_count, tsw_lint_t *lint_p, tsw_err_t *err)
{
    tsw_lint_t lint = {0};
    tsw_lint_ctx_t c = {.table = table, .arch = table->arch, .lint = &lint, .err = err};
    for (size_t i = 0; c.status == TSW_OK && i < table->pack_count; i++) {
        c.entry = &table->packs[i];
        c.pack = find_pack(c.entry->name, packs, pack_count);
        c.kind = c.pack != NULL ? tsw_kind_of(c.pack) : NULL;
        apply(&c, table_rules, COUNT_OF(table_rules));
    }
    return end_lint(&c, lint_p);
}
