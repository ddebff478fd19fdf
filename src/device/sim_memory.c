/* Memory of the sim and replay bodies: addresses and sizes, no bytes. */
#include "device/sim_body.h"

enum { QUEUE_NS = 2000 }; /* a copy, which nobody waits for */

tsw_status_t tsw_sim_memory_new(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                tsw_memory_t *memory_p, tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    const uint64_t unit = 256;
    tsw_status_t status = tsw_sim_usable(sim, err);
    if (status != TSW_OK)
        return status;
    uint64_t front = (fence_bytes + unit - 1) / unit * unit;
    if (bytes > sim->capacity || front > sim->capacity ||
        bytes + 2 * front + unit > sim->capacity - sim->held)
        return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY,
                           "%llu bytes and fences of %llu do not fit: %llu of %llu are in use",
                           (unsigned long long)bytes, (unsigned long long)front,
                           (unsigned long long)sim->held, (unsigned long long)sim->capacity);
    tsw_memory_t memory = {.bytes = bytes, .fence_bytes = front, .base = sim->next_address};
    memory.address = memory.base + front;
    memory.total = front + (bytes + front + unit - 1) / unit * unit;
    sim->next_address += memory.total;
    sim->held += memory.total;
    *memory_p = memory;
    return TSW_OK;
}

void tsw_sim_memory_free(tsw_device_t *dev, tsw_memory_t *memory)
{
    tsw_sim_body(dev)->held -= memory->total;
    *memory = (tsw_memory_t){.address = 0};
}

/* Nothing is taken ahead: what a sweep has in hand would hang on when messages arrive. */
tsw_status_t tsw_sim_memory_ahead(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                  tsw_memory_t *memory_p, tsw_err_t *err)
{
    (void)bytes;
    (void)fence_bytes;
    (void)memory_p;
    tsw_status_t status = tsw_sim_usable(tsw_sim_body(dev), err);
    if (status != TSW_OK)
        return status;
    return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY, "nothing is taken ahead");
}

tsw_status_t tsw_sim_fill(tsw_device_t *dev, const tsw_memory_t *memory, tsw_dtype_t dtype,
                          uint64_t elements, const tsw_fill_t *how, int64_t lo, int64_t hi,
                          uint64_t seed, const void *data, size_t data_size, tsw_err_t *err)
{
    (void)dtype;
    (void)elements;
    (void)lo;
    (void)hi;
    (void)seed;
    if (how->kind == TSW_FILL_DATASET && (data == NULL || data_size != memory->bytes))
        return tsw_err_set(err, TSW_ERR_ARG, "the dataset has %zu bytes, the argument needs %llu",
                           data_size, (unsigned long long)memory->bytes);
    return tsw_sim_pass(tsw_sim_body(dev), memory->bytes, err);
}

tsw_status_t tsw_sim_poison(tsw_device_t *dev, const tsw_memory_t *memory, bool fences_only,
                            tsw_err_t *err)
{
    return tsw_sim_pass(tsw_sim_body(dev), fences_only ? 2 * memory->fence_bytes : memory->total,
                        err);
}

tsw_status_t tsw_sim_copy(tsw_device_t *dev, const tsw_memory_t *to, const tsw_memory_t *from,
                          tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    TSW_ASSERT(to->bytes == from->bytes);
    tsw_status_t status = tsw_sim_usable(sim, err);
    if (status == TSW_OK) {
        sim->clock_ns += QUEUE_NS;
        sim->queued_ns += tsw_sim_memory_ns(sim, 2 * to->bytes);
    }
    return status;
}
