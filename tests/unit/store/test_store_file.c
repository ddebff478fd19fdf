#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dataset_maker.h"
#include "store/store_seal.h"
#include "temp_dir.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const tsw_make_t small = {
    .seed = 5, .cells = 3, .configs = 4, .rounds = 6, .nodes = 2, .attempt = 1};

static void write_small(const char *path)
{
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    assert_int_equal(tsw_store_write(path, &dataset, NULL), TSW_OK);
    tsw_dataset_fini(&dataset);
}

static void assert_round_trip(const tsw_dataset_t *dataset)
{
    const char *path = tsw_temp_path("round.h5");
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t copy = {0};
    tsw_status_t status = tsw_store_write(path, dataset, &err);
    if (status == TSW_OK)
        status = tsw_store_read_file(path, &copy, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, TSW_OK);
    const char *difference = tsw_dataset_difference(dataset, &copy);
    if (difference != NULL)
        fail_msg("%s differs", difference);
    tsw_dataset_fini(&copy);
}

static void test_dataset_round_trip(void **state)
{
    (void)state;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    dataset.cells[1].complete = 0;
    dataset.cells[1].rank = -1;
    dataset.cells[1].cache_mode = 1;
    dataset.cells[2].rounds[0].power_w = NAN;
    dataset.cells[2].records[0].verify.max_rel = INFINITY;
    dataset.cells[2].records[0].samples[0].interval_ns = UINT64_MAX;
    dataset.cells[2].records[0].samples[1].slot = UINT16_MAX;
    assert_round_trip(&dataset);
    tsw_dataset_fini(&dataset);
}

static void test_many_chunks_round_trip(void **state)
{
    (void)state;
    const tsw_make_t make = {
        .seed = 6, .cells = 60, .configs = 20, .rounds = 40, .nodes = 3, .attempt = 2};
    tsw_dataset_t dataset = tsw_make_dataset(&make); /* 45,360 samples, 1,200 records */
    assert_round_trip(&dataset);
    tsw_dataset_fini(&dataset);
}

static void test_nothing_round_trip(void **state)
{
    (void)state;
    tsw_dataset_t dataset = {.meta = tsw_make_meta(&small)};
    assert_round_trip(&dataset);
    tsw_cell_result_t skipped = {.pack = "demo", .shape = "M=0", .complete = 1};
    assert_int_equal(tsw_dataset_add(&dataset, &skipped, NULL), TSW_OK);
    assert_round_trip(&dataset);
    tsw_dataset_fini(&dataset);
}

static void test_long_texts_round_trip(void **state)
{
    (void)state;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    char *text = tsw_malloc(200001);
    assert_non_null(text);
    memset(text, 'x', 200000);
    text[200000] = '\0';
    tsw_free(dataset.meta.job_text);
    tsw_free(dataset.meta.invocation);
    dataset.meta.job_text = tsw_strdup(text);
    dataset.meta.invocation = tsw_strdup(text);
    text[3000] = '\0';
    tsw_free(dataset.cells[0].config_texts[0]);
    dataset.cells[0].config_texts[0] = text;
    memset(dataset.cells[0].records[1].detail, 'd', TSW_DETAIL_MAX - 1);
    memset(dataset.cells[0].shape, 's', sizeof(dataset.cells[0].shape) - 1);
    assert_round_trip(&dataset);
    tsw_dataset_fini(&dataset);
}

static void test_equal_datasets_give_equal_bytes(void **state)
{
    (void)state;
    tsw_buf_t first = TSW_BUF_INIT;
    tsw_buf_t second = TSW_BUF_INIT;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    assert_int_equal(tsw_store_write(tsw_temp_path("a.h5"), &dataset, NULL), TSW_OK);
    /* What lies behind the end of a text must not reach the file. */
    memset(dataset.cells[0].node + 6, '!', 20);
    memset(dataset.cells[0].gpu.name + 15, '!', 20);
    assert_int_equal(tsw_store_write(tsw_temp_path("b.h5"), &dataset, NULL), TSW_OK);
    assert_int_equal(tsw_file_read(tsw_temp_path("a.h5"), &first, NULL), TSW_OK);
    assert_int_equal(tsw_file_read(tsw_temp_path("b.h5"), &second, NULL), TSW_OK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    tsw_buf_fini(&first);
    tsw_buf_fini(&second);
    tsw_dataset_fini(&dataset);
}

/* Other readers open the file as it is. */
static void test_plain_hdf5_opens_the_file(void **state)
{
    (void)state;
    write_small(tsw_temp_path("plain.h5"));
    hid_t file = H5Fopen(tsw_temp_path("plain.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    hid_t samples = H5Dopen2(file, "/samples/interval_ns", H5P_DEFAULT);
    hid_t unit = H5Aopen(samples, "unit", H5P_DEFAULT);
    hid_t type = H5Aget_type(unit);
    char text[8] = "";
    assert_int_equal(H5Tget_size(type), 3);
    assert_true(H5Aread(unit, type, text) >= 0);
    assert_string_equal(text, "ns");
    hid_t records = H5Dopen2(file, "/records", H5P_DEFAULT);
    assert_true(H5Aexists(records, "unit_median_ns") > 0);
    assert_true(H5Aexists(records, "outcome_names") > 0);
    H5Dclose(records);
    H5Tclose(type);
    H5Aclose(unit);
    H5Dclose(samples);
    H5Fclose(file);
}

static tsw_status_t read_bytes(const void *bytes, size_t size, tsw_err_t *err)
{
    const char *path = tsw_temp_path("damaged.h5");
    tsw_dataset_t dataset = {0};
    assert_int_equal(tsw_file_write_atomic(path, bytes, size, NULL), TSW_OK);
    tsw_status_t status = tsw_store_read_file(path, &dataset, err);
    if (status != TSW_OK)
        assert_null(dataset.cells); /* outputs stay untouched */
    tsw_dataset_fini(&dataset);
    return status;
}

static void test_cut_files_are_refused(void **state)
{
    (void)state;
    tsw_buf_t whole = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    write_small(tsw_temp_path("whole.h5"));
    assert_int_equal(tsw_file_read(tsw_temp_path("whole.h5"), &whole, NULL), TSW_OK);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(read_bytes(whole.data, whole.size * i / 200, &err), TSW_ERR_CORRUPT);
    assert_int_equal(read_bytes(whole.data, whole.size - 1, &err), TSW_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "damaged.h5: torn or damaged"));
    assert_int_equal(read_bytes(whole.data, 0, &err), TSW_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "damaged.h5: no seal"));
    tsw_buf_append(&whole, "x", 1);
    assert_int_equal(read_bytes(whole.data, whole.size, &err), TSW_ERR_CORRUPT);
    tsw_buf_fini(&whole);
}

static void test_flipped_bits_are_refused(void **state)
{
    (void)state;
    tsw_buf_t whole = TSW_BUF_INIT;
    write_small(tsw_temp_path("whole.h5"));
    assert_int_equal(tsw_file_read(tsw_temp_path("whole.h5"), &whole, NULL), TSW_OK);
    for (uint64_t i = 0; i < 400; i++) {
        uint64_t bits = tsw_rng_u64(11, i, 0, 0, 0);
        size_t at = i < 60 ? (size_t)i : (size_t)(bits % whole.size);
        uint8_t flip = (uint8_t)(1u << (bits >> 61));
        whole.data[at] ^= flip;
        assert_int_equal(read_bytes(whole.data, whole.size, NULL), TSW_ERR_CORRUPT);
        whole.data[at] ^= flip;
    }
    assert_int_equal(read_bytes(whole.data, whole.size, NULL), TSW_OK);
    tsw_buf_fini(&whole);
}

/* Garbage under a good seal: HDF5 itself must refuse it. */
static void test_sealed_garbage_is_refused(void **state)
{
    (void)state;
    tsw_buf_t file = TSW_BUF_INIT;
    char block[TSW_SEAL_SIZE];
    static const char garbage[] = "this is no HDF5 file at all";
    tsw_seal_format(garbage, sizeof(garbage), block);
    tsw_buf_append(&file, block, sizeof(block));
    tsw_buf_append(&file, garbage, sizeof(garbage));
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(read_bytes(file.data, file.size, &err), TSW_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "damaged.h5: cannot open: HDF5: "));
    tsw_buf_fini(&file);
}

static void test_missing_files_are_told_apart(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t dataset = {0};
    assert_int_equal(tsw_store_read_file(tsw_temp_path("none.h5"), &dataset, &err),
                     TSW_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "none.h5: No such file"));
    dataset = tsw_make_dataset(&small);
    assert_int_equal(tsw_store_write(tsw_temp_path("no/such/dir.h5"), &dataset, &err),
                     TSW_ERR_NOT_FOUND);
    tsw_dataset_fini(&dataset);
}

/* Write and read with the n-th allocation failing, for every n. */
static void test_each_failing_allocation_is_survived(void **state)
{
    (void)state;
    const tsw_make_t make = {
        .seed = 7, .cells = 2, .configs = 3, .rounds = 2, .nodes = 1, .attempt = 1};
    tsw_dataset_t dataset = tsw_make_dataset(&make);
    const char *path = tsw_temp_path("nomem.h5");
    tsw_status_t status = TSW_ERR_NOMEM;
    for (long n = 1; status == TSW_ERR_NOMEM; n++) {
        assert_true(n < 1000);
        tsw_mem_fail_at(n);
        status = tsw_store_write(path, &dataset, NULL);
        tsw_mem_fail_at(0);
    }
    assert_int_equal(status, TSW_OK);
    status = TSW_ERR_NOMEM;
    for (long n = 1; status == TSW_ERR_NOMEM; n++) {
        assert_true(n < 1000);
        tsw_dataset_t copy = {0};
        tsw_mem_fail_at(n);
        status = tsw_store_read_file(path, &copy, NULL);
        tsw_mem_fail_at(0);
        if (status == TSW_OK)
            assert_null(tsw_dataset_difference(&dataset, &copy));
        tsw_dataset_fini(&copy);
    }
    assert_int_equal(status, TSW_OK);
    tsw_dataset_fini(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dataset_round_trip),
        cmocka_unit_test(test_many_chunks_round_trip),
        cmocka_unit_test(test_nothing_round_trip),
        cmocka_unit_test(test_long_texts_round_trip),
        cmocka_unit_test(test_equal_datasets_give_equal_bytes),
        cmocka_unit_test(test_plain_hdf5_opens_the_file),
        cmocka_unit_test(test_cut_files_are_refused),
        cmocka_unit_test(test_flipped_bits_are_refused),
        cmocka_unit_test(test_sealed_garbage_is_refused),
        cmocka_unit_test(test_missing_files_are_told_apart),
        cmocka_unit_test(test_each_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, tsw_temp_dir_make, tsw_temp_dir_remove);
}
