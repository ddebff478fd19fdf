/* Compilation that took too long: a search space that costs minutes for one shape is a defect of
 * the pack, so it is said aloud, with the builds to blame. */
#include "base/log.h"
#include "run/run_state.h"

#define SLOW_CELL_NS 300e9 /* of all configs of one pack, shape and arch, one after another */
#define NAMED        3     /* of its slowest builds */

static double build_ns(const tsw_cell_result_t *cell, size_t i)
{
    return (double)cell->records[i].build.compile_wall_ns;
}

/* The slowest build that is not taken yet; SIZE_MAX: none. */
static size_t next_slowest(const tsw_cell_result_t *cell, const size_t *taken, size_t taken_count)
{
    size_t slowest = SIZE_MAX;
    for (size_t i = 0; i < cell->record_count; i++) {
        bool is_taken = false;
        for (size_t k = 0; k < taken_count; k++)
            is_taken = is_taken || taken[k] == i;
        if (!is_taken && build_ns(cell, i) > 0 &&
            (slowest == SIZE_MAX || build_ns(cell, i) > build_ns(cell, slowest)))
            slowest = i;
    }
    return slowest;
}

bool tsw_run_slow_builds(const tsw_cell_result_t *cell, tsw_buf_t *out)
{
    double total_ns = 0;
    for (size_t i = 0; i < cell->record_count; i++)
        total_ns += build_ns(cell, i);
    if (total_ns <= SLOW_CELL_NS)
        return false;
    tsw_buf_printf(out, "%s %s %s sm_%u: compilation took %.1f min; slowest:", cell->pack,
                   cell->variant, cell->shape, cell->arch, total_ns / 60e9);
    size_t taken[NAMED];
    for (size_t n = 0; n < NAMED; n++) {
        taken[n] = next_slowest(cell, taken, n);
        if (taken[n] == SIZE_MAX)
            break;
        tsw_buf_printf(out, "%s %s (%.1f s)", n > 0 ? "," : "", cell->config_texts[taken[n]],
                       build_ns(cell, taken[n]) * 1e-9);
    }
    return true;
}

void tsw_run_warn_slow(const tsw_dataset_t *dataset)
{
    for (size_t i = 0; i < dataset->cell_count; i++) {
        tsw_buf_t line = TSW_BUF_INIT;
        if (tsw_run_slow_builds(&dataset->cells[i], &line))
            tsw_log_root(TSW_LOG_WARN, "%s", tsw_buf_text(&line));
        tsw_buf_fini(&line);
    }
}
