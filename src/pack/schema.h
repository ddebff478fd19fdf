/* One table of keys for job.yaml and kernel.yaml. It drives the reading of files, the message for
 * an unknown key, and the reference pages in docs/ (a test compares them). */
#ifndef TSW_PACK_SCHEMA_H
#define TSW_PACK_SCHEMA_H

#include "base/buf.h"

typedef enum { TSW_SCHEMA_JOB, TSW_SCHEMA_PACK } tsw_schema_id_t;

/* Append the reference as Markdown tables: key, type, default, meaning. */
void tsw_schema_print(tsw_schema_id_t id, tsw_buf_t *out);

#endif
