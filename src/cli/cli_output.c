#include "cli/cli_output.h"

#include "base/file.h"

#include <string.h>

tsw_status_t tsw_cli_check_output(const char *path, const char *start, const char *kind,
                                  tsw_err_t *err)
{
    tsw_buf_t found = TSW_BUF_INIT;
    if (path == NULL || !tsw_path_is_file(path))
        return TSW_OK;
    tsw_status_t status = tsw_file_read_start(path, strlen(start), &found, err);
    if (status == TSW_OK && found.size > 0 && strcmp(tsw_buf_text(&found), start) != 0)
        status = tsw_err_set(err, TSW_ERR_EXISTS,
                             "%s is there already, and is not %s: it is not replaced", path, kind);
    tsw_buf_fini(&found);
    return status;
}
