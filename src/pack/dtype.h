/* Element types of kernels. */
#ifndef TSW_PACK_DTYPE_H
#define TSW_PACK_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

/* X(NAME, name, bytes, CUDA C++ type, floating) */
#define TSW_DTYPE_MAP(X)                                                                           \
    X(F16, "f16", 2, "__half", true)                                                               \
    X(BF16, "bf16", 2, "__nv_bfloat16", true)                                                      \
    X(F32, "f32", 4, "float", true)                                                                \
    X(TF32, "tf32", 4, "float", true)                                                              \
    X(E4M3, "e4m3", 1, "__nv_fp8_e4m3", true)                                                      \
    X(E5M2, "e5m2", 1, "__nv_fp8_e5m2", true)                                                      \
    X(I8, "i8", 1, "signed char", false)                                                           \
    X(I32, "i32", 4, "int", false)                                                                 \
    X(I64, "i64", 8, "long long", false)

typedef enum {
#define TSW_DTYPE_ENUM(_name, _text, _bytes, _type, _floating) TSW_DTYPE_##_name,
    TSW_DTYPE_MAP(TSW_DTYPE_ENUM)
#undef TSW_DTYPE_ENUM
        TSW_DTYPE_COUNT,
    TSW_DTYPE_OF_CELL /* arguments only: the dtype that the cell runs with */
} tsw_dtype_t;

const char *tsw_dtype_name(tsw_dtype_t dtype);   /* "f16" */
const char *tsw_dtype_c_type(tsw_dtype_t dtype); /* "__half": macro DTYPE of a build */
size_t tsw_dtype_bytes(tsw_dtype_t dtype);
bool tsw_dtype_is_floating(tsw_dtype_t dtype);
bool tsw_dtype_parse(const char *name, tsw_dtype_t *dtype_p);

#endif
