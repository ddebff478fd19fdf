/* What older sweeps suggest to a search: read once by rank 0, into the snapshot and the run folder,
 * so that a resume needs no old file. */
#include "base/file.h"
#include "base/mem.h"
#include "reduce/reduce.h"
#include "run/run_state.h"

#include <string.h>

enum { PER_CELL = 8 };

static const char file_name[] = "seeds.txt";

/* Usable ones that are no alias, the fastest first. */
static size_t list_best(const tsw_cell_summary_t *cell, const tsw_config_result_t *best[PER_CELL])
{
    size_t count = 0;
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_config_result_t *config = &cell->configs[i];
        if (!config->usable || config->is_alias)
            continue;
        size_t at = count;
        while (at > 0 && best[at - 1]->time_ns.median > config->time_ns.median)
            at--;
        if (at == PER_CELL)
            continue;
        count += count < PER_CELL;
        memmove(best + at + 1, best + at, (count - 1 - at) * sizeof(*best));
        best[at] = config;
    }
    return count;
}

static tsw_status_t append_sweep(const char *path, tsw_buf_t *out, tsw_err_t *err)
{
    const tsw_reduce_options_t options = tsw_reduce_options(1);
    tsw_dataset_t dataset = {0};
    tsw_reduction_t *reduction = NULL;
    char *skipped = NULL;
    tsw_status_t status = tsw_store_read(path, &dataset, &skipped, err);
    if (status == TSW_OK)
        status = tsw_reduce(&dataset, &options, &reduction, err);
    for (size_t i = 0; status == TSW_OK && i < reduction->cell_count; i++) {
        const tsw_cell_result_t *cell = reduction->cells[i].cell;
        const tsw_config_result_t *best[PER_CELL];
        size_t count = list_best(&reduction->cells[i], best);
        for (size_t k = 0; k < count; k++)
            tsw_buf_printf(out, "%s\t%s\tsm_%u\t%s\t%s\n", cell->pack, cell->variant, cell->arch,
                           cell->shape, best[k]->config);
    }
    tsw_reduction_free(reduction);
    tsw_dataset_fini(&dataset);
    tsw_free(skipped);
    return status;
}

/* A path of the job file is relative to it. */
static char *resolve(const tsw_run_t *run, const char *path)
{
    const char *job = run->options->job_path != NULL ? run->options->job_path : "";
    const char *slash = strrchr(job, '/');
    tsw_buf_t text = TSW_BUF_INIT;
    if (path[0] != '/' && slash != NULL)
        tsw_buf_append(&text, job, (size_t)(slash - job) + 1);
    tsw_buf_append_text(&text, path);
    return tsw_buf_take_text(&text);
}

static tsw_status_t read_sweeps(const tsw_run_t *run, const tsw_search_t *search, tsw_buf_t *out,
                                tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < search->seed_count; i++) {
        char *path = resolve(run, search->seed_from[i]);
        status = path != NULL ? append_sweep(path, out, err) : tsw_err_nomem(err);
        if (status != TSW_OK && status != TSW_ERR_NOMEM) {
            tsw_err_t was = *err;
            status = tsw_err_set(
                err, TSW_ERR_INPUT, "seed_from '%.200s': %.1000s", search->seed_from[i],
                status == TSW_ERR_NOT_FOUND ? "there is no such run or sweep" : was.text);
        }
        tsw_free(path);
    }
    if (status == TSW_OK && !tsw_buf_ok(out))
        status = tsw_err_nomem(err);
    return status;
}

/* As the first attempt has written them, else from the sweeps. */
tsw_status_t tsw_run_read_seeds(const tsw_run_t *run, const tsw_search_t *search,
                                tsw_fileset_t *snapshot, tsw_err_t *err)
{
    if (search->seed_count == 0)
        return TSW_OK;
    tsw_buf_t text = TSW_BUF_INIT;
    char *path = tsw_path_join(run->options->run_dir, file_name);
    tsw_status_t status = TSW_OK;
    if (path == NULL)
        status = tsw_err_nomem(err);
    else if (run->options->resume && tsw_path_exists(path))
        status = tsw_file_read(path, &text, err);
    else
        status = read_sweeps(run, search, &text, err);
    if (status == TSW_OK)
        status = tsw_fileset_add(snapshot, TSW_JOB_SEEDS, text.data, text.size, err);
    tsw_free(path);
    tsw_buf_fini(&text);
    return status;
}
