#include "store/store.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/store_folder.h"

#include <stdio.h>
#include <unistd.h>

#define SEAL_INTERVAL_NS 30000000000u
#define COMPACT_COUNT    64

struct tsw_segments {
    char *dir;             /* parts/aNNNN-rNNNN */
    tsw_dataset_t pending; /* its meta goes into every segment */
    uint64_t last_seal_ns, interval_ns;
    uint32_t next;              /* number of the next segment */
    uint32_t first_small;       /* segments from here up to next are not compacted */
    bool apart;                 /* never compact */
    uint64_t writes, full_from; /* full_from: 0: never */
};

static char *segment_path(const tsw_segments_t *segments, uint32_t number)
{
    tsw_buf_t path = TSW_BUF_INIT;
    tsw_buf_printf(&path, "%s/%06u.h5", segments->dir, number);
    return tsw_buf_take_text(&path);
}

static void free_segments(tsw_segments_t *segments)
{
    tsw_free(segments->dir);
    tsw_dataset_fini(&segments->pending);
    tsw_free(segments);
}

tsw_status_t tsw_segments_open(const char *run_dir, uint32_t attempt, int rank,
                               const tsw_run_meta_t *meta, tsw_segments_t **segments_p,
                               tsw_err_t *err)
{
    tsw_segments_t *segments = tsw_calloc(1, sizeof(*segments));
    if (segments == NULL)
        return tsw_err_nomem(err);
    tsw_buf_t dir = TSW_BUF_INIT;
    tsw_buf_printf(&dir, "%s/parts/a%04u-r%04d", run_dir, attempt, rank);
    segments->dir = tsw_buf_take_text(&dir);
    segments->next = 1;
    segments->first_small = 1;
    segments->last_seal_ns = tsw_clock_now_ns();
    segments->interval_ns = SEAL_INTERVAL_NS;
    tsw_status_t status =
        segments->dir != NULL ? tsw_dir_make(segments->dir, err) : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_run_meta_copy(meta, &segments->pending.meta, err);
    if (status == TSW_OK)
        *segments_p = segments;
    else
        free_segments(segments);
    return status;
}

void tsw_segments_set_interval(tsw_segments_t *segments, double seconds)
{
    segments->interval_ns = (uint64_t)(seconds * 1e9);
}

void tsw_segments_keep_apart(tsw_segments_t *segments)
{
    segments->apart = true;
}

uint32_t tsw_segments_sealed(const tsw_segments_t *segments)
{
    return segments->next - 1;
}

void tsw_segments_set_full(tsw_segments_t *segments, uint64_t write)
{
    segments->full_from = write;
}

bool tsw_segments_due(const tsw_segments_t *segments)
{
    return segments->pending.cell_count > 0 &&
           tsw_clock_now_ns() - segments->last_seal_ns >= segments->interval_ns;
}

tsw_status_t tsw_segments_add(tsw_segments_t *segments, tsw_cell_result_t *result, tsw_err_t *err)
{
    tsw_status_t status = tsw_dataset_add(&segments->pending, result, err);
    if (status == TSW_OK && tsw_segments_due(segments))
        status = tsw_segments_seal(segments, err);
    return status;
}

static void drop_pending_cells(tsw_segments_t *segments)
{
    for (size_t i = 0; i < segments->pending.cell_count; i++)
        tsw_cell_result_fini(&segments->pending.cells[i]);
    segments->pending.cell_count = 0;
}

static tsw_status_t write_next(tsw_segments_t *segments, const tsw_dataset_t *dataset,
                               tsw_err_t *err)
{
    segments->writes++;
    if (segments->full_from > 0 && segments->writes >= segments->full_from)
        return tsw_err_set(err, TSW_ERR_FULL, "%s: no space left, as the scenario says",
                           segments->dir);
    char *path = segment_path(segments, segments->next);
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_store_write(path, dataset, err);
    tsw_free(path);
    if (status == TSW_OK)
        segments->next++;
    return status;
}

static tsw_status_t read_range(const tsw_segments_t *segments, uint32_t first, uint32_t end,
                               tsw_dataset_t *into, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (uint32_t number = first; status == TSW_OK && number < end; number++) {
        tsw_dataset_t segment = {0};
        char *path = segment_path(segments, number);
        status = path != NULL ? tsw_store_read_file(path, &segment, err) : tsw_err_nomem(err);
        if (status == TSW_OK)
            status = tsw_dataset_move_cells(into, &segment, err);
        tsw_dataset_fini(&segment);
        tsw_free(path);
    }
    return status;
}

static void remove_range(const tsw_segments_t *segments, uint32_t first, uint32_t end)
{
    for (uint32_t number = first; number < end; number++) {
        char *path = segment_path(segments, number);
        if (path != NULL && unlink(path) != 0)
            tsw_log(TSW_LOG_WARN, "store: cannot remove %s, which was merged", path);
        tsw_free(path);
    }
}

/* Many small segments become one. The merged one is sealed before the others go; a crash between
 * leaves the same cells twice, which every reader drops. Without success all stays as it is. */
static void compact(tsw_segments_t *segments)
{
    uint32_t first = segments->first_small;
    uint32_t end = segments->next;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t merged = {0};
    tsw_status_t status = tsw_run_meta_copy(&segments->pending.meta, &merged.meta, &err);
    if (status == TSW_OK)
        status = read_range(segments, first, end, &merged, &err);
    if (status == TSW_OK)
        status = write_next(segments, &merged, &err);
    if (status == TSW_OK)
        remove_range(segments, first, end);
    else
        tsw_log(TSW_LOG_WARN, "store: segments stay apart: %s", err.text);
    segments->first_small = segments->next;
    tsw_dataset_fini(&merged);
}

tsw_status_t tsw_segments_seal(tsw_segments_t *segments, tsw_err_t *err)
{
    if (segments->pending.cell_count == 0)
        return TSW_OK;
    tsw_status_t status = write_next(segments, &segments->pending, err);
    segments->last_seal_ns = tsw_clock_now_ns(); /* also after a failure: no storm of retries */
    if (status != TSW_OK)
        return status;
    tsw_log(TSW_LOG_DEBUG, "sealed %zu cells", segments->pending.cell_count);
    drop_pending_cells(segments);
    if (!segments->apart && segments->next - segments->first_small >= COMPACT_COUNT)
        compact(segments);
    return TSW_OK;
}

tsw_status_t tsw_segments_close(tsw_segments_t *segments, tsw_err_t *err)
{
    if (segments == NULL)
        return TSW_OK;
    tsw_status_t status = tsw_segments_seal(segments, err);
    free_segments(segments);
    return status;
}
