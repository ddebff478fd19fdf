/* Segments that come in pieces. What has come is the unfinished file itself, so nothing is kept in
 * memory, and an interrupted one is simply begun anew. */
#include "store/transfer.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/store_seal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool tsw_segment_is_name(const char *name)
{
    unsigned attempt = 0, rank = 0, number = 0;
    char again[TSW_SEGMENT_NAME_SIZE];
    if (sscanf(name, "a%9u-r%9u/%9u.h5", &attempt, &rank, &number) != 3)
        return false;
    snprintf(again, sizeof(again), "a%04u-r%04u/%06u.h5", attempt, rank, number);
    return strcmp(name, again) == 0;
}

/* RUN/parts/NAME + suffix; heap, or NULL. */
static char *place_of(const char *run_dir, const char *name, const char *suffix)
{
    tsw_buf_t path = TSW_BUF_INIT;
    tsw_buf_printf(&path, "%s/parts/%s%s", run_dir, name, suffix);
    return tsw_buf_take_text(&path);
}

static tsw_status_t make_parent(const char *path, tsw_err_t *err)
{
    char *dir = tsw_strdup(path);
    if (dir == NULL)
        return tsw_err_nomem(err);
    *strrchr(dir, '/') = '\0';
    tsw_status_t status = tsw_dir_make(dir, err);
    tsw_free(dir);
    return status;
}

static bool is_whole(const char *path)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    bool whole = tsw_path_is_file(path) && tsw_file_read(path, &bytes, NULL) == TSW_OK &&
                 tsw_seal_check(bytes.data, bytes.size, NULL) == TSW_OK;
    tsw_buf_fini(&bytes);
    return whole;
}

/* All has come: into its place, if its seal fits; else from the start again. */
static tsw_status_t finish(const char *tmp, const char *path, const tsw_piece_t *piece,
                           uint64_t *next_p, tsw_err_t *err)
{
    *next_p = piece->size;
    if (is_whole(tmp))
        return tsw_file_seal(tmp, path, err);
    tsw_log(TSW_LOG_WARN, "%s: came damaged, and is asked for again", piece->name);
    unlink(tmp);
    *next_p = 0;
    return TSW_OK;
}

static tsw_status_t take(const char *tmp, const char *path, const tsw_piece_t *piece,
                         uint64_t *next_p, tsw_err_t *err)
{
    uint64_t there = 0;
    tsw_status_t status = TSW_OK;
    if (piece->offset == 0 && is_whole(path)) { /* its receipt was lost */
        *next_p = piece->size;
        return TSW_OK;
    }
    if (piece->offset == 0) {
        unlink(tmp);
        status = make_parent(tmp, err);
    } else if (!tsw_file_size(tmp, &there) || there != piece->offset) {
        *next_p = 0;
        return TSW_OK;
    }
    if (status == TSW_OK)
        status = tsw_file_append(tmp, piece->bytes, piece->count, err);
    if (status == TSW_OK && piece->offset + piece->count < piece->size)
        *next_p = piece->offset + piece->count;
    else if (status == TSW_OK)
        status = finish(tmp, path, piece, next_p, err);
    return status;
}

tsw_status_t tsw_store_take_piece(const char *run_dir, const tsw_piece_t *piece, uint64_t *next_p,
                                  tsw_err_t *err)
{
    if (!tsw_segment_is_name(piece->name) || piece->count == 0 || piece->offset > piece->size ||
        piece->count > piece->size - piece->offset)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "\"%.60s\": no piece of a segment", piece->name);
    if (!tsw_key_equal(tsw_key_of(piece->bytes, piece->count), piece->key)) {
        tsw_log(TSW_LOG_WARN, "%s: the piece at %llu came damaged, and is asked for again",
                piece->name, (unsigned long long)piece->offset);
        *next_p = piece->offset;
        return TSW_OK;
    }
    char *path = place_of(run_dir, piece->name, "");
    char *tmp = place_of(run_dir, piece->name, ".tmp.transfer");
    tsw_status_t status =
        path != NULL && tmp != NULL ? take(tmp, path, piece, next_p, err) : tsw_err_nomem(err);
    if (status != TSW_OK && tmp != NULL)
        unlink(tmp); /* a full disk gets its room back */
    tsw_free(path);
    tsw_free(tmp);
    return status;
}
