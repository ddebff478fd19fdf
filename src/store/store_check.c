#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/store_folder.h"
#include "store/store_tables.h"

#include <stdlib.h>
#include <string.h>

/* Lines shown for one file; all faults are counted. */
#define SHOWN_PER_FILE 20

static const char *text_of(const tsw_rows_t *configs, uint32_t id)
{
    const tsw_config_row_t *row = tsw_rows_at(configs, id);
    return row->config;
}

static int compare_configs(const void *a, const void *b)
{
    const tsw_config_row_t *left = *(const tsw_config_row_t *const *)a;
    const tsw_config_row_t *right = *(const tsw_config_row_t *const *)b;
    int order = strcmp(left->config, right->config);
    return order != 0 ? order : strcmp(left->key, right->key);
}

static int compare_config_keys(const void *a, const void *b)
{
    const tsw_config_row_t *left = *(const tsw_config_row_t *const *)a;
    const tsw_config_row_t *right = *(const tsw_config_row_t *const *)b;
    return strcmp(left->key, right->key);
}

/* Texts and keys of configs go together one to one. */
static tsw_status_t check_configs(const tsw_tables_t *tables, tsw_faults_t *faults, tsw_err_t *err)
{
    size_t count = tables->configs.count;
    const tsw_config_row_t **rows = tsw_calloc(count, sizeof(rows[0]));
    if (rows == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        rows[i] = tsw_rows_at(&tables->configs, i);
    if (count > 1)
        qsort(rows, count, sizeof(rows[0]), compare_configs);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(rows[i - 1]->config, rows[i]->config) == 0)
            tsw_fault(faults, "/configs: \"%s\" has the keys %s and %s", rows[i]->config,
                      rows[i - 1]->key, rows[i]->key);
    }
    if (count > 1)
        qsort(rows, count, sizeof(rows[0]), compare_config_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(rows[i - 1]->key, rows[i]->key) == 0)
            tsw_fault(faults, "/configs: key %s stands for \"%s\" and \"%s\"", rows[i]->key,
                      rows[i - 1]->config, rows[i]->config);
    }
    tsw_free(rows);
    return TSW_OK;
}

/* Equal bits, so that NaN equals NaN. */
static bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static void check_derived(const tsw_tables_t *tables, size_t index, double *scratch,
                          tsw_faults_t *faults)
{
    const tsw_record_row_t *row = tsw_rows_at(&tables->records, index);
    tsw_record_row_t again = *row;
    tsw_derive_columns(tables->samples + row->first_sample, (size_t)row->n_samples, scratch,
                       &again);
    const struct {
        const char *name;
        double stored, derived;
    } columns[] = {
        {"median_ns", row->median_ns, again.median_ns},
        {"q1_ns", row->q1_ns, again.q1_ns},
        {"q3_ns", row->q3_ns, again.q3_ns},
        {"min_ns", row->min_ns, again.min_ns},
        {"max_ns", row->max_ns, again.max_ns},
        {"mean_ns", row->mean_ns, again.mean_ns},
        {"std_ns", row->std_ns, again.std_ns},
    };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (!same_number(columns[i].stored, columns[i].derived))
            tsw_fault(faults, "/records[%zu]: %s is %.17g, its samples give %.17g", index,
                      columns[i].name, columns[i].stored, columns[i].derived);
    }
    if (row->launches != again.launches)
        tsw_fault(faults, "/records[%zu]: launches is %u, its last sample has %u", index,
                  row->launches, again.launches);
    if (row->n_warmup != again.n_warmup)
        tsw_fault(faults, "/records[%zu]: n_warmup is %llu, its samples give %llu", index,
                  (unsigned long long)row->n_warmup, (unsigned long long)again.n_warmup);
}

static void check_samples(const tsw_tables_t *tables, size_t index, tsw_faults_t *faults)
{
    const tsw_record_row_t *row = tsw_rows_at(&tables->records, index);
    for (uint64_t i = row->first_sample; i < row->first_sample + row->n_samples; i++) {
        const tsw_sample_t *sample = &tables->samples[i];
        if (sample->stage >= TSW_STAGE_COUNT) {
            tsw_fault(faults, "/samples/stage[%llu]: %u is no stage", (unsigned long long)i,
                      sample->stage);
            return;
        }
        if (sample->launches == 0) {
            tsw_fault(faults, "/samples/launches[%llu]: a sample of 0 launches",
                      (unsigned long long)i);
            return;
        }
    }
}

/* Stages come in order: what was not built is not measured. */
static bool was_not_built(const tsw_record_row_t *row)
{
    return row->outcome == TSW_OUTCOME_COMPILE_FAILED ||
           row->outcome == TSW_OUTCOME_COMPILE_TIMEOUT;
}

static void check_outcome(const tsw_tables_t *tables, const tsw_cell_row_t *cell, size_t index,
                          tsw_faults_t *faults)
{
    const tsw_record_row_t *row = tsw_rows_at(&tables->records, index);
    bool is_out = row->fate == TSW_FATE_HOPELESS || row->fate == TSW_FATE_SUSPECT;
    bool timed = row->n_samples != row->n_warmup || (row->n_samples > 0 && is_out);
    if (row->outcome == TSW_OUTCOME_OK && cell->complete && !timed)
        tsw_fault(faults, "/records[%zu]: ok in a complete cell, but never timed", index);
    if (row->n_samples > 0 && (was_not_built(row) || row->outcome == TSW_OUTCOME_COMPILED))
        tsw_fault(faults, "/records[%zu]: %s, but timed", index,
                  tsw_outcome_name((tsw_outcome_t)row->outcome));
    if (was_not_built(row) && row->verify.elements > 0)
        tsw_fault(faults, "/records[%zu]: %s, but verified", index,
                  tsw_outcome_name((tsw_outcome_t)row->outcome));
    if (row->outcome != TSW_OUTCOME_ALIAS)
        return;
    for (uint64_t i = cell->first_record; i < cell->first_record + cell->n_records; i++) {
        const tsw_record_row_t *other = tsw_rows_at(&tables->records, i);
        if (other->config_index == row->alias_of && other->outcome != TSW_OUTCOME_ALIAS)
            return;
    }
    tsw_fault(faults, "/records[%zu]: alias of config %u, which its cell lacks", index,
              row->alias_of);
}

/* Records come in order of their configs, each once. */
static void check_order(const tsw_tables_t *tables, const tsw_cell_row_t *cell,
                        tsw_faults_t *faults)
{
    for (uint64_t i = cell->first_record + 1; i < cell->first_record + cell->n_records; i++) {
        const tsw_record_row_t *before = tsw_rows_at(&tables->records, i - 1);
        const tsw_record_row_t *row = tsw_rows_at(&tables->records, i);
        if (before->config_index >= row->config_index)
            tsw_fault(faults, "/records[%llu]: config_index %u follows %u", (unsigned long long)i,
                      row->config_index, before->config_index);
        if (before->config == row->config)
            tsw_fault(faults, "/records[%llu]: config \"%s\" is there twice", (unsigned long long)i,
                      text_of(&tables->configs, row->config));
    }
}

static void check_results(const tsw_tables_t *tables, double *scratch, tsw_faults_t *faults)
{
    for (size_t c = 0; c < tables->cells.count; c++) {
        const tsw_cell_row_t *cell = tsw_rows_at(&tables->cells, c);
        check_order(tables, cell, faults);
        for (uint64_t i = cell->first_record; i < cell->first_record + cell->n_records; i++) {
            check_derived(tables, i, scratch, faults);
            check_samples(tables, i, faults);
            check_outcome(tables, cell, i, faults);
        }
    }
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In a sweep each cell stands once. */
static tsw_status_t check_unique(const tsw_tables_t *tables, tsw_faults_t *faults, tsw_err_t *err)
{
    size_t count = tables->cells.count;
    const char **keys = tsw_calloc(count, sizeof(keys[0]));
    if (keys == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const tsw_cell_row_t *cell = tsw_rows_at(&tables->cells, i);
        keys[i] = cell->key;
    }
    if (count > 1)
        qsort(keys, count, sizeof(keys[0]), compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(keys[i - 1], keys[i]) == 0)
            tsw_fault(faults, "/cells: cell %s is there twice", keys[i]);
    }
    tsw_free(keys);
    return TSW_OK;
}

static size_t longest_record(const tsw_tables_t *tables)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < tables->records.count; i++) {
        const tsw_record_row_t *row = tsw_rows_at(&tables->records, i);
        if (row->n_samples > longest)
            longest = row->n_samples;
    }
    return (size_t)longest;
}

static tsw_status_t check_tables(const tsw_tables_t *tables, bool sweep, tsw_faults_t *faults,
                                 tsw_err_t *err)
{
    tsw_tables_verify(tables, faults);
    if (faults->count > 0)
        return TSW_OK; /* the rest relies on ids and ranges */
    double *scratch = tsw_calloc(longest_record(tables), sizeof(scratch[0]));
    if (scratch == NULL)
        return tsw_err_nomem(err);
    check_results(tables, scratch, faults);
    tsw_free(scratch);
    tsw_status_t status = check_configs(tables, faults, err);
    if (status == TSW_OK && sweep)
        status = check_unique(tables, faults, err);
    return status;
}

/* What is being checked, and what was found so far. */
typedef struct {
    tsw_buf_t *report;
    size_t faults;
    tsw_run_meta_t
        meta; /* of the newest file: the others must fit to it, unless of an older edition */
    bool has_meta;
} check_t;

static void check_meta(check_t *check, tsw_run_meta_t *meta, tsw_faults_t *faults)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (check->has_meta && meta->edition < check->meta.edition) {
        tsw_buf_printf(check->report, "%s: superseded: of edition %llu, the run is at %llu\n",
                       faults->path, (unsigned long long)meta->edition,
                       (unsigned long long)check->meta.edition);
    } else if (!check->has_meta) {
        check->meta = *meta;
        check->has_meta = true;
        *meta = (tsw_run_meta_t){0};
    } else if (tsw_run_meta_compatible(&check->meta, meta, &err) != TSW_OK) {
        tsw_fault(faults, "/meta: %s", err.text);
    }
}

static tsw_status_t check_file(check_t *check, const char *path, bool sweep, tsw_err_t *err)
{
    tsw_run_meta_t meta = {0};
    tsw_tables_t tables = {0};
    tsw_err_t why = TSW_ERR_INIT;
    tsw_status_t status = sweep ? TSW_OK : tsw_folder_expect_file(path, &why);
    if (status == TSW_OK)
        status = tsw_tables_read(path, &meta, &tables, &why);
    if (status == TSW_ERR_CORRUPT || status == TSW_ERR_VERSION) {
        tsw_buf_printf(check->report, "%s\n", why.text);
        check->faults++;
        return TSW_OK;
    }
    if (status != TSW_OK) {
        if (err != NULL)
            *err = why;
        return status;
    }
    tsw_faults_t faults = {.out = check->report, .path = path, .show = SHOWN_PER_FILE};
    status = check_tables(&tables, sweep, &faults, err);
    check_meta(check, &meta, &faults);
    if (faults.count > faults.show)
        tsw_buf_printf(check->report, "%s: %zu more faults\n", path, faults.count - faults.show);
    check->faults += faults.count;
    tsw_tables_fini(&tables);
    tsw_run_meta_fini(&meta);
    return status;
}

/* Nothing is sealed yet: right in the folder of a run that was stopped early, wrong elsewhere. */
static tsw_status_t check_empty(check_t *check, const char *run_dir, tsw_err_t *err)
{
    char *attempts = tsw_path_join(run_dir, "attempts");
    if (attempts == NULL)
        return tsw_err_nomem(err);
    if (tsw_path_is_dir(attempts)) {
        tsw_buf_printf(check->report, "%s: a run without any result yet\n", run_dir);
    } else {
        tsw_buf_printf(check->report, "%s: neither parts/*/*.h5 nor sweep.h5\n", run_dir);
        check->faults++;
    }
    tsw_free(attempts);
    return TSW_OK;
}

static tsw_status_t check_folder(check_t *check, const char *run_dir, tsw_err_t *err)
{
    tsw_names_t paths = {0};
    tsw_status_t status = tsw_folder_segments(run_dir, &paths, err);
    for (size_t i = paths.count; status == TSW_OK && i-- > 0;) /* the newest edition first */
        status = check_file(check, paths.names[i], false, err);
    char *sweep = tsw_path_join(run_dir, "sweep.h5");
    if (sweep == NULL) {
        status = tsw_err_nomem(err);
    } else if (status == TSW_OK && !tsw_path_is_plain(sweep)) {
        tsw_buf_printf(check->report, "%s: not a file\n", sweep);
        check->faults++;
    } else if (status == TSW_OK && tsw_path_exists(sweep)) {
        status = check_file(check, sweep, true, err);
    } else if (status == TSW_OK && paths.count == 0) {
        status = check_empty(check, run_dir, err);
    }
    tsw_free(sweep);
    tsw_names_fini(&paths);
    return status;
}

tsw_status_t tsw_store_check(const char *path, size_t *faults_p, tsw_buf_t *report, tsw_err_t *err)
{
    check_t check = {.report = report};
    tsw_status_t status = tsw_path_is_dir(path) ? check_folder(&check, path, err)
                                                : check_file(&check, path, true, err);
    tsw_run_meta_fini(&check.meta);
    if (status == TSW_OK && !tsw_buf_ok(report))
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        *faults_p = check.faults;
    return status;
}
