#include "build/nvrtc.h"

#include "base/library.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The few types and functions of NVRTC that are used; nvrtcResult is an int. */
typedef void *program_t;

enum {
    RESULT_SUCCESS = 0,
    RESULT_OUT_OF_MEMORY = 1,
    RESULT_BUILTIN_OPERATION_FAILURE = 7, /* the builtins library could not be loaded */
};

#define HINT_DROPPED "#20369-D"

typedef int (*get_size_fn_t)(program_t program, size_t *size_p);
typedef int (*get_bytes_fn_t)(program_t program, char *bytes);

struct tsw_nvrtc {
    int major, minor;
    int (*version)(int *major_p, int *minor_p);
    const char *(*error_text)(int result);
    int (*create)(program_t *program_p, const char *text, const char *name, int header_count,
                  const char *const *headers, const char *const *header_names);
    int (*destroy)(program_t *program);
    int (*compile)(program_t program, int option_count, const char *const *options);
    get_size_fn_t log_size;
    get_bytes_fn_t log;
    get_size_fn_t cubin_size;
    get_bytes_fn_t cubin;
    get_size_fn_t tile_ir_size; /* NULL before 13.3 */
    get_bytes_fn_t tile_ir;
};

static const char *find_all(void *library, tsw_nvrtc_t *nvrtc)
{
    struct {
        const char *name;
        void *function_p;
        bool optional;
    } wanted[] = {
        {"nvrtcVersion", &nvrtc->version, false},
        {"nvrtcGetErrorString", &nvrtc->error_text, false},
        {"nvrtcCreateProgram", &nvrtc->create, false},
        {"nvrtcDestroyProgram", &nvrtc->destroy, false},
        {"nvrtcCompileProgram", &nvrtc->compile, false},
        {"nvrtcGetProgramLogSize", &nvrtc->log_size, false},
        {"nvrtcGetProgramLog", &nvrtc->log, false},
        {"nvrtcGetCUBINSize", &nvrtc->cubin_size, false},
        {"nvrtcGetCUBIN", &nvrtc->cubin, false},
        {"nvrtcGetTileIRSize", &nvrtc->tile_ir_size, true},
        {"nvrtcGetTileIR", &nvrtc->tile_ir, true},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!tsw_library_find(library, wanted[i].name, wanted[i].function_p) && !wanted[i].optional)
            return wanted[i].name;
    }
    return NULL;
}

tsw_status_t tsw_nvrtc_open(const char *path, tsw_nvrtc_t **nvrtc_p, tsw_err_t *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return tsw_err_set(err, TSW_ERR_ENV, "cannot load NVRTC: %s", dlerror());
    tsw_nvrtc_t *nvrtc = tsw_calloc(1, sizeof(*nvrtc));
    if (nvrtc == NULL)
        return tsw_err_nomem(err);
    const char *missing = find_all(library, nvrtc);
    if (missing != NULL) {
        tsw_free(nvrtc);
        return tsw_err_set(err, TSW_ERR_ENV, "%s lacks %s: not a usable NVRTC", path, missing);
    }
    if (nvrtc->version(&nvrtc->major, &nvrtc->minor) != RESULT_SUCCESS) {
        tsw_free(nvrtc);
        return tsw_err_set(err, TSW_ERR_ENV, "%s does not tell its version", path);
    }
    *nvrtc_p = nvrtc;
    return TSW_OK;
}

void tsw_nvrtc_close(tsw_nvrtc_t *nvrtc)
{
    tsw_free(nvrtc);
}

void tsw_nvrtc_version(const tsw_nvrtc_t *nvrtc, int *major_p, int *minor_p)
{
    *major_p = nvrtc->major;
    *minor_p = nvrtc->minor;
}

/* Append a product of the program to out. */
static bool append(program_t program, get_size_fn_t get_size, get_bytes_fn_t get_bytes,
                   tsw_buf_t *out)
{
    size_t size = 0;
    if (get_size(program, &size) != RESULT_SUCCESS)
        return false;
    if (size == 0)
        return true;
    char *bytes = tsw_malloc(size);
    bool ok = bytes != NULL && get_bytes(program, bytes) == RESULT_SUCCESS;
    if (ok)
        tsw_buf_append(out, bytes, size);
    tsw_free(bytes);
    return ok && tsw_buf_ok(out);
}

static void append_log(const tsw_nvrtc_t *nvrtc, program_t program, tsw_buf_t *log)
{
    tsw_buf_t text = TSW_BUF_INIT;
    if (append(program, nvrtc->log_size, nvrtc->log, &text))
        tsw_buf_append_text(log, tsw_buf_text(&text)); /* without its trailing zero */
    tsw_buf_fini(&text);
}

/* The first line of text that has word in it, or the first line. */
static void copy_line(const char *text, const char *word, char *out, size_t size)
{
    const char *at = strstr(text, word);
    if (at == NULL)
        at = text;
    while (at > text && at[-1] != '\n')
        at--;
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static tsw_status_t judge(const tsw_nvrtc_t *nvrtc, int code, const char *log,
                          tsw_nvrtc_result_t *result, tsw_err_t *err)
{
    if (code == RESULT_BUILTIN_OPERATION_FAILURE)
        return tsw_err_set_vendor(err, TSW_ERR_ENV, code,
                                  "NVRTC: %s (is its builtins library "
                                  "beside it?)",
                                  nvrtc->error_text(code));
    result->outcome = TSW_OUTCOME_OK;
    if (code == RESULT_OUT_OF_MEMORY) {
        result->outcome = TSW_OUTCOME_OUT_OF_MEMORY;
        snprintf(result->detail, sizeof(result->detail), "NVRTC ran out of host memory");
    } else if (code != RESULT_SUCCESS) {
        result->outcome = TSW_OUTCOME_COMPILE_FAILED;
        copy_line(log, "error", result->detail, sizeof(result->detail));
        if (result->detail[0] == '\0')
            snprintf(result->detail, sizeof(result->detail), "%s", nvrtc->error_text(code));
    } else if (strstr(log, HINT_DROPPED) != NULL) {
        result->outcome = TSW_OUTCOME_COMPILE_FAILED;
        copy_line(log, HINT_DROPPED, result->detail, sizeof(result->detail));
    }
    return TSW_OK;
}

static tsw_status_t take_code(const tsw_nvrtc_t *nvrtc, tsw_nvrtc_product_t product,
                              program_t program, tsw_nvrtc_result_t *result, tsw_err_t *err)
{
    bool tile = product == TSW_NVRTC_TILE_IR;
    if (!append(program, tile ? nvrtc->tile_ir_size : nvrtc->cubin_size,
                tile ? nvrtc->tile_ir : nvrtc->cubin, &result->code))
        return tsw_err_nomem(err);
    if (result->code.size == 0) {
        result->outcome = TSW_OUTCOME_COMPILE_FAILED;
        snprintf(result->detail, sizeof(result->detail), "NVRTC made no %s from this source",
                 tile ? "Tile IR" : "cubin");
    }
    return TSW_OK;
}

tsw_status_t tsw_nvrtc_compile(const tsw_nvrtc_t *nvrtc, tsw_nvrtc_product_t product,
                               const char *text, const char *name, const char *const *options,
                               size_t option_count, tsw_nvrtc_result_t *result_p, tsw_buf_t *log,
                               tsw_err_t *err)
{
    if (product == TSW_NVRTC_TILE_IR && (nvrtc->tile_ir == NULL || nvrtc->tile_ir_size == NULL))
        return tsw_err_set(err, TSW_ERR_ENV, "Tile C++ needs NVRTC 13.3 or later, this is %d.%d",
                           nvrtc->major, nvrtc->minor);
    tsw_nvrtc_result_t result = {.code = TSW_BUF_INIT};
    program_t program = NULL;
    int code = nvrtc->create(&program, text, name, 0, NULL, NULL);
    if (code != RESULT_SUCCESS)
        return tsw_err_set_vendor(err, TSW_ERR_ENV, code, "NVRTC cannot begin: %s",
                                  nvrtc->error_text(code));
    code = nvrtc->compile(program, (int)option_count, options);
    size_t before = log->size;
    append_log(nvrtc, program, log);
    const char *said = log->size > before ? tsw_buf_text(log) + before : "";
    tsw_status_t status = judge(nvrtc, code, said, &result, err);
    if (status == TSW_OK && result.outcome == TSW_OUTCOME_OK)
        status = take_code(nvrtc, product, program, &result, err);
    nvrtc->destroy(&program);
    if (status == TSW_OK)
        *result_p = result;
    else
        tsw_nvrtc_result_fini(&result);
    return status;
}

void tsw_nvrtc_result_fini(tsw_nvrtc_result_t *result)
{
    tsw_buf_fini(&result->code);
    *result = (tsw_nvrtc_result_t){.code = TSW_BUF_INIT};
}
