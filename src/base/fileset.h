/* A set of named byte strings, in order of insertion: the snapshot of a job and its packs that
 * rank 0 reads once and everybody else works from. Names are relative ("kernels/matmul/matmul.cu"),
 * so no path of a machine travels or is hashed. */
#ifndef TSW_BASE_FILESET_H
#define TSW_BASE_FILESET_H

#include "base/err.h"
#include "base/hash.h"

typedef struct {
    char *name;
    uint8_t *bytes; /* size bytes and a zero behind them */
    size_t size;
} tsw_fileset_item_t;

typedef struct {
    tsw_fileset_item_t *items;
    size_t count;
    size_t capacity;
} tsw_fileset_t;

#define TSW_FILESET_BYTES_MAX (1ull << 31) /* of all files of a folder */

#define TSW_FILESET_INIT                                                                           \
    {                                                                                              \
        .items = NULL                                                                              \
    }

void tsw_fileset_fini(tsw_fileset_t *set);
/* Copies name and bytes. TSW_ERR_EXISTS for a name that is there already. */
tsw_status_t tsw_fileset_add(tsw_fileset_t *set, const char *name, const void *bytes, size_t size,
                             tsw_err_t *err);
/* Borrowed; NULL when there is no such name. */
const tsw_fileset_item_t *tsw_fileset_find(const tsw_fileset_t *set, const char *name);
/* Every file below dir (recursively, sorted, no hidden ones) as prefix + relative name.
 * TSW_ERR_INPUT when it holds what is no file, or more than TSW_FILESET_BYTES_MAX. */
tsw_status_t tsw_fileset_add_dir(tsw_fileset_t *set, const char *prefix, const char *dir,
                                 tsw_err_t *err);
/* The items whose name starts with prefix, names without it. */
tsw_status_t tsw_fileset_subset(const tsw_fileset_t *set, const char *prefix, tsw_fileset_t *out,
                                tsw_err_t *err);
/* Key over names and bytes, independent of the order of insertion. */
tsw_status_t tsw_fileset_key(const tsw_fileset_t *set, tsw_key_t *key_p, tsw_err_t *err);

#endif
