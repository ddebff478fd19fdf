/* Files that commands write. */
#ifndef TSW_CLI_OUTPUT_H
#define TSW_CLI_OUTPUT_H

#include "base/err.h"

/* Whether a command may write there: a file is replaced only by one of its kind, which begins with
 * `start`; what is there else was named by mistake. TSW_ERR_EXISTS says so, with `kind` ("a
 * patch"). NULL as path, an empty file, a pipe and a device are fine. */
tsw_status_t tsw_cli_check_output(const char *path, const char *start, const char *kind,
                                  tsw_err_t *err);

#endif
