#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dataset_maker.h"
#include "store/store_h5.h"
#include "store/store_seal.h"
#include "store/store_tables.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Files that are whole but say nonsense: made by changing the tables before they are sealed. */

static const tsw_make_t small = {
    .seed = 13, .cells = 3, .configs = 4, .rounds = 3, .nodes = 2, .attempt = 1};

typedef void (*damage_fn_t)(tsw_tables_t *tables);

static tsw_record_row_t *record_row(tsw_tables_t *tables, size_t index)
{
    return tsw_rows_at(&tables->records, index);
}

static tsw_cell_row_t *cell_row(tsw_tables_t *tables, size_t index)
{
    return tsw_rows_at(&tables->cells, index);
}

static void write_damaged(const char *path, damage_fn_t damage)
{
    tsw_tables_t tables = {0};
    tsw_buf_t image = TSW_BUF_INIT;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    tsw_dataset_canonicalise(&dataset);
    assert_int_equal(tsw_tables_flatten(&dataset, &tables, NULL), TSW_OK);
    if (damage != NULL)
        damage(&tables);
    assert_int_equal(tsw_image_make(&dataset.meta, &tables, &image, NULL), TSW_OK);
    assert_int_equal(tsw_file_write_atomic(path, image.data, image.size, NULL), TSW_OK);
    tsw_buf_fini(&image);
    tsw_tables_fini(&tables);
    tsw_dataset_fini(&dataset);
}

static size_t check(const char *path, tsw_buf_t *report)
{
    size_t faults = SIZE_MAX;
    assert_int_equal(tsw_store_check(path, &faults, report, NULL), TSW_OK);
    return faults;
}

static void assert_reports(damage_fn_t damage, const char *expected)
{
    tsw_buf_t report = TSW_BUF_INIT;
    const char *path = tsw_temp_path("file.h5");
    write_damaged(path, damage);
    size_t faults = check(path, &report);
    if (faults == 0 || strstr(tsw_buf_text(&report), expected) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", expected, tsw_buf_text(&report));
    assert_non_null(strstr(tsw_buf_text(&report), "file.h5: "));
    tsw_buf_fini(&report);
}

/* Reading for use refuses what it could trip over. */
static void assert_refused(damage_fn_t damage, const char *expected)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t dataset = {0};
    assert_reports(damage, expected);
    assert_int_equal(tsw_store_read_file(tsw_temp_path("file.h5"), &dataset, &err),
                     TSW_ERR_CORRUPT);
    if (strstr(err.text, expected) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", expected, err.text);
    assert_null(dataset.cells);
}

static void test_a_good_file_has_no_faults(void **state)
{
    (void)state;
    tsw_buf_t report = TSW_BUF_INIT;
    write_damaged(tsw_temp_path("file.h5"), NULL);
    assert_int_equal(check(tsw_temp_path("file.h5"), &report), 0);
    assert_string_equal(tsw_buf_text(&report), "");
    tsw_buf_fini(&report);
}

static void shape_beyond(tsw_tables_t *tables)
{
    cell_row(tables, 1)->shape = 99;
}

static void gpu_beyond(tsw_tables_t *tables)
{
    cell_row(tables, 2)->gpu = UINT32_MAX;
}

static void config_beyond(tsw_tables_t *tables)
{
    record_row(tables, 5)->config = 4;
}

static void outcome_beyond(tsw_tables_t *tables)
{
    record_row(tables, 5)->outcome = TSW_OUTCOME_COUNT;
}

static void test_ids_out_of_range(void **state)
{
    (void)state;
    assert_refused(shape_beyond, "/cells[1]: shape 99 is out of range (3 rows)");
    assert_refused(gpu_beyond, "/cells[2]: gpu 4294967295 is out of range");
    assert_refused(config_beyond, "/records[5]: config 4 is out of range (4 rows)");
    assert_refused(outcome_beyond, "/records[5]: outcome 17 is out of range");
}

static void samples_gap(tsw_tables_t *tables)
{
    record_row(tables, 3)->first_sample += 1;
}

static void samples_beyond(tsw_tables_t *tables)
{
    record_row(tables, 11)->n_samples = UINT64_MAX;
}

static void samples_left(tsw_tables_t *tables)
{
    record_row(tables, 11)->n_samples -= 1;
}

static void records_beyond(tsw_tables_t *tables)
{
    cell_row(tables, 2)->n_records = 5;
}

static void rounds_overlap(tsw_tables_t *tables)
{
    cell_row(tables, 1)->first_round = 0;
}

static void wrong_owner(tsw_tables_t *tables)
{
    record_row(tables, 4)->cell = 0;
}

static void test_ranges_that_do_not_fit(void **state)
{
    (void)state;
    assert_refused(samples_gap, "/records[3]: its samples are [6, +5), expected from 5 on");
    assert_refused(samples_beyond, "/records[11]: its samples are");
    assert_refused(samples_left, "/samples: 30 rows, but only 29 belong to something");
    assert_refused(records_beyond, "/cells[2]: its records are [8, +5)");
    assert_refused(rounds_overlap, "/cells[1]: its rounds are [0, +3), expected from 3 on");
    assert_refused(wrong_owner, "/records[4]: cell is 0, but it is listed by cell 1");
}

static void bad_cell_key(tsw_tables_t *tables)
{
    cell_row(tables, 0)->key[5] = 'x';
}

static void bad_cubin_key(tsw_tables_t *tables)
{
    record_row(tables, 0)->cubin_key[0] = '\0';
}

static void bad_pack_key(tsw_tables_t *tables)
{
    tsw_kernel_row_t *kernel = tsw_rows_at(&tables->kernels, 0);
    kernel->pack_key[31] = '\0';
}

static void test_keys_that_are_none(void **state)
{
    (void)state;
    assert_refused(bad_cell_key, "/cells[0]: key");
    assert_refused(bad_cubin_key, "/records[0]: cubin_key \"\" is no key");
    assert_refused(bad_pack_key, "/kernels[0]: pack_key");
}

static void wrong_median(tsw_tables_t *tables)
{
    record_row(tables, 0)->median_ns += 1.0;
}

static void wrong_warmup(tsw_tables_t *tables)
{
    record_row(tables, 0)->n_warmup = 0;
}

static void wrong_stage(tsw_tables_t *tables)
{
    tables->samples[4].stage = 8;
}

static void no_launches(tsw_tables_t *tables)
{
    tables->samples[1].launches = 0;
}

static void wrong_launches(tsw_tables_t *tables)
{
    record_row(tables, 0)->launches = 9;
}

static void test_derived_columns_are_recomputed(void **state)
{
    (void)state;
    assert_reports(wrong_median, "/records[0]: median_ns is 25");
    assert_reports(wrong_warmup, "/records[0]: n_warmup is 0, its samples give 2");
    assert_reports(wrong_stage, "/samples/stage[4]: 8 is no stage");
    assert_reports(no_launches, "/samples/launches[1]: a sample of 0 launches");
    assert_reports(wrong_launches, "/records[0]: launches is 9, its last sample has 4");
}

static void never_timed(tsw_tables_t *tables)
{
    record_row(tables, 1)->outcome = TSW_OUTCOME_OK;
}

/* Stages come in order: each has nothing when the one before it failed. */
static void timed_without_build(tsw_tables_t *tables)
{
    record_row(tables, 0)->outcome = TSW_OUTCOME_COMPILE_FAILED;
    record_row(tables, 0)->verify.elements = 0;
}

static void verified_without_build(tsw_tables_t *tables)
{
    record_row(tables, 1)->outcome = TSW_OUTCOME_COMPILE_TIMEOUT;
    record_row(tables, 1)->verify.elements = 7;
}

static void timed_where_only_built(tsw_tables_t *tables)
{
    record_row(tables, 0)->outcome = TSW_OUTCOME_COMPILED;
}

static void alias_of_nothing(tsw_tables_t *tables)
{
    record_row(tables, 2)->alias_of = 9;
}

static void alias_of_itself(tsw_tables_t *tables)
{
    record_row(tables, 2)->alias_of = 2;
}

static void config_twice(tsw_tables_t *tables)
{
    record_row(tables, 1)->config = record_row(tables, 0)->config;
}

static void index_twice(tsw_tables_t *tables)
{
    record_row(tables, 1)->config_index = 0;
}

static void cell_twice(tsw_tables_t *tables)
{
    memcpy(cell_row(tables, 2)->key, cell_row(tables, 0)->key, TSW_KEY_TEXT_SIZE);
}

static void key_twice(tsw_tables_t *tables)
{
    tsw_config_row_t *first = tsw_rows_at(&tables->configs, 0);
    tsw_config_row_t *second = tsw_rows_at(&tables->configs, 1);
    memcpy(first->key, second->key, TSW_KEY_TEXT_SIZE);
}

static void text_twice(tsw_tables_t *tables)
{
    tsw_config_row_t *first = tsw_rows_at(&tables->configs, 0);
    tsw_config_row_t *second = tsw_rows_at(&tables->configs, 1);
    memcpy(first->config, second->config, tables->configs.tail_size);
}

static void test_results_that_contradict_themselves(void **state)
{
    (void)state;
    assert_reports(never_timed, "/records[1]: ok in a complete cell, but never timed");
    assert_reports(timed_without_build, "/records[0]: compile_failed, but timed");
    assert_reports(verified_without_build, "/records[1]: compile_timeout, but verified");
    assert_reports(timed_where_only_built, "/records[0]: compiled, but timed");
    assert_reports(alias_of_nothing, "/records[2]: alias of config 9, which its cell lacks");
    assert_reports(alias_of_itself, "/records[2]: alias of config 2, which its cell lacks");
    assert_reports(config_twice, "/records[1]: config \"TILE_M=64 occupancy=1\" is there twice");
    assert_reports(index_twice, "/records[1]: config_index 0 follows 0");
    assert_reports(cell_twice, "is there twice");
    assert_reports(key_twice, "stands for \"TILE_M=64 occupancy=1\" and");
    assert_reports(text_twice, "/configs: \"TILE_M=64 occupancy=2\" has the keys");
}

static void many_faults(tsw_tables_t *tables)
{
    for (size_t i = 0; i < tables->records.count; i++) {
        record_row(tables, i)->median_ns = -1.0;
        record_row(tables, i)->n_warmup = 77;
        record_row(tables, i)->std_ns = -1.0;
    }
}

static void test_many_faults_are_counted_not_shown(void **state)
{
    (void)state;
    tsw_buf_t report = TSW_BUF_INIT;
    write_damaged(tsw_temp_path("file.h5"), many_faults);
    assert_int_equal(check(tsw_temp_path("file.h5"), &report), 36);
    assert_non_null(strstr(tsw_buf_text(&report), "file.h5: 16 more faults\n"));
    tsw_buf_fini(&report);
}

static void test_folders_are_checked_file_by_file(void **state)
{
    (void)state;
    tsw_buf_t report = TSW_BUF_INIT;
    assert_int_equal(tsw_dir_make(tsw_temp_path("run/parts/a0001-r0000"), NULL), TSW_OK);
    assert_int_equal(check(tsw_temp_path("run"), &report), 1);
    assert_non_null(strstr(tsw_buf_text(&report), "run: neither parts/*/*.h5 nor sweep.h5"));
    write_damaged(tsw_temp_path("run/parts/a0001-r0000/000001.h5"), NULL);
    write_damaged(tsw_temp_path("run/parts/a0001-r0000/000002.h5"), cell_twice);
    tsw_buf_clear(&report);
    assert_int_equal(check(tsw_temp_path("run"), &report), 0); /* twice is fine in segments */
    write_damaged(tsw_temp_path("run/parts/a0001-r0000/000003.h5"), wrong_median);
    write_damaged(tsw_temp_path("run/parts/a0001-r0000/000004.h5"), NULL);
    assert_int_equal(truncate(tsw_temp_path("run/parts/a0001-r0000/000004.h5"), 2000), 0);
    write_damaged(tsw_temp_path("run/sweep.h5"), cell_twice);
    assert_int_equal(check(tsw_temp_path("run"), &report), 3);
    assert_non_null(strstr(tsw_buf_text(&report), "000003.h5: /records[0]: median_ns"));
    assert_non_null(strstr(tsw_buf_text(&report), "000004.h5: torn or damaged"));
    assert_non_null(strstr(tsw_buf_text(&report), "sweep.h5: /cells: cell"));
    tsw_dataset_t other = tsw_make_dataset(&small);
    other.meta.plan_key.hi ^= 1;
    tsw_buf_clear(&report);
    assert_int_equal(tsw_store_write(tsw_temp_path("run/sweep.h5"), &other, NULL), TSW_OK);
    assert_int_equal(check(tsw_temp_path("run"), &report), 3);
    assert_non_null(strstr(tsw_buf_text(&report),
                           "sweep.h5: /meta: results that must not be mixed differ in:\n  plan: "));
    tsw_dataset_fini(&other);
    tsw_buf_fini(&report);
}

/* A resume that accepted differences begins an edition; what is older counts no more. */
static void test_older_editions_are_superseded(void **state)
{
    (void)state;
    tsw_buf_t report = TSW_BUF_INIT;
    assert_int_equal(tsw_dir_make(tsw_temp_path("editions/parts/a0001-r0000"), NULL), TSW_OK);
    assert_int_equal(tsw_dir_make(tsw_temp_path("editions/parts/a0002-r0001"), NULL), TSW_OK);
    tsw_dataset_t old = tsw_make_dataset(&small);
    tsw_dataset_t other = tsw_make_dataset(
        &(tsw_make_t){.seed = 5, .cells = 1, .configs = 2, .rounds = 3, .nodes = 1, .attempt = 2});
    other.meta.edition = old.meta.edition + 1;
    other.meta.plan_key.lo ^= 1;
    assert_int_equal(tsw_store_write(tsw_temp_path("editions/sweep.h5"), &old, NULL), TSW_OK);
    const char *first = tsw_temp_path("editions/parts/a0001-r0000/000001.h5");
    assert_int_equal(tsw_store_write(first, &old, NULL), TSW_OK);
    assert_int_equal(
        tsw_store_write(tsw_temp_path("editions/parts/a0002-r0001/000001.h5"), &other, NULL),
        TSW_OK);
    assert_int_equal(check(tsw_temp_path("editions"), &report), 0);
    assert_non_null(strstr(tsw_buf_text(&report), "a0001-r0000/000001.h5: superseded: of edition "
                                                  "2, the run is at 3\n"));
    assert_non_null(strstr(tsw_buf_text(&report), "sweep.h5: superseded"));
    tsw_dataset_t read = {0};
    char *skipped = NULL;
    assert_int_equal(tsw_store_read(tsw_temp_path("editions"), &read, &skipped, NULL), TSW_OK);
    assert_string_equal(skipped, "");
    assert_int_equal(read.cell_count, 1);
    assert_int_equal(read.cells[0].attempt, 2);
    assert_int_equal(read.meta.edition, 3);
    tsw_free(skipped);
    tsw_dataset_fini(&read);
    tsw_dataset_fini(&old);
    tsw_dataset_fini(&other);
    tsw_buf_fini(&report);
}

enum { WOUNDS = 200 };

/* One damage of many: cut off, or a byte changed. */
static void wound(const tsw_buf_t *good, uint64_t number, const char *path)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    size_t place = (size_t)(tsw_rng_u64(17, number, 0, 0, 0) % good->size);
    tsw_buf_append(&bytes, good->data, number % 4 == 0 ? place : good->size);
    if (number % 4 != 0)
        bytes.data[place] ^= (uint8_t)(1 + tsw_rng_u64(17, number, 1, 0, 0) % 255);
    assert_int_equal(tsw_file_write_atomic(path, bytes.data, bytes.size, NULL), TSW_OK);
    tsw_buf_fini(&bytes);
}

/* Whatever happened to a segment: it is named, left out, and the others are read. */
static void test_any_damage_is_seen_and_costs_that_segment_alone(void **state)
{
    (void)state;
    char good_path[512], bad_path[512];
    tsw_buf_t good = TSW_BUF_INIT;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    snprintf(good_path, sizeof(good_path), "%s",
             tsw_temp_path("wounds/parts/a0001-r0000/000002.h5"));
    snprintf(bad_path, sizeof(bad_path), "%s", tsw_temp_path("wounds/parts/a0001-r0000/000001.h5"));
    assert_int_equal(tsw_dir_make(tsw_temp_path("wounds/parts/a0001-r0000"), NULL), TSW_OK);
    assert_int_equal(tsw_store_write(good_path, &dataset, NULL), TSW_OK);
    assert_int_equal(tsw_file_read(good_path, &good, NULL), TSW_OK);
    for (uint64_t i = 0; i < WOUNDS; i++) {
        tsw_buf_t report = TSW_BUF_INIT;
        tsw_dataset_t read = {0};
        char *skipped = NULL;
        wound(&good, i, bad_path);
        assert_int_equal(tsw_store_read(tsw_temp_path("wounds"), &read, &skipped, NULL), TSW_OK);
        assert_int_equal(read.cell_count, small.cells);
        assert_non_null(strstr(skipped, "a0001-r0000/000001.h5: "));
        assert_int_equal(check(tsw_temp_path("wounds"), &report), 1);
        assert_non_null(strstr(tsw_buf_text(&report), "a0001-r0000/000001.h5: "));
        tsw_free(skipped);
        tsw_dataset_fini(&read);
        tsw_buf_fini(&report);
    }
    tsw_dataset_fini(&dataset);
    tsw_buf_fini(&good);
}

/* The same under a seal that fits: what is read is what the format allows, or nothing. */
static void test_garbage_with_a_good_seal_does_not_crash(void **state)
{
    (void)state;
    size_t refused = 0;
    tsw_buf_t good = TSW_BUF_INIT;
    const char *path = tsw_temp_path("bad.h5");
    write_damaged(path, NULL);
    assert_int_equal(tsw_file_read(path, &good, NULL), TSW_OK);
    for (uint64_t i = 0; i < WOUNDS; i++) {
        tsw_buf_t bytes = TSW_BUF_INIT, report = TSW_BUF_INIT;
        wound(&good, i, path);
        assert_int_equal(tsw_file_read(path, &bytes, NULL), TSW_OK);
        if (bytes.size <= TSW_SEAL_SIZE) {
            tsw_buf_fini(&bytes);
            continue;
        }
        tsw_seal_format(bytes.data + TSW_SEAL_SIZE, bytes.size - TSW_SEAL_SIZE, (char *)bytes.data);
        assert_int_equal(tsw_file_write_atomic(path, bytes.data, bytes.size, NULL), TSW_OK);
        refused += check(path, &report) > 0;
        tsw_buf_fini(&bytes);
        tsw_buf_fini(&report);
    }
    assert_true(refused > WOUNDS / 4); /* the rest changed what nothing depends on */
    tsw_buf_fini(&good);
}

static void test_a_missing_file_is_an_error_not_a_fault(void **state)
{
    (void)state;
    size_t faults = 5;
    tsw_buf_t report = TSW_BUF_INIT;
    assert_int_equal(tsw_store_check(tsw_temp_path("none.h5"), &faults, &report, NULL),
                     TSW_ERR_NOT_FOUND);
    assert_int_equal(faults, 5);
    tsw_buf_fini(&report);
}

/* Rewrites /meta schema_major under a good seal. */
static void test_another_major_version_is_refused(void **state)
{
    (void)state;
    tsw_run_meta_t meta = tsw_make_meta(&small);
    tsw_buf_t bytes = TSW_BUF_INIT;
    hid_t file = H5I_INVALID_HID;
    assert_int_equal(tsw_h5_create_image(&file, NULL), TSW_OK);
    assert_int_equal(tsw_meta_put(file, &meta, NULL), TSW_OK);
    hid_t group = H5Gopen2(file, "meta", H5P_DEFAULT);
    assert_true(H5Adelete(group, "schema_major") >= 0);
    assert_int_equal(tsw_h5_put_u64_attr(group, "schema_major", 2, NULL), TSW_OK);
    H5Gclose(group);
    tsw_run_meta_t copy = {0};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_meta_get(file, &copy, &err), TSW_ERR_VERSION);
    assert_string_equal(err.text, "schema version 2.2; this tilesweep reads version 1");
    tsw_h5_close_file(file);
    tsw_buf_fini(&bytes);
    tsw_run_meta_fini(&copy);
    tsw_run_meta_fini(&meta);
}

/* Files of version 1.0 have no launches per sample. */
static void test_launches_of_old_files_come_from_records(void **state)
{
    (void)state;
    hid_t file = H5I_INVALID_HID;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    tsw_tables_t tables = {0};
    assert_int_equal(tsw_tables_flatten(&dataset, &tables, NULL), TSW_OK);
    assert_int_equal(tsw_h5_create_image(&file, NULL), TSW_OK);
    assert_int_equal(tsw_samples_put(file, &tables, NULL), TSW_OK);
    assert_true(H5Ldelete(file, "samples/launches", H5P_DEFAULT) >= 0);
    size_t count = tables.sample_count;
    tsw_free(tables.samples);
    tables.samples = NULL;
    assert_int_equal(tsw_samples_get(file, &tables, NULL), TSW_OK);
    assert_int_equal(tables.sample_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tables.samples[i].launches, 4);
    tsw_tables_fini(&tables);
    tsw_h5_close_file(file);
    tsw_dataset_fini(&dataset);
}

/* Tables of another layout than ours. */
static void test_other_layouts_are_refused(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_rows_t rows = {0};
    tsw_rows_t copy = {0};
    hid_t file = H5I_INVALID_HID;
    tsw_node_row_t node = {.name = "n"};
    assert_int_equal(tsw_h5_create_image(&file, NULL), TSW_OK);
    assert_int_equal(tsw_table_get(file, &tsw_schema_nodes, &copy, &err), TSW_ERR_CORRUPT);
    tsw_rows_init(&rows, &tsw_schema_nodes, 0);
    assert_int_equal(tsw_rows_add(&rows, &node, NULL), TSW_OK);
    assert_int_equal(tsw_table_put(file, &tsw_schema_nodes, &rows, NULL), TSW_OK);
    tsw_column_t column = {.name = "node", .type = TSW_COLUMN_U32};
    const tsw_schema_t number = {
        .name = "nodes", .columns = &column, .column_count = 1, .row_size = 4};
    assert_int_equal(tsw_table_get(file, &number, &copy, &err), TSW_ERR_CORRUPT);
    assert_string_equal(err.text, "nodes: column node has another type");
    column = (tsw_column_t){.name = "rack", .type = TSW_COLUMN_U32};
    assert_int_equal(tsw_table_get(file, &number, &copy, &err), TSW_ERR_CORRUPT);
    assert_string_equal(err.text, "nodes: no column rack");
    column = (tsw_column_t){.name = "node", .type = TSW_COLUMN_TEXT, .size = 8};
    assert_int_equal(tsw_table_get(file, &number, &copy, &err), TSW_ERR_CORRUPT); /* too wide */
    assert_null(copy.bytes);
    tsw_rows_fini(&rows);
    tsw_h5_close_file(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_file_has_no_faults),
        cmocka_unit_test(test_ids_out_of_range),
        cmocka_unit_test(test_ranges_that_do_not_fit),
        cmocka_unit_test(test_keys_that_are_none),
        cmocka_unit_test(test_derived_columns_are_recomputed),
        cmocka_unit_test(test_results_that_contradict_themselves),
        cmocka_unit_test(test_many_faults_are_counted_not_shown),
        cmocka_unit_test(test_folders_are_checked_file_by_file),
        cmocka_unit_test(test_older_editions_are_superseded),
        cmocka_unit_test(test_any_damage_is_seen_and_costs_that_segment_alone),
        cmocka_unit_test(test_garbage_with_a_good_seal_does_not_crash),
        cmocka_unit_test(test_a_missing_file_is_an_error_not_a_fault),
        cmocka_unit_test(test_another_major_version_is_refused),
        cmocka_unit_test(test_launches_of_old_files_come_from_records),
        cmocka_unit_test(test_other_layouts_are_refused),
    };
    return cmocka_run_group_tests(tests, tsw_temp_dir_make, tsw_temp_dir_remove);
}
