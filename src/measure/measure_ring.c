/* The ring of buffer sets: launches take turns over copies of the buffers, so that each finds its
 * own out of the L2. */
#include "measure/measure_cell.h"

/* Between the buffers of a set, and the alignment of each. Full fences guard set 0 alone, over
 * which every config is verified. */
static const uint64_t gap_bytes = 64 << 10;

static const uint32_t most_sets = 200;
static const uint64_t usual_l2_bytes = 64 << 20; /* when the driver does not tell */

tsw_measure_rotation_t tsw_measure_rotation(tsw_cache_mode_t cache, uint64_t l2_bytes,
                                            uint64_t touched, uint64_t footprint, uint64_t budget)
{
    uint64_t l2 = l2_bytes > 0 ? l2_bytes : usual_l2_bytes;
    if (cache == TSW_CACHE_HOT || touched == 0 || footprint == 0)
        return (tsw_measure_rotation_t){1, cache == TSW_CACHE_HOT ? TSW_CACHE_STATE_HOT
                                                                  : TSW_CACHE_STATE_COLD_FLUSH};
    if (touched >= 5 * l2) /* a launch throws out what the one before it left */
        return (tsw_measure_rotation_t){1, TSW_CACHE_STATE_COLD_ROTATION};
    uint64_t wanted = (3 * l2 + touched - 1) / touched + 1;
    uint64_t possible = 1 + budget / footprint;
    if (wanted <= most_sets && wanted <= possible)
        return (tsw_measure_rotation_t){(uint32_t)wanted, TSW_CACHE_STATE_COLD_ROTATION};
    uint64_t sets = possible < most_sets ? possible : most_sets;
    return (tsw_measure_rotation_t){(uint32_t)sets, TSW_CACHE_STATE_COLD_FLUSH};
}

static uint64_t touched_bytes(const tsw_measure_t *measure)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < measure->arg_count; i++)
        bytes += measure->args[i].input.bytes + measure->args[i].output.bytes;
    double told = measure->cell.bytes; /* a kernel may read parts of its buffers only */
    return told >= 1 && told < (double)bytes ? (uint64_t)told : bytes;
}

/* The next buffer of a set: its offset, and room up to the one behind it. */
static uint64_t place(const tsw_memory_t *memory, uint64_t *offset_p, uint64_t at)
{
    if (memory->total == 0)
        return at;
    *offset_p = at;
    return (at + memory->bytes + 2 * gap_bytes - 1) / gap_bytes * gap_bytes;
}

static uint64_t place_all(tsw_measure_t *measure)
{
    uint64_t at = 0;
    for (size_t i = 0; i < measure->arg_count; i++) {
        tsw_measure_arg_t *arg = &measure->args[i];
        at = place(&arg->input, &arg->input_offset, at);
        at = place(&arg->output, &arg->output_offset, at);
    }
    return at;
}

static tsw_memory_t slice(const tsw_measure_ring_t *ring, const tsw_memory_t *like, uint64_t offset,
                          uint32_t set)
{
    return (tsw_memory_t){.address = ring->arena.address + (set - 1) * ring->period + offset,
                          .bytes = like->bytes};
}

static tsw_status_t copy_inputs(tsw_measure_t *measure, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    const tsw_measure_ring_t *ring = &measure->ring;
    tsw_status_t status = ops->poison(measure->dev, &ring->arena, false, err);
    for (uint32_t set = 1; set < ring->sets; set++)
        for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++) {
            const tsw_measure_arg_t *arg = &measure->args[i];
            tsw_memory_t to = slice(ring, &arg->input, arg->input_offset, set);
            if (arg->input.total > 0)
                status = ops->copy(measure->dev, &to, &arg->input, err);
        }
    return status;
}

tsw_status_t tsw_measure_ring_new(tsw_measure_t *measure, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    const tsw_gpu_t *gpu = ops->gpu(measure->dev);
    tsw_measure_ring_t *ring = &measure->ring;
    tsw_cache_mode_t cache = measure->cell.policy.cache;
    uint64_t touched = touched_bytes(measure);
    ring->period = place_all(measure);
    if (tsw_measure_is_fixed(measure))
        cache = TSW_CACHE_HOT;
    tsw_measure_rotation_t rotation =
        tsw_measure_rotation(cache, gpu->l2_bytes, touched, ring->period, gpu->memory_bytes / 4);
    tsw_status_t status = TSW_OK;
    tsw_err_t why = TSW_ERR_INIT;
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_ALLOCATE);
    if (rotation.sets > 1)
        status = ops->memory_new(measure->dev, (rotation.sets - 1) * ring->period, gap_bytes,
                                 &ring->arena, &why);
    if (status == TSW_ERR_DEVICE_MEMORY) { /* somebody else has it */
        rotation = tsw_measure_rotation(cache, gpu->l2_bytes, touched, ring->period, 0);
        status = TSW_OK;
    }
    ring->sets = rotation.sets;
    ring->state = rotation.state;
    tsw_measure_turn(measure, TSW_USE_FILL);
    if (status == TSW_OK && ring->sets > 1)
        status = copy_inputs(measure, &why);
    tsw_measure_turn(measure, use);
    if (status != TSW_OK && err != NULL)
        *err = why;
    return status;
}

void tsw_measure_ring_free(tsw_measure_t *measure)
{
    if (measure->ring.arena.total > 0)
        measure->dev->ops->memory_free(measure->dev, &measure->ring.arena);
}

uint64_t tsw_measure_ring_address(const tsw_measure_t *measure, const tsw_memory_t *first,
                                  uint64_t offset, uint32_t set)
{
    return set == 0 ? first->address : slice(&measure->ring, first, offset, set).address;
}

/* The poison behind one buffer, in all sets; next: where the buffer behind it starts. */
static tsw_status_t check_gap(tsw_measure_t *measure, const tsw_memory_t *memory, uint64_t offset,
                              uint64_t *damaged_p, tsw_err_t *err)
{
    const tsw_measure_ring_t *ring = &measure->ring;
    uint64_t damaged = 0, unused = 0;
    if (memory->total == 0)
        return TSW_OK;
    uint64_t next = place(memory, &unused, offset);
    tsw_gaps_t gaps = {.offset = offset + memory->bytes,
                       .bytes = next - offset - memory->bytes,
                       .period = ring->period,
                       .count = ring->sets - 1};
    tsw_status_t status =
        measure->dev->ops->check_gaps(measure->dev, &ring->arena, &gaps, &damaged, err);
    *damaged_p += damaged;
    return status;
}

tsw_status_t tsw_measure_ring_check(tsw_measure_t *measure, uint64_t *damaged_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    *damaged_p = 0;
    for (size_t i = 0; measure->ring.sets > 1 && i < measure->arg_count && status == TSW_OK; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i];
        status = check_gap(measure, &arg->input, arg->input_offset, damaged_p, err);
        if (status == TSW_OK)
            status = check_gap(measure, &arg->output, arg->output_offset, damaged_p, err);
    }
    return status;
}
