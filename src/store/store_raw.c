#include "store/store.h"

#include "base/fileset.h"
#include "base/mem.h"
#include "store/store_h5.h"

/* The type of the numbers in dataset, little-endian; invalid when they are none. */
static hid_t little_endian_type(hid_t dataset)
{
    hid_t stored = H5Dget_type(dataset);
    if (stored < 0)
        return stored;
    hid_t type = H5I_INVALID_HID;
    H5T_class_t class = H5Tget_class(stored);
    if (class == H5T_INTEGER || class == H5T_FLOAT)
        type = H5Tcopy(stored);
    H5Tclose(stored);
    if (type >= 0 && H5Tset_order(type, H5T_ORDER_LE) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/* Links and datasets can lead to other files: to numbers that no key knows of, or to a pipe. */
static bool is_elsewhere(hid_t file, hid_t dataset)
{
    H5O_info_t own, found;
    hid_t layout = H5Dget_create_plist(dataset);
    const bool outside =
        layout < 0 || H5Pget_external_count(layout) != 0 || H5Pget_layout(layout) == H5D_VIRTUAL;
    if (layout >= 0)
        H5Pclose(layout);
    return outside || H5Oget_info2(file, &own, H5O_INFO_BASIC) < 0 ||
           H5Oget_info2(dataset, &found, H5O_INFO_BASIC) < 0 || own.fileno != found.fileno;
}

static tsw_status_t read_numbers(hid_t dataset, hid_t type, const char *where, tsw_buf_t *out,
                                 tsw_err_t *err)
{
    hid_t space = H5Dget_space(dataset);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (space >= 0)
        H5Sclose(space);
    size_t width = H5Tget_size(type);
    if (count < 0 || width == 0)
        return tsw_h5_fail(err, TSW_ERR_CORRUPT, where);
    /* A dataset may claim any size and hold nothing. */
    if ((size_t)count > TSW_FILESET_BYTES_MAX / width)
        return tsw_err_set(err, TSW_ERR_INPUT, "%s: %llu numbers of %zu bytes, more than 2 GiB",
                           where, (unsigned long long)count, width);
    size_t size = (size_t)count * width;
    void *bytes = tsw_malloc(size);
    if (bytes == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, where);
    else
        tsw_buf_append(out, bytes, size);
    if (status == TSW_OK && !tsw_buf_ok(out))
        status = tsw_err_nomem(err);
    tsw_free(bytes);
    return status;
}

/* A dataset of an open file; name: the file in messages. */
static tsw_status_t read_dataset(hid_t file, const char *name, const char *dataset, tsw_buf_t *out,
                                 size_t *element_bytes_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    tsw_buf_t where = TSW_BUF_INIT;
    hid_t numbers = H5I_INVALID_HID;
    hid_t type = H5I_INVALID_HID;
    tsw_buf_printf(&where, "%s:%s", name, dataset);
    if (!tsw_buf_ok(&where)) {
        status = tsw_err_nomem(err);
        goto out;
    }
    numbers = H5Dopen2(file, dataset, H5P_DEFAULT);
    if (numbers < 0) {
        status = tsw_h5_fail(err, TSW_ERR_NOT_FOUND, tsw_buf_text(&where));
        goto out;
    }
    if (is_elsewhere(file, numbers)) {
        status = tsw_err_set(err, TSW_ERR_INPUT, "%s: its numbers are in another file",
                             tsw_buf_text(&where));
        goto out;
    }
    type = little_endian_type(numbers);
    if (type < 0) {
        status = tsw_err_set(err, TSW_ERR_INPUT, "%s: neither integers nor floating point numbers",
                             tsw_buf_text(&where));
        goto out;
    }
    status = read_numbers(numbers, type, tsw_buf_text(&where), out, err);
    if (status == TSW_OK)
        *element_bytes_p = H5Tget_size(type);
out:
    if (type >= 0)
        H5Tclose(type);
    if (numbers >= 0)
        H5Dclose(numbers);
    tsw_buf_fini(&where);
    return status;
}

tsw_status_t tsw_store_read_raw_image(void *bytes, size_t size, const char *name,
                                      const char *dataset, tsw_buf_t *out, size_t *element_bytes_p,
                                      tsw_err_t *err)
{
    hid_t opened = H5I_INVALID_HID;
    tsw_status_t status = tsw_h5_open_image(bytes, size, &opened, err);
    if (status != TSW_OK) {
        tsw_err_wrap(err, "%s", name);
        return status;
    }
    status = read_dataset(opened, name, dataset, out, element_bytes_p, err);
    H5Fclose(opened); /* without our assertion: a damaged file of others may confuse HDF5 */
    return status;
}
