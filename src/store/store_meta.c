/* The group /meta: what is true for all records of a file. */
#include "store/store_tables.h"

#include "base/mem.h"
#include "store/store.h"

#include <string.h>

typedef struct {
    const char *name;
    size_t offset;
} field_t;

static const field_t meta_texts[] = {
    {"job_name", offsetof(tsw_run_meta_t, job_name)},
    {"purpose", offsetof(tsw_run_meta_t, purpose)},
    {"toolchain", offsetof(tsw_run_meta_t, toolchain)},
    {"tool", offsetof(tsw_run_meta_t, tool)},
    {"mode", offsetof(tsw_run_meta_t, mode)},
    {"clocks", offsetof(tsw_run_meta_t, clocks)},
    {"protocol", offsetof(tsw_run_meta_t, protocol)},
    {"objective", offsetof(tsw_run_meta_t, objective)}, /* since 1.1; before it: the median */
};
/* These may be longer than an attribute can be. */
static const field_t meta_long_texts[] = {
    {"job_text", offsetof(tsw_run_meta_t, job_text)},
    {"invocation", offsetof(tsw_run_meta_t, invocation)},
    {"retired", offsetof(tsw_run_meta_t, retired)}, /* since 1.2 */
};
static const field_t meta_keys[] = {
    {"job_key", offsetof(tsw_run_meta_t, job_key)},
    {"plan_key", offsetof(tsw_run_meta_t, plan_key)},
};
#define COUNT_OF(_array) (sizeof(_array) / sizeof((_array)[0]))

static const char *meta_text(const tsw_run_meta_t *meta, const field_t *field)
{
    const char *text;
    memcpy(&text, (const char *)meta + field->offset, sizeof(text));
    return text != NULL ? text : "";
}

static tsw_status_t put_meta_key(hid_t group, const tsw_run_meta_t *meta, const field_t *field,
                                 tsw_err_t *err)
{
    tsw_key_t key;
    char text[TSW_KEY_TEXT_SIZE];
    memcpy(&key, (const char *)meta + field->offset, sizeof(key));
    return tsw_h5_put_text_attr(group, field->name, tsw_key_format(key, text), err);
}

static tsw_status_t put_meta_fields(hid_t group, const tsw_run_meta_t *meta, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_texts); i++)
        status =
            tsw_h5_put_text_attr(group, meta_texts[i].name, meta_text(meta, &meta_texts[i]), err);
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_long_texts); i++)
        status = tsw_h5_put_text(group, meta_long_texts[i].name,
                                 meta_text(meta, &meta_long_texts[i]), err);
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_keys); i++)
        status = put_meta_key(group, meta, &meta_keys[i], err);
    if (status == TSW_OK)
        status = tsw_h5_put_u64_attr(group, "seed", meta->seed, err);
    if (status == TSW_OK)
        status = tsw_h5_put_u64_attr(group, "start_wall_ns", meta->start_wall_ns, err);
    if (status == TSW_OK)
        status =
            tsw_h5_put_text_attr(group, "unit_start_wall_ns", "ns since 1970-01-01T00:00:00Z", err);
    return status;
}

tsw_status_t tsw_meta_put(hid_t file, const tsw_run_meta_t *meta, tsw_err_t *err)
{
    hid_t group = H5Gcreate2(file, "meta", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return tsw_h5_fail(err, TSW_ERR_IO, "meta");
    tsw_status_t status = tsw_h5_put_u64_attr(group, "schema_major", TSW_STORE_SCHEMA_MAJOR, err);
    if (status == TSW_OK)
        status = tsw_h5_put_u64_attr(group, "schema_minor", TSW_STORE_SCHEMA_MINOR, err);
    if (status == TSW_OK)
        status = put_meta_fields(group, meta, err);
    H5Gclose(group);
    return status;
}

static tsw_status_t check_version(hid_t group, tsw_err_t *err)
{
    uint64_t major = 0;
    uint64_t minor = 0;
    tsw_status_t status = tsw_h5_get_u64_attr(group, "schema_major", &major, err);
    if (status == TSW_OK)
        status = tsw_h5_get_u64_attr(group, "schema_minor", &minor, err);
    if (status == TSW_OK && major != TSW_STORE_SCHEMA_MAJOR)
        status = tsw_err_set(
            err, TSW_ERR_VERSION, "schema version %llu.%llu; this tilesweep reads version %d",
            (unsigned long long)major, (unsigned long long)minor, TSW_STORE_SCHEMA_MAJOR);
    return status;
}

static tsw_status_t get_meta_key(hid_t group, tsw_run_meta_t *meta, const field_t *field,
                                 tsw_err_t *err)
{
    char *text = NULL;
    tsw_key_t key = {0};
    tsw_status_t status = tsw_h5_get_text_attr(group, field->name, &text, err);
    if (status == TSW_OK && !tsw_key_parse(text, &key))
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "/meta %s: not a key", field->name);
    if (status == TSW_OK)
        memcpy((char *)meta + field->offset, &key, sizeof(key));
    tsw_free(text);
    return status;
}

static tsw_status_t get_meta_fields(hid_t group, tsw_run_meta_t *meta, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_texts); i++) {
        char **text = (char **)(void *)((char *)meta + meta_texts[i].offset);
        if (meta_texts[i].offset == offsetof(tsw_run_meta_t, objective) &&
            H5Aexists(group, meta_texts[i].name) == 0)
            status = (*text = tsw_strdup("median")) != NULL ? TSW_OK : tsw_err_nomem(err);
        else
            status = tsw_h5_get_text_attr(group, meta_texts[i].name, text, err);
    }
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_long_texts); i++) {
        char **text = (char **)(void *)((char *)meta + meta_long_texts[i].offset);
        if (meta_long_texts[i].offset == offsetof(tsw_run_meta_t, retired) &&
            H5Lexists(group, meta_long_texts[i].name, H5P_DEFAULT) == 0)
            status = (*text = tsw_strdup("")) != NULL ? TSW_OK : tsw_err_nomem(err);
        else
            status = tsw_h5_get_text(group, meta_long_texts[i].name, text, err);
    }
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_keys); i++)
        status = get_meta_key(group, meta, &meta_keys[i], err);
    if (status == TSW_OK)
        status = tsw_h5_get_u64_attr(group, "seed", &meta->seed, err);
    if (status == TSW_OK)
        status = tsw_h5_get_u64_attr(group, "start_wall_ns", &meta->start_wall_ns, err);
    return status;
}

tsw_status_t tsw_meta_get(hid_t file, tsw_run_meta_t *meta, tsw_err_t *err)
{
    hid_t group = H5Gopen2(file, "meta", H5P_DEFAULT);
    if (group < 0)
        return tsw_h5_fail(err, TSW_ERR_CORRUPT, "meta");
    tsw_status_t status = check_version(group, err);
    if (status == TSW_OK)
        status = get_meta_fields(group, meta, err);
    H5Gclose(group);
    return status;
}
