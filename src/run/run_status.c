/* status.json: how far the run is, for people and for `tilesweep watch`; docs/file-format.md. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <inttypes.h>

static void put_real(tsw_buf_t *json, const char *name, double value, const char *end)
{
    tsw_buf_printf(json, "\"%s\": ", name);
    tsw_json_append_real(json, value);
    tsw_buf_append_text(json, end);
}

static void put_cells(tsw_buf_t *json, const tsw_run_t *run, const tsw_run_tally_t *tally)
{
    tsw_coord_progress_t coord = tsw_run_total_progress(run);
    size_t configs = 0;
    for (size_t i = 0; i < run->job->arch_count; i++)
        configs += run->archs[i].configs;
    tsw_buf_printf(json,
                   "  \"cells\": {\"total\": %zu, \"done\": %zu, \"failed\": %zu, "
                   "\"skipped\": %zu, \"leased\": %zu, \"unreachable\": %zu},\n",
                   coord.cells_total, coord.cells_done, tally->cells_failed, coord.cells_skipped,
                   coord.cells_leased, tsw_coord_unreachable(run->coord));
    tsw_buf_printf(json, "  \"configs\": {\"total\": %zu, \"done\": %zu, \"failed\": %zu},\n",
                   configs, tally->configs, tally->configs_failed);
    tsw_buf_printf(json, "  \"builds\": {\"total\": %zu, \"done\": %zu},\n", coord.builds_total,
                   coord.builds_done);
}

/* `"done": .., ..` of a tally, to stand within braces. */
static void put_tally(tsw_buf_t *json, const tsw_run_tally_t *tally)
{
    tsw_buf_printf(json,
                   "\"done\": %zu, \"failed\": %zu, \"configs\": %zu, \"configs_failed\": %zu",
                   tally->cells, tally->cells_failed, tally->configs, tally->configs_failed);
}

static void put_archs(tsw_buf_t *json, const tsw_run_t *run)
{
    char name[16];
    tsw_buf_append_text(json, "  \"archs\": [");
    for (size_t i = 0; i < run->job->arch_count; i++) {
        size_t gpus = 0;
        for (int r = 0; r < run->size; r++)
            gpus +=
                tsw_run_arch_index(run, &run->hellos[r]) == (int)i && !tsw_run_is_retired(run, r);
        tsw_buf_printf(json, "%s\n    {\"arch\": \"%s\", \"gpus\": %zu, \"cells\": %zu, ",
                       i > 0 ? "," : "", tsw_arch_format(run->job->archs[i], name), gpus,
                       run->archs[i].cells);
        put_tally(json, &run->archs[i].tally);
        tsw_buf_append_text(json, "}");
    }
    tsw_buf_append_text(json, "],\n");
}

/* One node: the ranks on it, summed up. */
static void put_node(tsw_buf_t *json, const tsw_run_t *run, uint32_t node, const char *name)
{
    tsw_run_tally_t sum = {0};
    size_t ranks = 0, gpus = 0;
    for (int r = 0; r < run->size; r++) {
        if (run->members[r].node != node)
            continue;
        ranks++;
        gpus += run->hellos[r].has_gpu && !tsw_run_is_retired(run, r);
        tsw_run_tally_add(&sum, &run->members[r].tally);
    }
    tsw_buf_append_text(json, "    {\"node\": ");
    tsw_json_append_text(json, name);
    tsw_buf_printf(json, ", \"ranks\": %zu, \"gpus\": %zu, ", ranks, gpus);
    put_tally(json, &sum);
    tsw_buf_append_text(json, "}");
}

static void put_nodes(tsw_buf_t *json, const tsw_run_t *run)
{
    tsw_buf_append_text(json, "  \"nodes\": [");
    for (int r = 0; r < run->size; r++) {
        if (run->members[r].node != (uint32_t)r) /* not the first rank there */
            continue;
        tsw_buf_append_text(json, r > 0 ? ",\n" : "\n");
        put_node(json, run, (uint32_t)r, run->hellos[r].node);
    }
    tsw_buf_append_text(json, "],\n");
}

static void put_all(tsw_buf_t *json, const tsw_run_t *run, const tsw_run_status_t *status)
{
    char now[32];
    tsw_run_tally_t tally = tsw_run_tally_all(run);
    tsw_buf_printf(json, "{\n  \"state\": \"%s\",\n  \"attempt\": %u,\n  \"ranks\": %d,\n",
                   status->state, run->attempt, run->size);
    tsw_buf_printf(json, "  \"mode\": \"%s\",\n", run->meta.mode);
    if (run->generation > 0)
        tsw_buf_printf(json, "  \"generation\": %u,\n", run->generation);
    put_cells(json, run, &tally);
    put_archs(json, run);
    put_nodes(json, run);
    tsw_buf_append_text(json, "  \"retired\": ");
    tsw_run_put_retired(run, json);
    tsw_buf_append_text(json, ",\n  ");
    put_real(json, "done_ratio", status->done_ratio, ",\n  ");
    put_real(json, "elapsed_s", status->elapsed_s, ",\n  ");
    put_real(json, "left_s", status->left_s, ",\n  ");
    put_real(json, "cells_per_min", tsw_run_cells_per_min(run, status->elapsed_s), ",\n  ");
    put_real(json, "gpu_busy_ratio", tsw_run_busy_ratio(run), ",\n  ");
    if (status->err != NULL) {
        tsw_buf_printf(json, "\"status\": %d,\n  \"error\": ", (int)status->err->code);
        tsw_json_append_text(json, status->err->text);
        tsw_buf_append_text(json, ",\n  ");
    }
    uint64_t wall_ns = tsw_clock_wall_ns();
    tsw_buf_printf(json, "\"updated\": \"%s\",\n  \"updated_s\": %" PRIu64 "\n}\n",
                   tsw_clock_format_utc(wall_ns, now), wall_ns / 1000000000);
}

void tsw_run_status_write(const tsw_run_t *run, const tsw_run_status_t *status)
{
    tsw_buf_t json = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    put_all(&json, run, status);
    char *path = tsw_path_join(run->options->run_dir, "status.json");
    if (path == NULL || !tsw_buf_ok(&json))
        tsw_log(TSW_LOG_WARN, "status.json: out of memory");
    else if (tsw_file_write_atomic(path, json.data, json.size, &err) != TSW_OK)
        tsw_log(TSW_LOG_WARN, "status.json: %s", err.text);
    tsw_free(path);
    tsw_buf_fini(&json);
}
