/* The file format of one cached artifact. */
#ifndef TSW_BUILD_CACHE_ENTRY_H
#define TSW_BUILD_CACHE_ENTRY_H

#include "build/build.h"

/* Append the file of an artifact. Check tsw_buf_ok. */
void tsw_cache_entry_put(tsw_buf_t *out, tsw_key_t key, const tsw_artifact_t *artifact);
/* TSW_ERR_CORRUPT: no entry, another version, another key, a wrong checksum. */
tsw_status_t tsw_cache_entry_get(const void *bytes, size_t size, tsw_key_t key,
                                 tsw_artifact_t *artifact_p, tsw_err_t *err);

#endif
