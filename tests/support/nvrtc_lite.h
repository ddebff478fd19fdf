/* NVRTC with no help from src/build: plain CUDA C++ text to a cubin, for tests of device. */
#ifndef TSW_TESTS_NVRTC_LITE_H
#define TSW_TESTS_NVRTC_LITE_H

#include "base/buf.h"

#include <stdbool.h>

/* root: folder with lib/libnvrtc.so.13; NULL: the loader's path. false: not there, says why on
 * standard output. */
bool nvrtc_lite_open(const char *root);
/* arch: "sm_90". Appends the cubin to out; the compiler's words, if any, go to log. false: does not
 * compile. */
bool nvrtc_lite_compile(const char *source, const char *arch, tsw_buf_t *out, tsw_buf_t *log);

#endif
