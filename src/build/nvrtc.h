/* NVRTC through dlopen: no header and no library of the toolkit is needed to build the tool. */
#ifndef TSW_BUILD_NVRTC_H
#define TSW_BUILD_NVRTC_H

#include "base/buf.h"
#include "base/err.h"
#include "record/outcome.h"
#include "record/record.h"

typedef struct tsw_nvrtc tsw_nvrtc_t;

typedef enum { TSW_NVRTC_CUBIN, TSW_NVRTC_TILE_IR } tsw_nvrtc_product_t;

/* What came of one compilation. */
typedef struct {
    tsw_outcome_t outcome; /* ok compile_failed out_of_memory */
    char detail[TSW_DETAIL_MAX];
    tsw_buf_t code; /* outcome ok */
} tsw_nvrtc_result_t;

/* TSW_ERR_ENV: no such library, or one without the functions that are always needed. */
tsw_status_t tsw_nvrtc_open(const char *path, tsw_nvrtc_t **nvrtc_p, tsw_err_t *err);
/* Frees the handle; the library stays mapped, as it may have started threads. */
void tsw_nvrtc_close(tsw_nvrtc_t *nvrtc);
void tsw_nvrtc_version(const tsw_nvrtc_t *nvrtc, int *major_p, int *minor_p);

/* Compile text (named name in messages) with options, and append what the compiler says to log,
 * also on success. A warning that a hint was dropped is compile_failed: the kernel would not be
 * the one that was asked for. TSW_ERR_ENV: this NVRTC cannot make the product (Tile IR needs 13.3),
 * or its builtins library is missing. */
tsw_status_t tsw_nvrtc_compile(const tsw_nvrtc_t *nvrtc, tsw_nvrtc_product_t product,
                               const char *text, const char *name, const char *const *options,
                               size_t option_count, tsw_nvrtc_result_t *result_p, tsw_buf_t *log,
                               tsw_err_t *err);
void tsw_nvrtc_result_fini(tsw_nvrtc_result_t *result);

#endif
