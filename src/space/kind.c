#include "space/kind.h"

#include <string.h>

enum {
    OCCUPANCY_MAX = 32,
    OCCUPANCY_DUAL_MAX = 2,
    OCCUPANCY_ONLY_MAX = 8,
    NUM_CTAS_MAX = 16,
    TILE_MIN = 16,
    TILE_MAX = 256
};

typedef enum { LEAF_DUAL, LEAF_FULL, LEAF_NO_TILES, LEAF_BALANCED, LEAF_MEMORY, LEAF_COUNT } leaf_t;

static const tsw_kind_t leaves[LEAF_COUNT] = {
    [LEAF_DUAL] = {"compute-bound, several matmuls in one",
                   "compute-bound; tile sizes can be tuned; several matmuls are fused",
                   "each matmul has an accumulator of its own, so registers and shared memory hold "
                   "half as many blocks: small tiles, occupancy 1 and 2",
                   "the kernel itself", true, true, OCCUPANCY_DUAL_MAX},
    [LEAF_FULL] = {"compute-bound with tile sizes",
                   "compute-bound; tile sizes can be tuned; one matmul",
                   "tiles decide reuse and registers, occupancy what hides latency, num_ctas what "
                   "blocks share: none follows from another",
                   "the kernel itself", true, true, OCCUPANCY_MAX},
    [LEAF_NO_TILES] = {"compute-bound without tile sizes",
                       "compute-bound; no tile size can be tuned",
                       "with fixed blocks only the number of blocks per multiprocessor is left",
                       "tile sizes to tune, which its source would have to have", false, false,
                       OCCUPANCY_MAX},
    [LEAF_BALANCED] = {"balanced", "reduction and arithmetic, neither bounds it alone",
                       "the block is the row, so only the number of blocks per multiprocessor is "
                       "left",
                       "the kernel itself", false, false, OCCUPANCY_MAX},
    [LEAF_MEMORY] = {"memory-bound", "bounded by memory traffic",
                     "no tile is used twice, so num_ctas has nothing to share; the block size is a "
                     "constant found offline; more blocks hide the latency of memory",
                     "its block size, where it has one: a constant found offline (R10, "
                     "jobs/block-sweep.yaml)",
                     false, false, OCCUPANCY_MAX},
};

const int64_t tsw_kind_occupancy_only[TSW_KIND_OCCUPANCIES] = {1, 2, 4, 8};

const tsw_kind_t *tsw_kind_all(size_t *count_p)
{
    *count_p = LEAF_COUNT;
    return leaves;
}

static bool has_tiles(const tsw_pack_t *pack)
{
    for (size_t i = 0; i < pack->knob_count; i++) {
        if (pack->knobs[i].is_tile)
            return true;
    }
    return false;
}

const tsw_kind_t *tsw_kind_of(const tsw_pack_t *pack)
{
    if (pack->class_id == TSW_CLASS_MEMORY)
        return &leaves[LEAF_MEMORY];
    if (pack->class_id == TSW_CLASS_BALANCED)
        return &leaves[LEAF_BALANCED];
    if (!has_tiles(pack))
        return &leaves[LEAF_NO_TILES];
    return &leaves[pack->template_id == TSW_TEMPLATE_T9_DUAL ? LEAF_DUAL : LEAF_FULL];
}

const tsw_occupancy_range_t *tsw_kind_occupancies(const tsw_pack_t *pack)
{
    static const tsw_occupancy_range_t compute = {1, 4, "heavy arithmetic"};
    static const tsw_occupancy_range_t balanced = {4, 8, "arithmetic beside memory traffic"};
    static const tsw_occupancy_range_t memory = {8, 16, "reductions bounded by memory"};
    static const tsw_occupancy_range_t copy = {16, 32, "copies and casts"};
    if (pack->flops.text != NULL && strcmp(pack->flops.text, "0") == 0)
        return &copy;
    switch (pack->class_id) {
    case TSW_CLASS_COMPUTE:
        return &compute;
    case TSW_CLASS_BALANCED:
        return &balanced;
    case TSW_CLASS_MEMORY:
        return &memory;
    }
    return &memory;
}

static size_t powers_of_two(int64_t low, int64_t high, int64_t values[TSW_KIND_VALUES_MAX])
{
    size_t count = 0;
    for (int64_t value = low; value <= high && count < TSW_KIND_VALUES_MAX; value *= 2)
        values[count++] = value;
    return count;
}

size_t tsw_kind_values(const tsw_pack_t *pack, size_t knob, int64_t values[TSW_KIND_VALUES_MAX])
{
    const tsw_kind_t *kind = tsw_kind_of(pack);
    if (strcmp(pack->knobs[knob].name, "num_ctas") == 0)
        return powers_of_two(1, kind->num_ctas ? NUM_CTAS_MAX : 1, values);
    if (pack->knobs[knob].is_hint) {
        int64_t high = kind->tiles ? tsw_kind_occupancies(pack)->high : OCCUPANCY_ONLY_MAX;
        return powers_of_two(1, high < kind->occupancy_max ? high : kind->occupancy_max, values);
    }
    return pack->knobs[knob].is_tile ? powers_of_two(TILE_MIN, TILE_MAX, values) : 0;
}

tsw_kind_gain_t tsw_kind_gain(const tsw_pack_t *pack)
{
    if (pack->class_id == TSW_CLASS_MEMORY)
        return (tsw_kind_gain_t){0, 15};
    if (pack->class_id == TSW_CLASS_BALANCED)
        return (tsw_kind_gain_t){2, 15};
    switch (pack->template_id) {
    case TSW_TEMPLATE_T5_FMHA:
    case TSW_TEMPLATE_T8_VARLEN:
        return (tsw_kind_gain_t){5, 20};
    case TSW_TEMPLATE_T6_FP8:
        return (tsw_kind_gain_t){10, 50};
    case TSW_TEMPLATE_T7_GROUPED:
        return (tsw_kind_gain_t){2, 10};
    default:
        return (tsw_kind_gain_t){5, 30};
    }
}

tsw_class_t tsw_class_of_intensity(double flops_per_byte)
{
    if (flops_per_byte < 10)
        return TSW_CLASS_MEMORY;
    return flops_per_byte <= 50 ? TSW_CLASS_BALANCED : TSW_CLASS_COMPUTE;
}
