#include "pack/dtype.h"

#include <string.h>

typedef struct {
    const char *name;
    const char *c_type;
    size_t bytes;
    bool floating;
} dtype_row_t;

static const dtype_row_t rows[TSW_DTYPE_COUNT] = {
#define ROW(_name, _text, _bytes, _type, _floating)                                                \
    [TSW_DTYPE_##_name] = {_text, _type, _bytes, _floating},
    TSW_DTYPE_MAP(ROW)
#undef ROW
};

static bool is_known(tsw_dtype_t dtype)
{
    return (unsigned)dtype < TSW_DTYPE_COUNT;
}

const char *tsw_dtype_name(tsw_dtype_t dtype)
{
    return is_known(dtype) ? rows[dtype].name : dtype == TSW_DTYPE_OF_CELL ? "cell" : "unknown";
}

const char *tsw_dtype_c_type(tsw_dtype_t dtype)
{
    return is_known(dtype) ? rows[dtype].c_type : "unknown";
}

size_t tsw_dtype_bytes(tsw_dtype_t dtype)
{
    return is_known(dtype) ? rows[dtype].bytes : 0;
}

bool tsw_dtype_is_floating(tsw_dtype_t dtype)
{
    return is_known(dtype) && rows[dtype].floating;
}

bool tsw_dtype_parse(const char *name, tsw_dtype_t *dtype_p)
{
    for (int i = 0; i < TSW_DTYPE_COUNT; i++) {
        if (strcmp(name, rows[i].name) == 0) {
            *dtype_p = (tsw_dtype_t)i;
            return true;
        }
    }
    return false;
}
