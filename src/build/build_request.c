#include "build/build.h"

#include "base/mem.h"
#include "device/device.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TOOL_SOURCE "tool.cu"

void tsw_build_request_fini(tsw_build_request_t *request)
{
    tsw_fileset_fini(&request->files);
    tsw_free(request->source);
    tsw_free(request->entry);
    for (size_t i = 0; i < request->define_count; i++)
        tsw_free(request->defines[i]);
    tsw_free(request->defines);
    for (size_t i = 0; i < request->option_count; i++)
        tsw_free(request->options[i]);
    tsw_free(request->options);
    *request = (tsw_build_request_t){.files = TSW_FILESET_INIT};
}

/* Defines are collected here, so that one check at the end sees every failed allocation. */
typedef struct {
    char **items;
    size_t count;
    size_t capacity;
    bool failed;
} defines_t;

static void define(defines_t *defines, const char *name, const char *value)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_buf_printf(&text, "%s=%s", name, value);
    char *taken = tsw_buf_take_text(&text);
    if (taken == NULL || !TSW_GROW(defines->items, defines->capacity, defines->count)) {
        tsw_free(taken);
        defines->failed = true;
        return;
    }
    defines->items[defines->count++] = taken;
}

static void define_i64(defines_t *defines, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, value);
    define(defines, name, text);
}

/* prefix + name in upper case */
static void define_upper(defines_t *defines, const char *prefix, const char *name, int64_t value)
{
    tsw_buf_t full = TSW_BUF_INIT;
    tsw_buf_append_text(&full, prefix);
    for (const char *at = name; *at != '\0'; at++)
        tsw_buf_printf(&full, "%c", toupper((unsigned char)*at));
    if (tsw_buf_ok(&full))
        define_i64(defines, tsw_buf_text(&full), value);
    else
        defines->failed = true;
    tsw_buf_fini(&full);
}

/* What kernel and reference share: dtype, flags, static dims. */
static void define_variant(defines_t *defines, const tsw_variant_t *variant)
{
    const tsw_pack_t *pack = variant->pack;
    define(defines, "DTYPE", tsw_dtype_c_type(variant->dtype));
    define_upper(defines, "DTYPE_", tsw_dtype_name(variant->dtype), 1);
    for (size_t i = 0; i < pack->flag_count; i++)
        define_upper(defines, "FLAG_", pack->flags[i].name, variant->flags[i]);
    for (size_t i = 0; i < pack->dim_count; i++) {
        if (pack->dim_is_static[i])
            define_upper(defines, "DIM_", pack->dims[i], variant->static_dims[i]);
    }
}

static void define_knobs(defines_t *defines, const tsw_pack_t *pack, const tsw_config_t *config)
{
    for (size_t i = 0; i < pack->knob_count; i++)
        define_i64(defines, pack->knobs[i].macro, config->values[i]);
}

static tsw_status_t copy_options(const tsw_pack_t *pack, tsw_build_request_t *request,
                                 tsw_err_t *err)
{
    if (pack->option_count == 0)
        return TSW_OK;
    request->options = tsw_calloc(pack->option_count, sizeof(*request->options));
    if (request->options == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < pack->option_count; i++) {
        request->options[i] = tsw_strdup(pack->options[i]);
        if (request->options[i] == NULL)
            return tsw_err_nomem(err);
        request->option_count = i + 1;
    }
    return TSW_OK;
}

static tsw_status_t set_names(tsw_build_request_t *request, const char *source, const char *entry,
                              tsw_err_t *err)
{
    request->source = tsw_strdup(source);
    request->entry = tsw_strdup(entry);
    return request->source != NULL && request->entry != NULL ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t make_tool(tsw_build_request_t *request, tsw_err_t *err)
{
    const char *text = tsw_tool_source();
    request->language = TSW_LANGUAGE_CUDA;
    tsw_status_t status = set_names(request, TOOL_SOURCE, tsw_tool_entry, err);
    if (status == TSW_OK)
        status = tsw_fileset_add(&request->files, TOOL_SOURCE, text, strlen(text), err);
    return status;
}

/* The reference is plain CUDA C++ without knobs and without the options of the kernel. */
static tsw_status_t make_variant(const tsw_plan_t *plan, const tsw_build_t *build,
                                 tsw_build_request_t *request, tsw_err_t *err)
{
    const tsw_plan_variant_t *variant = &plan->variants[build->variant];
    const tsw_pack_t *pack = variant->id.pack;
    bool tuned = build->kind == TSW_BUILD_CONFIG;
    const tsw_launch_spec_t *spec = tuned ? &pack->kernel : &pack->reference;
    defines_t defines = {.items = NULL};
    define_variant(&defines, &variant->id);
    if (tuned)
        define_knobs(&defines, pack, &variant->configs[build->config]);
    request->defines = defines.items;
    request->define_count = defines.count;
    if (defines.failed)
        return tsw_err_nomem(err);
    request->language = tuned ? pack->language : TSW_LANGUAGE_CUDA;
    request->arch_dependent = tuned && pack->arch_dependent;
    tsw_status_t status = set_names(request, spec->source, spec->entry, err);
    if (status == TSW_OK)
        status = tsw_fileset_subset(&pack->files, "", &request->files, err);
    if (status == TSW_OK && tuned)
        status = copy_options(pack, request, err);
    return status;
}

tsw_status_t tsw_build_request_make(const tsw_plan_t *plan, const tsw_build_t *build,
                                    tsw_build_request_t *request_p, tsw_err_t *err)
{
    tsw_build_request_t request = {.files = TSW_FILESET_INIT,
                                   .cpu_limit_s = plan->job->compile_cpu_s};
    for (size_t i = 0; i < plan->job->arch_count && i < TSW_PLAN_ARCH_MAX; i++) {
        if ((build->arch_mask >> i & 1) != 0)
            request.archs[request.arch_count++] = plan->job->archs[i];
    }
    tsw_status_t status = build->kind == TSW_BUILD_TOOL ? make_tool(&request, err)
                                                        : make_variant(plan, build, &request, err);
    if (status == TSW_OK)
        *request_p = request;
    else
        tsw_build_request_fini(&request);
    return status;
}
