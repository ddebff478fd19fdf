/* A probe needs the verdict of a normal run: the table that the run wrote, as a part of the
 * snapshot. JSON is YAML, so what reads jobs reads it too. */
#include "pack/job_read.h"

#include "base/mem.h"

#include <string.h>

#define PREFIX "verdicts/"

static const char wanted_verdict[] = "probe-needed";

char *tsw_job_verdict_name(const char *path)
{
    tsw_buf_t name = TSW_BUF_INIT;
    tsw_buf_printf(&name, PREFIX "%s", path);
    return tsw_buf_take_text(&name);
}

const tsw_node_t *tsw_job_verdict_ref(tsw_view_t probe, size_t index)
{
    const tsw_node_t *node = probe.node != NULL ? tsw_view_node(probe, "verdict") : NULL;
    if (node == NULL)
        return NULL;
    if (node->kind == TSW_NODE_LIST)
        return index < node->count ? node->items[index] : NULL;
    return index == 0 ? node : NULL;
}

static const char *text_of(const tsw_node_t *map, const char *key)
{
    const tsw_node_t *node =
        map != NULL && map->kind == TSW_NODE_MAP ? tsw_node_find(map, key) : NULL;
    return node != NULL && node->kind == TSW_NODE_SCALAR ? node->text : "";
}

/* What the tables say of one pack on one arch. */
typedef struct {
    const tsw_pack_t *pack;
    char arch[16];
    char verdict[32]; /* "": none has the pack and the arch */
    bool is_needed;
    bool is_measured; /* by a table from GPUs */
    bool is_other;    /* the files of the pack were others */
} search_t;

static void search_packs(search_t *s, const tsw_node_t *document)
{
    const tsw_node_t *packs = tsw_node_find(document, "packs");
    const bool is_measured = strcmp(text_of(document, "mode"), "cuda") == 0;
    char key[TSW_KEY_TEXT_SIZE];
    tsw_key_format(s->pack->key, key);
    for (size_t i = 0; packs != NULL && packs->kind == TSW_NODE_LIST && i < packs->count; i++) {
        const tsw_node_t *item = packs->items[i];
        const char *verdict = text_of(item, "verdict");
        if (strcmp(text_of(item, "name"), s->pack->name) != 0)
            continue;
        bool same = strcmp(text_of(item, "pack_key"), key) == 0;
        if (same && strcmp(verdict, wanted_verdict) == 0) {
            s->is_needed = true;
            s->is_measured = s->is_measured || is_measured;
        }
        s->is_other = s->is_other || !same;
        size_t length = strlen(verdict);
        if (length < sizeof(s->verdict))
            memcpy(s->verdict, verdict, length + 1);
    }
}

static tsw_status_t search_file(search_t *s, const tsw_node_t *ref, const tsw_fileset_t *snapshot,
                                tsw_err_t *err)
{
    char *name = tsw_job_verdict_name(ref->text);
    tsw_node_t *document = NULL;
    if (name == NULL)
        return tsw_err_nomem(err);
    const tsw_fileset_item_t *file = tsw_fileset_find(snapshot, name);
    tsw_status_t status =
        file == NULL
            ? tsw_place_err(err, TSW_ERR_NOT_FOUND, ref->place, "no file '%.200s'", ref->text)
            : tsw_node_read(name + strlen(PREFIX), file->bytes, file->size, &document, err);
    if (status == TSW_OK && strcmp(text_of(document, "format"), "tilesweep-table") != 0)
        status = tsw_place_err(err, TSW_ERR_INPUT, ref->place,
                               "'%.200s' is no table, wanted RUN/tables/%s.json of a run",
                               ref->text, s->arch);
    if (status == TSW_OK && strcmp(text_of(document, "arch"), s->arch) == 0)
        search_packs(s, document);
    tsw_node_free(document);
    tsw_free(name);
    return status;
}

static tsw_status_t check_arch(tsw_arch_t arch, tsw_view_t probe, const tsw_fileset_t *snapshot,
                               tsw_job_entry_t *entry, tsw_err_t *err)
{
    const tsw_pack_t *pack = entry->pack;
    search_t s = {.pack = pack};
    tsw_status_t status = TSW_OK;
    const tsw_node_t *ref = NULL;
    tsw_place_t place = tsw_view_place(probe, "verdict");
    tsw_arch_format(arch, s.arch);
    for (size_t i = 0; status == TSW_OK && (ref = tsw_job_verdict_ref(probe, i)) != NULL; i++)
        status = search_file(&s, ref, snapshot, err);
    entry->verdict_is_measured = entry->verdict_is_measured && s.is_measured;
    if (status != TSW_OK || s.is_needed)
        return status;
    if (s.verdict[0] == '\0')
        return tsw_place_err(err, TSW_ERR_INPUT, place,
                             "no verdict of pack %s on %s: run its lists first", pack->name,
                             s.arch);
    if (s.is_other && strcmp(s.verdict, wanted_verdict) == 0)
        return tsw_place_err(err, TSW_ERR_INPUT, place,
                             "the verdict of pack %s on %s is of other files than it has now: run "
                             "its lists first",
                             pack->name, s.arch);
    return tsw_place_err(err, TSW_ERR_INPUT, place,
                         "the verdict of pack %s on %s is '%s'; a probe is for '%s' alone",
                         pack->name, s.arch, s.verdict, wanted_verdict);
}

tsw_status_t tsw_job_verdict_check(const tsw_job_t *job, tsw_view_t probe,
                                   const tsw_fileset_t *snapshot, tsw_job_entry_t *entry,
                                   tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    entry->verdict_is_measured = true;
    for (size_t i = 0; status == TSW_OK && i < job->arch_count; i++) {
        if (!job->compile_only[i])
            status = check_arch(job->archs[i], probe, snapshot, entry, err);
    }
    return status;
}
