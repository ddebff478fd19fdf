/* Which config of a pack a config of another tuner's file is. */
#ifndef TSW_TABLE_TABLE_MATCH_H
#define TSW_TABLE_TABLE_MATCH_H

#include "space/space.h"
#include "table/table_import.h"

typedef struct {
    const char *label; /* of the file, in messages */
    const tsw_import_t *import;
    const char *names; /* "TILE_M=block_size_x,TILE_N=block_size_y": knob and its name in
                          the file; NULL: they are called alike (case does not matter) */
    const tsw_pack_t *pack;
    const tsw_config_t *configs; /* of the job */
    size_t config_count;
} tsw_match_t;

/* For each config of the job its index in the file, UINT32_MAX: not there; *found_p counts them.
 * A knob that the file lacks must have one value in the job; a tunable of the file that the pack
 * lacks must have one value in the file. TSW_ERR_INPUT names what does not fit, and what is
 * nearest: a name, a value that is no whole number, a config twice, no config in common.
 * TSW_ERR_ARG: names that cannot be. */
tsw_status_t tsw_match_configs(const tsw_match_t *match, uint32_t *index_of, size_t *found_p,
                               tsw_err_t *err);

#endif
