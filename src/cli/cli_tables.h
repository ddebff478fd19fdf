/* A reduction as release tables. */
#ifndef TSW_CLI_TABLES_H
#define TSW_CLI_TABLES_H

#include "cli/cli_verdict.h"
#include "reduce/reduce.h"
#include "table/table.h"

typedef struct {
    tsw_table_t *items; /* one per arch, ascending */
    size_t count;
} tsw_cli_tables_t;

/* TSW_ERR_UNSUPPORTED: the purpose of the run is not release. */
tsw_status_t tsw_cli_tables_make(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                 const tsw_cli_verdicts_t *verdicts, tsw_cli_tables_t *tables_p,
                                 tsw_err_t *err);
void tsw_cli_tables_fini(tsw_cli_tables_t *tables);

/* DIR/sm_90.json and so on; the folder is made when there is a table. Names of the files written go
 * to out, a line each.
 */
tsw_status_t tsw_cli_tables_write(const tsw_cli_tables_t *tables, const char *dir, tsw_buf_t *out,
                                  tsw_err_t *err);

/* Appends a JSON array of the tables. */
tsw_status_t tsw_cli_tables_json(const tsw_cli_tables_t *tables, tsw_buf_t *out, tsw_err_t *err);

#endif
