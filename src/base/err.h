/* Error context: the first function that detects an error fills it, callers may only prefix. */
#ifndef TSW_BASE_ERR_H
#define TSW_BASE_ERR_H

#include "base/status.h"

#define TSW_ERR_TEXT_MAX 2048

typedef struct {
    tsw_status_t code;
    long vendor;             /* CUresult, errno, MPI error class..., 0 if none */
    const char *origin_file; /* source place of the first detector */
    int origin_line;
    char text[TSW_ERR_TEXT_MAX]; /* always terminated; cut with "..." when too long */
} tsw_err_t;

#define TSW_ERR_INIT                                                                               \
    {                                                                                              \
        .code = TSW_OK                                                                             \
    }

/* Fill err (may be NULL) and return code, for `return tsw_err_set(...)`. */
#define tsw_err_set(_err, _code, ...)                                                              \
    tsw_err_set_at((_err), (_code), 0, __FILE__, __LINE__, __VA_ARGS__)

/* The same with a vendor code, e.g. errno or a CUresult. */
#define tsw_err_set_vendor(_err, _code, _vendor, ...)                                              \
    tsw_err_set_at((_err), (_code), (_vendor), __FILE__, __LINE__, __VA_ARGS__)

/* Out of host memory: fills err, returns TSW_ERR_NOMEM. */
#define tsw_err_nomem(_err) tsw_err_set((_err), TSW_ERR_NOMEM, "out of host memory")

tsw_status_t tsw_err_set_at(tsw_err_t *err, tsw_status_t code, long vendor, const char *file,
                            int line, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Prefix "format: " to an error that a callee filled; returns err->code (TSW_ERR_BUG if err NULL
 * is fine for the caller: then the status must be kept by the caller). */
tsw_status_t tsw_err_wrap(tsw_err_t *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Another code for an error that a callee filled, since it means something else here; returns it.
 */
tsw_status_t tsw_err_turn(tsw_err_t *err, tsw_status_t code);

void tsw_err_clear(tsw_err_t *err);

/* Errno to status: ENOSPC, EDQUOT and EFBIG are TSW_ERR_FULL, ENOENT is TSW_ERR_NOT_FOUND, EEXIST
 * is TSW_ERR_EXISTS, ENOMEM is TSW_ERR_NOMEM, all else TSW_ERR_IO. */
tsw_status_t tsw_err_from_errno(int errno_value);

/* A broken invariant of ours ends the process with exit code 70; never used for input. */
#define TSW_ASSERT(_cond)                                                                          \
    do {                                                                                           \
        if (!(_cond))                                                                              \
            tsw_assert_failed(#_cond, __FILE__, __LINE__);                                         \
    } while (0)

_Noreturn void tsw_assert_failed(const char *cond, const char *file, int line);

#endif
