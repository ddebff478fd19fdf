#include "pack/pack.h"

#include "base/mem.h"
#include "pack/pack_check.h"
#include "pack/rows.h"

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tsw_free(names[i]);
}

static void free_spec(tsw_launch_spec_t *spec)
{
    tsw_free(spec->source);
    tsw_free(spec->entry);
    for (int i = 0; i < 3; i++) {
        tsw_free(spec->grid[i].text);
        tsw_free(spec->block[i].text);
    }
    tsw_free(spec->shared_bytes.text);
}

static void free_arg(tsw_arg_t *arg)
{
    tsw_free(arg->name);
    tsw_free(arg->size.text);
    tsw_free(arg->row.text);
    tsw_free(arg->value.text);
    tsw_free(arg->fill.lo.text);
    tsw_free(arg->fill.hi.text);
    tsw_free(arg->fill.file);
    tsw_free(arg->fill.dataset);
}

static void free_space(tsw_pack_t *pack)
{
    for (size_t i = 0; i < pack->knob_count; i++) {
        tsw_free(pack->knobs[i].name);
        tsw_free(pack->knobs[i].macro);
    }
    for (size_t i = 0; i < pack->list_count; i++) {
        tsw_free(pack->lists[i].source);
        tsw_rows_free(pack->lists[i].rows, pack->lists[i].row_count);
    }
    for (size_t i = 0; i < pack->constraint_count; i++) {
        tsw_free(pack->constraints[i].name);
        tsw_free(pack->constraints[i].expr.text);
        tsw_free(pack->constraints[i].reason);
    }
    for (size_t i = 0; i < pack->exception_count; i++) {
        tsw_free(pack->exceptions[i].rule);
        tsw_free(pack->exceptions[i].reason);
    }
    tsw_free(pack->lists);
    tsw_free(pack->constraints);
    tsw_free(pack->exceptions);
}

void tsw_pack_free(tsw_pack_t *pack)
{
    if (pack == NULL)
        return;
    tsw_free(pack->name);
    free_names(pack->dims, pack->dim_count);
    for (size_t i = 0; i < pack->flag_count; i++) {
        tsw_free(pack->flags[i].name);
        free_names(pack->flags[i].values, pack->flags[i].value_count);
        tsw_free(pack->flags[i].values);
    }
    for (size_t i = 0; i < pack->arg_count; i++)
        free_arg(&pack->args[i]);
    tsw_free(pack->args);
    free_spec(&pack->kernel);
    free_spec(&pack->reference);
    tsw_free(pack->flops.text);
    tsw_free(pack->bytes.text);
    free_space(pack);
    free_names(pack->options, pack->option_count);
    tsw_free(pack->options);
    tsw_free(pack->tolerances);
    tsw_fileset_fini(&pack->files);
    tsw_free(pack);
}

tsw_status_t tsw_pack_read(const tsw_fileset_t *files, tsw_pack_t **pack_p, tsw_err_t *err)
{
    const tsw_fileset_item_t *file = tsw_fileset_find(files, TSW_PACK_FILE);
    if (file == NULL)
        return tsw_err_set(err, TSW_ERR_INPUT, "the folder has no %s", TSW_PACK_FILE);
    tsw_node_t *document = NULL;
    tsw_pack_t *pack = tsw_calloc(1, sizeof(*pack));
    tsw_view_t view = {NULL, NULL};
    tsw_status_t status = pack != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_fileset_subset(files, "", &pack->files, err);
    if (status == TSW_OK)
        status = tsw_fileset_key(&pack->files, &pack->key, err);
    if (status == TSW_OK)
        status = tsw_node_read(TSW_PACK_FILE, file->bytes, file->size, &document, err);
    if (status == TSW_OK)
        status = tsw_view_open(TSW_SCHEMA_PACK, document, &view, err);
    if (status == TSW_OK)
        status = tsw_pack_fill(pack, view, err);
    if (status == TSW_OK)
        status = tsw_pack_check(pack, err);
    tsw_node_free(document);
    if (status == TSW_OK)
        *pack_p = pack;
    else
        tsw_pack_free(pack);
    return status;
}
