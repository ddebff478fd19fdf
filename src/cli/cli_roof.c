#include "cli/cli_roof.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "tsw_version.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double worse_ratio = 0.97;

/* ---- where ---- */

/* TSW_CALIBRATIONS, else beside the cache of compiled kernels. */
static char *folder(void)
{
    const char *given = getenv("TSW_CALIBRATIONS");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (given != NULL && given[0] != '\0')
        return tsw_strdup(given);
    if (xdg != NULL && xdg[0] == '/')
        return tsw_path_join(xdg, "tilesweep/calibration");
    if (home != NULL && home[0] == '/')
        return tsw_path_join(home, ".cache/tilesweep/calibration");
    return tsw_strdup("/tmp/tilesweep-cache/calibration");
}

char *tsw_roof_path(const tsw_gpu_t *gpu)
{
    char name[TSW_UUID_SIZE + 32];
    char clock[24] = "";
    char *dir = folder();
    if (gpu->locked_mhz > 0)
        snprintf(clock, sizeof(clock), "-%uMHz", gpu->locked_mhz);
    snprintf(name, sizeof(name), "%s%s.json", gpu->uuid, clock);
    for (char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '.')
            *at = '_';
    char *path = dir != NULL ? tsw_path_join(dir, name) : NULL;
    tsw_free(dir);
    return path;
}

/* ---- writing ---- */

static void put_text(tsw_buf_t *out, const char *indent, const char *name, const char *text)
{
    tsw_buf_printf(out, "%s\"%s\": ", indent, name);
    tsw_json_append_text(out, text);
    tsw_buf_append_text(out, ",\n");
}

static void put_gpu(tsw_buf_t *out, const tsw_gpu_t *gpu)
{
    tsw_buf_append_text(out, "  \"gpu\": {\n");
    put_text(out, "    ", "uuid", gpu->uuid);
    put_text(out, "    ", "name", gpu->name);
    put_text(out, "    ", "mode", gpu->mode);
    put_text(out, "    ", "driver", gpu->driver_text);
    tsw_buf_printf(out,
                   "    \"arch\": %u,\n    \"sm_count\": %u,\n    \"memory_bytes\": %llu,\n"
                   "    \"l2_bytes\": %llu,\n    \"driver_version\": %u,\n"
                   "    \"locked_mhz\": %u\n  },\n",
                   gpu->arch, gpu->sm_count, (unsigned long long)gpu->memory_bytes,
                   (unsigned long long)gpu->l2_bytes, gpu->driver_version, gpu->locked_mhz);
}

tsw_status_t tsw_roof_write(const tsw_calibration_t *calibration, const char *path, tsw_err_t *err)
{
    size_t count = 0;
    const tsw_calibration_field_t *fields = tsw_calibration_fields(&count);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_buf_printf(&out, "%s,\n  \"schema\": %d,\n", TSW_CALIBRATION_START, TSW_CALIBRATION_SCHEMA);
    put_text(&out, "  ", "tool", "tilesweep " TSW_VERSION);
    tsw_buf_printf(&out, "  \"wall_ns\": %llu,\n", (unsigned long long)calibration->wall_ns);
    put_gpu(&out, &calibration->gpu);
    put_text(&out, "  ", "absent", calibration->absent);
    tsw_buf_append_text(&out, "  \"values\": {");
    for (size_t i = 0; i < count; i++) {
        tsw_buf_printf(&out, "%s\n    \"%s\": ", i > 0 ? "," : "", fields[i].name);
        tsw_json_append_real(&out, tsw_calibration_get(&calibration->values, i));
    }
    tsw_buf_append_text(&out, "\n  }\n}\n");
    const char *slash = strrchr(path, '/');
    char *dir = slash != NULL ? tsw_strdup(path) : NULL;
    tsw_status_t status = TSW_OK;
    if (!tsw_buf_ok(&out) || (slash != NULL && dir == NULL))
        status = tsw_err_nomem(err);
    if (status == TSW_OK && slash != NULL && slash != path) {
        dir[slash - path] = '\0';
        status = tsw_dir_make(dir, err);
    }
    if (status == TSW_OK)
        status = tsw_file_write_atomic(path, out.data, out.size, err);
    tsw_free(dir);
    tsw_buf_fini(&out);
    return status;
}

/* ---- reading ---- */

static void get_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    snprintf(out, size, "%s", text != NULL ? text : "");
}

static uint64_t get_u64(const json_t *object, const char *name)
{
    const json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static void get_gpu(const json_t *object, tsw_gpu_t *gpu)
{
    get_text(object, "uuid", gpu->uuid, sizeof(gpu->uuid));
    get_text(object, "name", gpu->name, sizeof(gpu->name));
    get_text(object, "mode", gpu->mode, sizeof(gpu->mode));
    get_text(object, "driver", gpu->driver_text, sizeof(gpu->driver_text));
    gpu->arch = (uint32_t)get_u64(object, "arch");
    gpu->sm_count = (uint32_t)get_u64(object, "sm_count");
    gpu->memory_bytes = get_u64(object, "memory_bytes");
    gpu->l2_bytes = get_u64(object, "l2_bytes");
    gpu->driver_version = (uint32_t)get_u64(object, "driver_version");
    gpu->locked_mhz = (uint32_t)get_u64(object, "locked_mhz");
}

static void get_values(const json_t *object, tsw_calibration_values_t *values)
{
    size_t count = 0;
    const tsw_calibration_field_t *fields = tsw_calibration_fields(&count);
    *values = tsw_calibration_unknown();
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        if (json_is_number(value))
            tsw_calibration_set(values, i, json_number_value(value));
    }
}

static tsw_status_t take(const json_t *root, const char *path, tsw_calibration_t *calibration_p,
                         tsw_err_t *err)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_int_t schema = json_integer_value(json_object_get(root, "schema"));
    if (format == NULL || strcmp(format, TSW_CALIBRATION_FORMAT) != 0)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: no calibration: \"format\" is not \"%s\"",
                           path, TSW_CALIBRATION_FORMAT);
    if (schema != TSW_CALIBRATION_SCHEMA)
        return tsw_err_set(err, TSW_ERR_VERSION, "%s: schema %lld, this tool reads %d", path,
                           (long long)schema, TSW_CALIBRATION_SCHEMA);
    tsw_calibration_t calibration = {.wall_ns = get_u64(root, "wall_ns")};
    get_gpu(json_object_get(root, "gpu"), &calibration.gpu);
    get_values(json_object_get(root, "values"), &calibration.values);
    get_text(root, "absent", calibration.absent, sizeof(calibration.absent));
    if (calibration.gpu.uuid[0] == '\0' || calibration.gpu.mode[0] == '\0')
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: no \"uuid\" or \"mode\" of the \"gpu\"",
                           path);
    *calibration_p = calibration;
    return TSW_OK;
}

tsw_status_t tsw_roof_read(const char *path, tsw_calibration_t *calibration_p, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    json_error_t where;
    json_set_alloc_funcs(tsw_malloc, tsw_free);
    tsw_status_t status = tsw_file_read(path, &text, err);
    json_t *root = NULL;
    if (status == TSW_OK) {
        root = json_loadb(tsw_buf_text(&text), text.size, JSON_REJECT_DUPLICATES, &where);
        status = root != NULL ? take(root, path, calibration_p, err)
                              : tsw_err_set(err, TSW_ERR_CORRUPT, "%s:%d:%d: %s", path, where.line,
                                            where.column, where.text);
    }
    json_decref(root);
    tsw_buf_fini(&text);
    return status;
}

/* ---- finding ---- */

static bool read_or_warn(const char *path, tsw_calibration_t *calibration_p)
{
    tsw_err_t err = TSW_ERR_INIT;
    const tsw_status_t status = tsw_roof_read(path, calibration_p, &err);
    if (status != TSW_OK && status != TSW_ERR_NOT_FOUND)
        tsw_log(TSW_LOG_WARN, "%s", err.text);
    return status == TSW_OK;
}

static bool find_by_name(const tsw_gpu_t *gpu, tsw_calibration_t *calibration_p)
{
    tsw_names_t names = {0};
    tsw_calibration_t candidate;
    bool found = false;
    char *dir = folder();
    if (dir == NULL || tsw_dir_list(dir, &names, NULL) != TSW_OK) {
        tsw_free(dir);
        return false;
    }
    for (size_t i = 0; !found && i < names.count; i++) {
        char *path =
            tsw_text_ends_with(names.names[i], ".json") ? tsw_path_join(dir, names.names[i]) : NULL;
        found = path != NULL && read_or_warn(path, &candidate) &&
                tsw_calibration_fits(&candidate, gpu, false);
        tsw_free(path);
    }
    if (found)
        *calibration_p = candidate;
    tsw_names_fini(&names);
    tsw_free(dir);
    return found;
}

bool tsw_roof_find(const tsw_gpu_t *gpu, tsw_calibration_t *calibration_p)
{
    tsw_calibration_t candidate;
    char *path = tsw_roof_path(gpu);
    const bool found = path != NULL && tsw_path_exists(path) && read_or_warn(path, &candidate) &&
                       tsw_calibration_fits(&candidate, gpu, true);
    tsw_free(path);
    if (!found)
        return find_by_name(gpu, calibration_p);
    *calibration_p = candidate;
    return true;
}

static bool was_asked(const tsw_dataset_t *dataset, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(dataset->cells[i].gpu.uuid, dataset->cells[index].gpu.uuid) == 0)
            return true;
    return false;
}

tsw_status_t tsw_roof_gather(const tsw_dataset_t *dataset, tsw_calibration_t **list_p,
                             size_t *count_p, tsw_err_t *err)
{
    tsw_calibration_t *list = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < dataset->cell_count; i++) {
        if (was_asked(dataset, i))
            continue;
        if (!TSW_GROW(list, capacity, count)) {
            tsw_free(list);
            return tsw_err_nomem(err);
        }
        count += tsw_roof_find(&dataset->cells[i].gpu, &list[count]);
    }
    *list_p = list;
    *count_p = count;
    return TSW_OK;
}

/* ---- health ---- */

size_t tsw_roof_compare(const tsw_calibration_t *now, const tsw_calibration_t *before,
                        tsw_buf_t *out)
{
    const struct {
        const char *what;
        double now, before;
    } rates[] = {
        {"copy bandwidth", now->values.copy_bytes_per_s, before->values.copy_bytes_per_s},
        {"f16 matmul", now->values.f16_flops_per_s, before->values.f16_flops_per_s},
        {"bf16 matmul", now->values.bf16_flops_per_s, before->values.bf16_flops_per_s},
        {"e4m3 matmul", now->values.e4m3_flops_per_s, before->values.e4m3_flops_per_s},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if (!(rates[i].now < worse_ratio * rates[i].before))
            continue;
        tsw_buf_printf(out, "warning: %s is %.1f %% lower than at the last calibration\n",
                       rates[i].what, 100 * (1 - rates[i].now / rates[i].before));
        count++;
    }
    return count;
}
