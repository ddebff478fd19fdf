#include "cli/cli_exit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
    tsw_status_t status;
    tsw_exit_t code;
} codes[] = {
    {TSW_OK, TSW_EXIT_DONE},
    {TSW_ERR_NOMEM, TSW_EXIT_ENV},
    {TSW_ERR_ARG, TSW_EXIT_USAGE},
    {TSW_ERR_INPUT, TSW_EXIT_USAGE},
    {TSW_ERR_NOT_FOUND, TSW_EXIT_USAGE},
    {TSW_ERR_EXISTS, TSW_EXIT_USAGE},
    {TSW_ERR_IO, TSW_EXIT_ENV},
    {TSW_ERR_FULL, TSW_EXIT_ENV},
    {TSW_ERR_CORRUPT, TSW_EXIT_USAGE},
    {TSW_ERR_VERSION, TSW_EXIT_USAGE},
    {TSW_ERR_ENV, TSW_EXIT_ENV},
    {TSW_ERR_UNSUPPORTED, TSW_EXIT_USAGE},
    {TSW_ERR_OVERFLOW, TSW_EXIT_USAGE},
    {TSW_ERR_TIMEOUT, TSW_EXIT_ENV},
    {TSW_ERR_CANCELED, TSW_EXIT_STOPPED},
    {TSW_ERR_DEVICE, TSW_EXIT_ENV},
    {TSW_ERR_DEVICE_LOST, TSW_EXIT_ENV},
    {TSW_ERR_DEVICE_MEMORY, TSW_EXIT_ENV},
    {TSW_ERR_PEER, TSW_EXIT_ENV},
    {TSW_ERR_BUG, TSW_EXIT_BUG},
    {TSW_ERR_DEVICE_UNFIT, TSW_EXIT_ENV},
};

tsw_exit_t tsw_exit_of_status(tsw_status_t status)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return TSW_EXIT_BUG;
}

tsw_exit_t tsw_cli_fail(const char *command, tsw_status_t status, const tsw_err_t *err)
{
    const bool has_text = err != NULL && err->text[0] != '\0';
    fprintf(stderr, "tilesweep %s: %s\n", command, has_text ? err->text : tsw_status_text(status));
    if (status == TSW_ERR_BUG && err != NULL && err->origin_file != NULL)
        fprintf(stderr, "tilesweep %s: a bug, found at %s:%d\n", command, err->origin_file,
                err->origin_line);
    return tsw_exit_of_status(status);
}
