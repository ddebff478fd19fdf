/* A folder that holds results of earlier attempts: what of them still holds, and what has changed
 * since. Results are kept as long as all that made them is the same. When a difference is accepted,
 * the folder gets a new edition: what still holds is sealed once more under the new inputs, what
 * does not stays in the older segments, which no reader mixes in. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "record/inputs.h"
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

/* ---- drivers: each result has its own ---- */

static const char *format_driver(const tsw_gpu_t *gpu, char out[96])
{
    snprintf(out, 96, "%s, CUDA %u.%u", gpu->driver_text, gpu->driver_version / 1000,
             gpu->driver_version % 1000 / 10);
    return out;
}

static bool same_driver(const tsw_gpu_t *a, const tsw_gpu_t *b)
{
    return a->driver_version == b->driver_version && strcmp(a->driver_text, b->driver_text) == 0;
}

static bool is_measured(const tsw_cell_result_t *cell)
{
    return cell->gpu.uuid[0] != '\0';
}

/* A result of that arch by that driver; else any of that arch, or NULL. */
static const tsw_gpu_t *find_driver(const tsw_dataset_t *before, const tsw_gpu_t *gpu)
{
    const tsw_gpu_t *found = NULL;
    for (size_t i = 0; i < before->cell_count; i++) {
        const tsw_gpu_t *other = &before->cells[i].gpu;
        if (!is_measured(&before->cells[i]) || other->arch != gpu->arch)
            continue;
        if (same_driver(other, gpu))
            return other;
        found = found != NULL ? found : other;
    }
    return found;
}

/* What a rank's driver was before: one of its arch, when it made none of the earlier results of
 * that arch; else NULL. Fewer drivers than before, in a run over nodes that differ, are no change.
 */
static const tsw_gpu_t *old_driver(const tsw_run_t *run, int rank, const tsw_dataset_t *before)
{
    const tsw_msg_hello_t *hello = &run->hellos[rank];
    if (tsw_run_arch_index(run, hello) < 0)
        return NULL;
    const tsw_gpu_t *old = find_driver(before, &hello->gpu);
    return old != NULL && !same_driver(old, &hello->gpu) ? old : NULL;
}

static bool told_before(const tsw_run_t *run, int rank)
{
    const tsw_gpu_t *gpu = &run->hellos[rank].gpu;
    for (int i = 0; i < rank; i++) {
        const tsw_msg_hello_t *other = &run->hellos[i];
        if (other->has_gpu && other->gpu.arch == gpu->arch && same_driver(&other->gpu, gpu))
            return true;
    }
    return false;
}

static size_t compare_drivers(const tsw_run_t *run, const tsw_dataset_t *before, tsw_buf_t *out)
{
    size_t count = 0;
    for (int i = 0; i < run->size; i++) {
        const tsw_gpu_t *gpu = &run->hellos[i].gpu;
        char name[32], was[96], is[96];
        const tsw_gpu_t *old = told_before(run, i) ? NULL : old_driver(run, i, before);
        if (old == NULL)
            continue;
        snprintf(name, sizeof(name), "driver on sm_%u", gpu->arch);
        count +=
            tsw_inputs_compare_value(name, format_driver(old, was), format_driver(gpu, is), out);
    }
    return count;
}

/* Results whose arch has a new driver, and no rank has the one that made them. */
static bool is_by_old_driver(const tsw_run_t *run, const bool *is_new,
                             const tsw_cell_result_t *cell)
{
    bool changed = false, present = false;
    for (int i = 0; i < run->size && is_measured(cell); i++) {
        const tsw_gpu_t *gpu = &run->hellos[i].gpu;
        if (!run->hellos[i].has_gpu || gpu->arch != cell->gpu.arch)
            continue;
        changed = changed || is_new[i];
        present = present || same_driver(gpu, &cell->gpu);
    }
    return changed && !present;
}

/* ---- all differences ---- */

/* Appends a line per difference between what made those results and what would make the next. */
static size_t compare(const tsw_run_t *run, const tsw_dataset_t *before, tsw_buf_t *out)
{
    size_t count = tsw_run_meta_compare(&before->meta, &run->meta, out);
    count += tsw_inputs_compare_value("part", before->meta.parts, run->meta.parts, out);
    if (strcmp(before->meta.mode, run->meta.mode) == 0)
        count += compare_drivers(run, before, out);
    return count;
}

/* What every result depends on. Cells have the rest in their keys: a file of their pack, dtype,
 * arch, shape and configs. */
static bool concerns_all(const tsw_run_meta_t *before, const tsw_run_meta_t *now)
{
    return strcmp(before->mode, now->mode) != 0 || strcmp(before->toolchain, now->toolchain) != 0 ||
           strcmp(before->clocks, now->clocks) != 0 ||
           (!tsw_key_equal(before->plan_key, now->plan_key) &&
            (before->inputs[0] == '\0' ||
             !tsw_inputs_same(before->inputs, now->inputs, "measure.") ||
             !tsw_inputs_same(before->inputs, now->inputs, "limits.")));
}

/* ---- what still holds ---- */

/* Cells that the plan skips and an earlier attempt has written down are not written again. */
static void mark_skipped(const tsw_plan_t *plan, const tsw_dataset_t *before, bool *done)
{
    for (size_t i = 0; i < plan->cell_count; i++) {
        if (plan->cells[i].skip_reason != NULL)
            done[i] = tsw_dataset_find(before, plan->cells[i].key) != NULL;
    }
}

void tsw_run_mark_done(tsw_run_t *run, const tsw_dataset_t *before)
{
    tsw_plan_resume(run->plan, before, run->done);
    mark_skipped(run->plan, before, run->done);
}

/* The key of a cell does not tell whether it is compiled only. */
static bool is_of_kind(const tsw_cell_t *cell, const tsw_cell_result_t *result)
{
    return cell->skip_reason != NULL || cell->compile_only != is_measured(result);
}

static tsw_cell_result_t *find_result(tsw_dataset_t *before, tsw_key_t key)
{
    const tsw_cell_result_t *found = tsw_dataset_find(before, key);
    return found != NULL ? &before->cells[found - before->cells] : NULL;
}

/* Of what is marked as done, leaves what still holds; held[i]: the result of cell i, or NULL. */
static void sift(tsw_run_t *run, tsw_dataset_t *before, const bool *is_new,
                 tsw_cell_result_t **held)
{
    bool none = concerns_all(&before->meta, &run->meta);
    for (size_t i = 0; i < run->plan->cell_count; i++) {
        const tsw_cell_t *cell = &run->plan->cells[i];
        tsw_cell_result_t *result = run->done[i] ? find_result(before, cell->key) : NULL;
        bool holds = result != NULL && !none && is_of_kind(cell, result) &&
                     !is_by_old_driver(run, is_new, result);
        held[i] = holds ? result : NULL;
        run->done[i] = holds;
    }
}

/* Moves the results that still hold into run->kept, weighted as the plan has it now. */
static tsw_status_t keep(tsw_run_t *run, tsw_dataset_t *before, tsw_err_t *err)
{
    bool *is_new = tsw_calloc((size_t)run->size, sizeof(*is_new));
    tsw_cell_result_t **held = tsw_calloc(run->plan->cell_count, sizeof(*held));
    tsw_status_t status = is_new != NULL && held != NULL
                              ? tsw_run_meta_copy(&run->meta, &run->kept.meta, err)
                              : tsw_err_nomem(err);
    if (status == TSW_OK) {
        for (int i = 0; i < run->size; i++)
            is_new[i] = old_driver(run, i, before) != NULL;
        sift(run, before, is_new, held);
    }
    for (size_t i = 0; status == TSW_OK && i < run->plan->cell_count; i++) {
        if (held[i] == NULL)
            continue;
        held[i]->weight = run->plan->cells[i].weight;
        status = tsw_dataset_add(&run->kept, held[i], err);
    }
    tsw_free(is_new);
    tsw_free(held);
    return status;
}

static tsw_status_t accept(tsw_run_t *run, tsw_dataset_t *before, const char *differences,
                           tsw_err_t *err)
{
    if (!run->options->accept)
        return tsw_err_set(err, TSW_ERR_ARG,
                           "cannot resume %s, which was begun with something else; "
                           "--resume=accept measures again what this concerns and keeps the "
                           "rest:\n%.*s",
                           run->options->run_dir, (int)strlen(differences) - 1, differences);
    tsw_status_t status = keep(run, before, err);
    run->meta.edition = before->meta.edition + 1;
    run->kept.meta.edition = run->meta.edition;
    if (status == TSW_OK)
        tsw_log_root(TSW_LOG_WARN, "accepted, and %zu of %zu cells kept:\n%.*s",
                     run->kept.cell_count, run->plan->cell_count, (int)strlen(differences) - 1,
                     differences);
    return status;
}

tsw_status_t tsw_run_resume_take(tsw_run_t *run, tsw_dataset_t *before, tsw_err_t *err)
{
    tsw_buf_t differences = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    size_t count = compare(run, before, &differences);
    if (!tsw_buf_ok(&differences))
        status = tsw_err_nomem(err);
    tsw_run_mark_done(run, before);
    run->meta.edition = before->meta.edition;
    if (status == TSW_OK && count > 0)
        status = accept(run, before, tsw_buf_text(&differences), err);
    tsw_buf_fini(&differences);
    return status;
}

tsw_status_t tsw_run_resume(tsw_run_t *run, tsw_err_t *err)
{
    char *parts = tsw_path_join(run->options->run_dir, "parts");
    if (parts == NULL)
        return tsw_err_nomem(err);
    bool there = tsw_path_exists(parts);
    tsw_free(parts);
    if (!there)
        return TSW_OK;
    tsw_dataset_t before = {0};
    char *skipped = NULL;
    tsw_status_t status = tsw_store_read(run->options->run_dir, &before, &skipped, err);
    if (status == TSW_ERR_NOT_FOUND) { /* stopped before its first segment */
        tsw_err_clear(err);
        return TSW_OK;
    }
    if (status == TSW_OK && skipped != NULL && skipped[0] != '\0')
        tsw_log_root(TSW_LOG_WARN, "left out, torn or foreign:\n%s", skipped);
    if (status == TSW_OK && before.cell_count > 0)
        status = tsw_run_resume_take(run, &before, err);
    if (status == TSW_OK) {
        tsw_dataset_canonicalise(&run->kept);
        status = tsw_run_tally_before(run, run->kept.cell_count > 0 ? &run->kept : &before, err);
    }
    tsw_free(skipped);
    tsw_dataset_fini(&before);
    return status;
}

/* What was made of the results of older editions. */
static tsw_status_t remove_outcome(const tsw_run_t *run, tsw_err_t *err)
{
    static const char *const names[] = {"sweep.h5", "tables"};
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = tsw_path_join(run->options->run_dir, names[i]);
        status = path != NULL ? tsw_dir_remove(path, err) : tsw_err_nomem(err);
        tsw_free(path);
    }
    return status;
}

/* The first segment of a new edition makes the older ones superseded. */
tsw_status_t tsw_run_store_kept(tsw_run_t *run, tsw_err_t *err)
{
    if (run->rank != 0 || run->kept.meta.edition == 0) /* nothing was accepted */
        return TSW_OK;
    tsw_status_t status = remove_outcome(run, err);
    for (size_t i = 0; status == TSW_OK && i < run->kept.cell_count; i++)
        status = tsw_segments_add(run->segments, &run->kept.cells[i], err);
    if (status == TSW_OK && run->kept.cell_count > 0)
        status = tsw_segments_seal(run->segments, err);
    tsw_dataset_fini(&run->kept);
    return status;
}
