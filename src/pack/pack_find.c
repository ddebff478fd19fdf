/* Questions to a pack. */
#include "pack/arch.h"
#include "pack/pack.h"

#include <string.h>

int tsw_pack_dim_index(const tsw_pack_t *pack, const char *name)
{
    for (size_t i = 0; i < pack->dim_count; i++) {
        if (strcmp(pack->dims[i], name) == 0)
            return (int)i;
    }
    return -1;
}

int tsw_pack_knob_index(const tsw_pack_t *pack, const char *name)
{
    for (size_t i = 0; i < pack->knob_count; i++) {
        if (strcmp(pack->knobs[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

const tsw_tolerance_t *tsw_pack_tolerance(const tsw_pack_t *pack, tsw_dtype_t dtype)
{
    for (size_t i = 0; i < pack->tolerance_count; i++) {
        if (pack->tolerances[i].dtype == dtype)
            return &pack->tolerances[i];
    }
    return NULL;
}

const tsw_config_list_t *tsw_pack_list(const tsw_pack_t *pack, tsw_arch_t arch)
{
    const tsw_config_list_t *found = NULL;
    for (size_t i = 0; i < pack->list_count; i++) {
        if (pack->lists[i].arch == arch)
            return &pack->lists[i];
        if (pack->lists[i].arch == 0)
            found = &pack->lists[i];
    }
    return found;
}

const int64_t *tsw_pack_baseline(const tsw_pack_t *pack, tsw_arch_t arch)
{
    const tsw_config_list_t *list = tsw_pack_list(pack, arch);
    return list != NULL && list->has_baseline ? list->baseline : pack->baseline;
}

const char *tsw_pack_exception(const tsw_pack_t *pack, const char *rule, tsw_arch_t arch)
{
    for (size_t i = 0; i < pack->exception_count; i++) {
        const tsw_exception_t *exception = &pack->exceptions[i];
        if (strcmp(exception->rule, rule) == 0 && (exception->arch == 0 || exception->arch == arch))
            return exception->reason;
    }
    return NULL;
}

tsw_dtype_t tsw_pack_lacking(const tsw_pack_t *pack, tsw_dtype_t cell, tsw_arch_t arch)
{
    if (!tsw_arch_has_dtype(arch, cell))
        return cell;
    for (size_t i = 0; i < pack->arg_count; i++) {
        const tsw_dtype_t dtype = pack->args[i].dtype;
        if (dtype != TSW_DTYPE_OF_CELL && !tsw_arch_has_dtype(arch, dtype))
            return dtype;
    }
    return TSW_DTYPE_OF_CELL;
}

const char *tsw_template_name(tsw_template_t id)
{
    static const char *const names[] = {"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9"};
    int index = (int)id - 1;
    return index >= 0 && index < 9 ? names[index] : "unknown";
}

const char *tsw_class_name(tsw_class_t id)
{
    static const char *const names[] = {"memory", "balanced", "compute"};
    return (unsigned)id < 3 ? names[id] : "unknown";
}
