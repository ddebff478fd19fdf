/* Shapes of a job: lists, ranges, products and CSV files. Private to pack. */
#ifndef TSW_PACK_JOB_SHAPES_H
#define TSW_PACK_JOB_SHAPES_H

#include "pack/job_shape_set.h"
#include "pack/view.h"

#define TSW_JOB_SHAPES_MAX 10000000 /* of one entry, before duplicates are dropped */

/* Sums of weights and of their squares stay numbers. */
#define TSW_WEIGHT_RANGE "a number from 1e-9 to 1e9"
static inline bool tsw_weight_is_good(double weight)
{
    return weight >= 1e-9 && weight <= 1e9;
}

/* Read the `shapes` of an entry of the job; CSV files are found in the snapshot. Each shape comes
 * once, in the order in which it was first named. *shapes_p is heap. TSW_ERR_INPUT with the place,
 * also for a product beyond TSW_JOB_SHAPES_MAX. */
tsw_status_t tsw_shapes_read(const tsw_pack_t *pack, tsw_view_t entry,
                             const tsw_fileset_t *snapshot, tsw_shape_t **shapes_p, size_t *count_p,
                             tsw_err_t *err);

/* Add the shapes of a CSV file: a header with the names of all dims and, if wanted, weight. */
tsw_status_t tsw_shapes_read_csv(const tsw_pack_t *pack, const char *name, const char *text,
                                 size_t size, double weight, tsw_shape_set_t *set, tsw_err_t *err);

/* Name of a CSV file in a snapshot: "csv/" and the last part of the path; heap; NULL: no memory. */
char *tsw_shapes_csv_name(const char *path);

#endif
