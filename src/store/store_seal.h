/* The seal in front of each file: HDF5 skips such a "user block". It lets a reader refuse a torn or
 * damaged file before HDF5 parses a byte of it. */
#ifndef TSW_STORE_STORE_SEAL_H
#define TSW_STORE_STORE_SEAL_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TSW_SEAL_SIZE 512 /* the smallest user block of HDF5 */

/* "tilesweep 1 <bytes behind the block> <their XXH3-128>\n", zeros up to the size. */
void tsw_seal_format(const void *bytes, size_t size, char block[TSW_SEAL_SIZE]);
/* Does the whole file (block and bytes) carry a good seal? TSW_ERR_CORRUPT says why not. */
tsw_status_t tsw_seal_check(const void *file, size_t size, tsw_err_t *err);
/* Can a file of file_size bytes that starts with these carry a good seal? Tells of one that must
 * not be read into memory. TSW_ERR_CORRUPT as above. */
tsw_status_t tsw_seal_check_size(const void *start, size_t size, uint64_t file_size,
                                 tsw_err_t *err);

#endif
