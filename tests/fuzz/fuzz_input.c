#include "fuzz.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_must(tsw_status_t status, const tsw_err_t *err)
{
    if (status == TSW_OK)
        return;
    fprintf(stderr, "the target itself: %s\n", err->text);
    abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = tsw_malloc(size + 1);
    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static char dir[64];

static void remove_dir(void)
{
    tsw_dir_remove(dir, NULL);
}

const char *fuzz_dir(void)
{
    if (dir[0] != '\0')
        return dir;
    snprintf(dir, sizeof(dir), "%s/tilesweep-fuzz-XXXXXX",
             access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL)
        abort();
    atexit(remove_dir);
    return dir;
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", fuzz_dir(), name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    return path;
}

static tsw_fileset_t packs;

static void free_packs(void)
{
    tsw_fileset_fini(&packs);
}

const tsw_fileset_t *fuzz_packs(void)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (packs.count > 0)
        return &packs;
    fuzz_must(tsw_fileset_add_dir(&packs, "packs/", TSW_SOURCE_DIR "/kernels", &err), &err);
    atexit(free_packs);
    return &packs;
}
