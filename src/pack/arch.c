#include "pack/arch.h"

#include <stdio.h>
#include <string.h>

enum { KIB = 1024, REGS = 64 * 1024 };

/* The compile targets of tileiras 13.5. One KiB of an SM's shared memory is reserved per block. A
 * cluster of 16 needs the non-portable attribute; where no document promises it, 8 stands. */
static const tsw_arch_traits_t traits[] = {
    /* arch, smem per SM, per block, registers, threads, blocks, cluster, fp8 */
    {80, 164 * KIB, 163 * KIB, REGS, 2048, 32, 1, false},
    {86, 100 * KIB, 99 * KIB, REGS, 1536, 16, 1, false},
    {87, 164 * KIB, 163 * KIB, REGS, 1536, 16, 1, false},
    {88, 100 * KIB, 99 * KIB, REGS, 1536, 16, 1, false},
    {89, 100 * KIB, 99 * KIB, REGS, 1536, 24, 1, true},
    {90, 228 * KIB, 227 * KIB, REGS, 2048, 32, 16, true},
    {100, 228 * KIB, 227 * KIB, REGS, 2048, 32, 16, true},
    {103, 228 * KIB, 227 * KIB, REGS, 2048, 32, 16, true},
    {107, 228 * KIB, 227 * KIB, REGS, 1024, 16, 8, true},
    {110, 228 * KIB, 227 * KIB, REGS, 1536, 24, 8, true},
    {120, 100 * KIB, 99 * KIB, REGS, 1536, 24, 8, true},
    {121, 100 * KIB, 99 * KIB, REGS, 1536, 24, 8, true},
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
