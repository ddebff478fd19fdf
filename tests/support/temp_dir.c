#include "temp_dir.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[512];

int tsw_temp_dir_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    if (base == NULL)
        base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(dir, sizeof(dir), "%s/tilesweep-test-XXXXXX", base);
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        abort();
    }
    return 0;
}

int tsw_temp_dir_remove(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_dir_remove(dir, &err) != TSW_OK)
        fprintf(stderr, "%s\n", err.text);
    return 0;
}

const char *tsw_temp_path(const char *name)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}
