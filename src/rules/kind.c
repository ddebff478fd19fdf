#include "rules/kind.h"

#include <string.h>

enum { OCCUPANCY_MAX = 32, OCCUPANCY_DUAL_MAX = 2 };

typedef enum { LEAF_DUAL, LEAF_FULL, LEAF_NO_TILES, LEAF_BALANCED, LEAF_MEMORY, LEAF_COUNT } leaf_t;

static const tsw_kind_t leaves[LEAF_COUNT] = {
    [LEAF_DUAL] = {"compute-bound, several matmuls in one",
                   "compute-bound; tile sizes can be tuned; several matmuls are fused",
                   "each matmul has an accumulator of its own, so registers and shared memory hold "
                   "half as many blocks: small tiles, occupancy 1 and 2",
                   true, true, OCCUPANCY_DUAL_MAX},
    [LEAF_FULL] = {"compute-bound with tile sizes",
                   "compute-bound; tile sizes can be tuned; one matmul",
                   "tiles decide reuse and registers, occupancy what hides latency, num_ctas what "
                   "blocks share: none follows from another",
                   true, true, OCCUPANCY_MAX},
    [LEAF_NO_TILES] = {"compute-bound without tile sizes",
                       "compute-bound; no tile size can be tuned",
                       "with fixed blocks only the number of blocks per multiprocessor is left",
                       false, false, OCCUPANCY_MAX},
    [LEAF_BALANCED] = {"balanced", "reduction and arithmetic, neither bounds it alone",
                       "the block is the row, so only the number of blocks per multiprocessor is "
                       "left",
                       false, false, OCCUPANCY_MAX},
    [LEAF_MEMORY] = {"memory-bound", "bounded by memory traffic",
                     "no tile is used twice, so num_ctas has nothing to share; the block size is a "
                     "constant found offline; more blocks hide the latency of memory",
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
