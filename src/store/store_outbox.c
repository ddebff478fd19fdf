#include "store/transfer.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/store_folder.h"
#include "store/store_seal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRIES_MAX 5 /* of one piece, and of one file from its start */

typedef struct {
    char text[TSW_SEGMENT_NAME_SIZE];
} name_t;

struct tsw_outbox {
    char *dir;
    name_t *names; /* from first on */
    size_t first, count, capacity;
    tsw_buf_t file; /* the first one's bytes; empty: not read yet */
    uint64_t next;  /* offset of the piece to send */
    uint32_t tries;
    bool waits; /* for a receipt */
};

tsw_status_t tsw_outbox_open(const char *dir, tsw_outbox_t **outbox_p, tsw_err_t *err)
{
    tsw_outbox_t *outbox = tsw_calloc(1, sizeof(*outbox));
    if (outbox != NULL)
        outbox->dir = tsw_strdup(dir);
    if (outbox == NULL || outbox->dir == NULL) {
        tsw_free(outbox);
        return tsw_err_nomem(err);
    }
    *outbox_p = outbox;
    return TSW_OK;
}

/* DIR/parts/NAME; heap, or NULL. */
static char *path_of(const tsw_outbox_t *outbox, const char *name)
{
    tsw_buf_t path = TSW_BUF_INIT;
    tsw_buf_printf(&path, "%s/parts/%s", outbox->dir, name);
    return tsw_buf_take_text(&path);
}

/* Removes folders that are empty: those of ranks, parts, and the run's. */
static void remove_empty(const tsw_outbox_t *outbox)
{
    tsw_names_t names = {0};
    char *parts = tsw_path_join(outbox->dir, "parts");
    if (parts != NULL && tsw_path_is_dir(parts) && tsw_dir_list(parts, &names, NULL) == TSW_OK) {
        for (size_t i = 0; i < names.count; i++) {
            char *dir = tsw_path_join(parts, names.names[i]);
            if (dir != NULL)
                rmdir(dir);
            tsw_free(dir);
        }
        rmdir(parts);
        rmdir(outbox->dir);
    }
    tsw_names_fini(&names);
    tsw_free(parts);
}

void tsw_outbox_close(tsw_outbox_t *outbox)
{
    if (outbox == NULL)
        return;
    remove_empty(outbox);
    tsw_buf_fini(&outbox->file);
    tsw_free(outbox->names);
    tsw_free(outbox->dir);
    tsw_free(outbox);
}

static tsw_status_t add_name(tsw_outbox_t *outbox, const char *name, tsw_err_t *err)
{
    if (!TSW_GROW(outbox->names, outbox->capacity, outbox->count))
        return tsw_err_nomem(err);
    name_t *added = &outbox->names[outbox->count++];
    snprintf(added->text, sizeof(added->text), "%s", name);
    return TSW_OK;
}

tsw_status_t tsw_outbox_add(tsw_outbox_t *outbox, uint32_t attempt, int rank, uint32_t number,
                            tsw_err_t *err)
{
    char name[TSW_SEGMENT_NAME_SIZE];
    snprintf(name, sizeof(name), "a%04u-r%04d/%06u.h5", attempt, rank, number);
    return add_name(outbox, name, err);
}

tsw_status_t tsw_outbox_add_leftovers(tsw_outbox_t *outbox, tsw_err_t *err)
{
    tsw_names_t paths = {0};
    tsw_status_t status = tsw_folder_segments(outbox->dir, &paths, err);
    for (size_t i = 0; status == TSW_OK && i < paths.count; i++) {
        const char *name = strstr(paths.names[i] + strlen(outbox->dir), "/parts/");
        name += strlen("/parts/");
        if (tsw_segment_is_name(name))
            status = add_name(outbox, name, err);
        else
            tsw_log(TSW_LOG_WARN, "%s stays where it is: no name of a segment", paths.names[i]);
    }
    tsw_names_fini(&paths);
    return status;
}

bool tsw_outbox_is_empty(const tsw_outbox_t *outbox)
{
    return outbox->first == outbox->count;
}

static void drop_first(tsw_outbox_t *outbox)
{
    outbox->first++;
    if (outbox->first == outbox->count) {
        outbox->first = 0;
        outbox->count = 0;
    }
    tsw_buf_fini(&outbox->file);
    outbox->next = 0;
    outbox->tries = 0;
}

/* The bytes of the first file; false when it cannot be used. */
static bool read_first(tsw_outbox_t *outbox)
{
    tsw_err_t err = TSW_ERR_INIT;
    const char *name = outbox->names[outbox->first].text;
    char *path = path_of(outbox, name);
    tsw_status_t status = path != NULL ? tsw_folder_expect_file(path, &err) : tsw_err_nomem(&err);
    if (status == TSW_OK)
        status = tsw_file_read(path, &outbox->file, &err);
    if (status == TSW_OK)
        status = tsw_seal_check(outbox->file.data, outbox->file.size, &err);
    if (status != TSW_OK)
        tsw_log(TSW_LOG_WARN, "%s stays where it is: %s", path != NULL ? path : name, err.text);
    tsw_free(path);
    return status == TSW_OK;
}

bool tsw_outbox_next(tsw_outbox_t *outbox, tsw_piece_t *piece_p)
{
    if (outbox->waits)
        return false;
    while (!tsw_outbox_is_empty(outbox) && outbox->file.size == 0 && !read_first(outbox))
        drop_first(outbox);
    if (tsw_outbox_is_empty(outbox))
        return false;
    uint64_t left = outbox->file.size - outbox->next;
    size_t count = left < TSW_PIECE_BYTES ? (size_t)left : TSW_PIECE_BYTES;
    const uint8_t *bytes = outbox->file.data + outbox->next;
    *piece_p = (tsw_piece_t){.name = outbox->names[outbox->first].text,
                             .size = outbox->file.size,
                             .offset = outbox->next,
                             .bytes = bytes,
                             .count = count,
                             .key = tsw_key_of(bytes, count)};
    outbox->waits = true;
    return true;
}

/* The first file is in its place. */
static void arrived(tsw_outbox_t *outbox)
{
    char *path = path_of(outbox, outbox->names[outbox->first].text);
    if (path != NULL && unlink(path) != 0)
        tsw_log(TSW_LOG_WARN, "cannot remove %s, which has been gathered", path);
    tsw_free(path);
    drop_first(outbox);
}

tsw_status_t tsw_outbox_receipt(tsw_outbox_t *outbox, const char *name, uint64_t next,
                                tsw_err_t *err)
{
    if (!outbox->waits || strcmp(name, outbox->names[outbox->first].text) != 0 ||
        next > outbox->file.size)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "a receipt for \"%.60s\", which was not sent",
                           name);
    outbox->waits = false;
    if (next == outbox->file.size) {
        arrived(outbox);
        return TSW_OK;
    }
    if (next <= outbox->next && ++outbox->tries >= TRIES_MAX)
        return tsw_err_set(err, TSW_ERR_IO, "%s/parts/%s came damaged %u times", outbox->dir, name,
                           outbox->tries);
    outbox->next = next;
    return TSW_OK;
}
