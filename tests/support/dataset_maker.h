/* Made-up results for tests: everything filled, everything a function of the seed. */
#ifndef TSW_TESTS_DATASET_MAKER_H
#define TSW_TESTS_DATASET_MAKER_H

#include "record/dataset.h"

/* What to make. Cell c is the shape "M=<128 * (c + 1)> N=256" of pack "demo", measured on node
 * "node<c mod nodes>" by GPU "sim:h200:<c mod nodes>". */
typedef struct {
    uint64_t seed;
    size_t cells;
    size_t configs; /* per cell; config 1 fails to compile, config 2 is an alias of 0 */
    size_t rounds;  /* per config, after 2 warm-up samples */
    size_t nodes;   /* at least 1 */
    uint32_t attempt;
} tsw_make_t;

/* All die with a message instead of returning errors. */
tsw_run_meta_t tsw_make_meta(const tsw_make_t *make);
tsw_cell_result_t tsw_make_cell(const tsw_make_t *make, size_t index);
tsw_dataset_t tsw_make_dataset(const tsw_make_t *make);

/* Field by field, also what the digest leaves out; NULL when equal, else the name of the first
 * field that differs (static text). */
const char *tsw_cell_difference(const tsw_cell_result_t *a, const tsw_cell_result_t *b);
const char *tsw_meta_difference(const tsw_run_meta_t *a, const tsw_run_meta_t *b);
const char *tsw_dataset_difference(const tsw_dataset_t *a, const tsw_dataset_t *b);

#endif
