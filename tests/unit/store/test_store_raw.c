#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"
#include "dataset_maker.h"
#include "temp_dir.h"

#include <errno.h>
#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A file system without a lock service: this takes the place of libc's function in this program,
 * for HDF5 too. */
static int flock_calls;
static bool flock_works;
int flock(int fd, int operation);
int flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    flock_calls++;
    if (flock_works)
        return 0;
    errno = ENOLCK;
    return -1;
}

static void put(hid_t file, const char *name, hid_t type, const void *data, hsize_t rows,
                hsize_t columns)
{
    hsize_t dims[2] = {rows, columns};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (data != NULL)
        assert_true(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static hid_t create_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    assert_true(H5Pset_file_locking(access, false, true) >= 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    assert_true(file >= 0);
    H5Pclose(access);
    return file;
}

static void make_file(const char *path)
{
    static const int values[6] = {1, 2, 3, -4, 5, 258};
    hid_t file = create_file(path);
    put(file, "i2", H5T_STD_I16LE, values, 2, 3);
    put(file, "big", H5T_STD_I32BE, values, 2, 3);
    put(file, "f4", H5T_IEEE_F32LE, values, 3, 2);
    put(file, "empty", H5T_STD_I32LE, NULL, 0, 3);
    put(file, "text", H5T_C_S1, NULL, 1, 1);
    H5Fclose(file);
}

static tsw_status_t read_raw(const char *dataset, tsw_buf_t *out, size_t *width_p, tsw_err_t *err)
{
    tsw_buf_t file = TSW_BUF_INIT;
    tsw_buf_clear(out);
    tsw_status_t status = tsw_file_read(tsw_temp_path("data.h5"), &file, err);
    if (status == TSW_OK)
        status =
            tsw_store_read_raw_image(file.data, file.size, "data.h5", dataset, out, width_p, err);
    tsw_buf_fini(&file);
    return status;
}

static void test_half_a_file_is_refused(void **state)
{
    (void)state;
    tsw_buf_t file = TSW_BUF_INIT, out = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    size_t width = 0;
    make_file(tsw_temp_path("data.h5"));
    assert_int_equal(tsw_file_read(tsw_temp_path("data.h5"), &file, NULL), TSW_OK);
    assert_int_equal(
        tsw_store_read_raw_image(file.data, file.size / 2, "d.h5", "/big", &out, &width, &err),
        TSW_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "d.h5"));
    tsw_buf_fini(&file);
    tsw_buf_fini(&out);
}

static void test_numbers_come_as_little_endian_bytes(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    size_t width = 0;
    static const uint8_t shorts[] = {1, 0, 2, 0, 3, 0, 0xfc, 0xff, 5, 0, 2, 1};
    make_file(tsw_temp_path("data.h5"));
    assert_int_equal(read_raw("/i2", &out, &width, NULL), TSW_OK);
    assert_int_equal(width, 2);
    assert_int_equal(out.size, sizeof(shorts));
    assert_memory_equal(out.data, shorts, sizeof(shorts));
    assert_int_equal(read_raw("big", &out, &width, NULL), TSW_OK);
    assert_int_equal(width, 4);
    assert_int_equal(out.size, 24);
    assert_int_equal(out.data[20], 2);
    assert_int_equal(out.data[21], 1);
    assert_int_equal(read_raw("/f4", &out, &width, NULL), TSW_OK);
    float values[6];
    assert_int_equal(out.size, sizeof(values));
    memcpy(values, out.data, sizeof(values));
    assert_true(values[3] < -3.5f && values[3] > -4.5f);
    assert_int_equal(read_raw("/empty", &out, &width, NULL), TSW_OK);
    assert_int_equal(out.size, 0);
    tsw_buf_fini(&out);
}

static void test_what_is_no_numbers_is_refused(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    size_t width = 9;
    tsw_err_t err = TSW_ERR_INIT;
    make_file(tsw_temp_path("data.h5"));
    assert_int_equal(read_raw("/text", &out, &width, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "data.h5:/text: neither integers nor"));
    assert_int_equal(read_raw("/none", &out, &width, &err), TSW_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "data.h5:/none: HDF5: "));
    assert_int_equal(read_raw("/", &out, &width, &err), TSW_ERR_NOT_FOUND);
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("data.h5"), "x", 1, NULL), TSW_OK);
    assert_int_equal(read_raw("/i2", &out, &width, &err), TSW_ERR_CORRUPT);
    assert_int_equal(width, 9);
    assert_int_equal(out.size, 0);
    tsw_buf_fini(&out);
}

/* A dataset that was never written takes no room in its file, whatever its size. */
static void test_numbers_beyond_all_memory_are_refused(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    size_t width = 0;
    tsw_err_t err = TSW_ERR_INIT;
    hid_t file = create_file(tsw_temp_path("data.h5"));
    put(file, "huge", H5T_STD_I16LE, NULL, (hsize_t)1 << 20, 1025);
    put(file, "more", H5T_STD_I64LE, NULL, (hsize_t)1 << 28, (hsize_t)1 << 28);
    H5Fclose(file);
    assert_int_equal(read_raw("/huge", &out, &width, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "/huge: 1074790400 numbers of 2 bytes, more than 2 GiB"));
    assert_int_equal(read_raw("/more", &out, &width, &err), TSW_ERR_INPUT);
    tsw_buf_fini(&out);
}

static void put_external(hid_t file, const char *name)
{
    const hsize_t length = 4;
    hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_external(create, "/dev/zero", 0, H5F_UNLIMITED) >= 0);
    hid_t dataset = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(create);
    H5Sclose(space);
}

static void test_numbers_of_other_files_are_refused(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    size_t width = 0;
    tsw_err_t err = TSW_ERR_INIT;
    make_file(tsw_temp_path("data.h5"));
    assert_int_equal(rename(tsw_temp_path("data.h5"), tsw_temp_path("other.h5")), 0);
    hid_t file = create_file(tsw_temp_path("data.h5"));
    put_external(file, "raw");
    assert_true(H5Lcreate_external(tsw_temp_path("other.h5"), "/i2", file, "link", H5P_DEFAULT,
                                   H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_soft("/raw", file, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    static const char *const names[] = {"raw", "link", "soft"};
    flock_works = true; /* HDF5 locks what a link leads to */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(read_raw(names[i], &out, &width, &err), TSW_ERR_INPUT);
        assert_non_null(strstr(err.text, ": its numbers are in another file"));
    }
    flock_works = false;
    tsw_buf_fini(&out);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    size_t width = 0;
    make_file(tsw_temp_path("data.h5"));
    for (long n = 1; n <= 3; n++) {
        tsw_mem_fail_at(n);
        assert_int_equal(read_raw("/i2", &out, &width, NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
    }
    tsw_buf_fini(&out);
}

/* Locks that fail: our files and those of others are read and written all the same. */
static void test_no_lock_is_ever_asked_for(void **state)
{
    (void)state;
    const tsw_make_t make = {
        .seed = 1, .cells = 1, .configs = 1, .rounds = 1, .nodes = 1, .attempt = 1};
    tsw_dataset_t dataset = tsw_make_dataset(&make);
    tsw_dataset_t copy = {0};
    tsw_buf_t out = TSW_BUF_INIT;
    size_t width = 0;
    make_file(tsw_temp_path("data.h5"));
    flock_calls = 0;
    assert_int_equal(tsw_store_write(tsw_temp_path("ours.h5"), &dataset, NULL), TSW_OK);
    assert_int_equal(tsw_store_read_file(tsw_temp_path("ours.h5"), &copy, NULL), TSW_OK);
    assert_int_equal(read_raw("/i2", &out, &width, NULL), TSW_OK);
    assert_int_equal(flock_calls, 0);
    /* The shim does bite: a plain open fails on it. */
    assert_true(H5Fopen(tsw_temp_path("data.h5"), H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
    assert_int_not_equal(flock_calls, 0);
    tsw_dataset_fini(&copy);
    tsw_dataset_fini(&dataset);
    tsw_buf_fini(&out);
}

static int make_dir(void **state)
{
    unsetenv("HDF5_USE_FILE_LOCKING");
    return tsw_temp_dir_make(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_a_file_is_refused),
        cmocka_unit_test(test_numbers_come_as_little_endian_bytes),
        cmocka_unit_test(test_what_is_no_numbers_is_refused),
        cmocka_unit_test(test_numbers_beyond_all_memory_are_refused),
        cmocka_unit_test(test_numbers_of_other_files_are_refused),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_no_lock_is_ever_asked_for),
    };
    return cmocka_run_group_tests(tests, make_dir, tsw_temp_dir_remove);
}
