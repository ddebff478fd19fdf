/* What the bytes of a toolchain are. Private to build. */
#ifndef TSW_BUILD_TOOLCHAIN_KEY_H
#define TSW_BUILD_TOOLCHAIN_KEY_H

#include "base/err.h"
#include "base/hash.h"

#include <stddef.h>

/* Over the versions and the bytes of the files; a NULL path has none. Reading hundreds of megabytes
 * takes a while: with a memo_dir (may be NULL, is made) the key of files whose path, inode, size
 * and times are as before is looked up there. TSW_ERR_ENV: a file cannot be read. */
tsw_status_t tsw_toolchain_key(const char *versions, const char *const *paths, size_t count,
                               const char *memo_dir, tsw_key_t *key_p, tsw_err_t *err);

#endif
