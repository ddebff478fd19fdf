#include "nvrtc_lite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program *program_t;

static struct {
    int (*create)(program_t *program_p, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(program_t program, int count, const char *const *options);
    int (*log_size)(program_t program, size_t *size_p);
    int (*log)(program_t program, char *log);
    int (*cubin_size)(program_t program, size_t *size_p);
    int (*cubin)(program_t program, char *cubin);
    int (*destroy)(program_t *program_p);
} nvrtc;

static bool find(void *library, const char *symbol, void *function_p)
{
    void *function = dlsym(library, symbol);
    memcpy(function_p, &function, sizeof(function));
    return function != NULL;
}

bool nvrtc_lite_open(const char *root)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s%slibnvrtc.so.13", root != NULL ? root : "",
             root != NULL ? "/lib/" : "");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("no NVRTC: %s\n", dlerror());
        return false;
    }
    return find(library, "nvrtcCreateProgram", &nvrtc.create) &&
           find(library, "nvrtcCompileProgram", &nvrtc.compile) &&
           find(library, "nvrtcGetProgramLogSize", &nvrtc.log_size) &&
           find(library, "nvrtcGetProgramLog", &nvrtc.log) &&
           find(library, "nvrtcGetCUBINSize", &nvrtc.cubin_size) &&
           find(library, "nvrtcGetCUBIN", &nvrtc.cubin) &&
           find(library, "nvrtcDestroyProgram", &nvrtc.destroy);
}

/* Bytes of a size that NVRTC tells, and the text or image that it writes. */
static void append(tsw_buf_t *out, program_t program, int (*size_of)(program_t, size_t *),
                   int (*get)(program_t, char *))
{
    size_t size = 0;
    char *bytes = size_of(program, &size) == 0 && size > 0 ? malloc(size) : NULL;
    if (bytes != NULL && get(program, bytes) == 0)
        tsw_buf_append(out, bytes, size);
    free(bytes);
}

bool nvrtc_lite_compile(const char *source, const char *arch, tsw_buf_t *out, tsw_buf_t *log)
{
    char option[32];
    snprintf(option, sizeof(option), "-arch=%s", arch);
    const char *options[] = {option, "--std=c++20"};
    program_t program = NULL;
    if (nvrtc.create(&program, source, "test.cu", 0, NULL, NULL) != 0)
        return false;
    bool good = nvrtc.compile(program, 2, options) == 0;
    append(log, program, nvrtc.log_size, nvrtc.log);
    if (good)
        append(out, program, nvrtc.cubin_size, nvrtc.cubin);
    nvrtc.destroy(&program);
    return good && out->size > 0 && tsw_buf_ok(out);
}
