/* What a release never searches, since the kind of kernel says that it is of no use or belongs to
 * the kernel's source (docs/rules.md). */
#ifndef TSW_SPACE_SPACE_FORBID_H
#define TSW_SPACE_SPACE_FORBID_H

#include "space/space.h"

/* Rules by which a tunable or hint is not searched at all, whatever its values. */
typedef enum {
    TSW_FORBID_NUM_CTAS, /* R9: blocks share no tile */
    TSW_FORBID_BLOCK,    /* R10: the block size is a constant, found offline */
    TSW_FORBID_TUNABLE,  /* R28: of a Tile pack, what is no tile size belongs to the source */
    TSW_FORBID_COUNT
} tsw_forbid_t;

bool tsw_space_forbids(const tsw_pack_t *pack, size_t knob, tsw_forbid_t rule);

/* For a release of a Tile pack: none of these has several values, and no occupancy is above what
 * the kind bears (R5). A pack may name exceptions. entry: of the job, or NULL. TSW_ERR_INPUT names
 * rule, places and way out. */
tsw_status_t tsw_space_forbid_check(const tsw_space_t *space, const tsw_pack_t *pack,
                                    tsw_arch_t arch, const tsw_job_entry_t *entry, tsw_err_t *err);

#endif
