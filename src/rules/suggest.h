/* What might help a kernel and is no config: told to people, never applied (docs/rules.md). */
#ifndef TSW_RULES_SUGGEST_H
#define TSW_RULES_SUGGEST_H

#include "base/buf.h"
#include "pack/pack.h"

/* What was measured of one pack on one arch. */
typedef struct {
    bool large_tiles_lose; /* the largest tiles are slower than smaller ones on most shapes */
    bool has_idle_sms;     /* a winner has fewer blocks than the device has multiprocessors */
    double roof_ratio;     /* mean share of the calibrated roof; 0: not known */
} tsw_suggest_facts_t;

/* How the source computes: words in it, no proof. */
typedef struct {
    bool approximates; /* divisions, exp2 rounded approximately */
    bool flushes;      /* subnormals to zero */
} tsw_math_t;
tsw_math_t tsw_suggest_math(const tsw_pack_t *pack);

/* Appends a line per suggestion, after indent. */
void tsw_suggest(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts, const char *indent,
                 tsw_buf_t *out);

/* Elements of the output in one tile of a config, by its canonical text; 0: the pack has none. */
int64_t tsw_suggest_tile_area(const tsw_pack_t *pack, const char *config);

#endif
