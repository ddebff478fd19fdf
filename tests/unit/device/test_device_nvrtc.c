/* The tool's own kernels compile with NVRTC for all archs, without a header and without a word.
 * Skipped (77) where the toolchain is not set up. */
#include "device/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program *program_t;

typedef struct {
    int (*create)(program_t *program_p, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(program_t program, int count, const char *const *options);
    int (*log_size)(program_t program, size_t *size_p);
    int (*log)(program_t program, char *log);
    int (*cubin_size)(program_t program, size_t *size_p);
    int (*destroy)(program_t *program_p);
} nvrtc_t;

static bool find(void *library, const char *symbol, void *function_p)
{
    void *function = dlsym(library, symbol);
    memcpy(function_p, &function, sizeof(function));
    return function != NULL;
}

static bool load(void *library, nvrtc_t *nvrtc)
{
    return find(library, "nvrtcCreateProgram", &nvrtc->create) &&
           find(library, "nvrtcCompileProgram", &nvrtc->compile) &&
           find(library, "nvrtcGetProgramLogSize", &nvrtc->log_size) &&
           find(library, "nvrtcGetProgramLog", &nvrtc->log) &&
           find(library, "nvrtcGetCUBINSize", &nvrtc->cubin_size) &&
           find(library, "nvrtcDestroyProgram", &nvrtc->destroy);
}

/* 0: compiles, says nothing, yields a cubin. */
static int check(const nvrtc_t *nvrtc, const char *arch)
{
    const char *options[] = {arch, "--std=c++20"};
    program_t program = NULL;
    size_t log_size = 0, cubin_size = 0;
    if (nvrtc->create(&program, tsw_tool_source(), "tool.cu", 0, NULL, NULL) != 0)
        return 1;
    int result = nvrtc->compile(program, 2, options);
    nvrtc->log_size(program, &log_size);
    char *log = calloc(1, log_size + 1);
    if (log != NULL)
        nvrtc->log(program, log);
    nvrtc->cubin_size(program, &cubin_size);
    bool good = result == 0 && log != NULL && log[0] == '\0' && cubin_size > 0;
    printf("%s: result %d, cubin of %zu bytes %s\n", arch, result, cubin_size,
           log != NULL ? log : "");
    free(log);
    nvrtc->destroy(&program);
    return good ? 0 : 1;
}

int main(void)
{
    static const char *const archs[] = {"-arch=sm_80", "-arch=sm_89", "-arch=sm_90", "-arch=sm_100",
                                        "-arch=sm_120"};
    char path[4096];
    const char *root = getenv("TSW_TEST_NVRTC_ROOT");
    snprintf(path, sizeof(path), "%s/lib/libnvrtc.so.13", root != NULL ? root : "");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    nvrtc_t nvrtc;
    if (library == NULL) {
        printf("skipped: %s\n", dlerror());
        return 77;
    }
    if (strstr(tsw_tool_source(), tsw_tool_entry) == NULL || !load(library, &nvrtc))
        return 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
        failed += check(&nvrtc, archs[i]);
    return failed > 0;
}
