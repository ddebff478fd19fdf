/* Release tables: one JSON file per arch. */
#ifndef TSW_TABLE_TABLE_H
#define TSW_TABLE_TABLE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdint.h>

#define TSW_TABLE_SCHEMA 3

typedef struct {
    char *variant;
    char *shape;
    uint32_t config; /* index in the pack's configs */
    double time_ns;
    double ci_low_ns, ci_high_ns; /* NaN, null in JSON: the time is an estimate or one sample */
    double speedup;               /* over the baseline */
    double regret;                /* of this choice against the cell's winner */
    uint32_t tie_count;           /* configs not told apart from the winner */
    char *unstable; /* why its times may not stand still, "clock+drift"; NULL: nothing is known */
    /* Millijoules per launch, with interval, and the power meanwhile, under objective energy. NaN,
     * null in JSON: another objective, or not tried by energy; the interval also for one block. */
    double energy_mj, energy_low_mj, energy_high_mj, power_w;
} tsw_table_row_t;

typedef struct {
    char *name;
    tsw_key_t pack_key;
    char *variant;  /* NULL: all */
    char **configs; /* canonical texts, [0] is the baseline */
    size_t config_count;
    tsw_table_row_t *rows;
    size_t row_count;
    double mean_regret, worst_regret; /* of the configs over the rows, mean weighted */
    double baseline_mean_regret, baseline_worst_regret;
    size_t candidate_count; /* configs that were measured */
    char *verdict;          /* "done", ...: docs/rules.md */
    /* baseline / best other config over the rows; 0: no row has both. The interval may be NaN, null
     * in JSON. */
    double gain, gain_low, gain_high;
} tsw_table_pack_t;

typedef struct {
    uint32_t schema; /* TSW_TABLE_SCHEMA */
    uint32_t arch;
    char *mode; /* "cuda", "sim", "replay": anything but cuda is refused by consumers */
    char *purpose;
    char *toolchain;
    char *device; /* name */
    char *clocks;
    char *cache_mode;
    char *objective;  /* "median", ..: what the best config has least of */
    tsw_key_t digest; /* of the record set */
    tsw_table_pack_t *packs;
    size_t pack_count;
} tsw_table_t;

void tsw_table_fini(tsw_table_t *table);
/* Into the order that a table is written in: packs by name and variant, rows by variant and shape;
 * numbers inside names by value, so that M=512 stands before M=1024. */
void tsw_table_sort(tsw_table_t *table);
/* The order of two names (or NULL, which comes first): < 0, 0, > 0. */
int tsw_table_compare(const char *a, const char *b);
/* Append the JSON text: stable order of keys, numbers with 12 digits, one row per line, nothing
 * that depends on place or time. An infinite regret (no usable baseline in a cell) and an interval
 * that is NaN are null; any other number that JSON lacks, or text that is absent or no UTF-8, is
 * TSW_ERR_ARG. */
tsw_status_t tsw_table_write(const tsw_table_t *table, tsw_buf_t *out, tsw_err_t *err);
/* Strict: every key there, none unknown. TSW_ERR_INPUT as "line:column: what" with the nearest
 * known key, TSW_ERR_VERSION for another schema. The caller owns *table_p. */
tsw_status_t tsw_table_read(const void *bytes, size_t size, tsw_table_t *table_p, tsw_err_t *err);
/* TSW_OK when the table may be used for real: measured, not simulated or replayed, purpose
 * release. Else TSW_ERR_UNSUPPORTED with the reason. */
tsw_status_t tsw_table_usable(const tsw_table_t *table, tsw_err_t *err);
/* Consistency: at most 8 configs, all different, indices and intervals in range, energies where the
 * objective has them, order as tsw_table_sort makes it: a line of text per fault. */
void tsw_table_check(const tsw_table_t *table, tsw_buf_t *report, size_t *faults_p);

#endif
