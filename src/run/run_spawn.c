/* The program tilesweep-worker, in one of its modes. */
#include "base/file.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdio.h>
#include <unistd.h>

char *tsw_run_worker_path(const tsw_run_t *run)
{
    if (run->options->worker_path != NULL)
        return tsw_strdup(run->options->worker_path);
    char *self = tsw_path_self_dir();
    char *path = self != NULL ? tsw_path_join(self, "tilesweep-worker") : NULL;
    tsw_free(self);
    return path;
}

tsw_status_t tsw_run_spawn(tsw_run_t *run, const char *mode, const tsw_child_callbacks_t *callbacks,
                           tsw_child_t **child_p, tsw_err_t *err)
{
    char *path = tsw_run_worker_path(run);
    char *mode_arg = tsw_strdup(mode);
    char parent[24];
    snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    tsw_status_t status = TSW_OK;
    if (path == NULL || mode_arg == NULL) {
        status = tsw_err_nomem(err);
    } else {
        char *argv[] = {path, mode_arg, parent, NULL};
        status = tsw_child_spawn(run->loop, path, argv, NULL, callbacks, child_p, err);
    }
    tsw_free(mode_arg);
    tsw_free(path);
    return status;
}
