/* Rules over the list of an arch. */
#include "lint_internal.h"

#include "space/space_scales.h"

#include <string.h>

static bool is_power_of_two(int64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

/* Whether a config of the space has the value. */
static bool space_has(const tsw_lint_ctx_t *c, size_t knob, int64_t value)
{
    for (size_t i = 0; i < c->space->count; i++) {
        if (c->space->configs[i].values[knob] == value)
            return true;
    }
    return false;
}

/* How many values a knob has. */
static size_t count_values(const tsw_lint_ctx_t *c, size_t knob)
{
    size_t count = 0;
    for (size_t i = 0; i < c->space->count; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new =
                is_new && c->space->configs[j].values[knob] != c->space->configs[i].values[knob];
        count += is_new;
    }
    return count;
}

void tsw_rule_has_list(tsw_lint_ctx_t *c)
{
    if (c->list != NULL)
        return;
    tsw_lint_find(c, c->pack->lists_place, "there is neither a list for this arch nor a default");
    tsw_lint_fix(c, "add a list 'default'");
}

void tsw_rule_empty_list(tsw_lint_ctx_t *c)
{
    if (c->list == NULL || !tsw_space_only_baseline(c->space))
        return;
    tsw_buf_t report = TSW_BUF_INIT;
    for (size_t i = 0; i < c->space->report.count; i++) {
        const tsw_filter_t *filter = &c->space->report.filters[i];
        if (filter->removed > 0)
            tsw_buf_printf(&report, "; %s: %zu in, %zu removed (%s)", filter->name, filter->in,
                           filter->removed, filter->reason);
    }
    tsw_lint_find(c, c->list->place, "filters leave nothing but the baseline of %zu configs%s",
                  c->space->listed, tsw_buf_text(&report));
    tsw_lint_fix(c, "list configs that these filters keep, or mend the filter");
    tsw_buf_fini(&report);
}

void tsw_rule_at_most_30(tsw_lint_ctx_t *c)
{
    if (c->list == NULL || c->space->count <= TSW_SPACE_MAX_RELEASE)
        return;
    tsw_lint_find(c, c->list->place, "%zu configs, a release has at most %d", c->space->count,
                  TSW_SPACE_MAX_RELEASE);
    tsw_lint_fix(c, "keep what earlier sweeps chose and two values of each dimension; look around "
                    "with a job of purpose probe");
}

void tsw_rule_baseline_listed(tsw_lint_ctx_t *c)
{
    if (c->list == NULL || c->space->baseline_listed)
        return;
    tsw_lint_find(c, c->list->place, "the list lacks the baseline");
    tsw_lint_fix(c, "add its row: the fixed config is measured beside all others");
    const int64_t *baseline = tsw_pack_baseline(c->pack, c->arch);
    int knob = tsw_pack_knob_index(c->pack, "num_ctas");
    bool fits = knob < 0 || baseline[knob] == 1 || tsw_lint_arch_has_clusters(c->arch);
    if (c->pack->knob_count > 0 && fits)
        tsw_lint_row(c, 0, baseline[0]);
}

/* The filters pass the baseline over, so it is asked here. */
void tsw_rule_baseline_legal(tsw_lint_ctx_t *c)
{
    const tsw_pack_t *pack = c->pack;
    int knob = tsw_pack_knob_index(pack, "num_ctas");
    const char *broken = NULL;
    if (c->list == NULL)
        return;
    if (knob >= 0 && tsw_pack_baseline(pack, c->arch)[knob] > 1 &&
        !tsw_lint_arch_has_clusters(c->arch))
        broken = "cluster";
    tsw_config_t baseline = tsw_config_baseline(pack, c->arch);
    if (!tsw_lint_ok(c, tsw_variant_bind(c->variant, NULL, &baseline,
                                         tsw_space_nominal_sms(c->arch), c->eval, c->err)))
        return;
    for (size_t i = 0; broken == NULL && i < pack->constraint_count; i++) {
        const tsw_constraint_t *constraint = &pack->constraints[i];
        bool keep = true;
        if (constraint->uses_shape)
            continue;
        if (!tsw_lint_ok(c, tsw_eval_bool(c->eval, &constraint->expr, &keep, c->err)))
            return;
        if (!keep)
            broken = constraint->name;
    }
    if (broken == NULL)
        return;
    tsw_lint_find(c, pack->baseline_place, "the baseline does not pass the filter %s", broken);
    tsw_lint_fix(c, "take one that runs on every arch, or give this list a baseline of its own");
}

/* The next power of two beside the baseline's, within the range of the kind. */
static int64_t another_value(const tsw_lint_ctx_t *c, size_t knob)
{
    int64_t now = tsw_pack_baseline(c->pack, c->arch)[knob];
    if (!c->pack->knobs[knob].is_hint)
        return now > 32 ? now / 2 : now * 2;
    const tsw_occupancy_range_t *range = tsw_kind_occupancies(c->pack);
    int64_t high = range->high < c->kind->occupancy_max ? range->high : c->kind->occupancy_max;
    return now < high ? now * 2 : now / 2;
}

/* Tiles that cut the output; those of a reduction are of use, but not demanded, and those along a
 * scaled dim have the one value of the scales. */
static bool is_main(const tsw_lint_ctx_t *c, const tsw_knob_t *knob)
{
    if (knob->is_hint)
        return strcmp(knob->name, "occupancy") == 0;
    if (!c->kind->tiles || !knob->is_tile)
        return false;
    if (knob->tiles_dim < 0 || !tsw_lint_dim_of_output(c->pack, (size_t)knob->tiles_dim))
        return false;
    return tsw_space_scale_block(c->pack, c->pack->dims[knob->tiles_dim]) == 0;
}

/* A value that the knob has not: the next one, or else one of its kind that the filters leave.
 * False: there is none; *value_p is the next one then. */
static bool find_value(tsw_lint_ctx_t *c, size_t knob, int64_t *value_p, tsw_config_t *row_p)
{
    int64_t values[TSW_KIND_VALUES_MAX];
    size_t count = tsw_kind_values(c->pack, knob, values);
    *value_p = another_value(c, knob);
    if (tsw_lint_find_row(c, knob, *value_p, row_p))
        return true;
    for (size_t i = 0; i < count; i++) {
        if (space_has(c, knob, values[i]) || !tsw_lint_find_row(c, knob, values[i], row_p))
            continue;
        *value_p = values[i];
        return true;
    }
    return false;
}

void tsw_rule_two_values(tsw_lint_ctx_t *c)
{
    if (c->list == NULL || tsw_space_only_baseline(c->space))
        return;
    if (tsw_pack_knob_index(c->pack, "occupancy") < 0) {
        tsw_lint_find(c, c->pack->hints_place, "the occupancy is not searched");
        tsw_lint_fix(c, "add it to 'hints' and use the macro OCCUPANCY in the source");
    }
    for (size_t k = 0; k < c->pack->knob_count; k++) {
        const tsw_knob_t *knob = &c->pack->knobs[k];
        if (!is_main(c, knob) || count_values(c, k) >= 2)
            continue;
        int64_t value = 0;
        tsw_config_t row;
        bool is_found = find_value(c, k, &value, &row);
        tsw_lint_find(c, c->list->place, "%s has the one value %lld", knob->name,
                      (long long)c->space->configs[0].values[k]);
        if (knob->is_hint)
            tsw_lint_fix(c, "add %lld; for %s occupancies from %lld to %lld are worth a try",
                         (long long)value, tsw_kind_occupancies(c->pack)->use,
                         (long long)tsw_kind_occupancies(c->pack)->low,
                         (long long)tsw_kind_occupancies(c->pack)->high);
        else
            tsw_lint_fix(c, "add %lld", (long long)value);
        if (is_found)
            tsw_lint_config(c, &row);
    }
}

/* From sm_100 on for all whose blocks share tiles; fp8 wherever there are clusters. */
static bool needs_both(const tsw_lint_ctx_t *c)
{
    switch (c->pack->template_id) {
    case TSW_TEMPLATE_T3_MATMUL:
    case TSW_TEMPLATE_T4_PERSISTENT:
    case TSW_TEMPLATE_T5_FMHA:
    case TSW_TEMPLATE_T8_VARLEN:
    case TSW_TEMPLATE_T9_DUAL:
        return c->arch >= 100;
    case TSW_TEMPLATE_T6_FP8:
        return tsw_lint_arch_has_clusters(c->arch);
    default:
        return false;
    }
}

void tsw_rule_both_num_ctas(tsw_lint_ctx_t *c)
{
    int knob = tsw_pack_knob_index(c->pack, "num_ctas");
    tsw_config_t row;
    if (c->list == NULL || tsw_space_only_baseline(c->space) || !c->kind->num_ctas ||
        !needs_both(c))
        return;
    if (knob < 0) {
        tsw_lint_find(c, c->pack->hints_place, "num_ctas is not searched");
        tsw_lint_fix(c, "add it to 'hints' and use the macro NUM_CTAS in the source");
        return;
    }
    for (int64_t value = 1; value <= 2; value++) {
        if (space_has(c, (size_t)knob, value))
            continue;
        tsw_lint_find(c, c->list->place, "no config has num_ctas %lld", (long long)value);
        tsw_lint_fix(c, "add one, also without belief in it: the sweep decides");
        if (tsw_lint_find_row(c, (size_t)knob, value, &row))
            tsw_lint_config(c, &row);
    }
}

static bool rows_have(const tsw_config_list_t *list, size_t knob, int64_t value)
{
    for (size_t r = 0; r < list->row_count; r++) {
        for (size_t i = 0; i < list->rows[r].count[knob]; i++) {
            if (list->rows[r].values[knob][i] == value)
                return true;
        }
    }
    return false;
}

/* The rows are asked, not what filters leave of them. */
void tsw_rule_four_occupancies(tsw_lint_ctx_t *c)
{
    int knob = tsw_pack_knob_index(c->pack, "occupancy");
    if (c->list == NULL || c->kind->tiles || knob < 0)
        return;
    for (size_t i = 0; i < TSW_KIND_OCCUPANCIES; i++) {
        int64_t value = tsw_kind_occupancy_only[i];
        if (rows_have(c->list, (size_t)knob, value))
            continue;
        tsw_lint_find(c, c->list->place, "no row has occupancy %lld", (long long)value);
        tsw_lint_fix(c, "add it: four builds cost seconds, once");
        tsw_lint_row(c, (size_t)knob, value);
    }
}

void tsw_rule_dual_occupancy(tsw_lint_ctx_t *c)
{
    int knob = tsw_pack_knob_index(c->pack, "occupancy");
    if (c->list == NULL || knob < 0)
        return;
    for (size_t i = 0; i < c->space->count; i++) {
        int64_t value = c->space->configs[i].values[knob];
        if (value <= c->kind->occupancy_max)
            continue;
        tsw_lint_find(c, c->list->place, "occupancy %lld for a kernel with two accumulators",
                      (long long)value);
        tsw_lint_fix(c, "take occupancies of 1 and 2");
        return;
    }
}

void tsw_rule_dual_start(tsw_lint_ctx_t *c)
{
    if (c->list == NULL || c->pack->template_id != TSW_TEMPLATE_T9_DUAL)
        return;
    for (size_t i = 0; i < c->space->count; i++) {
        bool is_large = true;
        for (size_t k = 0; k < c->pack->knob_count; k++) {
            const tsw_knob_t *knob = &c->pack->knobs[k];
            if (!knob->is_hint && is_main(c, knob))
                is_large = is_large && c->space->configs[i].values[k] >= 128;
        }
        if (is_large)
            return;
    }
    tsw_lint_find(c, c->list->place, "no config has a tile of 128 x 128 of the output");
    tsw_lint_fix(c, "add one: searches of fused matmuls start there");
}

void tsw_rule_power_of_two(tsw_lint_ctx_t *c)
{
    if (c->list == NULL)
        return;
    for (size_t r = 0; r < c->list->row_count; r++) {
        const tsw_config_row_t *row = &c->list->rows[r];
        for (size_t k = 0; k < c->pack->knob_count; k++) {
            for (size_t i = 0; c->pack->knobs[k].is_tile && i < row->count[k]; i++) {
                if (is_power_of_two(row->values[k][i]))
                    continue;
                tsw_lint_find(c, row->place, "%s is %lld, no power of two: the filter removes it",
                              c->pack->knobs[k].name, (long long)row->values[k][i]);
                tsw_lint_fix(c, "write powers of two");
            }
        }
    }
}

/* A value of the rows that is not the block; 0: there is none. */
static int64_t misfit_of(const tsw_lint_ctx_t *c, size_t knob)
{
    int64_t value = tsw_pack_baseline(c->pack, c->arch)[knob];
    if (!tsw_space_fits_scales(c->pack, knob, value))
        return value;
    for (size_t r = 0; r < c->list->row_count; r++) {
        const tsw_config_row_t *row = &c->list->rows[r];
        for (size_t i = 0; i < row->count[knob]; i++) {
            if (!tsw_space_fits_scales(c->pack, knob, row->values[knob][i]))
                return row->values[knob][i];
        }
    }
    return 0;
}

/* The rows are asked, as the filter leaves nothing of it but the baseline. */
void tsw_rule_fp8_block(tsw_lint_ctx_t *c)
{
    for (size_t k = 0; c->list != NULL && k < c->pack->knob_count; k++) {
        const tsw_knob_t *knob = &c->pack->knobs[k];
        int64_t value = misfit_of(c, k);
        if (value == 0)
            continue;
        const long long block = tsw_space_scale_block(c->pack, c->pack->dims[knob->tiles_dim]);
        tsw_lint_find(c, c->list->place,
                      "%s is %lld, but one scale holds for %lld elements: results are wrong",
                      knob->name, (long long)value, block);
        tsw_lint_fix(c, "let it be %lld everywhere, or a constant of the source", block);
    }
}

/* A default list serves all archs, so the filter may take some of it. */
void tsw_rule_ctas_have_clusters(tsw_lint_ctx_t *c)
{
    int knob = tsw_pack_knob_index(c->pack, "num_ctas");
    if (c->list == NULL || knob < 0 || c->list->arch == 0 || tsw_lint_arch_has_clusters(c->arch))
        return;
    for (size_t r = 0; r < c->list->row_count; r++) {
        const tsw_config_row_t *row = &c->list->rows[r];
        for (size_t i = 0; i < row->count[knob]; i++) {
            if (row->values[knob][i] == 1)
                continue;
            tsw_lint_find(c, row->place, "num_ctas is %lld, but the arch has no clusters",
                          (long long)row->values[knob][i]);
            tsw_lint_fix(c, "take the row out, or let num_ctas be 1");
        }
    }
}
