#include "cli/cli_timer.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cli_cell.h"
#include "cli/cli_grid.h"
#include "cli/cli_input.h"
#include "cli/cli_once.h"
#include "pack/pack.h"
#include "reduce/reduce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 16
#define WORDS_MAX (TSW_DIM_MAX + TSW_FLAG_MAX + 2)

enum { ROUNDS = 10, WARMUP = 2 };

typedef struct {
    const tsw_timer_args_t *args;
    tsw_buf_t json; /* the rows of timer.json so far */
    tsw_grid_t grid;
    size_t rows, off;
    tsw_gpu_t gpu; /* of the last check */
} check_t;

/* ---- which cells ---- */

static double winner_ns(const tsw_cell_summary_t *cell)
{
    return cell->configs[cell->winner].time_ns.median;
}

/* By pack, then by time, then by what they are. */
static int compare_cells(const void *a, const void *b)
{
    const tsw_cell_summary_t *left = *(const tsw_cell_summary_t *const *)a;
    const tsw_cell_summary_t *right = *(const tsw_cell_summary_t *const *)b;
    const double left_ns = winner_ns(left), right_ns = winner_ns(right);
    int order = strcmp(left->cell->pack, right->cell->pack);
    if (order == 0)
        order = (left_ns > right_ns) - (left_ns < right_ns);
    return order != 0 ? order : memcmp(&left->cell->key, &right->cell->key, sizeof(tsw_key_t));
}

/* Those that have a winner, and can run here. */
static size_t candidates(const tsw_reduction_t *reduction, tsw_arch_t arch,
                         const tsw_cell_summary_t **cells)
{
    size_t count = 0;
    for (size_t i = 0; i < reduction->cell_count; i++)
        if (reduction->cells[i].winner >= 0 && reduction->cells[i].cell->arch == arch)
            cells[count++] = &reduction->cells[i];
    if (count > 0)
        qsort(cells, count, sizeof(*cells), compare_cells);
    return count;
}

static size_t count_of_pack(const tsw_cell_summary_t **cells, size_t from, size_t count)
{
    size_t end = from;
    while (end < count && strcmp(cells[end]->cell->pack, cells[from]->cell->pack) == 0)
        end++;
    return end - from;
}

/* Of so many in a row `wanted`, the first and the last among them: whether number i is one. */
static bool is_spread(size_t i, size_t count, size_t wanted)
{
    if (wanted >= count)
        return true;
    if (wanted < 2)
        return wanted == 1 && i == count / 2;
    for (size_t k = 0; k < wanted; k++)
        if (i == k * (count - 1) / (wanted - 1))
            return true;
    return false;
}

/* Cells when each pack gives at most so many. */
static size_t count_at(const tsw_cell_summary_t **cells, size_t count, size_t share)
{
    size_t sum = 0;
    for (size_t from = 0, size = 0; from < count; from += size) {
        size = count_of_pack(cells, from, count);
        sum += size < share ? size : share;
    }
    return sum;
}

/* Of each pack as many, or all that it has; of these the shortest, the longest, and some in
 * between. The chosen move to the front. */
static size_t choose(const tsw_cell_summary_t **cells, size_t count)
{
    size_t share = 1, chosen = 0;
    while (share < CELLS_MAX && count_at(cells, count, share + 1) <= CELLS_MAX)
        share++;
    for (size_t from = 0, size = 0; from < count; from += size) {
        size = count_of_pack(cells, from, count);
        for (size_t i = 0; i < size && chosen < CELLS_MAX; i++)
            if (is_spread(i, size, share))
                cells[chosen++] = cells[from + i];
    }
    return chosen;
}

/* ---- one cell ---- */

/* Splits at blanks, in place. What is there already is left out: a dim that is part of the build is
 * in the variant's text and in the shape's. */
static void split(char *text, const char **words, size_t *count_p)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word != NULL && *count_p < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        size_t i = 0;
        while (i < *count_p && strcmp(words[i], word) != 0)
            i++;
        if (i == *count_p)
            words[(*count_p)++] = word;
    }
}

static void add_grid_row(check_t *check, const tsw_cell_result_t *cell, const char *config,
                         const tsw_timer_check_t *timer)
{
    char what[768];
    snprintf(what, sizeof(what), "%s %s %s", cell->pack, cell->variant, cell->shape);
    tsw_grid_text(&check->grid, what);
    tsw_grid_text(&check->grid, config);
    tsw_grid_number(&check->grid, timer->launches);
    tsw_grid_number(&check->grid, timer->own_ns / 1e3);
    tsw_grid_number(&check->grid, timer->cupti_ns / 1e3);
    tsw_grid_number(&check->grid, timer->off_ns / 1e3);
    tsw_grid_number(&check->grid, 100 * timer->off_ns / timer->cupti_ns);
    tsw_grid_text(&check->grid, tsw_timer_check_agrees(timer) ? "yes" : "NO");
}

static void add_json_row(tsw_buf_t *out, const tsw_cell_result_t *cell, const char *config,
                         const tsw_timer_check_t *timer)
{
    const struct {
        const char *name, *value;
    } texts[] = {{"pack", cell->pack},
                 {"variant", cell->variant},
                 {"shape", cell->shape},
                 {"config", config}};
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"own_ns", timer->own_ns}, {"cupti_ns", timer->cupti_ns}, {"off_ns", timer->off_ns}};
    tsw_buf_append_text(out, out->size > 0 ? ",\n  {" : "\n  {");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tsw_buf_printf(out, "\"%s\": ", texts[i].name);
        tsw_json_append_text(out, texts[i].value);
        tsw_buf_append_text(out, ", ");
    }
    tsw_buf_printf(out, "\"baseline\": %s, \"launches\": %u",
                   timer->config_index == 0 ? "true" : "false", timer->launches);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        tsw_buf_printf(out, ", \"%s\": ", numbers[i].name);
        tsw_json_append_real(out, numbers[i].value);
    }
    tsw_buf_printf(out, ", \"agrees\": %s}", tsw_timer_check_agrees(timer) ? "true" : "false");
}

static tsw_status_t take(check_t *check, const tsw_cell_result_t *measured,
                         const tsw_one_result_t *result, tsw_err_t *err)
{
    const tsw_cell_result_t *cell = &result->dataset.cells[0];
    if (!tsw_key_equal(cell->pack_key, measured->pack_key))
        return tsw_err_set(err, TSW_ERR_ARG,
                           "pack %s is not the one that the run measured; --kernels may name it",
                           cell->pack);
    if (result->timer.count == 0)
        return tsw_err_set(err, TSW_ERR_ENV, "the timer was not checked: the log above says why");
    for (size_t i = 0; i < result->timer.count; i++) {
        const tsw_timer_check_t *timer = &result->timer.items[i];
        const char *config = timer->config_index < cell->record_count
                                 ? cell->config_texts[timer->config_index]
                                 : "?";
        add_grid_row(check, cell, config, timer);
        add_json_row(&check->json, cell, config, timer);
        check->rows++;
        check->off += !tsw_timer_check_agrees(timer);
    }
    check->gpu = cell->gpu;
    return TSW_OK;
}

static tsw_status_t check_cell(check_t *check, const tsw_cell_summary_t *summary, tsw_err_t *err)
{
    const tsw_cell_result_t *measured = summary->cell;
    char variant[sizeof(measured->variant)], shape[sizeof(measured->shape)];
    const char *words[WORDS_MAX] = {measured->pack};
    size_t count = 1;
    tsw_one_result_t result = {0};
    memcpy(variant, measured->variant, sizeof(variant));
    memcpy(shape, measured->shape, sizeof(shape));
    split(variant, words, &count);
    split(shape, words, &count);
    const tsw_one_cell_t cell = {.words = words,
                                 .word_count = count,
                                 .config = summary->configs[summary->winner].config,
                                 .device = check->args->device,
                                 .toolchain = check->args->toolchain,
                                 .cache_dir = check->args->cache_dir,
                                 .kernels = check->args->kernels,
                                 .protocol = "rounds",
                                 .rounds = ROUNDS,
                                 .warmup = WARMUP,
                                 .locked_mhz = measured->gpu.locked_mhz,
                                 .check_timer = true,
                                 .hot = measured->cache_mode == TSW_CACHE_STATE_HOT};
    tsw_status_t status = tsw_one_cell_run(&cell, "check --timer", &result, err);
    if (status == TSW_OK) {
        status = take(check, measured, &result, err);
        tsw_one_result_fini(&result);
    }
    if (status != TSW_OK)
        tsw_err_wrap(err, "%s %s %s", measured->pack, measured->variant, measured->shape);
    return status;
}

/* ---- all of them ---- */

static tsw_status_t write_json(const check_t *check, const char *run_dir, tsw_err_t *err)
{
    tsw_buf_t out = TSW_BUF_INIT;
    char *path = tsw_path_join(run_dir, "timer.json");
    tsw_buf_append_text(&out, "{\"mode\": ");
    tsw_json_append_text(&out, check->gpu.mode);
    tsw_buf_append_text(&out, ", \"gpu\": ");
    tsw_json_append_text(&out, check->gpu.name);
    tsw_buf_printf(&out, ", \"off\": %zu, \"checks\": [", check->off);
    tsw_buf_append(&out, check->json.data, check->json.size);
    tsw_buf_append_text(&out, "\n]}\n");
    tsw_status_t status = path != NULL && tsw_buf_ok(&out) && tsw_buf_ok(&check->json)
                              ? tsw_file_write_atomic(path, out.data, out.size, err)
                              : tsw_err_nomem(err);
    tsw_free(path);
    tsw_buf_fini(&out);
    return status;
}

static tsw_status_t print(const check_t *check, tsw_err_t *err)
{
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_status_t status = tsw_grid_render(&check->grid, TSW_FORMAT_TEXT, &out, err);
    if (status == TSW_OK) {
        fputs(tsw_cli_mark(check->gpu.mode), stdout);
        fputs(tsw_buf_text(&out), stdout);
        printf("timer: %zu of %zu within 2 %% or 0.5 us of CUPTI's\n", check->rows - check->off,
               check->rows);
    }
    tsw_buf_fini(&out);
    return status;
}

static tsw_status_t check_all(const tsw_reduction_t *reduction, tsw_arch_t arch, check_t *check,
                              tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    const tsw_cell_summary_t **cells = tsw_calloc(reduction->cell_count + 1, sizeof(*cells));
    if (cells == NULL)
        return tsw_err_nomem(err);
    const size_t count = choose(cells, candidates(reduction, arch, cells));
    if (count == 0)
        status = tsw_err_set(err, TSW_ERR_ARG, "no cell of sm_%u has a winner to be checked", arch);
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        status = check_cell(check, cells[i], err);
    tsw_free(cells);
    return status;
}

tsw_status_t tsw_cli_timer_check(const char *run_dir, const tsw_timer_args_t *args, size_t *off_p,
                                 tsw_err_t *err)
{
    static const tsw_column_t columns[] = {
        {"cell", false, 0, false},       {"config", false, 0, false},  {"launches", true, 0, false},
        {"own_us", true, 3, false},      {"cupti_us", true, 3, false}, {"off_us", true, 3, false},
        {"off_percent", true, 2, false}, {"agrees", false, 0, false},
    };
    const tsw_reduce_options_t options = tsw_reduce_options(8);
    check_t check = {.args = args};
    tsw_dataset_t dataset = {0};
    tsw_reduction_t *reduction = NULL;
    tsw_arch_t arch = 0;
    check.grid = tsw_grid(columns, sizeof(columns) / sizeof(columns[0]));
    tsw_status_t status = TSW_OK;
    if (!tsw_path_is_dir(run_dir))
        status = tsw_err_set(err, TSW_ERR_ARG, "--timer: %s is no folder of a run", run_dir);
    if (status == TSW_OK)
        status = tsw_cli_read(&run_dir, 1, &dataset, err);
    if (status == TSW_OK)
        status = tsw_once_arch(args->device, &arch, err);
    if (status == TSW_OK)
        status = tsw_reduce(&dataset, &options, &reduction, err);
    if (status == TSW_OK)
        status = check_all(reduction, arch, &check, err);
    if (status == TSW_OK)
        status = print(&check, err);
    if (status == TSW_OK)
        status = write_json(&check, run_dir, err);
    if (status == TSW_OK)
        *off_p += check.off;
    tsw_reduction_free(reduction);
    tsw_dataset_fini(&dataset);
    tsw_grid_fini(&check.grid);
    tsw_buf_fini(&check.json);
    return status;
}
