#include "space/space.h"

#include "base/mem.h"
#include "pack/place.h"
#include "space/space_forbid.h"
#include "space/space_probe.h"
#include "space/space_scales.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED_MAX = 1000000, OCCUPANCY_MAX = 32, NUM_CTAS_MAX = 16, REASON_MAX = 128 };

/* A space in the making. */
typedef struct {
    const tsw_variant_t *variant;
    const tsw_pack_t *pack;
    tsw_arch_t arch;
    tsw_eval_t *eval;
    tsw_space_t *space;
    size_t capacity;
    const tsw_constraint_t *constraint; /* that keep_by_constraint evaluates */
    tsw_err_t *err;
} maker_t;

typedef tsw_status_t (*keep_fn_t)(maker_t *m, const tsw_config_t *config, bool *keep_p);

void tsw_space_fini(tsw_space_t *space)
{
    tsw_free(space->configs);
    tsw_filter_report_fini(&space->report);
    *space = (tsw_space_t){0};
}

bool tsw_space_only_baseline(const tsw_space_t *space)
{
    return space->count == 1 && space->listed > 1;
}

/* ---- the list ---- */

static tsw_status_t add_config(maker_t *m, const tsw_config_t *config)
{
    tsw_space_t *space = m->space;
    if (!TSW_GROW(space->configs, m->capacity, space->count))
        return tsw_err_nomem(m->err);
    space->configs[space->count++] = *config;
    return TSW_OK;
}

/* All configs of a row: the last knob varies fastest. */
static tsw_status_t add_row(maker_t *m, const tsw_config_row_t *row)
{
    size_t at[TSW_KNOB_MAX] = {0};
    size_t knobs = m->pack->knob_count;
    for (;;) {
        tsw_config_t config = {0};
        for (size_t i = 0; i < knobs; i++)
            config.values[i] = row->values[i][at[i]];
        tsw_config_set_key(m->pack, &config);
        tsw_status_t status = add_config(m, &config);
        if (status != TSW_OK)
            return status;
        size_t i = knobs;
        while (i > 0 && ++at[i - 1] == row->count[i - 1])
            at[--i] = 0;
        if (i == 0)
            return TSW_OK;
    }
}

static tsw_status_t check_row(const maker_t *m, const tsw_config_row_t *row, size_t listed)
{
    size_t product = 1;
    for (size_t i = 0; i < m->pack->knob_count; i++) {
        if (row->count[i] == 0)
            return tsw_place_err(m->err, TSW_ERR_INPUT, row->place, "%s has no value",
                                 m->pack->knobs[i].name);
        if (row->count[i] > LISTED_MAX || product * row->count[i] > LISTED_MAX - listed)
            return tsw_place_err(m->err, TSW_ERR_INPUT, row->place,
                                 "the rows stand for more than %d configs", LISTED_MAX);
        product *= row->count[i];
    }
    return TSW_OK;
}

/* The baseline to the front: moved there when the list has it, else added. */
static tsw_status_t put_baseline_first(maker_t *m)
{
    tsw_space_t *space = m->space;
    tsw_config_t baseline = tsw_config_baseline(m->pack, m->arch);
    size_t at = 0;
    while (at < space->count && !tsw_key_equal(space->configs[at].key, baseline.key))
        at++;
    space->baseline_listed = at < space->count;
    if (!space->baseline_listed) {
        tsw_status_t status = add_config(m, &baseline);
        if (status != TSW_OK)
            return status;
    }
    memmove(&space->configs[1], &space->configs[0], at * sizeof(baseline));
    space->configs[0] = baseline;
    space->listed = space->count;
    return TSW_OK;
}

static tsw_status_t list_configs(maker_t *m, tsw_purpose_t purpose, const tsw_job_entry_t *entry)
{
    if (purpose == TSW_PURPOSE_FIXED)
        return put_baseline_first(m);
    const tsw_config_list_t *list = tsw_pack_list(m->pack, m->arch);
    bool own = entry != NULL && entry->rows != NULL;
    char arch[16];
    if (!own && list == NULL)
        return tsw_place_err(m->err, TSW_ERR_INPUT,
                             entry != NULL ? entry->place : (tsw_place_t){.file = NULL},
                             "pack %s has no configs for %s: neither a list of its own nor a "
                             "default one, and the job gives no space",
                             m->pack->name, tsw_arch_format(m->arch, arch));
    const tsw_config_row_t *rows = own ? entry->rows : list->rows;
    size_t row_count = own ? entry->row_count : list->row_count;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < row_count; i++) {
        status = check_row(m, &rows[i], m->space->count);
        if (status == TSW_OK)
            status = add_row(m, &rows[i]);
    }
    return status == TSW_OK ? put_baseline_first(m) : status;
}

/* ---- filters ---- */

/* Removes what keep refuses, never the baseline, and notes the counts. */
static tsw_status_t apply(maker_t *m, const char *name, const char *reason, keep_fn_t keep)
{
    tsw_space_t *space = m->space;
    size_t in = space->count;
    size_t kept = 1;
    for (size_t i = 1; i < in; i++) {
        bool wanted = true;
        tsw_status_t status = keep(m, &space->configs[i], &wanted);
        if (status != TSW_OK)
            return status;
        if (wanted)
            space->configs[kept++] = space->configs[i];
    }
    space->count = kept;
    return tsw_filter_report_add(&space->report, name, reason, in, in - kept, m->err);
}

static bool is_power_of_two(int64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static tsw_status_t keep_powers_of_two(maker_t *m, const tsw_config_t *config, bool *keep_p)
{
    for (size_t i = 0; i < m->pack->knob_count; i++) {
        if (m->pack->knobs[i].is_tile && !is_power_of_two(config->values[i]))
            *keep_p = false;
    }
    return TSW_OK;
}

static int64_t hint_of(const maker_t *m, const tsw_config_t *config, const char *name)
{
    int knob = tsw_pack_knob_index(m->pack, name);
    return knob >= 0 ? config->values[knob] : 1;
}

static tsw_status_t keep_hints_in_range(maker_t *m, const tsw_config_t *config, bool *keep_p)
{
    int64_t occupancy = hint_of(m, config, "occupancy");
    int64_t num_ctas = hint_of(m, config, "num_ctas");
    *keep_p = occupancy >= 1 && occupancy <= OCCUPANCY_MAX && is_power_of_two(num_ctas) &&
              num_ctas <= NUM_CTAS_MAX;
    return TSW_OK;
}

static int64_t cluster_limit(tsw_arch_t arch)
{
    const tsw_arch_traits_t *traits = tsw_arch_traits(arch);
    return traits != NULL ? traits->max_cluster : 1;
}

static tsw_status_t keep_clusters(maker_t *m, const tsw_config_t *config, bool *keep_p)
{
    *keep_p = hint_of(m, config, "num_ctas") <= cluster_limit(m->arch);
    return TSW_OK;
}

static tsw_status_t keep_scale_blocks(maker_t *m, const tsw_config_t *config, bool *keep_p)
{
    for (size_t i = 0; i < m->pack->knob_count; i++)
        *keep_p = *keep_p && tsw_space_fits_scales(m->pack, i, config->values[i]);
    return TSW_OK;
}

static tsw_status_t keep_by_constraint(maker_t *m, const tsw_config_t *config, bool *keep_p)
{
    tsw_status_t status =
        tsw_variant_bind(m->variant, NULL, config, tsw_space_nominal_sms(m->arch), m->eval, m->err);
    if (status == TSW_OK)
        status = tsw_eval_bool(m->eval, &m->constraint->expr, keep_p, m->err);
    if (status != TSW_OK)
        tsw_err_wrap(m->err, "pack %s", m->variant->pack->name);
    return status;
}

typedef struct {
    tsw_key_t key;
    size_t index;
} keyed_t;

static int compare_keyed(const void *a, const void *b)
{
    const keyed_t *x = a;
    const keyed_t *y = b;
    int order = tsw_key_compare(x->key, y->key);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* The first of each kind stays. */
static tsw_status_t remove_duplicates(maker_t *m)
{
    tsw_space_t *space = m->space;
    size_t in = space->count;
    keyed_t *sorted = tsw_calloc(in, sizeof(*sorted));
    bool *twice = tsw_calloc(in, sizeof(*twice));
    tsw_status_t status = sorted != NULL && twice != NULL ? TSW_OK : tsw_err_nomem(m->err);
    if (status != TSW_OK)
        goto out;
    for (size_t i = 0; i < in; i++)
        sorted[i] = (keyed_t){.key = space->configs[i].key, .index = i};
    qsort(sorted, in, sizeof(*sorted), compare_keyed);
    for (size_t i = 1; i < in; i++)
        twice[sorted[i].index] = tsw_key_equal(sorted[i].key, sorted[i - 1].key);
    space->count = 0;
    for (size_t i = 0; i < in; i++) {
        if (!twice[i])
            space->configs[space->count++] = space->configs[i];
    }
    status = tsw_filter_report_add(&space->report, "duplicate", "the same config again", in,
                                   in - space->count, m->err);
out:
    tsw_free(sorted);
    tsw_free(twice);
    return status;
}

static tsw_status_t apply_all(maker_t *m)
{
    char reason[REASON_MAX];
    char arch[16];
    tsw_arch_format(m->arch, arch);
    tsw_status_t status = apply(m, "power_of_two", "a tile is no power of two", keep_powers_of_two);
    if (status == TSW_OK)
        status = apply(m, "hint_range", "occupancy is 1 to 32, num_ctas 1, 2, 4, 8 or 16",
                       keep_hints_in_range);
    int64_t limit = cluster_limit(m->arch);
    if (limit > 1)
        snprintf(reason, sizeof(reason), "%s has clusters of at most %lld", arch, (long long)limit);
    else
        snprintf(reason, sizeof(reason), "%s has no clusters", arch);
    if (status == TSW_OK)
        status = apply(m, "cluster", reason, keep_clusters);
    if (status == TSW_OK && m->pack->template_id == TSW_TEMPLATE_T6_FP8 &&
        tsw_pack_exception(m->pack, "fp8_block", m->arch) == NULL)
        status = apply(m, "fp8_block", "a tile is not the block of the scales: wrong results",
                       keep_scale_blocks);
    for (size_t i = 0; status == TSW_OK && i < m->pack->constraint_count; i++) {
        m->constraint = &m->pack->constraints[i];
        if (!m->constraint->uses_shape)
            status = apply(m, m->constraint->name, m->constraint->reason, keep_by_constraint);
    }
    return status == TSW_OK ? remove_duplicates(m) : status;
}

/* ---- limits ---- */

static tsw_status_t check_limit(const maker_t *m, tsw_purpose_t purpose,
                                const tsw_job_entry_t *entry)
{
    const tsw_space_t *space = m->space;
    size_t limit = purpose == TSW_PURPOSE_RELEASE ? TSW_SPACE_MAX_RELEASE : TSW_SPACE_MAX_PROBE;
    if (purpose == TSW_PURPOSE_RESEARCH || space->count <= limit)
        return TSW_OK;
    tsw_buf_t what = TSW_BUF_INIT;
    char arch[16];
    tsw_buf_printf(&what, "%s ", m->pack->name);
    tsw_variant_format(m->variant, &what);
    tsw_buf_printf(&what,
                   " on %s: %zu configs, baseline in; purpose %s allows %zu (%sresearch allows any "
                   "number; neither makes release tables)\n  %zu listed\n",
                   tsw_arch_format(m->arch, arch), space->count, tsw_purpose_name(purpose), limit,
                   purpose == TSW_PURPOSE_RELEASE ? "probe allows 100, " : "", space->listed);
    tsw_filter_report_print(&space->report, "  ", &what);
    tsw_status_t status =
        tsw_buf_ok(&what)
            ? tsw_place_err(m->err, TSW_ERR_INPUT,
                            entry != NULL ? entry->place : (tsw_place_t){.file = NULL}, "%s",
                            tsw_buf_text(&what))
            : tsw_err_nomem(m->err);
    tsw_buf_fini(&what);
    return status;
}

/* The dtype is not there: nothing of the list stands, not even the baseline. */
static tsw_status_t drop_all(maker_t *m, tsw_dtype_t lacking)
{
    char reason[REASON_MAX];
    char arch[16];
    size_t in = m->space->count;
    snprintf(reason, sizeof(reason), "%s has no %s", tsw_arch_format(m->arch, arch),
             tsw_dtype_name(lacking));
    m->space->count = 0;
    return tsw_filter_report_add(&m->space->report, "dtype", reason, in, in, m->err);
}

tsw_status_t tsw_space_make(const tsw_variant_t *variant, tsw_arch_t arch, tsw_purpose_t purpose,
                            const tsw_job_entry_t *entry, tsw_eval_t *eval, tsw_space_t *space_p,
                            tsw_err_t *err)
{
    tsw_space_t space = {0};
    maker_t m = {.variant = variant,
                 .pack = variant->pack,
                 .arch = arch,
                 .eval = eval,
                 .space = &space,
                 .err = err};
    tsw_status_t status = list_configs(&m, purpose, entry);
    const tsw_dtype_t lacking = tsw_pack_lacking(variant->pack, variant->dtype, arch);
    if (status == TSW_OK && lacking != TSW_DTYPE_OF_CELL) {
        status = drop_all(&m, lacking);
    } else if (status == TSW_OK) {
        status = apply_all(&m);
        if (status == TSW_OK && purpose == TSW_PURPOSE_RELEASE)
            status = tsw_space_forbid_check(&space, variant->pack, arch, entry, err);
        if (status == TSW_OK)
            status = check_limit(&m, purpose, entry);
        if (status == TSW_OK && purpose == TSW_PURPOSE_PROBE)
            status = entry != NULL ? tsw_space_probe_check(&space, variant, arch, entry, eval, err)
                                   : TSW_OK;
    }
    if (status == TSW_OK)
        *space_p = space;
    else
        tsw_space_fini(&space);
    return status;
}
