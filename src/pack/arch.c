#include "pack/arch.h"

#include <stdio.h>
#include <string.h>

enum { KIB = 1024, REGISTERS = 64 * 1024 };

static const tsw_arch_traits_t traits[] = {
#define ROW(_number, _smem, _threads, _blocks, _cluster, _fp8)                                     \
    {(_number), (_smem)*KIB, ((_smem)-1) * KIB, REGISTERS, _threads, _blocks, _cluster, _fp8},
    TSW_ARCH_MAP(ROW)
#undef ROW
};

const tsw_arch_traits_t *tsw_arch_all(size_t *count_p)
{
    *count_p = sizeof(traits) / sizeof(traits[0]);
    return traits;
}

const tsw_arch_traits_t *tsw_arch_traits(tsw_arch_t arch)
{
    for (size_t i = 0; i < sizeof(traits) / sizeof(traits[0]); i++) {
        if (traits[i].arch == arch)
            return &traits[i];
    }
    return NULL;
}

char *tsw_arch_format(tsw_arch_t arch, char out[16])
{
    snprintf(out, 16, "sm_%u", (unsigned)arch);
    return out;
}

bool tsw_arch_parse(const char *name, tsw_arch_t *arch_p)
{
    char text[16];
    for (size_t i = 0; i < sizeof(traits) / sizeof(traits[0]); i++) {
        if (strcmp(name, tsw_arch_format(traits[i].arch, text)) == 0) {
            *arch_p = traits[i].arch;
            return true;
        }
    }
    return false;
}

bool tsw_arch_has_dtype(tsw_arch_t arch, tsw_dtype_t dtype)
{
    const tsw_arch_traits_t *row = tsw_arch_traits(arch);
    if (row == NULL)
        return false;
    bool is_fp8 = dtype == TSW_DTYPE_E4M3 || dtype == TSW_DTYPE_E5M2;
    return row->has_fp8 || !is_fp8;
}
