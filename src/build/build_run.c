#include "build/build.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "build/nvrtc.h"
#include "build/tileiras.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IR_NAME "kernel.tileir"

/* What one build works with. */
typedef struct {
    const tsw_toolchain_t *toolchain;
    const tsw_build_request_t *request;
    const char *work_dir;
    char *source_dir; /* work_dir/src: the files of the pack */
    tsw_nvrtc_t *nvrtc;
    tsw_build_result_t *result;
} build_t;

/* NVRTC's product, and what it cost. */
typedef struct {
    tsw_nvrtc_result_t nvrtc;
    uint64_t cpu_ns, wall_ns;
} front_t;

void tsw_build_result_fini(tsw_build_result_t *result)
{
    for (size_t i = 0; i < TSW_PLAN_ARCH_MAX; i++)
        tsw_buf_fini(&result->artifacts[i].cubin);
    tsw_buf_fini(&result->log);
    *result = (tsw_build_result_t){.arch_count = 0};
}

static uint64_t own_cpu_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static tsw_status_t check_tools(const tsw_toolchain_t *toolchain,
                                const tsw_build_request_t *request, tsw_err_t *err)
{
    if (toolchain->nvrtc == NULL)
        return tsw_err_set(err, TSW_ERR_ENV, "nothing to compile with: no NVRTC");
    if (request->language != TSW_LANGUAGE_TILE)
        return TSW_OK;
    if (toolchain->tileiras == NULL)
        return tsw_err_set(
            err, TSW_ERR_ENV,
            "Tile C++ needs tileiras, and %s/bin has none; TSW_TOOLCHAIN or --toolchain "
            "names a CUDA 13.3 or later that has",
            toolchain->root);
    tsw_buf_t ptxas = TSW_BUF_INIT;
    tsw_buf_printf(&ptxas, "%s/bin/ptxas", toolchain->root);
    tsw_status_t status = TSW_OK;
    if (!tsw_buf_ok(&ptxas))
        status = tsw_err_nomem(err);
    else if (access(tsw_buf_text(&ptxas), X_OK) != 0)
        status = tsw_err_set(err, TSW_ERR_ENV, "tileiras needs ptxas, and %s/bin has none",
                             toolchain->root);
    tsw_buf_fini(&ptxas);
    return status;
}

/* Folder of path, made with its parents. */
static tsw_status_t make_parent(const char *path, tsw_err_t *err)
{
    char *dir = tsw_strdup(path);
    if (dir == NULL)
        return tsw_err_nomem(err);
    char *slash = strrchr(dir, '/');
    tsw_status_t status = TSW_OK;
    if (slash != NULL) {
        *slash = '\0';
        status = tsw_dir_make(dir, err);
    }
    tsw_free(dir);
    return status;
}

static tsw_status_t write_file(const char *dir, const char *name, const void *bytes, size_t size,
                               tsw_err_t *err)
{
    char *path = tsw_path_join(dir, name);
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = make_parent(path, err);
    FILE *file = NULL;
    if (status == TSW_OK) {
        file = fopen(path, "wb");
        bool written = file != NULL && fwrite(bytes, 1, size, file) == size;
        bool closed = file == NULL || fclose(file) == 0;
        if (!written || !closed)
            status = tsw_err_set_vendor(err, tsw_err_from_errno(errno), errno,
                                        "cannot write %s: %s", path, strerror(errno));
    }
    tsw_free(path);
    return status;
}

/* The pack's files on disk, for its own includes. */
static tsw_status_t write_sources(const build_t *build, tsw_err_t *err)
{
    tsw_status_t status = tsw_dir_make(build->source_dir, err);
    const tsw_fileset_t *files = &build->request->files;
    for (size_t i = 0; status == TSW_OK && i < files->count; i++)
        status = write_file(build->source_dir, files->items[i].name, files->items[i].bytes,
                            files->items[i].size, err);
    return status;
}

/* A growing list of options, each on the heap. */
typedef struct {
    char **items;
    size_t count;
    size_t capacity;
    bool failed;
} options_t;

static void options_add(options_t *options, const char *prefix, const char *text)
{
    tsw_buf_t option = TSW_BUF_INIT;
    tsw_buf_printf(&option, "%s%s", prefix, text);
    char *taken = tsw_buf_take_text(&option);
    if (taken == NULL || !TSW_GROW(options->items, options->capacity, options->count)) {
        tsw_free(taken);
        options->failed = true;
        return;
    }
    options->items[options->count++] = taken;
}

static void options_fini(options_t *options)
{
    for (size_t i = 0; i < options->count; i++)
        tsw_free(options->items[i]);
    tsw_free(options->items);
}

/* arch 0: none is named, the Tile IR serves all. */
static bool options_make(const build_t *build, tsw_arch_t arch, options_t *options)
{
    const tsw_build_request_t *request = build->request;
    char name[16];
    const char *root = build->toolchain->root;
    if (request->language == TSW_LANGUAGE_TILE) {
        options_add(options, "--enable-tile", "");
        options_add(options, "-tile-only", "");
    }
    options_add(options, "--std=c++20", "");
    if (arch != 0)
        options_add(options, "-arch=", tsw_arch_format(arch, name));
    options_add(options, "-I", build->source_dir);
    tsw_buf_t include = TSW_BUF_INIT;
    tsw_buf_printf(&include, "%s/include", root);
    options_add(options, "-I", tsw_buf_text(&include));
    tsw_buf_append_text(&include, "/cccl");
    options_add(options, "-I", tsw_buf_text(&include));
    options->failed = options->failed || !tsw_buf_ok(&include);
    tsw_buf_fini(&include);
    for (size_t i = 0; i < request->define_count; i++)
        options_add(options, "-D", request->defines[i]);
    for (size_t i = 0; i < request->option_count; i++)
        options_add(options, "", request->options[i]);
    return !options->failed;
}

/* Remove every "prefix/" from text: no path of a machine belongs into a result. */
static void strip(char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    for (char *at = strstr(text, prefix); at != NULL; at = strstr(at, prefix)) {
        size_t cut = at[n] == '/' ? n + 1 : n;
        memmove(at, at + cut, strlen(at + cut) + 1);
    }
}

static tsw_status_t run_nvrtc(const build_t *build, tsw_arch_t arch, front_t *front_p,
                              tsw_err_t *err)
{
    const tsw_build_request_t *request = build->request;
    const tsw_fileset_item_t *source = tsw_fileset_find(&request->files, request->source);
    tsw_nvrtc_product_t product =
        request->language == TSW_LANGUAGE_TILE ? TSW_NVRTC_TILE_IR : TSW_NVRTC_CUBIN;
    front_t front = {.cpu_ns = own_cpu_ns(), .wall_ns = tsw_clock_now_ns()};
    options_t options = {.items = NULL};
    tsw_status_t status = TSW_OK;
    if (!options_make(build, arch, &options))
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_nvrtc_compile(build->nvrtc, product, (const char *)source->bytes,
                                   request->source, (const char *const *)options.items,
                                   options.count, &front.nvrtc, &build->result->log, err);
    options_fini(&options);
    if (status != TSW_OK)
        return status;
    strip(front.nvrtc.detail, build->source_dir);
    strip(front.nvrtc.detail, build->toolchain->root);
    front.cpu_ns = own_cpu_ns() - front.cpu_ns;
    front.wall_ns = tsw_clock_now_ns() - front.wall_ns;
    *front_p = front;
    return TSW_OK;
}

static void set_facts(const build_t *build, tsw_artifact_t *artifact, tsw_arch_t arch)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_build_facts_t facts = {0};
    tsw_arch_t made_for = 0;
    const tsw_buf_t *cubin = &artifact->cubin;
    tsw_status_t status =
        tsw_cubin_read(cubin->data, cubin->size, build->request->entry, &facts, &err);
    if (status == TSW_OK)
        status = tsw_cubin_arch(cubin->data, cubin->size, &made_for, &err);
    if (status == TSW_OK && made_for != arch)
        status = tsw_err_set(&err, TSW_ERR_CORRUPT, "the cubin is for sm_%u", (unsigned)made_for);
    if (status != TSW_OK) {
        artifact->outcome = TSW_OUTCOME_COMPILE_FAILED;
        snprintf(artifact->detail, sizeof(artifact->detail), "%.200s", err.text);
        tsw_buf_fini(&artifact->cubin);
        return;
    }
    facts.compile_cpu_ns = artifact->facts.compile_cpu_ns;
    facts.compile_wall_ns = artifact->facts.compile_wall_ns;
    artifact->facts = facts;
}

/* The artifact of archs[i] from what NVRTC made; front is shared by `shares` archs. */
static tsw_status_t finish(const build_t *build, size_t i, front_t *front, size_t shares,
                           tsw_err_t *err)
{
    const tsw_build_request_t *request = build->request;
    tsw_artifact_t *artifact = &build->result->artifacts[i];
    tsw_status_t status = TSW_OK;
    artifact->outcome = front->nvrtc.outcome;
    memcpy(artifact->detail, front->nvrtc.detail, sizeof(artifact->detail));
    if (artifact->outcome == TSW_OUTCOME_OK && request->language == TSW_LANGUAGE_TILE) {
        status = tsw_tileiras_run(build->toolchain, build->work_dir, IR_NAME, request->archs[i],
                                  request->cpu_limit_s, artifact, &build->result->log, err);
    } else if (artifact->outcome == TSW_OUTCOME_OK) {
        artifact->cubin = front->nvrtc.code;
        front->nvrtc.code = (tsw_buf_t)TSW_BUF_INIT;
    }
    if (status != TSW_OK)
        return status;
    artifact->facts.compile_cpu_ns += front->cpu_ns / shares;
    artifact->facts.compile_wall_ns += front->wall_ns / shares;
    if (artifact->outcome == TSW_OUTCOME_OK)
        set_facts(build, artifact, request->archs[i]);
    return TSW_OK;
}

static tsw_status_t front_for(const build_t *build, tsw_arch_t arch, front_t *front_p,
                              tsw_err_t *err)
{
    tsw_status_t status = run_nvrtc(build, arch, front_p, err);
    const tsw_nvrtc_result_t *nvrtc = &front_p->nvrtc;
    if (status == TSW_OK && nvrtc->outcome == TSW_OUTCOME_OK &&
        build->request->language == TSW_LANGUAGE_TILE)
        status = write_file(build->work_dir, IR_NAME, nvrtc->code.data, nvrtc->code.size, err);
    return status;
}

static tsw_status_t compile(const build_t *build, tsw_err_t *err)
{
    const tsw_build_request_t *request = build->request;
    bool shared = request->language == TSW_LANGUAGE_TILE && !request->arch_dependent;
    front_t front = {.nvrtc = {.code = TSW_BUF_INIT}};
    tsw_status_t status = TSW_OK;
    if (shared)
        status = front_for(build, 0, &front, err);
    for (size_t i = 0; status == TSW_OK && i < request->arch_count; i++) {
        if (!shared) {
            tsw_nvrtc_result_fini(&front.nvrtc);
            status = front_for(build, request->archs[i], &front, err);
        }
        if (status == TSW_OK)
            status = finish(build, i, &front, shared ? request->arch_count : 1, err);
    }
    tsw_nvrtc_result_fini(&front.nvrtc);
    return status;
}

tsw_status_t tsw_build_run(const tsw_toolchain_t *toolchain, const tsw_build_request_t *request,
                           const char *work_dir, tsw_build_result_t *result_p, tsw_err_t *err)
{
    tsw_build_result_t result = {.arch_count = request->arch_count};
    build_t build = {
        .toolchain = toolchain, .request = request, .work_dir = work_dir, .result = &result};
    tsw_status_t status = TSW_OK;
    if (request->arch_count == 0 || request->arch_count > TSW_PLAN_ARCH_MAX)
        status = tsw_err_set(err, TSW_ERR_ARG, "a build for %zu archs", request->arch_count);
    else if (tsw_fileset_find(&request->files, request->source) == NULL)
        status = tsw_err_set(err, TSW_ERR_ARG, "the pack has no file %s", request->source);
    if (status == TSW_OK)
        status = check_tools(toolchain, request, err);
    if (status == TSW_OK && (build.source_dir = tsw_path_join(work_dir, "src")) == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = write_sources(&build, err);
    if (status == TSW_OK)
        status = tsw_nvrtc_open(toolchain->nvrtc, &build.nvrtc, err);
    if (status == TSW_OK)
        status = compile(&build, err);
    if (status == TSW_OK && !tsw_buf_ok(&result.log))
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        *result_p = result;
    else
        tsw_build_result_fini(&result);
    tsw_nvrtc_close(build.nvrtc);
    tsw_free(build.source_dir);
    return status;
}
