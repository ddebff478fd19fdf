/* The group /meta: what is true for all records of a file. */
#include "store/store_h5.h"
#include "store/store_tables.h"

#include "base/mem.h"
#include "store/store.h"

#include <string.h>

typedef struct {
    const char *name;
    size_t offset;
    const char
        *missing; /* what it is in older files of this major version; NULL: it must be there */
} field_t;

static const field_t meta_texts[] = {
    {"job_name", offsetof(tsw_run_meta_t, job_name), NULL},
    {"purpose", offsetof(tsw_run_meta_t, purpose), NULL},
    {"toolchain", offsetof(tsw_run_meta_t, toolchain), NULL},
    {"tool", offsetof(tsw_run_meta_t, tool), NULL},
    {"mode", offsetof(tsw_run_meta_t, mode), NULL},
    {"clocks", offsetof(tsw_run_meta_t, clocks), NULL},
    {"protocol", offsetof(tsw_run_meta_t, protocol), NULL},
    {"objective", offsetof(tsw_run_meta_t, objective), "median"}, /* since 1.1 */
    {"parts", offsetof(tsw_run_meta_t, parts), ""},               /* since 1.2 */
};
/* These may be longer than an attribute can be. */
static const field_t meta_long_texts[] = {
    {"job_text", offsetof(tsw_run_meta_t, job_text), NULL},
    {"invocation", offsetof(tsw_run_meta_t, invocation), NULL},
    {"retired", offsetof(tsw_run_meta_t, retired), ""}, /* since 1.2 */
    {"inputs", offsetof(tsw_run_meta_t, inputs), ""},   /* since 1.2 */
};
static const field_t meta_keys[] = {
    {"job_key", offsetof(tsw_run_meta_t, job_key), NULL},
    {"plan_key", offsetof(tsw_run_meta_t, plan_key), NULL},
};
static const field_t meta_counts[] = {
    {"seed", offsetof(tsw_run_meta_t, seed), NULL},
    {"start_wall_ns", offsetof(tsw_run_meta_t, start_wall_ns), NULL},
    {"cells", offsetof(tsw_run_meta_t, cells), "0"},     /* since 1.2 */
    {"edition", offsetof(tsw_run_meta_t, edition), "0"}, /* since 1.2 */
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
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_counts); i++) {
        uint64_t value = 0;
        memcpy(&value, (const char *)meta + meta_counts[i].offset, sizeof(value));
        status = tsw_h5_put_u64_attr(group, meta_counts[i].name, value, err);
    }
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

static tsw_status_t get_meta_text(hid_t group, tsw_run_meta_t *meta, const field_t *field,
                                  bool is_long, tsw_err_t *err)
{
    char **text = (char **)(void *)((char *)meta + field->offset);
    htri_t there =
        is_long ? H5Lexists(group, field->name, H5P_DEFAULT) : H5Aexists(group, field->name);
    if (there <= 0 && field->missing != NULL) {
        *text = tsw_strdup(field->missing);
        return *text != NULL ? TSW_OK : tsw_err_nomem(err);
    }
    return is_long ? tsw_h5_get_text(group, field->name, text, err)
                   : tsw_h5_get_text_attr(group, field->name, text, err);
}

static tsw_status_t get_meta_count(hid_t group, tsw_run_meta_t *meta, const field_t *field,
                                   tsw_err_t *err)
{
    uint64_t value = 0;
    tsw_status_t status = TSW_OK;
    if (field->missing == NULL || H5Aexists(group, field->name) > 0)
        status = tsw_h5_get_u64_attr(group, field->name, &value, err);
    memcpy((char *)meta + field->offset, &value, sizeof(value));
    return status;
}

static tsw_status_t get_meta_fields(hid_t group, tsw_run_meta_t *meta, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_texts); i++)
        status = get_meta_text(group, meta, &meta_texts[i], false, err);
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_long_texts); i++)
        status = get_meta_text(group, meta, &meta_long_texts[i], true, err);
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_keys); i++)
        status = get_meta_key(group, meta, &meta_keys[i], err);
    for (size_t i = 0; status == TSW_OK && i < COUNT_OF(meta_counts); i++)
        status = get_meta_count(group, meta, &meta_counts[i], err);
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
