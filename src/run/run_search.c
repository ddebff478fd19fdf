/* The generations of a search: a barrier between them, so that each is a function of the sealed
 * results of those before, for any number of ranks and after any stop. */
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

/* ---- choices of rank 0, to all ---- */

static void put_choices(tsw_buf_t *out, const tsw_plan_choice_t *choices, size_t count)
{
    tsw_put_u64(out, count);
    for (size_t i = 0; i < count; i++) {
        tsw_put_u32(out, choices[i].cell);
        tsw_put_u32(out, choices[i].coverage.generation);
        tsw_put_u32(out, choices[i].coverage.space_configs);
        tsw_put_u32(out, choices[i].coverage.built_configs);
        tsw_put_text(out, choices[i].coverage.untried);
        tsw_put_u64(out, choices[i].count);
        for (size_t k = 0; k < choices[i].count; k++)
            tsw_put_u32(out, choices[i].configs[k]);
    }
}

typedef struct {
    tsw_plan_choice_t *items;
    uint32_t **configs;
    size_t count;
} choices_t;

static void choices_fini(choices_t *choices)
{
    for (size_t i = 0; choices->configs != NULL && i < choices->count; i++)
        tsw_free(choices->configs[i]);
    tsw_free(choices->configs);
    tsw_free(choices->items);
}

static tsw_status_t get_choice(const tsw_run_t *run, tsw_reader_t *in, choices_t *choices,
                               size_t at, tsw_err_t *err)
{
    tsw_plan_choice_t *choice = &choices->items[at];
    choice->cell = tsw_get_u32(in);
    choice->coverage.generation = tsw_get_u32(in);
    choice->coverage.space_configs = tsw_get_u32(in);
    choice->coverage.built_configs = tsw_get_u32(in);
    tsw_get_text_into(in, choice->coverage.untried, sizeof(choice->coverage.untried));
    choice->count = tsw_get_count(in, sizeof(uint32_t));
    if (choice->cell >= run->whole->cell_count)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "a choice for cell %u", choice->cell);
    size_t limit = run->whole->variants[run->whole->cells[choice->cell].variant].config_count;
    choices->configs[at] = tsw_calloc(choice->count + 1, sizeof(uint32_t));
    if (choices->configs[at] == NULL)
        return tsw_err_nomem(err);
    for (size_t k = 0; k < choice->count; k++) {
        choices->configs[at][k] = tsw_get_u32(in);
        if (choices->configs[at][k] >= limit)
            return tsw_err_set(err, TSW_ERR_CORRUPT, "a choice of a config that cannot be");
    }
    choice->configs = choices->configs[at];
    return TSW_OK;
}

static tsw_status_t get_choices(const tsw_run_t *run, const tsw_buf_t *bytes, choices_t *choices,
                                tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(bytes->data, bytes->size);
    size_t count = tsw_get_count(&in, sizeof(uint32_t));
    choices->items = tsw_calloc(count + 1, sizeof(*choices->items));
    choices->configs = tsw_calloc(count + 1, sizeof(*choices->configs));
    if (choices->items == NULL || choices->configs == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < count; i++) {
        choices->count = i + 1;
        status = get_choice(run, &in, choices, i, err);
    }
    return status == TSW_OK ? tsw_msg_done(&in, "choices of a search", err) : status;
}

/* ---- rank 0: what to do next ---- */

/* The results so far; nothing yet is an empty dataset. */
static tsw_status_t read_results(const tsw_run_t *run, tsw_dataset_t *dataset, tsw_err_t *err)
{
    char *skipped = NULL;
    tsw_status_t status = tsw_store_read(run->options->run_dir, dataset, &skipped, err);
    tsw_free(skipped);
    if (status == TSW_ERR_NOT_FOUND) {
        tsw_err_clear(err);
        status = TSW_OK;
    }
    if (status == TSW_OK && dataset->meta.edition != run->meta.edition)
        tsw_dataset_fini(dataset); /* those of an older edition count for nothing */
    return status;
}

static void warn_default(const tsw_run_t *run)
{
    for (size_t i = 0; !run->job->search.given && i < run->whole->cell_count; i++) {
        const tsw_cell_t *cell = &run->whole->cells[i];
        const tsw_plan_variant_t *variant = &run->whole->variants[cell->variant];
        if (!cell->is_searched)
            continue;
        tsw_log_root(TSW_LOG_WARN,
                     "%s has %zu configs, more than %d: at most %u are built, by a search; the "
                     "job's key `search` has the budget",
                     variant->id.pack->name, variant->spaces[cell->arch_index].count,
                     TSW_SEARCH_SWEPT, run->job->search.builds);
        return;
    }
}

static void warn_unseeded(const tsw_run_t *run)
{
    const tsw_pack_t *pack = NULL;
    size_t count = tsw_search_run_unseeded(run->search, &pack);
    if (count > 0)
        tsw_log_root(TSW_LOG_WARN,
                     "seed_from has nothing for %zu of the searched spaces, the first is of pack "
                     "%s: no result of the same pack, dtype, flags and arch is in this space",
                     count, pack->name);
}

static tsw_status_t choose(tsw_run_t *run, const tsw_dataset_t *results, tsw_buf_t *bytes,
                           tsw_err_t *err)
{
    const tsw_plan_choice_t *choices = NULL;
    size_t count = 0;
    tsw_status_t status = TSW_OK;
    if (run->search == NULL) {
        warn_default(run);
        status = tsw_search_run_new(run->whole, &run->search, err);
        if (status == TSW_OK)
            warn_unseeded(run);
    } else {
        status = tsw_search_run_learn(run->search, run->plan, results, err);
    }
    if (status == TSW_OK)
        status = tsw_search_run_choose(run->search, &choices, &count, err);
    if (status == TSW_OK)
        put_choices(bytes, choices, count);
    return status;
}

/* ---- all ranks ---- */

static tsw_status_t adopt(tsw_run_t *run, const choices_t *choices, tsw_err_t *err)
{
    tsw_plan_t *plan = NULL;
    tsw_status_t status = tsw_plan_make_generation(run->whole, choices->items, choices->count,
                                                   run->generation == 0, &plan, err);
    if (status != TSW_OK)
        return status;
    if (run->plan != run->whole)
        tsw_plan_free(run->plan);
    run->plan = plan;
    run->generation++;
    return TSW_OK;
}

static tsw_status_t mark_done(tsw_run_t *run, const tsw_dataset_t *results, tsw_err_t *err)
{
    tsw_free(run->done);
    run->done = tsw_calloc(run->plan->cell_count + 1, sizeof(*run->done));
    if (run->done == NULL)
        return tsw_err_nomem(err);
    tsw_run_mark_done(run, results);
    tsw_run_tally_plan(run);
    return tsw_run_tally_before(run, results, err);
}

static tsw_status_t share_choices(tsw_run_t *run, tsw_status_t mine, tsw_buf_t *bytes, bool *more_p,
                                  tsw_err_t *err)
{
    choices_t choices = {.items = NULL};
    tsw_status_t status = tsw_comm_agree(run->comm, mine, err);
    if (status == TSW_OK)
        status = tsw_comm_bcast(run->comm, bytes, err);
    if (status == TSW_OK)
        status = get_choices(run, bytes, &choices, err);
    *more_p = choices.count > 0 || run->generation == 0;
    if (status == TSW_OK && *more_p)
        status = adopt(run, &choices, err);
    choices_fini(&choices);
    return status;
}

/* Collective. The next generation becomes the plan, for the first time or after a loop; *more_p
 * false: there is none. */
static tsw_status_t next_generation(tsw_run_t *run, bool *more_p, tsw_err_t *err)
{
    tsw_dataset_t results = {0};
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    if (run->generation > 0)
        status = tsw_run_await_segments(run, err);
    if (status == TSW_OK && run->generation > 0 && tsw_run_drain_requested())
        status = tsw_err_set(err, TSW_ERR_CANCELED,
                             "stopped between two generations; --resume "
                             "goes on");
    if (run->rank == 0 && status == TSW_OK && (run->generation > 0 || run->options->resume))
        status = read_results(run, &results, err);
    if (run->rank == 0 && status == TSW_OK && run->generation > 0)
        status = tsw_run_check_results(run, &results, err);
    if (run->rank == 0 && status == TSW_OK)
        status = choose(run, &results, &bytes, err);
    status = share_choices(run, status, &bytes, more_p, err);
    if (status == TSW_OK && *more_p && run->rank == 0)
        status = mark_done(run, &results, err);
    tsw_dataset_fini(&results);
    tsw_buf_fini(&bytes);
    return status;
}

tsw_status_t tsw_run_first_generation(tsw_run_t *run, tsw_err_t *err)
{
    bool more = false;
    return tsw_run_searches(run) ? next_generation(run, &more, err) : TSW_OK;
}

/* ---- from one loop to the next ---- */

/* True when some rank stops early, or a cell could not be done: what comes next must wait for a
 * resume. The same on every rank. */
static bool must_stop(tsw_run_t *run)
{
    bool stop = run->draining;
    if (run->rank == 0) {
        tsw_coord_progress_t progress = tsw_coord_progress(run->coord);
        stop = stop || progress.cells_done + progress.cells_skipped < progress.cells_total;
    }
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t mine = stop ? tsw_err_set(&err, TSW_ERR_CANCELED, "stopping early") : TSW_OK;
    return tsw_comm_agree(run->comm, mine, &err) != TSW_OK;
}

/* A fresh lane and coordinator; the worker, the artifacts and the segments stay. */
static tsw_status_t begin_again(tsw_run_t *run, tsw_err_t *err)
{
    if (run->rank == 0)
        run->earlier = tsw_run_total_progress(run);
    tsw_lane_free(run->lane);
    tsw_eval_free(run->eval);
    tsw_coord_free(run->coord);
    run->lane = NULL;
    run->eval = NULL;
    run->coord = NULL;
    run->worker.wanted = false;
    run->worker.told = false;
    run->stopped = false;
    run->bye_sent = false;
    run->bye_received = false;
    run->byes = 0;
    run->held_count = 0;
    tsw_status_t status = tsw_run_lane_init(run, err);
    return status == TSW_OK ? tsw_run_coord_init(run, err) : status;
}

tsw_status_t tsw_run_other_generations(tsw_run_t *run, tsw_status_t status, tsw_err_t *err)
{
    bool more = tsw_run_searches(run);
    while (more && !run->broken) {
        status = tsw_comm_agree(run->comm, status, err);
        if (status != TSW_OK)
            break;
        if (must_stop(run)) {
            run->draining = true;
            break;
        }
        status = tsw_comm_agree(run->comm, next_generation(run, &more, err), err);
        if (status == TSW_OK && more)
            status = tsw_comm_agree(run->comm, begin_again(run, err), err);
        if (status != TSW_OK || !more)
            break;
        if (run->rank == 0)
            tsw_log_root(TSW_LOG_INFO, "generation %u: %zu cells", run->generation,
                         run->plan->cell_count);
        status = tsw_run_loop(run, err);
    }
    return status;
}
