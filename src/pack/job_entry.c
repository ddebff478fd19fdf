/* One entry of a job's `packs`. */
#include "pack/job_read.h"

#include "base/mem.h"
#include "pack/job_shapes.h"
#include "pack/rows.h"

#include <string.h>

enum { FLAG_SETS_MAX = 4096 };

void tsw_job_entry_fini(tsw_job_entry_t *entry)
{
    tsw_free(entry->pack_ref);
    tsw_free(entry->pack_name);
    tsw_free(entry->flag_sets);
    tsw_free(entry->shapes);
    tsw_rows_free(entry->rows, entry->row_count);
    for (size_t i = 0; i < entry->fixed_count; i++)
        tsw_free(entry->fixed[i]);
    for (size_t i = 0; i < entry->varied_count; i++)
        tsw_free(entry->varied[i]);
}

static tsw_status_t fill_dtypes(tsw_view_t view, tsw_job_entry_t *entry, tsw_err_t *err)
{
    const tsw_node_t *dtypes = tsw_view_node(view, "dtypes");
    if (dtypes == NULL) {
        memcpy(entry->dtypes, entry->pack->dtypes, sizeof(entry->dtypes));
        return TSW_OK;
    }
    for (size_t i = 0; i < dtypes->count; i++) {
        tsw_dtype_t dtype = TSW_DTYPE_COUNT;
        bool known = tsw_dtype_parse(dtypes->items[i]->text, &dtype);
        TSW_ASSERT(known);
        if (!entry->pack->dtypes[dtype])
            return tsw_place_err(err, TSW_ERR_INPUT, dtypes->items[i]->place,
                                 "pack %s cannot run with %s", entry->pack->name,
                                 dtypes->items[i]->text);
        entry->dtypes[dtype] = true;
    }
    return TSW_OK;
}

/* Which values of a flag the job wants. */
typedef struct {
    uint32_t *indices;
    size_t count;
} wanted_t;

static tsw_status_t flag_value(const tsw_flag_t *flag, const tsw_node_t *node, uint32_t *index_p,
                               tsw_err_t *err)
{
    for (size_t i = 0; i < flag->value_count; i++) {
        if (strcmp(flag->values[i], node->text) == 0) {
            *index_p = (uint32_t)i;
            return TSW_OK;
        }
    }
    tsw_buf_t known = TSW_BUF_INIT;
    for (size_t i = 0; i < flag->value_count; i++)
        tsw_buf_printf(&known, "%s%s", i > 0 ? ", " : "", flag->values[i]);
    tsw_status_t status =
        tsw_place_err(err, TSW_ERR_INPUT, node->place, "flag %s has no value '%.60s', it has %s",
                      flag->name, node->text, tsw_buf_text(&known));
    tsw_buf_fini(&known);
    return status;
}

static tsw_status_t wanted_values(const tsw_flag_t *flag, const tsw_node_t *node, wanted_t *wanted,
                                  tsw_err_t *err)
{
    size_t count = node == NULL ? flag->value_count : node->kind == TSW_NODE_LIST ? node->count : 1;
    wanted->indices = tsw_calloc(count, sizeof(*wanted->indices));
    if (wanted->indices == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const tsw_node_t *item =
            node != NULL && node->kind == TSW_NODE_LIST ? node->items[i] : node;
        uint32_t index = (uint32_t)i;
        tsw_status_t status = item != NULL ? flag_value(flag, item, &index, err) : TSW_OK;
        if (status != TSW_OK)
            return status;
        for (size_t j = 0; j < wanted->count; j++) {
            if (wanted->indices[j] == index)
                return tsw_place_err(err, TSW_ERR_INPUT, item->place, "'%.60s' is there twice",
                                     item->text);
        }
        wanted->indices[wanted->count++] = index;
    }
    return TSW_OK;
}

static tsw_status_t check_flag_names(tsw_view_t flags, const tsw_pack_t *pack, tsw_err_t *err)
{
    const tsw_node_t *key = NULL;
    const tsw_node_t *value = NULL;
    for (size_t cursor = 0; tsw_view_next(flags, &cursor, &key, &value);) {
        const char *names[TSW_FLAG_MAX] = {NULL};
        bool known = false;
        char hint[96];
        for (size_t i = 0; i < pack->flag_count; i++) {
            names[i] = pack->flags[i].name;
            known = known || strcmp(names[i], key->text) == 0;
        }
        if (!known)
            return tsw_place_err(err, TSW_ERR_INPUT, key->place, "pack %s has no flag '%s'%s",
                                 pack->name, key->text,
                                 tsw_name_hint(key->text, names, pack->flag_count, hint));
    }
    return TSW_OK;
}

/* All combinations; the last flag runs fastest. A pack without flags has one empty set. */
static tsw_status_t multiply(const tsw_pack_t *pack, const wanted_t wanted[TSW_FLAG_MAX],
                             tsw_job_entry_t *entry, tsw_err_t *err)
{
    size_t total = 1;
    for (size_t f = 0; f < pack->flag_count; f++) {
        total *= wanted[f].count;
        if (total > FLAG_SETS_MAX)
            return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                                 "more than %d combinations of flags", FLAG_SETS_MAX);
    }
    entry->flag_sets = tsw_calloc(total, sizeof(*entry->flag_sets));
    if (entry->flag_sets == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < total; i++) {
        size_t rest = i;
        for (size_t f = pack->flag_count; f-- > 0;) {
            entry->flag_sets[i][f] = wanted[f].indices[rest % wanted[f].count];
            rest /= wanted[f].count;
        }
    }
    entry->flag_set_count = total;
    return TSW_OK;
}

static tsw_status_t fill_flags(tsw_view_t view, tsw_job_entry_t *entry, tsw_err_t *err)
{
    const tsw_pack_t *pack = entry->pack;
    tsw_view_t flags = tsw_view_map(view, "flags");
    wanted_t wanted[TSW_FLAG_MAX] = {{NULL, 0}};
    tsw_status_t status = check_flag_names(flags, pack, err);
    for (size_t f = 0; status == TSW_OK && f < pack->flag_count; f++) {
        const tsw_node_t *node =
            flags.node != NULL ? tsw_node_find(flags.node, pack->flags[f].name) : NULL;
        status = wanted_values(&pack->flags[f], node, &wanted[f], err);
    }
    if (status == TSW_OK)
        status = multiply(pack, wanted, entry, err);
    for (size_t f = 0; f < TSW_FLAG_MAX; f++)
        tsw_free(wanted[f].indices);
    return status;
}

/* ---- space and probe ---- */

static tsw_status_t check_purpose(tsw_purpose_t purpose, tsw_view_t view, tsw_err_t *err)
{
    bool has_space = tsw_view_has(view, "space");
    bool has_probe = tsw_view_has(view, "probe");
    if (purpose == TSW_PURPOSE_RELEASE && has_space)
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "space"),
                             "a release uses the lists of the pack: 'space' is for purpose probe "
                             "or research");
    if (purpose != TSW_PURPOSE_PROBE && has_probe)
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "probe"),
                             "'probe' is for purpose probe, this is %s", tsw_purpose_name(purpose));
    if (purpose == TSW_PURPOSE_PROBE && (!has_space || !has_probe))
        return tsw_place_err(err, TSW_ERR_INPUT, view.node->place,
                             "purpose probe needs '%s': a probe is directed",
                             has_space ? "probe" : "space");
    return TSW_OK;
}

static tsw_status_t fill_knob_names(const tsw_pack_t *pack, const tsw_node_t *list,
                                    bool used[TSW_KNOB_MAX], char *names[TSW_KNOB_MAX],
                                    size_t *count, tsw_err_t *err)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t k = 0;
        tsw_status_t status = tsw_knob_find(pack, list->items[i], &k, err);
        if (status != TSW_OK)
            return status;
        if (used[k])
            return tsw_place_err(err, TSW_ERR_INPUT, list->items[i]->place,
                                 "'%s' is named twice in the probe", list->items[i]->text);
        used[k] = true;
        names[*count] = tsw_strdup(list->items[i]->text);
        if (names[*count] == NULL)
            return tsw_err_nomem(err);
        (*count)++;
    }
    return TSW_OK;
}

static tsw_status_t fill_probe(const tsw_job_t *job, tsw_view_t view, const tsw_fileset_t *snapshot,
                               tsw_job_entry_t *entry, tsw_err_t *err)
{
    tsw_view_t probe = tsw_view_map(view, "probe");
    if (probe.node == NULL)
        return TSW_OK;
    bool used[TSW_KNOB_MAX] = {false};
    tsw_status_t status = fill_knob_names(entry->pack, tsw_view_node(probe, "fixed"), used,
                                          entry->fixed, &entry->fixed_count, err);
    if (status == TSW_OK)
        status = fill_knob_names(entry->pack, tsw_view_node(probe, "varied"), used, entry->varied,
                                 &entry->varied_count, err);
    for (size_t k = 0; status == TSW_OK && k < entry->pack->knob_count; k++) {
        if (!used[k])
            status = tsw_place_err(err, TSW_ERR_INPUT, probe.node->place,
                                   "the probe names '%s' neither fixed nor varied",
                                   entry->pack->knobs[k].name);
    }
    return status == TSW_OK ? tsw_job_verdict_check(job, probe, snapshot, entry, err) : status;
}

tsw_status_t tsw_job_entry_fill(const tsw_job_t *job, tsw_view_t view,
                                const tsw_fileset_t *snapshot, tsw_job_entry_t *entry,
                                tsw_err_t *err)
{
    tsw_status_t status = check_purpose(job->purpose, view, err);
    if (status == TSW_OK)
        status = fill_dtypes(view, entry, err);
    if (status == TSW_OK)
        status = fill_flags(view, entry, err);
    if (status == TSW_OK && tsw_view_has(view, "space"))
        status = tsw_rows_read(entry->pack, tsw_view_node(view, "space"), &entry->rows,
                               &entry->row_count, err);
    if (status == TSW_OK)
        status = fill_probe(job, view, snapshot, entry, err);
    if (status == TSW_OK)
        status =
            tsw_shapes_read(entry->pack, view, snapshot, &entry->shapes, &entry->shape_count, err);
    return status;
}
