/* A library with the entry points of NVRTC that tilesweep uses (docs: fake_compiler.h). */
#include "fake_compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, OUT_OF_MEMORY = 1, COMPILATION = 6, BUILTIN_OPERATION_FAILURE = 7 };

typedef struct {
    char *source;
    char *name;
    char log[4096];
    char product[64 * 1024];
    size_t product_size;
} program_t;

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT const char *nvrtcGetErrorString(int result);
EXPORT int nvrtcCreateProgram(program_t **program_p, const char *source, const char *name,
                              int header_count, const char *const *headers,
                              const char *const *names);
EXPORT int nvrtcDestroyProgram(program_t **program_p);
EXPORT int nvrtcCompileProgram(program_t *program, int option_count, const char *const *options);
EXPORT int nvrtcGetProgramLogSize(program_t *program, size_t *size_p);
EXPORT int nvrtcGetProgramLog(program_t *program, char *log);
EXPORT int nvrtcGetCUBINSize(program_t *program, size_t *size_p);
EXPORT int nvrtcGetCUBIN(program_t *program, char *bytes);
EXPORT int nvrtcGetTileIRSize(program_t *program, size_t *size_p);
EXPORT int nvrtcGetTileIR(program_t *program, char *bytes);

int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 5;
    return SUCCESS;
}

const char *nvrtcGetErrorString(int result)
{
    return result == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER";
}

int nvrtcCreateProgram(program_t **program_p, const char *source, const char *name,
                       int header_count, const char *const *headers, const char *const *names)
{
    (void)header_count;
    (void)headers;
    (void)names;
    program_t *program = calloc(1, sizeof(*program));
    size_t source_size = strlen(source) + 1, name_size = strlen(name) + 1;
    program->source = malloc(source_size);
    program->name = malloc(name_size);
    memcpy(program->source, source, source_size);
    memcpy(program->name, name, name_size);
    *program_p = program;
    return SUCCESS;
}

int nvrtcDestroyProgram(program_t **program_p)
{
    free((*program_p)->source);
    free((*program_p)->name);
    free(*program_p);
    *program_p = NULL;
    return SUCCESS;
}

static unsigned arch_of(int option_count, const char *const *options)
{
    for (int i = 0; i < option_count; i++) {
        if (strncmp(options[i], "-arch=sm_", 9) == 0)
            return (unsigned)strtoul(options[i] + 9, NULL, 10);
    }
    return 0;
}

int nvrtcCompileProgram(program_t *program, int option_count, const char *const *options)
{
    static fake_unit_t unit;
    unsigned arch = arch_of(option_count, options);
    fake_unit_read(&unit, program->source, option_count, options);
    if (fake_unit_does(&unit, "nvrtc_spin", arch))
        fake_spin();
    if (fake_unit_does(&unit, "nvrtc_crash", arch))
        abort();
    if (fake_unit_does(&unit, "nvrtc_oom", arch))
        return OUT_OF_MEMORY;
    if (fake_unit_does(&unit, "nvrtc_builtins", arch))
        return BUILTIN_OPERATION_FAILURE;
    if (fake_unit_does(&unit, "error", arch)) {
        snprintf(program->log, sizeof(program->log),
                 "\n%s(1): error: the fake compiler was told to fail\n\n1 error detected\n",
                 program->name);
        return COMPILATION;
    }
    if (fake_unit_does(&unit, "hint_dropped", arch))
        snprintf(program->log, sizeof(program->log),
                 "%s(7): warning #20369-D: tile optimization hint \"occupancy\" ignored because "
                 "its value (99) is invalid.\n",
                 program->name);
    program->product_size =
        unit.tile ? fake_unit_write_ir(&unit, program->product, sizeof(program->product))
                  : fake_unit_write_cubin(&unit, arch, (uint8_t *)program->product,
                                          sizeof(program->product));
    return SUCCESS;
}

int nvrtcGetProgramLogSize(program_t *program, size_t *size_p)
{
    *size_p = strlen(program->log) + 1;
    return SUCCESS;
}

int nvrtcGetProgramLog(program_t *program, char *log)
{
    memcpy(log, program->log, strlen(program->log) + 1);
    return SUCCESS;
}

int nvrtcGetCUBINSize(program_t *program, size_t *size_p)
{
    *size_p = program->product_size;
    return SUCCESS;
}

int nvrtcGetCUBIN(program_t *program, char *bytes)
{
    memcpy(bytes, program->product, program->product_size);
    return SUCCESS;
}

int nvrtcGetTileIRSize(program_t *program, size_t *size_p)
{
    return nvrtcGetCUBINSize(program, size_p);
}

int nvrtcGetTileIR(program_t *program, char *bytes)
{
    return nvrtcGetCUBIN(program, bytes);
}
