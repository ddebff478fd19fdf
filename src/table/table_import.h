/* Recorded times of other tuners: Kernel Tuner's cache files and results in the T4 format. Pure:
 * text in, samples and outcomes out. */
#ifndef TSW_TABLE_TABLE_IMPORT_H
#define TSW_TABLE_TABLE_IMPORT_H

#include "base/err.h"
#include "record/outcome.h"

#include <stddef.h>

typedef struct {
    char *name;
    char *value; /* as text: 64, true, "wide" without the quotes */
} tsw_import_value_t;

typedef struct {
    char *config;               /* "BLOCK_M=64 STAGES=2", in the file's order */
    tsw_import_value_t *values; /* the same, apart */
    size_t value_count;
    tsw_outcome_t outcome;
    double *times_ns; /* in the order in which they were taken; positive and finite */
    size_t count;     /* above 0 exactly when the outcome is ok */
} tsw_import_config_t;

typedef struct {
    char *device; /* "": the file does not say */
    char *kernel;
    tsw_import_config_t *configs;
    size_t count;
} tsw_import_t;

/* The kind of the file is seen from its keys. A cache file may be open-ended, as its tuner leaves
 * it while it runs or when it is killed. label starts messages. TSW_ERR_INPUT: what is wrong, and
 * where. */
tsw_status_t tsw_import_read(const char *label, const char *text, size_t size,
                             tsw_import_t *import_p, tsw_err_t *err);
void tsw_import_fini(tsw_import_t *import);

#endif
