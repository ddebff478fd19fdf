#include "record/usage.h"

#include <stddef.h>

static const char *const names[] = {
    "idle",   "wait",  "allocate", "fill",  "reference", "load",
    "verify", "graph", "wave",     "clock", "other",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == TSW_USE_COUNT, "a name each");

const char *tsw_use_name(tsw_use_t use)
{
    return (size_t)use < TSW_USE_COUNT ? names[use] : "?";
}

bool tsw_use_is_measuring(tsw_use_t use)
{
    return use == TSW_USE_REFERENCE || use == TSW_USE_VERIFY || use == TSW_USE_WAVE;
}

void tsw_usage_add(tsw_usage_t *sum, const tsw_usage_t *more)
{
    for (size_t i = 0; i < TSW_USE_COUNT; i++)
        sum->ns[i] += more->ns[i];
}

uint64_t tsw_usage_total(const tsw_usage_t *usage)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < TSW_USE_COUNT; i++)
        ns += usage->ns[i];
    return ns;
}

uint64_t tsw_usage_measuring(const tsw_usage_t *usage)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < TSW_USE_COUNT; i++)
        ns += tsw_use_is_measuring((tsw_use_t)i) ? usage->ns[i] : 0;
    return ns;
}
