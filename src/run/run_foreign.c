/* A file of another tuner in place of a recorded sweep: what it holds becomes the one cell of the
 * job. Rank 0 reads it; the others get the result as they get a sweep. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"
#include "table/table_match.h"

#include <stdio.h>
#include <string.h>

bool tsw_run_is_foreign(const char *file)
{
    size_t length = strlen(file);
    return length > 5 && strcmp(file + length - 5, ".json") == 0;
}

/* The cell that the file stands for: a file holds one problem on one device. */
static tsw_status_t find_cell(const tsw_run_t *run, const char *file, const tsw_cell_t **cell_p,
                              tsw_err_t *err)
{
    size_t count = 0;
    for (size_t i = 0; i < run->whole->cell_count; i++) {
        const tsw_cell_t *cell = &run->whole->cells[i];
        if (cell->skip_reason != NULL || cell->compile_only)
            continue;
        *cell_p = cell;
        count++;
    }
    if (count == 1)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_INPUT,
                       "%s holds one problem on one device, the job has %zu cells to measure: name "
                       "one pack, dtype, set of flags, shape and arch",
                       file, count);
}

static tsw_status_t add_times(const tsw_import_config_t *from, tsw_record_t *record, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < from->count; i++) {
        tsw_sample_t sample = {.interval_ns = (uint64_t)(from->times_ns[i] + 0.5),
                               .round = (uint32_t)i,
                               .launches = 1,
                               .stage = TSW_STAGE_ROUND};
        status = tsw_record_add_sample(record, &sample, err);
    }
    return status;
}

/* Each config is itself: what its code was is not known. */
static tsw_status_t fill_record(const tsw_import_t *import, const tsw_config_t *config,
                                uint32_t index, tsw_record_t *record, tsw_err_t *err)
{
    record->config_key = config->key;
    record->build.cubin_key = config->key;
    record->build.cluster = 1;
    if (index == UINT32_MAX) {
        record->outcome = TSW_OUTCOME_SKIPPED;
        snprintf(record->detail, sizeof(record->detail), "not in the file that is replayed");
        return TSW_OK;
    }
    const tsw_import_config_t *from = &import->configs[index];
    record->outcome = from->outcome;
    if (from->outcome != TSW_OUTCOME_OK)
        snprintf(record->detail, sizeof(record->detail), "as the replayed file says");
    return add_times(from, record, err);
}

static tsw_status_t fill_result(const tsw_run_t *run, const tsw_cell_t *cell,
                                const tsw_import_t *import, const tsw_config_t *configs,
                                const uint32_t *index_of, tsw_cell_result_t *result, tsw_err_t *err)
{
    *result = (tsw_cell_result_t){
        .key = cell->whole_key, .arch = run->job->archs[cell->arch_index], .complete = 1};
    result->gpu.arch = result->arch;
    snprintf(result->gpu.name, sizeof(result->gpu.name), "%.60s",
             import->device[0] != '\0' ? import->device : "unknown");
    result->records = tsw_calloc(cell->config_count, sizeof(*result->records));
    result->config_texts = tsw_calloc(cell->config_count, sizeof(*result->config_texts));
    if (result->records == NULL || result->config_texts == NULL)
        return tsw_err_nomem(err);
    result->record_count = cell->config_count;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < cell->config_count; i++) {
        result->records[i].config_index = (uint32_t)i;
        result->config_texts[i] = tsw_strdup("");
        status = result->config_texts[i] != NULL
                     ? fill_record(import, &configs[i], index_of[i], &result->records[i], err)
                     : tsw_err_nomem(err);
    }
    return status;
}

static tsw_status_t match(tsw_run_t *run, const char *file, const tsw_import_t *import,
                          tsw_err_t *err)
{
    const tsw_cell_t *cell = NULL;
    tsw_status_t status = find_cell(run, file, &cell, err);
    if (status != TSW_OK)
        return status;
    const tsw_plan_variant_t *variant = &run->whole->variants[cell->variant];
    tsw_config_t *configs = tsw_calloc(cell->config_count, sizeof(*configs));
    uint32_t *index_of = tsw_calloc(cell->config_count, sizeof(*index_of));
    tsw_cell_result_t result = {.record_count = 0};
    size_t found = 0;
    if (configs == NULL || index_of == NULL)
        status = tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < cell->config_count; i++)
        configs[i] = variant->configs[cell->configs[i]];
    const tsw_match_t wanted = {.label = file,
                                .import = import,
                                .names = run->options->replay_names,
                                .pack = variant->id.pack,
                                .configs = configs,
                                .config_count = cell->config_count};
    if (status == TSW_OK)
        status = tsw_match_configs(&wanted, index_of, &found, err);
    if (status == TSW_OK)
        status = fill_result(run, cell, import, configs, index_of, &result, err);
    if (status == TSW_OK && (found < cell->config_count || found < import->count))
        tsw_log_root(TSW_LOG_WARN,
                     "%s: %zu of the job's %zu configs are not in it (skipped), %zu of its %zu not "
                     "in the job",
                     file, cell->config_count - found, cell->config_count, import->count - found,
                     import->count);
    if (status == TSW_OK)
        status = tsw_dataset_add(&run->recorded, &result, err);
    tsw_cell_result_fini(&result);
    tsw_free(configs);
    tsw_free(index_of);
    return status;
}

tsw_status_t tsw_run_read_foreign(tsw_run_t *run, const char *file, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_import_t import = {.count = 0};
    tsw_status_t status = tsw_file_read(file, &text, err);
    if (status == TSW_OK)
        status = tsw_import_read(file, tsw_buf_text(&text), text.size, &import, err);
    if (status == TSW_OK)
        status = match(run, file, &import, err);
    if (status == TSW_OK) {
        run->recorded.meta.toolchain = tsw_strdup("another tuner's, not known");
        if (run->recorded.meta.toolchain == NULL)
            status = tsw_err_nomem(err);
    }
    tsw_import_fini(&import);
    tsw_buf_fini(&text);
    return status;
}
