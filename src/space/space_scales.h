/* The blocks of block-scaled fp8: one scale holds for so many elements along a dim. */
#ifndef TSW_SPACE_SPACE_SCALES_H
#define TSW_SPACE_SPACE_SCALES_H

#include "pack/pack.h"

/* Elements along a dim that share a scale, from the sizes of the f32 inputs of an fp8 pack (T6):
 * n of "ceildiv(DIM, n)". 0: there is none. */
int64_t tsw_space_scale_block(const tsw_pack_t *pack, const char *dim);

/* Whether a tile has its block: always but for tiles along a scaled dim. Another one gives wrong
 * results. */
bool tsw_space_fits_scales(const tsw_pack_t *pack, size_t knob, int64_t value);

#endif
