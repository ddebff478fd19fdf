/* A probe is directed: its fixed dimensions are fixed and its varied ones vary. */
#ifndef TSW_SPACE_SPACE_PROBE_H
#define TSW_SPACE_SPACE_PROBE_H

#include "space/space.h"

/* What a probe of this kind of kernel does with a tunable or hint. */
typedef enum { TSW_PROBE_FREE, TSW_PROBE_FIXED, TSW_PROBE_VARIED } tsw_probe_role_t;

/* Fused matmuls (T9) hold all tiles and vary occupancy and num_ctas. Attention (T5, T8) holds the
 * tile of the keys, which the grid does not follow, and varies that of the queries and num_ctas. */
tsw_probe_role_t tsw_space_probe_role(const tsw_pack_t *pack, size_t knob);

/* Each knob is named once as fixed or varied, and as its kind has it; over the rows the fixed ones
 * are constant and the varied ones vary. There are 30 configs, baseline in, or all that the varied
 * ones allow by tsw_kind_values and the filters, when these are fewer. TSW_ERR_INPUT with the place
 * of the entry and what is wrong. eval as in tsw_space_make. */
tsw_status_t tsw_space_probe_check(const tsw_space_t *space, const tsw_variant_t *variant,
                                   tsw_arch_t arch, const tsw_job_entry_t *entry, tsw_eval_t *eval,
                                   tsw_err_t *err);

#endif
