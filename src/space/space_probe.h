/* A probe is directed: its fixed dimensions are fixed and its varied ones vary. */
#ifndef TSW_SPACE_SPACE_PROBE_H
#define TSW_SPACE_SPACE_PROBE_H

#include "space/space.h"

/* TSW_ERR_INPUT with the place of the entry and what is wrong. */
tsw_status_t tsw_space_probe_check(const tsw_space_t *space, const tsw_pack_t *pack,
                                   const tsw_job_entry_t *entry, tsw_err_t *err);

#endif
