#include "record/dataset.h"

#include "base/buf.h"
#include "base/mem.h"
#include "record/inputs.h"

#include <stdlib.h>

void tsw_run_meta_fini(tsw_run_meta_t *meta)
{
    tsw_free(meta->job_name);
    tsw_free(meta->job_text);
    tsw_free(meta->purpose);
    tsw_free(meta->toolchain);
    tsw_free(meta->tool);
    tsw_free(meta->mode);
    tsw_free(meta->clocks);
    tsw_free(meta->protocol);
    tsw_free(meta->objective);
    tsw_free(meta->invocation);
    tsw_free(meta->retired);
    tsw_free(meta->inputs);
    tsw_free(meta->parts);
    *meta = (tsw_run_meta_t){0};
}

static char *copy_text(const char *text, bool *ok)
{
    char *copy = tsw_strdup(text != NULL ? text : "");
    if (copy == NULL)
        *ok = false;
    return copy;
}

tsw_status_t tsw_run_meta_copy(const tsw_run_meta_t *from, tsw_run_meta_t *meta_p, tsw_err_t *err)
{
    bool ok = true;
    tsw_run_meta_t meta = *from;
    meta.job_name = copy_text(from->job_name, &ok);
    meta.job_text = copy_text(from->job_text, &ok);
    meta.purpose = copy_text(from->purpose, &ok);
    meta.toolchain = copy_text(from->toolchain, &ok);
    meta.tool = copy_text(from->tool, &ok);
    meta.mode = copy_text(from->mode, &ok);
    meta.clocks = copy_text(from->clocks, &ok);
    meta.protocol = copy_text(from->protocol, &ok);
    meta.objective = copy_text(from->objective, &ok);
    meta.invocation = copy_text(from->invocation, &ok);
    meta.retired = copy_text(from->retired, &ok);
    meta.inputs = copy_text(from->inputs, &ok);
    meta.parts = copy_text(from->parts, &ok);
    if (!ok) {
        tsw_run_meta_fini(&meta);
        return tsw_err_nomem(err);
    }
    *meta_p = meta;
    return TSW_OK;
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* The inputs tell what makes two plans differ; of files before 1.2, only that they do. */
static size_t compare_plans(const tsw_run_meta_t *before, const tsw_run_meta_t *now, tsw_buf_t *out)
{
    char key_before[TSW_KEY_TEXT_SIZE];
    char key_now[TSW_KEY_TEXT_SIZE];
    size_t count = 0;
    if (tsw_key_equal(before->plan_key, now->plan_key))
        return 0;
    if (or_empty(before->inputs)[0] != '\0' && or_empty(now->inputs)[0] != '\0')
        count = tsw_inputs_compare(before->inputs, now->inputs, out);
    return count > 0
               ? count
               : tsw_inputs_compare_value("plan", tsw_key_format(before->plan_key, key_before),
                                          tsw_key_format(now->plan_key, key_now), out);
}

size_t tsw_run_meta_compare(const tsw_run_meta_t *before, const tsw_run_meta_t *now, tsw_buf_t *out)
{
    size_t count = compare_plans(before, now, out);
    count += tsw_inputs_compare_value("mode", or_empty(before->mode), or_empty(now->mode), out);
    count += tsw_inputs_compare_value("toolchain", or_empty(before->toolchain),
                                      or_empty(now->toolchain), out);
    count +=
        tsw_inputs_compare_value("clocks", or_empty(before->clocks), or_empty(now->clocks), out);
    return count;
}

tsw_status_t tsw_run_meta_compatible(const tsw_run_meta_t *a, const tsw_run_meta_t *b,
                                     tsw_err_t *err)
{
    tsw_buf_t differences = TSW_BUF_INIT;
    tsw_run_meta_compare(a, b, &differences);
    tsw_status_t status = TSW_OK;
    if (!tsw_buf_ok(&differences))
        status = tsw_err_nomem(err);
    else if (differences.size > 0)
        status = tsw_err_set(err, TSW_ERR_ARG, "results that must not be mixed differ in:\n%.*s",
                             (int)differences.size - 1, tsw_buf_text(&differences));
    tsw_buf_fini(&differences);
    return status;
}

void tsw_dataset_fini(tsw_dataset_t *dataset)
{
    tsw_run_meta_fini(&dataset->meta);
    for (size_t i = 0; i < dataset->cell_count; i++)
        tsw_cell_result_fini(&dataset->cells[i]);
    tsw_free(dataset->cells);
    *dataset = (tsw_dataset_t){0};
}

tsw_status_t tsw_dataset_add(tsw_dataset_t *dataset, tsw_cell_result_t *cell, tsw_err_t *err)
{
    if (!TSW_GROW(dataset->cells, dataset->cell_capacity, dataset->cell_count))
        return tsw_err_nomem(err);
    dataset->cells[dataset->cell_count++] = *cell;
    *cell = (tsw_cell_result_t){0};
    return TSW_OK;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* 2: complete, and nothing of it is to be tried again; 1: complete; 0: partial. */
static int standing_of(const tsw_cell_result_t *cell)
{
    if (!cell->complete)
        return 0;
    for (size_t i = 0; i < cell->record_count; i++) {
        if (tsw_outcome_again(cell->records[i].outcome))
            return 1;
    }
    return 2;
}

/* Order of the attempts at one cell: the one to keep comes first. */
static int compare_attempts(const tsw_cell_result_t *a, const tsw_cell_result_t *b)
{
    int standing = standing_of(a);
    if (standing != standing_of(b))
        return standing > standing_of(b) ? -1 : 1;
    bool complete = standing > 0;
    int order = compare_u64(a->attempt, b->attempt);
    if (order != 0)
        return complete ? order : -order;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    order = compare_u64(a->start_wall_ns, b->start_wall_ns);
    if (order != 0)
        return complete ? order : -order;
    return compare_u64(b->record_count, a->record_count);
}

static int compare_cells(const void *left, const void *right)
{
    const tsw_cell_result_t *a = left;
    const tsw_cell_result_t *b = right;
    int order = tsw_key_compare(a->key, b->key);
    return order != 0 ? order : compare_attempts(a, b);
}

static void swap_records(tsw_cell_result_t *cell, size_t a, size_t b)
{
    tsw_record_t record = cell->records[a];
    cell->records[a] = cell->records[b];
    cell->records[b] = record;
    char *text = cell->config_texts[a];
    cell->config_texts[a] = cell->config_texts[b];
    cell->config_texts[b] = text;
}

/* By config index; nearly always in order already. */
static void sort_records(tsw_cell_result_t *cell)
{
    for (size_t i = 1; i < cell->record_count; i++) {
        for (size_t at = i; at > 0; at--) {
            if (cell->records[at - 1].config_index <= cell->records[at].config_index)
                break;
            swap_records(cell, at - 1, at);
        }
    }
}

void tsw_dataset_canonicalise(tsw_dataset_t *dataset)
{
    if (dataset->cell_count > 1)
        qsort(dataset->cells, dataset->cell_count, sizeof(dataset->cells[0]), compare_cells);
    size_t kept = 0;
    for (size_t i = 0; i < dataset->cell_count; i++) {
        tsw_cell_result_t *cell = &dataset->cells[i];
        if (kept > 0 && tsw_key_equal(dataset->cells[kept - 1].key, cell->key)) {
            tsw_cell_result_fini(cell);
            continue;
        }
        sort_records(cell);
        if (kept != i) {
            dataset->cells[kept] = *cell;
            *cell = (tsw_cell_result_t){0};
        }
        kept++;
    }
    dataset->cell_count = kept;
}

static void hash_key(tsw_hash_t *hash, tsw_key_t key)
{
    tsw_hash_i64(hash, (int64_t)key.hi);
    tsw_hash_i64(hash, (int64_t)key.lo);
}

static void hash_f64(tsw_hash_t *hash, double value)
{
    tsw_hash_bytes(hash, &value, sizeof(value));
}

static void hash_sample(tsw_hash_t *hash, const tsw_sample_t *sample)
{
    const uint64_t words[] = {
        sample->interval_ns,
        (uint64_t)sample->round << 32 | sample->launches,
        (uint64_t)sample->energy_mj << 32 | (uint64_t)sample->stage << 16 | sample->slot,
    };
    tsw_hash_bytes(hash, words, sizeof(words));
}

static void hash_record(tsw_hash_t *hash, const tsw_record_t *record, const char *config)
{
    tsw_hash_text(hash, config);
    tsw_hash_i64(hash, record->config_index);
    tsw_hash_text(hash, tsw_outcome_name(record->outcome));
    tsw_hash_text(hash, tsw_fate_name(record->fate));
    tsw_hash_i64(hash, record->unstable);
    tsw_hash_i64(hash, record->alias_of);
    tsw_hash_i64(hash, record->dynamic_shared_bytes);
    for (int i = 0; i < 3; i++) {
        tsw_hash_i64(hash, record->grid[i]);
        tsw_hash_i64(hash, record->block[i]);
    }
    hash_key(hash, record->build.cubin_key);
    for (size_t i = 0; i < record->sample_count; i++)
        hash_sample(hash, &record->samples[i]);
}

/* What is no search has the digest that it always had. */
static void hash_coverage(tsw_hash_t *hash, const tsw_coverage_t *coverage)
{
    if (coverage->generation == 0)
        return;
    tsw_hash_i64(hash, coverage->generation);
    tsw_hash_i64(hash, coverage->space_configs);
    tsw_hash_i64(hash, coverage->built_configs);
    tsw_hash_text(hash, coverage->untried);
}

static void hash_cell(tsw_hash_t *hash, const tsw_cell_result_t *cell)
{
    hash_key(hash, cell->key);
    tsw_hash_text(hash, cell->pack);
    hash_key(hash, cell->pack_key);
    tsw_hash_text(hash, cell->variant);
    tsw_hash_text(hash, cell->shape);
    hash_f64(hash, cell->weight);
    tsw_hash_i64(hash, cell->arch);
    hash_f64(hash, cell->flops);
    hash_f64(hash, cell->bytes);
    tsw_hash_i64(hash, cell->cache_mode);
    tsw_hash_i64(hash, cell->complete);
    tsw_hash_i64(hash, cell->pick);
    hash_coverage(hash, &cell->coverage);
    tsw_hash_text(hash, cell->gpu.name);
    tsw_hash_i64(hash, (int64_t)cell->gpu.l2_bytes);
    tsw_hash_i64(hash, (int64_t)cell->record_count);
    for (size_t i = 0; i < cell->record_count; i++)
        hash_record(hash, &cell->records[i], cell->config_texts[i]);
}

const tsw_cell_result_t *tsw_dataset_find(const tsw_dataset_t *dataset, tsw_key_t key)
{
    size_t low = 0;
    size_t high = dataset->cell_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tsw_key_compare(dataset->cells[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool there = low < dataset->cell_count && tsw_key_equal(dataset->cells[low].key, key);
    return there ? &dataset->cells[low] : NULL;
}

tsw_status_t tsw_dataset_digest(const tsw_dataset_t *dataset, tsw_key_t *key_p, tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    const tsw_run_meta_t *meta = &dataset->meta;
    tsw_hash_text(hash, or_empty(meta->mode));
    tsw_hash_text(hash, or_empty(meta->purpose));
    tsw_hash_text(hash, or_empty(meta->toolchain));
    tsw_hash_text(hash, or_empty(meta->clocks));
    tsw_hash_text(hash, or_empty(meta->protocol));
    tsw_hash_text(hash, or_empty(meta->objective));
    tsw_hash_i64(hash, (int64_t)dataset->cell_count);
    for (size_t i = 0; i < dataset->cell_count; i++)
        hash_cell(hash, &dataset->cells[i]);
    *key_p = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return TSW_OK;
}
