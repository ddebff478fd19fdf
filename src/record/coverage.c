#include "record/coverage.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool same_space(const tsw_cell_result_t *a, const tsw_cell_result_t *b)
{
    return a->arch == b->arch && tsw_key_equal(a->pack_key, b->pack_key) &&
           strcmp(a->variant, b->variant) == 0;
}

bool tsw_coverage_is_superseded(const tsw_dataset_t *dataset, size_t cell)
{
    const tsw_cell_result_t *this = &dataset->cells[cell];
    for (size_t i = 0; this->coverage.generation > 0 && i < dataset->cell_count; i++) {
        const tsw_cell_result_t *other = &dataset->cells[i];
        if (other->complete && other->coverage.generation > this->coverage.generation &&
            strcmp(other->shape, this->shape) == 0 && same_space(this, other))
            return true;
    }
    return false;
}

/* ---- counts ---- */

static int compare_keys(const void *a, const void *b)
{
    return tsw_key_compare(*(const tsw_key_t *)a, *(const tsw_key_t *)b);
}

static size_t count_distinct(tsw_key_t *keys, size_t count)
{
    size_t distinct = 0;
    if (count > 0)
        qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || !tsw_key_equal(keys[i], keys[i - 1]);
    return distinct;
}

/* Configs of the space that some cell has, or that have a time in some cell: their own, or that of
 * what they launch as. Parts of a job search apart, so that no cell knows of all. */
static tsw_status_t count_configs(const tsw_dataset_t *dataset, const tsw_cell_result_t *space,
                                  bool timed, size_t *count_p, tsw_err_t *err)
{
    size_t room = 1, count = 0;
    for (size_t i = 0; i < dataset->cell_count; i++)
        room += dataset->cells[i].record_count;
    tsw_key_t *keys = tsw_calloc(room, sizeof(*keys));
    if (keys == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < dataset->cell_count; i++) {
        const tsw_cell_result_t *cell = &dataset->cells[i];
        for (size_t k = 0; same_space(space, cell) && k < cell->record_count; k++) {
            const tsw_record_t *record = &cell->records[k];
            if (!timed || record->sample_count > 0 || record->outcome == TSW_OUTCOME_ALIAS)
                keys[count++] = record->config_key;
        }
    }
    *count_p = count_distinct(keys, count);
    tsw_free(keys);
    return TSW_OK;
}

/* The first cell of its space in the file stands for it. */
static bool is_first(const tsw_dataset_t *dataset, size_t cell)
{
    for (size_t i = 0; i < cell; i++) {
        if (dataset->cells[i].coverage.generation > 0 &&
            same_space(&dataset->cells[i], &dataset->cells[cell]))
            return false;
    }
    return true;
}

/* What is known after the last generation. */
static const tsw_coverage_t *find_last(const tsw_dataset_t *dataset, size_t cell)
{
    const tsw_coverage_t *last = &dataset->cells[cell].coverage;
    for (size_t i = 0; i < dataset->cell_count; i++) {
        const tsw_coverage_t *other = &dataset->cells[i].coverage;
        if (other->generation > last->generation &&
            same_space(&dataset->cells[i], &dataset->cells[cell]))
            last = other;
    }
    return last;
}

tsw_status_t tsw_coverage_print(const tsw_dataset_t *dataset, tsw_buf_t *out, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < dataset->cell_count; i++) {
        const tsw_cell_result_t *cell = &dataset->cells[i];
        size_t built = 0, timed = 0;
        if (cell->coverage.generation == 0 || !is_first(dataset, i))
            continue;
        status = count_configs(dataset, cell, false, &built, err);
        if (status == TSW_OK)
            status = count_configs(dataset, cell, true, &timed, err);
        if (status != TSW_OK)
            break;
        const tsw_coverage_t *last = find_last(dataset, i);
        tsw_buf_printf(out,
                       "searched: %s %s on sm_%u: %zu of %u configs built, %zu timed, in %u "
                       "generation%s; ",
                       cell->pack, cell->variant, cell->arch, built, last->space_configs, timed,
                       last->generation, last->generation == 1 ? "" : "s");
        if (last->untried[0] != '\0')
            tsw_buf_printf(out, "never tried: %s\n", last->untried);
        else
            tsw_buf_append_text(out, "every value tried\n");
    }
    return status;
}
