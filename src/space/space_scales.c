#include "space/space_scales.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* `ceildiv(DIM, 4) * 4`, seen from the first number on: a padded dim, no count of blocks. */
static bool pads(const char *number)
{
    char *end;
    const long block = strtol(number, &end, 10);
    end += strspn(end, " )");
    return *end == '*' && strtol(end + 1, NULL, 10) == block;
}

static int64_t block_in(const char *size, const char *dim)
{
    const size_t length = strlen(dim);
    for (const char *at = size; (at = strstr(at, "ceildiv(")) != NULL;) {
        at += strlen("ceildiv(");
        if (strncmp(at, dim, length) != 0)
            continue;
        const char *rest = at + length;
        rest += strspn(rest, " ,");
        if (isdigit((unsigned char)*rest) && !pads(rest))
            return strtol(rest, NULL, 10);
    }
    return 0;
}

int64_t tsw_space_scale_block(const tsw_pack_t *pack, const char *dim)
{
    int64_t block = 0;
    if (pack->template_id != TSW_TEMPLATE_T6_FP8)
        return 0;
    for (size_t i = 0; block == 0 && i < pack->arg_count; i++) {
        const tsw_arg_t *arg = &pack->args[i];
        if (arg->role == TSW_ROLE_IN && arg->dtype == TSW_DTYPE_F32)
            block = block_in(arg->size.text, dim);
    }
    return block;
}

bool tsw_space_fits_scales(const tsw_pack_t *pack, size_t knob, int64_t value)
{
    const int dim = pack->knobs[knob].tiles_dim;
    const int64_t block = dim >= 0 ? tsw_space_scale_block(pack, pack->dims[dim]) : 0;
    return block == 0 || value == block;
}
