#include "store/store_h5.h"

#include "base/mem.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* Growth step of a file in memory. */
#define IMAGE_STEP ((size_t)1 << 20)
/* The longest text that a file may hold; job files are far smaller. */
#define TEXT_MAX ((size_t)64 << 20)
/* Items that one dataset may have: far above any sweep, far below an overflow of sizes. */
#define LENGTH_MAX ((hsize_t)1 << 36)

static herr_t keep_innermost(unsigned n, const H5E_error2_t *entry, void *user)
{
    if (n == 0)
        snprintf(user, 256, "%s", entry->desc != NULL ? entry->desc : "no description");
    return 0;
}

tsw_status_t tsw_h5_fail(tsw_err_t *err, tsw_status_t status, const char *what)
{
    char text[256] = "no description";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, text);
    H5Eclear2(H5E_DEFAULT);
    return tsw_err_set(err, status, "%s: HDF5: %s", what, text);
}

/* HDF5 prints nothing from here on. Called by everything below that opens or creates. */
static void be_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* All files live in memory: whatever goes wrong with a disk is seen by our own file functions, and
 * HDF5 neither locks nor leaves anything half-written. */
static hid_t image_access(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0)
        return access;
    /* The oldest layout: every reader of HDF5 1.8 or later opens it. */
    if (H5Pset_fapl_core(access, IMAGE_STEP, 0) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) < 0) {
        H5Pclose(access);
        return H5I_INVALID_HID;
    }
    return access;
}

tsw_status_t tsw_h5_create_image(hid_t *file_p, tsw_err_t *err)
{
    be_quiet();
    hid_t access = image_access();
    hid_t file = access < 0 ? access : H5Fcreate("image", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0)
        H5Pclose(access);
    if (file < 0)
        return tsw_h5_fail(err, TSW_ERR_IO, "cannot make a file in memory");
    *file_p = file;
    return TSW_OK;
}

tsw_status_t tsw_h5_take_image(hid_t file, tsw_buf_t *out, tsw_err_t *err)
{
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        return tsw_h5_fail(err, TSW_ERR_IO, "cannot finish the file in memory");
    ssize_t size = H5Fget_file_image(file, NULL, 0);
    if (size <= 0)
        return tsw_h5_fail(err, TSW_ERR_IO, "cannot size the file in memory");
    void *bytes = tsw_malloc((size_t)size);
    if (bytes == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    if (H5Fget_file_image(file, bytes, (size_t)size) != size)
        status = tsw_h5_fail(err, TSW_ERR_IO, "cannot take the file from memory");
    else
        tsw_buf_append(out, bytes, (size_t)size);
    if (status == TSW_OK && !tsw_buf_ok(out))
        status = tsw_err_nomem(err);
    tsw_free(bytes);
    return status;
}

tsw_status_t tsw_h5_open_image(void *bytes, size_t size, hid_t *file_p, tsw_err_t *err)
{
    be_quiet();
    tsw_status_t status = TSW_OK;
    hid_t file = H5I_INVALID_HID;
    hid_t access = image_access();
    if (access < 0 || H5Pset_file_image(access, bytes, size) < 0)
        status = tsw_h5_fail(err, TSW_ERR_NOMEM, "cannot load");
    if (status == TSW_OK) {
        file = H5Fopen("image", H5F_ACC_RDONLY, access);
        if (file < 0)
            status = tsw_h5_fail(err, TSW_ERR_CORRUPT, "cannot open");
        else
            *file_p = file;
    }
    if (access >= 0)
        H5Pclose(access);
    return status;
}

void tsw_h5_close_file(hid_t file)
{
    if (file < 0)
        return;
    TSW_ASSERT(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1);
    H5Fclose(file);
}

hid_t tsw_h5_text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, size) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

static tsw_status_t put_attr(hid_t at, const char *name, hid_t type, hid_t space, const void *value,
                             tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    hid_t attr = H5I_INVALID_HID;
    if (type >= 0 && space >= 0)
        attr = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr < 0 || H5Awrite(attr, type, value) < 0)
        status = tsw_h5_fail(err, TSW_ERR_IO, name);
    if (attr >= 0)
        H5Aclose(attr);
    return status;
}

tsw_status_t tsw_h5_put_text_attr(hid_t at, const char *name, const char *text, tsw_err_t *err)
{
    hid_t type = tsw_h5_text_type(strlen(text) + 1);
    hid_t space = H5Screate(H5S_SCALAR);
    tsw_status_t status = put_attr(at, name, type, space, text, err);
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

tsw_status_t tsw_h5_put_words_attr(hid_t at, const char *name, const char *const *words,
                                   size_t count, tsw_err_t *err)
{
    size_t width = 1;
    for (size_t i = 0; i < count; i++)
        width = strlen(words[i]) + 1 > width ? strlen(words[i]) + 1 : width;
    char *cells = tsw_calloc(count, width);
    if (cells == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        memcpy(cells + i * width, words[i], strlen(words[i]));
    hsize_t length = count;
    hid_t type = tsw_h5_text_type(width);
    hid_t space = H5Screate_simple(1, &length, NULL);
    tsw_status_t status = put_attr(at, name, type, space, cells, err);
    H5Sclose(space);
    H5Tclose(type);
    tsw_free(cells);
    return status;
}

tsw_status_t tsw_h5_put_u64_attr(hid_t at, const char *name, uint64_t value, tsw_err_t *err)
{
    hid_t space = H5Screate(H5S_SCALAR);
    tsw_status_t status = put_attr(at, name, H5T_NATIVE_UINT64, space, &value, err);
    H5Sclose(space);
    return status;
}

/* Size of a scalar fixed-size text with this type and space; 0 when it is something else. */
static size_t text_size(hid_t type, hid_t space)
{
    if (type < 0 || space < 0 || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
        return 0;
    if (H5Sget_simple_extent_npoints(space) != 1)
        return 0;
    size_t size = H5Tget_size(type);
    return size <= TEXT_MAX ? size : 0;
}

tsw_status_t tsw_h5_get_text_attr(hid_t at, const char *name, char **text_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    char *text = NULL;
    hid_t attr = H5Aopen(at, name, H5P_DEFAULT);
    hid_t type = attr < 0 ? attr : H5Aget_type(attr);
    hid_t space = attr < 0 ? attr : H5Aget_space(attr);
    size_t size = text_size(type, space);
    if (size == 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, name);
    else if ((text = tsw_calloc(size + 1, 1)) == NULL)
        status = tsw_err_nomem(err);
    else if (H5Aread(attr, type, text) < 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, name);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (attr >= 0)
        H5Aclose(attr);
    if (status == TSW_OK)
        *text_p = text;
    else
        tsw_free(text);
    return status;
}

tsw_status_t tsw_h5_get_u64_attr(hid_t at, const char *name, uint64_t *value_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    uint64_t value = 0;
    hid_t attr = H5Aopen(at, name, H5P_DEFAULT);
    hid_t space = attr < 0 ? attr : H5Aget_space(attr);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attr, H5T_NATIVE_UINT64, &value) < 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, name);
    else
        *value_p = value;
    if (space >= 0)
        H5Sclose(space);
    if (attr >= 0)
        H5Aclose(attr);
    return status;
}

tsw_status_t tsw_h5_put_text(hid_t at, const char *name, const char *text, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    hid_t type = tsw_h5_text_type(strlen(text) + 1);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = H5I_INVALID_HID;
    if (type >= 0 && space >= 0 && create >= 0 && H5Pset_obj_track_times(create, false) >= 0)
        dataset = H5Dcreate2(at, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (dataset < 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)
        status = tsw_h5_fail(err, TSW_ERR_IO, name);
    if (dataset >= 0)
        H5Dclose(dataset);
    H5Pclose(create);
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

tsw_status_t tsw_h5_get_text(hid_t at, const char *name, char **text_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    char *text = NULL;
    hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
    hid_t type = dataset < 0 ? dataset : H5Dget_type(dataset);
    hid_t space = dataset < 0 ? dataset : H5Dget_space(dataset);
    size_t size = text_size(type, space);
    if (size == 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, name);
    else if ((text = tsw_calloc(size + 1, 1)) == NULL)
        status = tsw_err_nomem(err);
    else if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, name);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (status == TSW_OK)
        *text_p = text;
    else
        tsw_free(text);
    return status;
}

/* How an array lies in the file; times are left out so that equal content gives equal bytes. */
static hid_t array_layout(size_t count, size_t chunk)
{
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    bool ok = create >= 0 && H5Pset_obj_track_times(create, false) >= 0;
    if (ok && count > 0) {
        hsize_t chunk_length = count < chunk ? count : chunk;
        ok = H5Pset_chunk(create, 1, &chunk_length) >= 0 && H5Pset_shuffle(create) >= 0 &&
             H5Pset_deflate(create, 1) >= 0 && H5Pset_fletcher32(create) >= 0;
    }
    if (ok)
        return create;
    if (create >= 0)
        H5Pclose(create);
    return H5I_INVALID_HID;
}

tsw_status_t tsw_h5_put_array(hid_t at, const char *name, hid_t file_type, hid_t memory_type,
                              size_t count, size_t chunk, const void *items, hid_t *dataset_p,
                              tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    hid_t dataset = H5I_INVALID_HID;
    hsize_t length = count;
    hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t create = array_layout(count, chunk);
    if (space >= 0 && create >= 0 && file_type >= 0 && memory_type >= 0)
        dataset = H5Dcreate2(at, name, file_type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (dataset < 0 ||
        (count > 0 && H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, items) < 0))
        status = tsw_h5_fail(err, TSW_ERR_IO, name);
    if (create >= 0)
        H5Pclose(create);
    if (space >= 0)
        H5Sclose(space);
    if (status == TSW_OK)
        *dataset_p = dataset;
    else if (dataset >= 0)
        H5Dclose(dataset);
    return status;
}

tsw_status_t tsw_h5_get_length(hid_t dataset, const char *name, size_t item_size, size_t *count_p,
                               tsw_err_t *err)
{
    hsize_t length = 0;
    hid_t space = H5Dget_space(dataset);
    bool ok = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
              H5Sget_simple_extent_dims(space, &length, NULL) == 1;
    if (space >= 0)
        H5Sclose(space);
    if (!ok)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: not one-dimensional", name);
    /* Deflate packs at most about 1:1032; more means that the length is made up. */
    hsize_t room = H5Dget_storage_size(dataset) * 1100;
    if (length > LENGTH_MAX || length * item_size > room)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: claims %llu rows in %llu bytes", name,
                           (unsigned long long)length, (unsigned long long)room / 1100);
    *count_p = (size_t)length;
    return TSW_OK;
}

char *tsw_store_library(char out[32])
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(out, 32, "HDF5 %u.%u.%u", major, minor, release);
    return out;
}
