/* How results of the sim and replay bodies look: right, but for the fault of the last launch. */
#include "device/sim_body.h"

#include "base/rng.h"

static bool was_touched(const tsw_sim_t *sim, const tsw_memory_t *memory)
{
    for (uint32_t i = 0; i < sim->touched_count; i++)
        if (sim->touched[i] == memory->address)
            return true;
    return false;
}

/* Whether the last launch did that to this memory; the first who asks gets it. */
static bool take_fault(tsw_sim_t *sim, tsw_fault_t fault, const tsw_memory_t *memory)
{
    if (sim->result_fault != fault || !was_touched(sim, memory))
        return false;
    sim->result_fault = TSW_FAULT_NONE;
    return true;
}

tsw_status_t tsw_sim_check_fences(tsw_device_t *dev, const tsw_memory_t *memory,
                                  uint64_t *damaged_p, int64_t *first_p, tsw_err_t *err)
{
    tsw_status_t status = tsw_sim_pass(tsw_sim_body(dev), 2 * memory->fence_bytes, err);
    if (status != TSW_OK)
        return status;
    bool damaged = take_fault(tsw_sim_body(dev), TSW_FAULT_OVERRUN, memory);
    *damaged_p = damaged ? 2 : 0;
    *first_p = (int64_t)memory->bytes;
    return TSW_OK;
}

/* Faults show at the buffers themselves. */
tsw_status_t tsw_sim_check_gaps(tsw_device_t *dev, const tsw_memory_t *memory,
                                const tsw_gaps_t *gaps, uint64_t *damaged_p, tsw_err_t *err)
{
    (void)memory;
    tsw_status_t status = tsw_sim_pass(tsw_sim_body(dev), gaps->bytes * gaps->count, err);
    if (status == TSW_OK)
        *damaged_p = 0;
    return status;
}

static tsw_compare_t faulty_result(tsw_fault_t fault, uint64_t elements)
{
    tsw_compare_t compare = {.elements = elements, .max_abs = 1e-3, .max_rel = 1e-3};
    switch (fault) {
    case TSW_FAULT_WRONG:
    case TSW_FAULT_INPLACE:
        compare.mismatches = elements / 3 + 1;
        compare.first_bad = elements / 7;
        compare.max_abs = 1.5;
        compare.max_rel = 0.75;
        break;
    case TSW_FAULT_NAN:
        compare.nans = elements / 5 + 1;
        compare.mismatches = compare.nans;
        break;
    case TSW_FAULT_UNWRITTEN:
        compare.unwritten = elements - elements / 2;
        compare.mismatches = compare.unwritten;
        compare.first_bad = elements / 2;
        break;
    default:
        break;
    }
    return compare;
}

tsw_status_t tsw_sim_compare(tsw_device_t *dev, const tsw_memory_t *got, const tsw_memory_t *want,
                             tsw_dtype_t dtype, uint64_t elements, double atol, double rtol,
                             tsw_compare_t *compare_p, tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    (void)dtype;
    (void)atol;
    (void)rtol;
    tsw_status_t status = tsw_sim_pass(sim, got->bytes + want->bytes, err);
    if (status != TSW_OK)
        return status;
    tsw_fault_t fault = was_touched(sim, got) ? sim->result_fault : TSW_FAULT_NONE;
    if (fault == TSW_FAULT_NONE && sim->reference_is_wrong)
        fault = TSW_FAULT_WRONG;
    *compare_p = faulty_result(fault, elements);
    return TSW_OK;
}

tsw_status_t tsw_sim_checksum(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *sum_p,
                              tsw_err_t *err)
{
    tsw_status_t status = tsw_sim_pass(tsw_sim_body(dev), memory->bytes, err);
    if (status != TSW_OK)
        return status;
    bool changed = take_fault(tsw_sim_body(dev), TSW_FAULT_INPUT, memory);
    *sum_p = tsw_rng_u64(changed ? 1 : 0, memory->address, memory->bytes, 0, 0);
    return TSW_OK;
}

tsw_status_t tsw_sim_inspect(tsw_device_t *dev, tsw_inspection_t *items, size_t count,
                             tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        if (items[i].want != NULL)
            status = tsw_sim_compare(dev, items[i].memory, items[i].want, items[i].dtype,
                                     items[i].elements, items[i].atol, items[i].rtol,
                                     &items[i].compare, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        if (items[i].memory->total > 0)
            status =
                tsw_sim_check_fences(dev, items[i].memory, &items[i].damaged, &items[i].first, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        if (items[i].with_sum)
            status = tsw_sim_checksum(dev, items[i].memory, &items[i].sum, err);
    return status;
}
