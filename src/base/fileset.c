#include "base/fileset.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

void tsw_fileset_fini(tsw_fileset_t *set)
{
    for (size_t i = 0; i < set->count; i++) {
        tsw_free(set->items[i].name);
        tsw_free(set->items[i].bytes);
    }
    tsw_free(set->items);
    *set = (tsw_fileset_t)TSW_FILESET_INIT;
}

tsw_status_t tsw_fileset_add(tsw_fileset_t *set, const char *name, const void *bytes, size_t size,
                             tsw_err_t *err)
{
    if (tsw_fileset_find(set, name) != NULL)
        return tsw_err_set(err, TSW_ERR_EXISTS, "%s is there twice", name);
    char *name_copy = tsw_strdup(name);
    uint8_t *bytes_copy = tsw_malloc(size + 1);
    if (name_copy == NULL || bytes_copy == NULL ||
        !TSW_GROW(set->items, set->capacity, set->count)) {
        tsw_free(name_copy);
        tsw_free(bytes_copy);
        return tsw_err_nomem(err);
    }
    if (size > 0)
        memcpy(bytes_copy, bytes, size);
    bytes_copy[size] = 0;
    set->items[set->count++] =
        (tsw_fileset_item_t){.name = name_copy, .bytes = bytes_copy, .size = size};
    return TSW_OK;
}

const tsw_fileset_item_t *tsw_fileset_find(const tsw_fileset_t *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    }
    return NULL;
}

/* A file of a folder. */
static tsw_status_t add_file(tsw_fileset_t *set, const char *name, const char *path, tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    uint64_t size = 0, total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += set->items[i].size;
    if (tsw_path_exists(path) && !tsw_file_size(path, &size)) /* to read it might never end */
        return tsw_err_set(err, TSW_ERR_INPUT, "%s is neither a file nor a folder", path);
    if (size > TSW_FILESET_BYTES_MAX - total)
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "%s: the files of its folder are more than %llu MiB: is there something "
                           "that does not belong to it?",
                           path, TSW_FILESET_BYTES_MAX >> 20);
    tsw_status_t status = tsw_file_read(path, &bytes, err);
    if (status == TSW_OK)
        status = tsw_fileset_add(set, name, bytes.data, bytes.size, err);
    tsw_buf_fini(&bytes);
    return status;
}

tsw_status_t tsw_fileset_add_dir(tsw_fileset_t *set, const char *prefix, const char *dir,
                                 tsw_err_t *err)
{
    tsw_names_t names = {0};
    tsw_status_t status = tsw_dir_list(dir, &names, err);
    for (size_t i = 0; status == TSW_OK && i < names.count; i++) {
        if (names.names[i][0] == '.')
            continue;
        tsw_buf_t name = TSW_BUF_INIT;
        char *path = tsw_path_join(dir, names.names[i]);
        tsw_buf_printf(&name, "%s%s", prefix, names.names[i]);
        if (path == NULL || !tsw_buf_ok(&name)) {
            status = tsw_err_nomem(err);
        } else if (tsw_path_is_dir(path)) {
            tsw_buf_append_text(&name, "/");
            status = tsw_fileset_add_dir(set, tsw_buf_text(&name), path, err);
        } else {
            status = add_file(set, tsw_buf_text(&name), path, err);
        }
        tsw_free(path);
        tsw_buf_fini(&name);
    }
    tsw_names_fini(&names);
    return status;
}

tsw_status_t tsw_fileset_subset(const tsw_fileset_t *set, const char *prefix, tsw_fileset_t *out,
                                tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    size_t n = strlen(prefix);
    for (size_t i = 0; status == TSW_OK && i < set->count; i++) {
        const tsw_fileset_item_t *item = &set->items[i];
        if (tsw_text_starts_with(item->name, prefix))
            status = tsw_fileset_add(out, item->name + n, item->bytes, item->size, err);
    }
    return status;
}

tsw_status_t tsw_fileset_key(const tsw_fileset_t *set, tsw_key_t *key_p, tsw_err_t *err)
{
    tsw_key_t sum = {0};
    for (size_t i = 0; i < set->count; i++) {
        tsw_hash_t *hash = tsw_hash_new();
        if (hash == NULL)
            return tsw_err_nomem(err);
        tsw_hash_text(hash, set->items[i].name);
        tsw_hash_bytes(hash, set->items[i].bytes, set->items[i].size);
        tsw_key_t key = tsw_hash_key(hash);
        tsw_hash_free(hash);
        /* names are unique, so a sum of independent keys is a key of the set */
        sum.hi += key.hi;
        sum.lo += key.lo;
    }
    *key_p = tsw_key_of(&sum, sizeof(sum));
    return TSW_OK;
}
