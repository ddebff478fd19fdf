/* What is searched for a kernel, and why: a decision tree over its kind alone (docs/rules.md).
 * Arithmetic intensity never chooses a dimension, it only orders work. */
#ifndef TSW_SPACE_KIND_H
#define TSW_SPACE_KIND_H

#include "pack/pack.h"

/* A leaf of the tree. */
typedef struct {
    const char *name;
    const char *path; /* the questions on the way, with their answers */
    const char *why;
    const char *left;     /* what might help when all that may be searched was tried */
    bool tiles, num_ctas; /* searched; the occupancy always is */
    int64_t occupancy_max;
} tsw_kind_t;

/* From template, class and whether the pack has tile sizes to tune; borrowed, static. */
const tsw_kind_t *tsw_kind_of(const tsw_pack_t *pack);
/* All leaves, for tests and docs. */
const tsw_kind_t *tsw_kind_all(size_t *count_p);

/* Where the occupancies to try begin and end. */
typedef struct {
    int64_t low, high;
    const char *use;
} tsw_occupancy_range_t;

/* For a compute-bound, a balanced and a memory-bound kernel, and for one without any arithmetic. */
const tsw_occupancy_range_t *tsw_kind_occupancies(const tsw_pack_t *pack);

/* The four occupancies that cover most kernels where nothing else is searched. */
#define TSW_KIND_OCCUPANCIES 4
extern const int64_t tsw_kind_occupancy_only[TSW_KIND_OCCUPANCIES];

/* The values that the rules let a probe try of a knob, ascending: powers of two. Of the occupancy
 * 1, 2, 4, 8 where only it is searched, else up to the end of its range and what the kind bears; of
 * num_ctas up to 16 where blocks share tiles; of a tile 16 to 256. 0: no rule says, of other
 * tunables. */
#define TSW_KIND_VALUES_MAX 8
size_t tsw_kind_values(const tsw_pack_t *pack, size_t knob, int64_t values[TSW_KIND_VALUES_MAX]);

/* Gain over the fixed config that kernels of this kind were seen to have, in percent. */
typedef struct {
    double low, high;
} tsw_kind_gain_t;
tsw_kind_gain_t tsw_kind_gain(const tsw_pack_t *pack);

/* Bound by a shape's floating-point operations per byte: below 10 memory, up to 50 balanced, above
 * compute. For the order of work only. */
tsw_class_t tsw_class_of_intensity(double flops_per_byte);

#endif
