#include "sched/lane.h"

#include "base/mem.h"
#include "record/stability.h"
#include "sched/lane_cell.h"

#include <stdio.h>
#include <string.h>

#define HANDS            2 /* cells: one in hand, one ahead */
#define FAILURES_MAX     2 /* workers in a row that fail before they are ready */
#define IDLE_DEATHS_MAX  2 /* workers in a row that die with nothing to do, having done nothing */
#define BLANK_DEATHS_MAX 2 /* workers that one cell kills while busy with no config */

typedef enum {
    WORKER_NONE,
    WORKER_STARTING,
    WORKER_READY,
    WORKER_DOOMED, /* killed, its death is awaited; what it still says does not count */
} worker_state_t;

typedef struct {
    tsw_cell_result_t *items;
    size_t count, capacity;
} results_t;

struct tsw_lane {
    const tsw_plan_t *plan;
    int32_t rank;
    char node[TSW_NAME_SIZE];
    tsw_gpu_t gpu;
    bool started;
    bool has_device;
    bool asked;   /* the first cells were asked for */
    bool stopped; /* abandoned */
    worker_state_t worker;
    bool worker_did_something;
    uint32_t failures, idle_deaths;
    tsw_lane_cell_t *cells[HANDS]; /* [0] in hand */
    size_t cell_count;
    results_t results;
    bool failed;             /* out of memory */
    tsw_lane_actions_t *out; /* of the event in hand */
};

void tsw_lane_actions_fini(tsw_lane_actions_t *actions)
{
    tsw_free(actions->items);
    *actions = (tsw_lane_actions_t){0};
}

static void act(tsw_lane_t *lane, tsw_lane_action_t action)
{
    tsw_lane_actions_t *out = lane->out;
    if (!TSW_GROW(out->items, out->capacity, out->count)) {
        lane->failed = true;
        return;
    }
    out->items[out->count++] = action;
}

static void act_cell(tsw_lane_t *lane, tsw_lane_action_type_t type, const tsw_lane_cell_t *cell)
{
    act(lane, (tsw_lane_action_t){.type = type, .cell = cell->id, .attempt = cell->attempt});
}

static void ask_cell(tsw_lane_t *lane)
{
    act(lane, (tsw_lane_action_t){.type = TSW_LANE_ASK_CELL});
}

static void start_worker(tsw_lane_t *lane)
{
    lane->worker = WORKER_STARTING;
    lane->worker_did_something = false;
    act(lane, (tsw_lane_action_t){.type = TSW_LANE_START_WORKER});
}

static void kill_worker(tsw_lane_t *lane)
{
    lane->worker = WORKER_DOOMED;
    act(lane, (tsw_lane_action_t){.type = TSW_LANE_KILL_WORKER});
}

/* ---- cells come and go ---- */

/* Takes cell i out of the lane; the caller frees it. */
static tsw_lane_cell_t *take_cell(tsw_lane_t *lane, size_t i)
{
    tsw_lane_cell_t *cell = lane->cells[i];
    if (i == 0)
        lane->cells[0] = lane->cells[1];
    lane->cell_count--;
    return cell;
}

/* Hands the result out; the cell is freed. */
static void store_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    tsw_cell_result_t *result = &cell->result;
    results_t *results = &lane->results;
    result->rank = lane->rank;
    memcpy(result->node, lane->node, sizeof(result->node));
    if (!cell->compile_only)
        result->gpu = lane->gpu;
    act_cell(lane, TSW_LANE_STORE_CELL, cell);
    if (TSW_GROW(results->items, results->capacity, results->count)) {
        results->items[results->count++] = *result;
        *result = (tsw_cell_result_t){0};
    } else {
        lane->failed = true;
    }
    tsw_lane_cell_free(cell);
}

/* The cell ends here without having ended; what it found so far is stored as partial. */
static void drop_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    if (tsw_lane_cell_interrupt(cell))
        store_cell(lane, cell);
    else
        tsw_lane_cell_free(cell);
}

static void begin_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    cell->begun = true;
    cell->added = 0;
    act_cell(lane, TSW_LANE_BEGIN_CELL, cell);
}

/* Gives the worker all configs whose turn it is. */
static void add_configs(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    for (; cell->added < cell->known; cell->added++) {
        const uint32_t index = cell->order[cell->added];
        tsw_lane_config_state_t state = cell->configs[index].state;
        bool verified = state == TSW_LANE_CONFIG_VERIFIED;
        if (state != TSW_LANE_CONFIG_BUILT && !verified)
            continue;
        if (!verified)
            tsw_lane_cell_set_state(cell, index, TSW_LANE_CONFIG_ADDED);
        act(lane, (tsw_lane_action_t){.type = TSW_LANE_ADD_CONFIG,
                                      .cell = cell->id,
                                      .attempt = cell->attempt,
                                      .config_index = index,
                                      .verified = verified});
    }
}

/* Begins a cell that can be begun, and gives the worker what is there of it. */
static void feed_worker(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    if (!cell->begun && cell->reference_known && cell->tool_known)
        begin_cell(lane, cell);
    if (cell->begun)
        add_configs(lane, cell);
}

static bool may_work(const tsw_lane_t *lane, const tsw_lane_cell_t *cell)
{
    return lane->worker == WORKER_READY && !cell->compile_only && !tsw_lane_cell_is_final(cell);
}

/* While the cell in hand is timed the next one already goes to the worker, which takes it up once
 * it has said that it is through. */
static void drive_worker(tsw_lane_t *lane)
{
    tsw_lane_cell_t *cell = lane->cells[0];
    if (lane->cell_count == 0 || !may_work(lane, cell))
        return;
    feed_worker(lane, cell);
    if (tsw_lane_cell_can_time(cell)) {
        cell->timing = true;
        act(lane, (tsw_lane_action_t){.type = TSW_LANE_TIME_CELL,
                                      .cell = cell->id,
                                      .attempt = cell->attempt,
                                      .first_round = cell->next_round});
    }
    if (cell->timing && lane->cell_count > 1 && may_work(lane, lane->cells[1]))
        feed_worker(lane, lane->cells[1]);
}

/* Does all that can be done now; ends every event. */
static tsw_status_t advance(tsw_lane_t *lane, tsw_err_t *err)
{
    while (lane->cell_count > 0 && !lane->failed) {
        if (!tsw_lane_cell_is_final(lane->cells[0])) {
            drive_worker(lane);
            break;
        }
        tsw_lane_cell_t *cell = take_cell(lane, 0);
        drive_worker(lane); /* which goes on while we store */
        tsw_lane_cell_complete(cell);
        store_cell(lane, cell);
        ask_cell(lane);
    }
    lane->out = NULL;
    return lane->failed ? tsw_err_nomem(err) : TSW_OK;
}

static void ask_first_cells(tsw_lane_t *lane)
{
    if (lane->asked)
        return;
    lane->asked = true;
    for (size_t i = 0; i < HANDS; i++)
        ask_cell(lane);
}

/* The GPU is lost: what needs it goes back, what does not is still asked for. */
static void retire(tsw_lane_t *lane)
{
    size_t dropped = 0;
    lane->has_device = false;
    for (size_t i = lane->cell_count; i-- > 0;) {
        if (lane->cells[i]->compile_only)
            continue;
        tsw_lane_cell_t *cell = take_cell(lane, i);
        dropped++;
        drop_cell(lane, cell);
    }
    act(lane, (tsw_lane_action_t){.type = TSW_LANE_RETIRE});
    ask_first_cells(lane);
    for (size_t i = 0; i < dropped; i++)
        ask_cell(lane);
}

static void replace_worker(tsw_lane_t *lane)
{
    if (lane->failures >= FAILURES_MAX || lane->idle_deaths >= IDLE_DEATHS_MAX)
        retire(lane);
    else
        start_worker(lane);
}

/* The worker said something about the cell in hand. */
static void note_work(tsw_lane_t *lane)
{
    lane->worker_did_something = true;
    lane->idle_deaths = 0;
}

/* ---- events ---- */

static tsw_status_t start(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (lane->started)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: started twice");
    lane->started = true;
    lane->out = out;
    return TSW_OK;
}

tsw_status_t tsw_lane_start(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = start(lane, out, err);
    if (status != TSW_OK)
        return status;
    lane->has_device = true;
    start_worker(lane);
    return advance(lane, err);
}

tsw_status_t tsw_lane_start_without_device(tsw_lane_t *lane, tsw_lane_actions_t *out,
                                           tsw_err_t *err)
{
    tsw_status_t status = start(lane, out, err);
    if (status != TSW_OK)
        return status;
    ask_first_cells(lane);
    return advance(lane, err);
}

tsw_status_t tsw_lane_worker_ready(tsw_lane_t *lane, const tsw_gpu_t *gpu, tsw_lane_actions_t *out,
                                   tsw_err_t *err)
{
    if (lane->stopped || lane->worker == WORKER_DOOMED)
        return TSW_OK;
    if (lane->worker != WORKER_STARTING)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: a worker is ready that was not started");
    lane->out = out;
    lane->worker = WORKER_READY;
    lane->failures = 0;
    lane->gpu = *gpu;
    ask_first_cells(lane);
    return advance(lane, err);
}

tsw_status_t tsw_lane_cell_leased(tsw_lane_t *lane, uint32_t cell, uint32_t attempt,
                                  tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (cell >= lane->plan->cell_count)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: there is no cell %u", cell);
    if (!lane->asked || lane->cell_count == HANDS)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u was not asked for", cell);
    lane->out = out;
    if (lane->stopped) {
        act(lane,
            (tsw_lane_action_t){.type = TSW_LANE_GIVE_BACK, .cell = cell, .attempt = attempt});
        return advance(lane, err);
    }
    if (!lane->has_device && !lane->plan->cells[cell].compile_only) {
        /* Sent before the coordinator knew that the GPU is lost; it has taken the cell back. */
        ask_cell(lane);
        return advance(lane, err);
    }
    tsw_status_t status =
        tsw_lane_cell_new(lane->plan, cell, attempt, &lane->cells[lane->cell_count], err);
    if (status != TSW_OK)
        return status;
    lane->cell_count++;
    return advance(lane, err);
}

static tsw_lane_cell_t *find_cell(tsw_lane_t *lane, uint32_t id)
{
    for (size_t i = 0; i < lane->cell_count; i++)
        if (lane->cells[i]->id == id)
            return lane->cells[i];
    return NULL;
}

tsw_status_t tsw_lane_built(tsw_lane_t *lane, const tsw_lane_built_t *built,
                            tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = find_cell(lane, built->cell);
    if (cell == NULL)
        return TSW_OK;
    if (built->config_index < TSW_LANE_TOOL || built->config_index >= (int64_t)cell->config_count)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u has no config %d", built->cell,
                           built->config_index);
    lane->out = out;
    tsw_lane_cell_built(cell, built);
    return advance(lane, err);
}

/* The cell that the worker has begun. *cell_p == NULL: what it says does not count any more. */
static tsw_status_t begun_cell(tsw_lane_t *lane, tsw_lane_cell_t **cell_p, tsw_err_t *err)
{
    *cell_p = NULL;
    if (lane->stopped || lane->worker == WORKER_DOOMED)
        return TSW_OK;
    if (lane->worker != WORKER_READY || lane->cell_count == 0 || !lane->cells[0]->begun)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: the worker has no cell");
    *cell_p = lane->cells[0];
    return TSW_OK;
}

static bool is_in_worker(const tsw_lane_cell_t *cell, int64_t config)
{
    if (config < 0 || config >= (int64_t)cell->config_count)
        return false;
    tsw_lane_config_state_t state = cell->configs[config].state;
    return state == TSW_LANE_CONFIG_ADDED || state == TSW_LANE_CONFIG_VERIFIED;
}

tsw_status_t tsw_lane_config_state(tsw_lane_t *lane, uint32_t config_index, tsw_outcome_t outcome,
                                   const char *detail, const tsw_verify_facts_t *verify,
                                   tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    if (!is_in_worker(cell, config_index))
        return tsw_err_set(err, TSW_ERR_BUG, "lane: config %u is not in the worker", config_index);
    lane->out = out;
    note_work(lane);
    bool first = cell->configs[config_index].state == TSW_LANE_CONFIG_ADDED;
    if (verify != NULL && (first || outcome != TSW_OUTCOME_OK))
        cell->result.records[config_index].verify = *verify;
    if (outcome == TSW_OUTCOME_OK)
        tsw_lane_cell_set_state(cell, config_index, TSW_LANE_CONFIG_VERIFIED);
    else
        tsw_lane_cell_end(cell, config_index, outcome, detail);
    if (outcome == TSW_OUTCOME_DEVICE_LOST || outcome == TSW_OUTCOME_RUN_TIMEOUT) {
        cell->timing = false;
        kill_worker(lane);
    }
    return advance(lane, err);
}

tsw_status_t tsw_lane_cell_failed(tsw_lane_t *lane, tsw_outcome_t outcome, const char *detail,
                                  tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    lane->out = out;
    note_work(lane);
    tsw_lane_cell_end_all(cell, outcome, detail);
    return advance(lane, err);
}

static bool can_take_round(const tsw_lane_cell_t *cell, const uint32_t *config_indices, size_t n)
{
    if (!cell->timing)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_in_worker(cell, config_indices[i]))
            return false;
    return true;
}

tsw_status_t tsw_lane_round(tsw_lane_t *lane, const tsw_round_t *round,
                            const uint32_t *config_indices, const tsw_sample_t *samples, size_t n,
                            tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    if (!can_take_round(cell, config_indices, n))
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u expects no such round", cell->id);
    lane->out = out;
    note_work(lane);
    tsw_cell_result_t *result = &cell->result;
    if (!TSW_GROW(result->rounds, result->round_capacity, result->round_count))
        return tsw_err_nomem(err);
    result->rounds[result->round_count++] = *round;
    if (tsw_stage_decides((tsw_stage_t)round->stage) || round->stage == TSW_STAGE_EARLY)
        result->cache_mode = round->cache_state;
    for (size_t i = 0; i < n; i++) {
        tsw_record_t *record = &result->records[config_indices[i]];
        status = tsw_record_add_sample(record, &samples[i], err);
        if (status != TSW_OK)
            return status;
    }
    if (!tsw_stage_is_first((tsw_stage_t)round->stage) && round->round >= cell->next_round)
        cell->next_round = round->round + 1;
    return advance(lane, err);
}

tsw_status_t tsw_lane_cell_timed(tsw_lane_t *lane, const tsw_lane_timed_t *timed,
                                 tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    if (!cell->timing)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u is not being timed", cell->id);
    for (size_t i = 0; i < timed->count; i++)
        if (timed->indices[i] >= cell->config_count)
            return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u has no config %u", cell->id,
                               timed->indices[i]);
    lane->out = out;
    note_work(lane);
    if (timed->peak_memory_bytes > cell->result.peak_memory_bytes)
        cell->result.peak_memory_bytes = timed->peak_memory_bytes;
    cell->result.busy_ns += tsw_usage_measuring(&timed->usage);
    tsw_usage_add(&cell->result.usage, &timed->usage);
    for (size_t i = 0; i < timed->count; i++)
        cell->result.records[timed->indices[i]].fate = (tsw_fate_t)timed->fates[i];
    if (timed->pick >= 0 && (size_t)timed->pick < cell->config_count)
        cell->result.pick = timed->pick;
    status = tsw_stability_judge(&cell->result, err);
    if (status != TSW_OK)
        return status;
    tsw_lane_cell_end_timed(cell);
    return advance(lane, err);
}

/* The worker will not survive this reference another time either. */
static void end_for_reference(tsw_lane_cell_t *cell, const char *detail)
{
    char text[TSW_DETAIL_MAX];
    snprintf(text, sizeof(text), "suspect reference.cu: the worker died while it ran: %s",
             detail != NULL ? detail : "");
    tsw_lane_cell_end_all(cell, TSW_OUTCOME_INVALID, text);
}

/* Whose fault it was, as far as the cell in hand goes. */
static void blame(tsw_lane_t *lane, int32_t culprit, tsw_outcome_t outcome, const char *detail)
{
    tsw_lane_cell_t *cell = lane->cell_count > 0 ? lane->cells[0] : NULL;
    if (lane->worker == WORKER_STARTING) {
        lane->failures++;
    } else if (cell == NULL || !cell->begun) {
        lane->idle_deaths += !lane->worker_did_something;
    } else if (is_in_worker(cell, culprit)) {
        tsw_lane_cell_end(cell, (size_t)culprit, outcome, detail);
    } else if (culprit == TSW_LANE_CULPRIT_REFERENCE) {
        end_for_reference(cell, detail);
    } else if (++cell->blank_deaths >= BLANK_DEATHS_MAX) {
        char text[TSW_DETAIL_MAX];
        snprintf(text, sizeof(text), "%u workers died in this cell outside any config%s%s",
                 cell->blank_deaths, detail != NULL && detail[0] != '\0' ? ": " : "",
                 detail != NULL ? detail : "");
        tsw_lane_cell_end_all(cell, TSW_OUTCOME_DEVICE_LOST, text);
    }
}

tsw_status_t tsw_lane_worker_died(tsw_lane_t *lane, int32_t culprit, tsw_outcome_t outcome,
                                  const char *detail, bool interrupted, tsw_lane_actions_t *out,
                                  tsw_err_t *err)
{
    if (lane->worker == WORKER_NONE)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: a worker died that was not started");
    lane->out = out;
    if (!interrupted && !lane->stopped && lane->worker != WORKER_DOOMED)
        blame(lane, culprit, outcome, detail);
    lane->worker = WORKER_NONE;
    for (size_t i = 0; i < lane->cell_count; i++)
        tsw_lane_cell_unload(lane->cells[i]);
    if (!interrupted && !lane->stopped)
        replace_worker(lane);
    return advance(lane, err);
}

static bool is_excused(tsw_lane_t *lane)
{
    tsw_lane_cell_t *cell = lane->cell_count > 0 ? lane->cells[0] : NULL;
    if (lane->worker != WORKER_READY || cell == NULL || !cell->begun || cell->killed_once)
        return false;
    cell->killed_once = true;
    return true;
}

tsw_status_t tsw_lane_worker_killed(tsw_lane_t *lane, int32_t culprit, const char *detail,
                                    tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (lane->worker == WORKER_NONE || lane->stopped || !is_excused(lane))
        return tsw_lane_worker_died(lane, culprit, TSW_OUTCOME_DEVICE_LOST, detail, false, out,
                                    err);
    lane->out = out;
    lane->worker = WORKER_NONE;
    for (size_t i = 0; i < lane->cell_count; i++)
        tsw_lane_cell_unload(lane->cells[i]);
    tsw_lane_cell_rewind(lane->cells[0]);
    replace_worker(lane);
    return advance(lane, err);
}

tsw_status_t tsw_lane_gpu_unfit(tsw_lane_t *lane, bool interrupted, tsw_lane_actions_t *out,
                                tsw_err_t *err)
{
    if (lane->worker == WORKER_NONE)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: a worker died that was not started");
    lane->out = out;
    lane->worker = WORKER_NONE;
    if (lane->cell_count > 0)
        tsw_lane_cell_unload(lane->cells[0]);
    if (!interrupted && !lane->stopped)
        retire(lane);
    return advance(lane, err);
}

tsw_status_t tsw_lane_abandon(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (lane->stopped)
        return TSW_OK;
    lane->out = out;
    lane->stopped = true;
    if (lane->worker == WORKER_STARTING || lane->worker == WORKER_READY)
        kill_worker(lane);
    while (lane->cell_count > 0) {
        tsw_lane_cell_t *cell = take_cell(lane, 0);
        tsw_lane_action_t give_back = {
            .type = TSW_LANE_GIVE_BACK, .cell = cell->id, .attempt = cell->attempt};
        drop_cell(lane, cell);
        act(lane, give_back);
    }
    return advance(lane, err);
}

/* ---- life ---- */

tsw_status_t tsw_lane_new(const tsw_plan_t *plan, int32_t rank, const char *node,
                          tsw_lane_t **lane_p, tsw_err_t *err)
{
    tsw_lane_t *lane = tsw_calloc(1, sizeof(*lane));
    if (lane == NULL)
        return tsw_err_nomem(err);
    lane->plan = plan;
    lane->rank = rank;
    snprintf(lane->node, sizeof(lane->node), "%s", node);
    *lane_p = lane;
    return TSW_OK;
}

void tsw_lane_free(tsw_lane_t *lane)
{
    if (lane == NULL)
        return;
    for (size_t i = 0; i < lane->cell_count; i++)
        tsw_lane_cell_free(lane->cells[i]);
    for (size_t i = 0; i < lane->results.count; i++)
        tsw_cell_result_fini(&lane->results.items[i]);
    tsw_free(lane->results.items);
    tsw_free(lane);
}

void tsw_lane_take_result(tsw_lane_t *lane, tsw_cell_result_t *result_p)
{
    results_t *results = &lane->results;
    TSW_ASSERT(results->count > 0);
    *result_p = results->items[0];
    results->count--;
    memmove(results->items, results->items + 1, results->count * sizeof(*results->items));
}

tsw_status_t tsw_lane_skipped(const tsw_plan_t *plan, uint32_t id, int32_t rank, const char *node,
                              tsw_cell_result_t *result_p, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = tsw_lane_cell_new(plan, id, 1, &cell, err);
    if (status != TSW_OK)
        return status;
    tsw_lane_cell_end_all(cell, TSW_OUTCOME_SKIPPED, plan->cells[id].skip_reason);
    tsw_lane_cell_complete(cell);
    *result_p = cell->result;
    cell->result = (tsw_cell_result_t){0};
    tsw_lane_cell_free(cell);
    result_p->rank = rank;
    snprintf(result_p->node, sizeof(result_p->node), "%s", node);
    return TSW_OK;
}

bool tsw_lane_is_idle(const tsw_lane_t *lane)
{
    return lane->cell_count == 0;
}
