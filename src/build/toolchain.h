/* Where NVRTC and tileiras are, and which versions. */
#ifndef TSW_BUILD_TOOLCHAIN_H
#define TSW_BUILD_TOOLCHAIN_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>

typedef struct {
    bool found;
    char *root;     /* folder with bin/ lib/ include/; goes to CUDA_HOME of tileiras */
    char *nvrtc;    /* path of libnvrtc.so.* */
    char *tileiras; /* path; NULL: absent, plain CUDA C++ only */
    char *text;     /* "nvrtc 13.5 tileiras 13.5.37 ptxas 13.5.37 <8 hex>": no paths */
    tsw_key_t key;  /* over versions and the bytes of libnvrtc, tileiras, ptxas, libnvvm */
} tsw_toolchain_t;

/* Looks in option (may be NULL), TSW_TOOLCHAIN, .deps beside the program or up to two folders above
 * it, CUDA_HOME, in this order; a set TSW_TOOLCHAIN is the only place then. An absent toolchain is
 * not an error: found is false and text says what was looked for. TSW_ERR_ENV: option names a
 * folder without a usable NVRTC. Starts tileiras and ptxas for their versions; loads NVRTC, but
 * compiles nothing. memo_dir: a folder that remembers keys from start to start, or NULL. Local. */
tsw_status_t tsw_toolchain_find(const char *option, const char *memo_dir,
                                tsw_toolchain_t *toolchain_p, tsw_err_t *err);
void tsw_toolchain_fini(tsw_toolchain_t *toolchain);

#endif
