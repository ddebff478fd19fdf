/* Thin layer over HDF5: errors with text, files that live in memory. Inside store only. */
#ifndef TSW_STORE_STORE_H5_H
#define TSW_STORE_STORE_H5_H

#include "base/buf.h"
#include "base/err.h"

#include <hdf5.h>

/* "what: innermost message of HDF5's error stack" as status; clears the stack. */
tsw_status_t tsw_h5_fail(tsw_err_t *err, tsw_status_t status, const char *what);

/* A new file in memory, and its bytes once all is written. close asserts that nothing but the file
 * itself is open. */
tsw_status_t tsw_h5_create_image(hid_t *file_p, tsw_err_t *err);
tsw_status_t tsw_h5_take_image(hid_t file, tsw_buf_t *out, tsw_err_t *err);
/* Open bytes as a file, read-only; they are copied and stay as they are. */
tsw_status_t tsw_h5_open_image(void *bytes, size_t size, hid_t *file_p, tsw_err_t *err);
void tsw_h5_close_file(hid_t file); /* H5I_INVALID_HID is fine */

/* Fixed-size text, at least one byte. */
hid_t tsw_h5_text_type(size_t size);

tsw_status_t tsw_h5_put_text_attr(hid_t at, const char *name, const char *text, tsw_err_t *err);
/* An array of words, index by value ("ok", "invalid", ...). */
tsw_status_t tsw_h5_put_words_attr(hid_t at, const char *name, const char *const *words,
                                   size_t count, tsw_err_t *err);
tsw_status_t tsw_h5_put_u64_attr(hid_t at, const char *name, uint64_t value, tsw_err_t *err);
/* Heap text, cut at its first zero. TSW_ERR_CORRUPT when it is missing or of another type. */
tsw_status_t tsw_h5_get_text_attr(hid_t at, const char *name, char **text_p, tsw_err_t *err);
tsw_status_t tsw_h5_get_u64_attr(hid_t at, const char *name, uint64_t *value_p, tsw_err_t *err);

/* One long text as a scalar dataset. */
tsw_status_t tsw_h5_put_text(hid_t at, const char *name, const char *text, tsw_err_t *err);
tsw_status_t tsw_h5_get_text(hid_t at, const char *name, char **text_p, tsw_err_t *err);

/* A 1-D dataset of count items: chunked, shuffle + deflate 1 + fletcher32; plain when empty.
 * *dataset_p is for attributes; the caller closes it. */
tsw_status_t tsw_h5_put_array(hid_t at, const char *name, hid_t file_type, hid_t memory_type,
                              size_t count, size_t chunk, const void *items, hid_t *dataset_p,
                              tsw_err_t *err);
/* Length of an open 1-D dataset, held against what file_size bytes can hold at best. */
tsw_status_t tsw_h5_get_length(hid_t dataset, const char *name, size_t item_size, size_t *count_p,
                               tsw_err_t *err);

#endif
