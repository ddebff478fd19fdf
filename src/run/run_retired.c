/* GPUs that are not used any more, and why: known to rank 0, kept in the run folder. */
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

static const char file_name[] = "retired.txt";

/* "attempt 1, rank 3 on node7, GPU-..: reason" */
static tsw_status_t append_line(const tsw_run_t *run, const tsw_run_retired_t *retired,
                                tsw_err_t *err)
{
    const tsw_msg_hello_t *hello = &run->hellos[retired->rank];
    char *before = NULL;
    char *path = NULL;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_status_t status = tsw_run_read_retired(run->options->run_dir, &before, err);
    if (status == TSW_OK) {
        tsw_buf_printf(&text, "%sattempt %u, rank %d on %s, %s: %s\n", before, run->attempt,
                       retired->rank, hello->node, hello->gpu.uuid, retired->reason);
        path = tsw_path_join(run->options->run_dir, file_name);
        if (path == NULL || !tsw_buf_ok(&text))
            status = tsw_err_nomem(err);
    }
    if (status == TSW_OK)
        status = tsw_file_write_atomic(path, text.data, text.size, err);
    tsw_free(path);
    tsw_free(before);
    tsw_buf_fini(&text);
    return status;
}

/* One line, whatever the reason is made of. */
static void keep_reason(const char *reason, char out[TSW_DETAIL_MAX])
{
    snprintf(out, TSW_DETAIL_MAX, "%s", reason);
    for (char *at = strchr(out, '\n'); at != NULL; at = strchr(at, '\n'))
        *at = ' ';
}

void tsw_run_note_retired(tsw_run_t *run, int rank, const char *reason)
{
    TSW_ASSERT(run->retired_count < (size_t)run->size);
    tsw_run_retired_t *retired = &run->retired[run->retired_count++];
    tsw_err_t err = TSW_ERR_INIT;
    retired->rank = rank;
    keep_reason(reason, retired->reason);
    if (append_line(run, retired, &err) != TSW_OK) /* of use to people only */
        tsw_log(TSW_LOG_WARN, "%s: %s", file_name, err.text);
}

bool tsw_run_is_retired(const tsw_run_t *run, int rank)
{
    for (size_t i = 0; i < run->retired_count; i++)
        if (run->retired[i].rank == rank)
            return true;
    return false;
}

void tsw_run_put_retired(const tsw_run_t *run, tsw_buf_t *json)
{
    tsw_buf_append_text(json, "[");
    for (size_t i = 0; i < run->retired_count; i++) {
        const tsw_run_retired_t *retired = &run->retired[i];
        const tsw_msg_hello_t *hello = &run->hellos[retired->rank];
        tsw_buf_printf(json, "%s{\"rank\": %d, \"node\": ", i > 0 ? ", " : "", retired->rank);
        tsw_json_append_text(json, hello->node);
        tsw_buf_append_text(json, ", \"gpu\": ");
        tsw_json_append_text(json, hello->gpu.uuid);
        tsw_buf_append_text(json, ", \"reason\": ");
        tsw_json_append_text(json, retired->reason);
        tsw_buf_append_text(json, "}");
    }
    tsw_buf_append_text(json, "]");
}

tsw_status_t tsw_run_read_retired(const char *run_dir, char **text_p, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    char *path = tsw_path_join(run_dir, file_name);
    tsw_status_t status = path != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK && tsw_path_exists(path))
        status = tsw_file_read(path, &text, err);
    if (status == TSW_OK) {
        char *taken = text.size > 0 ? tsw_buf_take_text(&text) : tsw_strdup("");
        if (taken != NULL)
            *text_p = taken;
        else
            status = tsw_err_nomem(err);
    }
    tsw_buf_fini(&text);
    tsw_free(path);
    return status;
}
