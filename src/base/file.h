/* Files. Paths are never stored in results. */
#ifndef TSW_BASE_FILE_H
#define TSW_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Append the whole file to out. TSW_ERR_NOT_FOUND, TSW_ERR_IO; TSW_ERR_NOMEM before anything of a
 * file beyond memory is read; TSW_ERR_INPUT for a pipe or a device that gives more than 64 MiB,
 * TSW_ERR_CANCELED when a handled signal comes while a pipe is awaited. */
tsw_status_t tsw_file_read(const char *path, tsw_buf_t *out, tsw_err_t *err);

/* The same with its first limit bytes alone. */
tsw_status_t tsw_file_read_start(const char *path, size_t limit, tsw_buf_t *out, tsw_err_t *err);

/* Replace path atomically: tmp file beside it, fsync, rename. Readers see the old or the new file,
 * never a part. A link stays, its file is replaced; a pipe or a device is written to. TSW_ERR_FULL
 * when the disk is full (the tmp file is removed), TSW_ERR_ARG for a folder. */
tsw_status_t tsw_file_write_atomic(const char *path, const void *bytes, size_t size,
                                   tsw_err_t *err);

/* Append to a file, which is made when it is not there; not synced. TSW_ERR_FULL, TSW_ERR_IO. */
tsw_status_t tsw_file_append(const char *path, const void *bytes, size_t size, tsw_err_t *err);
/* False: there is no such file. */
bool tsw_file_size(const char *path, uint64_t *size_p);

/* fsync a finished file and rename it to final_path, then fsync the folder. TSW_ERR_FULL,
 * TSW_ERR_IO. */
tsw_status_t tsw_file_seal(const char *tmp_path, const char *final_path, tsw_err_t *err);

/* With parents; fine if it exists. TSW_ERR_ARG when something else has that name. */
tsw_status_t tsw_dir_make(const char *path, tsw_err_t *err);
/* mkdir that must be the first: TSW_ERR_EXISTS when somebody else made it. */
tsw_status_t tsw_dir_make_exclusive(const char *path, tsw_err_t *err);
/* Remove path and all below it; a missing path is fine. Never follows links. */
tsw_status_t tsw_dir_remove(const char *path, tsw_err_t *err);

/* Names in a folder, sorted by byte value, without "." and "..". TSW_ERR_NOT_FOUND, TSW_ERR_IO. */
typedef struct {
    char **names;
    size_t count;
} tsw_names_t;
tsw_status_t tsw_dir_list(const char *path, tsw_names_t *names_p, tsw_err_t *err);
void tsw_names_fini(tsw_names_t *names);

bool tsw_path_exists(const char *path);
bool tsw_path_is_taken(const char *path); /* something has that name, be it a link to nothing */
bool tsw_path_is_dir(const char *path);
bool tsw_path_is_file(const char *path); /* a regular one, also behind links */
/* Such a one or none. What else may be where files of ours belong, such as a pipe, can block
 * whoever opens it for good. */
bool tsw_path_is_plain(const char *path);
/* "a" and "b" to "a/b"; heap, tsw_free; NULL when out of memory. */
char *tsw_path_join(const char *dir, const char *name);
/* path seen from the root, for those who work in another folder; heap, or NULL. */
char *tsw_path_absolute(const char *path);
/* Folder that holds the running executable; heap, tsw_free; NULL on failure. */
char *tsw_path_self_dir(void);

#endif
