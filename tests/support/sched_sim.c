#include "sched_sim.h"

#include "base/mem.h"
#include "base/rng.h"
#include "sched/lane.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 3

typedef enum {
    FATE_GOOD,
    FATE_NO_COMPILE,
    FATE_WRONG,
    FATE_LATE_TIMEOUT,
    FATE_TRAP,
    FATE_LATE_TRAP,
    FATE_COUNT
} fate_t;

/* Who a message is for; a rank has one queue each. */
typedef enum { TO_COORD, TO_RANK, TO_WORKER, FROM_WORKER, QUEUE_COUNT } queue_id_t;

typedef enum {
    SAY_WANT,
    SAY_BUILT,
    SAY_DONE,
    SAY_RETURNED,
    SAY_RETIRED, /* to the coordinator */
    SAY_LEASE,
    SAY_BUILD,
    SAY_PUSH,
    SAY_DRAIN, /* to a rank */
    SAY_START,
    SAY_BEGIN,
    SAY_ADD,
    SAY_TIME, /* to a worker */
    SAY_READY,
    SAY_STATE,
    SAY_ROUND,
    SAY_TIMED,
    SAY_DIED, /* from a worker */
} say_t;

typedef struct {
    say_t say;
    uint32_t cell, attempt, build, config, round;
    int32_t culprit;
    bool flag; /* usable, verified */
    tsw_outcome_t outcome;
} message_t;

typedef struct {
    message_t *items;
    size_t first, count, capacity;
} queue_t;

typedef struct {
    queue_t queues[QUEUE_COUNT];
    queue_t builds; /* leased to it and not made */
    tsw_lane_t *lane;
    bool worker_exists; /* started, and its death not seen by the lane */
    bool worker_alive;
    bool lane_may_use_worker;
    uint32_t worker_cell;
    bool worker_hangs;
    bool *worker_configs; /* in the worker and good */
    bool *timed_configs;  /* those that were so when it began to time */
    bool *has_build;
    bool *leased_cells; /* ever */
    bool retired, draining;
} rank_t;

typedef struct {
    const sched_sim_t *what;
    const tsw_plan_t *plan;
    sched_sim_report_t *report;
    tsw_coord_t *coord;
    rank_t *ranks;
    size_t configs_max;
    bool *build_made;
    bool *build_leased;
    bool *cell_complete;
    uint32_t *pushes; /* rank x build */
    size_t stops;
    bool finished;
    uint64_t draws;
} sim_t;

static void complain(sim_t *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(sim_t *sim, const char *format, ...)
{
    if (sim->report->problem[0] != '\0')
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(sim->report->problem, sizeof(sim->report->problem), format, args);
    va_end(args);
}

static void check(sim_t *sim, tsw_status_t status, const tsw_err_t *err)
{
    if (status != TSW_OK)
        complain(sim, "%s", err->text);
}

static void *make(size_t count, size_t size)
{
    void *memory = tsw_calloc(count, size);
    if (memory == NULL)
        abort();
    return memory;
}

static uint64_t draw(sim_t *sim, uint64_t below)
{
    return tsw_rng_u64(sim->what->seed, 1, sim->draws++, 0, 0) % below;
}

static bool chance(sim_t *sim, uint32_t permille)
{
    return draw(sim, 1000) < permille;
}

static void send(queue_t *queue, message_t message)
{
    if (queue->first > 64 && queue->first * 2 > queue->count) {
        memmove(queue->items, queue->items + queue->first,
                (queue->count - queue->first) * sizeof(*queue->items));
        queue->count -= queue->first;
        queue->first = 0;
    }
    if (!TSW_GROW(queue->items, queue->capacity, queue->count))
        abort();
    queue->items[queue->count++] = message;
}

static bool is_empty(const queue_t *queue)
{
    return queue->first == queue->count;
}

static message_t receive(queue_t *queue)
{
    return queue->items[queue->first++];
}

static void tell(sim_t *sim, uint32_t rank, queue_id_t queue, message_t message)
{
    send(&sim->ranks[rank].queues[queue], message);
}

/* ---- fates: functions of the seed and the place in the plan, as in a real cluster ---- */

static bool by_fate(const sim_t *sim, uint64_t kind, uint64_t a, uint64_t b, uint32_t permille)
{
    return tsw_rng_u64(sim->what->seed, 2, kind, a, b) % 1000 < permille;
}

static uint32_t variant_of(const sim_t *sim, uint32_t cell)
{
    return sim->plan->cells[cell].variant;
}

static bool reference_is_bad(const sim_t *sim, uint32_t cell)
{
    return by_fate(sim, 0, variant_of(sim, cell), 0, sim->what->bad_reference);
}

static fate_t fate_of(const sim_t *sim, uint32_t cell, uint32_t config)
{
    if (!by_fate(sim, 1, variant_of(sim, cell), config, sim->what->config_faults))
        return FATE_GOOD;
    return (fate_t)(1 + tsw_rng_u64(sim->what->seed, 3, variant_of(sim, cell), config, 0) %
                            (FATE_COUNT - 1));
}

/* Where a config stands in the order of its cell. */
static uint32_t place_of(const sim_t *sim, uint32_t cell, uint32_t config)
{
    uint32_t place = 0;
    while (sim->plan->cells[cell].order[place] != config)
        place++;
    return place;
}

/* The config, one before it in the order, whose launch this one repeats; itself for most. */
static uint32_t leader_of(const sim_t *sim, uint32_t cell, uint32_t config)
{
    uint32_t place = place_of(sim, cell, config);
    if (place == 0 || !by_fate(sim, 4, variant_of(sim, cell), config, sim->what->aliases))
        return config;
    uint64_t leader = tsw_rng_u64(sim->what->seed, 5, variant_of(sim, cell), config, 0) % place;
    return leader_of(sim, cell, sim->plan->cells[cell].order[leader]);
}

static tsw_outcome_t outcome_of_fate(const sim_t *sim, uint32_t cell, uint32_t config)
{
    if (fate_of(sim, cell, config) == FATE_NO_COMPILE)
        return TSW_OUTCOME_COMPILE_FAILED;
    if (sim->plan->cells[cell].compile_only)
        return TSW_OUTCOME_COMPILED;
    switch (fate_of(sim, cell, config)) {
    case FATE_WRONG:
        return TSW_OUTCOME_WRONG_RESULT;
    case FATE_LATE_TIMEOUT:
        return TSW_OUTCOME_RUN_TIMEOUT;
    case FATE_TRAP:
    case FATE_LATE_TRAP:
        return TSW_OUTCOME_DEVICE_LOST;
    default:
        return TSW_OUTCOME_OK;
    }
}

/* A config is built under the launch of its leader, if that one compiles; its own fate, else. */
static uint32_t launch_of(const sim_t *sim, uint32_t cell, uint32_t config)
{
    uint32_t leader = leader_of(sim, cell, config);
    return fate_of(sim, cell, leader) == FATE_NO_COMPILE ? config : leader;
}

static tsw_outcome_t expected_outcome(const sim_t *sim, uint32_t cell, uint32_t config)
{
    bool compile_only = sim->plan->cells[cell].compile_only;
    if (!compile_only && reference_is_bad(sim, cell))
        return TSW_OUTCOME_INVALID;
    if (compile_only || fate_of(sim, cell, config) == FATE_NO_COMPILE)
        return outcome_of_fate(sim, cell, config);
    uint32_t leader = launch_of(sim, cell, config);
    tsw_outcome_t outcome = outcome_of_fate(sim, cell, leader);
    return outcome == TSW_OUTCOME_OK && leader != config ? TSW_OUTCOME_ALIAS : outcome;
}

/* ---- the rank: what `run` does ---- */

static void carry_out_lane(sim_t *sim, uint32_t r, const tsw_lane_actions_t *actions);

static tsw_lane_built_t describe_build(const sim_t *sim, uint32_t cell, uint32_t build)
{
    const tsw_build_t *planned = &sim->plan->builds[build];
    tsw_lane_built_t built = {.cell = cell, .outcome = TSW_OUTCOME_OK};
    if (planned->kind == TSW_BUILD_TOOL) {
        built.config_index = TSW_LANE_TOOL;
    } else if (planned->kind == TSW_BUILD_REFERENCE) {
        built.config_index = TSW_LANE_REFERENCE;
        if (reference_is_bad(sim, cell))
            built.outcome = TSW_OUTCOME_COMPILE_FAILED;
    } else {
        built.config_index = (int32_t)planned->config;
        if (fate_of(sim, cell, planned->config) == FATE_NO_COMPILE)
            built.outcome = TSW_OUTCOME_COMPILE_FAILED;
        built.launch_key.lo = launch_of(sim, cell, planned->config);
        built.grid[0] = 1 + planned->config;
    }
    return built;
}

typedef struct {
    sim_t *sim;
    uint32_t rank, cell;
    uint32_t only; /* this build, or UINT32_MAX: all */
} telling_t;

static void tell_lane_built(void *user, uint32_t build)
{
    telling_t *telling = user;
    sim_t *sim = telling->sim;
    rank_t *rank = &sim->ranks[telling->rank];
    if (!rank->has_build[build] || (telling->only != UINT32_MAX && telling->only != build))
        return;
    tsw_lane_built_t built = describe_build(sim, telling->cell, build);
    tsw_lane_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    check(sim, tsw_lane_built(rank->lane, &built, &actions, &err), &err);
    carry_out_lane(sim, telling->rank, &actions);
    tsw_lane_actions_fini(&actions);
}

static void tell_lane_builds(sim_t *sim, uint32_t r, uint32_t cell, uint32_t only)
{
    telling_t telling = {.sim = sim, .rank = r, .cell = cell, .only = only};
    tsw_plan_cell_builds(sim->plan, &sim->plan->cells[cell], tell_lane_built, &telling);
}

static void check_rounds(sim_t *sim, const tsw_record_t *record, uint32_t cell)
{
    bool seen[ROUNDS] = {false};
    size_t rounds = 0;
    for (size_t i = 0; i < record->sample_count; i++) {
        const tsw_sample_t *sample = &record->samples[i];
        if (sample->stage != TSW_STAGE_ROUND)
            continue;
        if (sample->round >= ROUNDS || seen[sample->round])
            complain(sim, "cell %u config %u: round %u twice or unknown", cell,
                     record->config_index, sample->round);
        else
            seen[sample->round] = true;
        rounds++;
    }
    if (record->outcome == TSW_OUTCOME_OK && rounds != ROUNDS)
        complain(sim, "cell %u config %u: %zu rounds", cell, record->config_index, rounds);
}

static void check_result(sim_t *sim, uint32_t r, uint32_t cell, const tsw_cell_result_t *result)
{
    const tsw_cell_t *planned = &sim->plan->cells[cell];
    if (!tsw_key_equal(result->key, planned->key) || result->rank != (int32_t)r ||
        result->record_count != planned->config_count)
        complain(sim, "cell %u: result of another cell", cell);
    if (!result->complete) {
        sim->report->cells_partial++;
        return;
    }
    if (sim->cell_complete[cell])
        complain(sim, "cell %u: complete twice", cell);
    sim->cell_complete[cell] = true;
    sim->report->cells_complete++;
    for (uint32_t i = 0; i < result->record_count; i++) {
        const tsw_record_t *record = &result->records[i];
        tsw_outcome_t expected = expected_outcome(sim, cell, i);
        bool lost = record->outcome == TSW_OUTCOME_DEVICE_LOST && sim->what->blank_deaths > 0;
        if (record->outcome != expected && !lost)
            complain(sim, "cell %u config %u: %s instead of %s (%s)", cell, i,
                     tsw_outcome_name(record->outcome), tsw_outcome_name(expected), record->detail);
        if (record->outcome == TSW_OUTCOME_ALIAS && record->alias_of != launch_of(sim, cell, i))
            complain(sim, "cell %u config %u: alias of %u", cell, i, record->alias_of);
        check_rounds(sim, record, cell);
        sim->report->records++;
        sim->report->outcomes[record->outcome]++;
    }
}

static bool is_usable(const tsw_cell_result_t *result)
{
    for (size_t i = 0; i < result->record_count; i++)
        if (result->records[i].outcome == TSW_OUTCOME_OK ||
            result->records[i].outcome == TSW_OUTCOME_COMPILED)
            return true;
    return false;
}

static void store_result(sim_t *sim, uint32_t r, const tsw_lane_action_t *action)
{
    tsw_cell_result_t result = {0};
    tsw_lane_take_result(sim->ranks[r].lane, &result);
    check_result(sim, r, action->cell, &result);
    if (result.complete)
        tell(sim, r, TO_COORD,
             (message_t){.say = SAY_DONE,
                         .cell = action->cell,
                         .attempt = action->attempt,
                         .flag = is_usable(&result)});
    tsw_cell_result_fini(&result);
}

static void worker_dies(sim_t *sim, uint32_t r, int32_t culprit, tsw_outcome_t outcome)
{
    rank_t *rank = &sim->ranks[r];
    rank->worker_alive = false;
    rank->queues[TO_WORKER].first = rank->queues[TO_WORKER].count;
    sim->report->worker_deaths++;
    tell(sim, r, FROM_WORKER, (message_t){.say = SAY_DIED, .culprit = culprit, .outcome = outcome});
}

/* Something for the worker to do: it must be alive in the lane's eyes. */
static void use_worker(sim_t *sim, uint32_t r, const tsw_lane_action_t *action, say_t say)
{
    rank_t *rank = &sim->ranks[r];
    if (!rank->lane_may_use_worker)
        complain(sim, "rank %u: action for a worker that is dead or not ready", r);
    if (rank->worker_alive)
        tell(sim, r, TO_WORKER,
             (message_t){.say = say,
                         .cell = action->cell,
                         .config = action->config_index,
                         .round = action->first_round,
                         .flag = action->verified});
}

static void start_worker(sim_t *sim, uint32_t r)
{
    rank_t *rank = &sim->ranks[r];
    if (rank->worker_exists)
        complain(sim, "rank %u: second worker", r);
    rank->worker_exists = true;
    rank->worker_alive = true;
    rank->worker_hangs = false;
    rank->worker_cell = UINT32_MAX;
    tell(sim, r, TO_WORKER, (message_t){.say = SAY_START});
}

static void carry_out_lane(sim_t *sim, uint32_t r, const tsw_lane_actions_t *actions)
{
    rank_t *rank = &sim->ranks[r];
    for (size_t i = 0; i < actions->count; i++) {
        const tsw_lane_action_t *action = &actions->items[i];
        switch (action->type) {
        case TSW_LANE_ASK_CELL:
            tell(sim, r, TO_COORD, (message_t){.say = SAY_WANT});
            break;
        case TSW_LANE_START_WORKER:
            start_worker(sim, r);
            break;
        case TSW_LANE_KILL_WORKER:
            rank->lane_may_use_worker = false;
            if (rank->worker_alive)
                worker_dies(sim, r, -1, TSW_OUTCOME_DEVICE_LOST);
            break;
        case TSW_LANE_BEGIN_CELL:
            use_worker(sim, r, action, SAY_BEGIN);
            break;
        case TSW_LANE_ADD_CONFIG:
            use_worker(sim, r, action, SAY_ADD);
            break;
        case TSW_LANE_TIME_CELL:
            use_worker(sim, r, action, SAY_TIME);
            break;
        case TSW_LANE_STORE_CELL:
            store_result(sim, r, action);
            break;
        case TSW_LANE_GIVE_BACK:
            tell(
                sim, r, TO_COORD,
                (message_t){.say = SAY_RETURNED, .cell = action->cell, .attempt = action->attempt});
            break;
        case TSW_LANE_RETIRE:
            rank->retired = true;
            sim->report->ranks_retired++;
            tell(sim, r, TO_COORD, (message_t){.say = SAY_RETIRED});
            break;
        }
    }
}

static void rank_receives(sim_t *sim, uint32_t r, message_t message)
{
    rank_t *rank = &sim->ranks[r];
    tsw_lane_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    switch (message.say) {
    case SAY_LEASE:
        check(sim, tsw_lane_cell_leased(rank->lane, message.cell, message.attempt, &actions, &err),
              &err);
        rank->leased_cells[message.cell] = true;
        carry_out_lane(sim, r, &actions);
        tell_lane_builds(sim, r, message.cell, UINT32_MAX);
        break;
    case SAY_BUILD:
        send(&rank->builds, message);
        break;
    case SAY_PUSH:
        rank->has_build[message.build] = true;
        for (uint32_t cell = 0; cell < sim->plan->cell_count; cell++)
            if (rank->leased_cells[cell])
                tell_lane_builds(sim, r, cell, message.build);
        break;
    default:
        rank->draining = true;
        check(sim, tsw_lane_abandon(rank->lane, &actions, &err), &err);
        carry_out_lane(sim, r, &actions);
        break;
    }
    tsw_lane_actions_fini(&actions);
}

/* ---- the worker ---- */

static void worker_verifies(sim_t *sim, uint32_t r, message_t message)
{
    rank_t *rank = &sim->ranks[r];
    fate_t fate = fate_of(sim, rank->worker_cell, message.config);
    message_t answer = {.say = SAY_STATE, .config = message.config, .outcome = TSW_OUTCOME_OK};
    if (fate == FATE_TRAP && !message.flag) {
        worker_dies(sim, r, (int32_t)message.config, TSW_OUTCOME_DEVICE_LOST);
        return;
    }
    if (fate == FATE_WRONG && !message.flag)
        answer.outcome = TSW_OUTCOME_WRONG_RESULT;
    else
        rank->worker_configs[message.config] = true;
    if (!message.flag)
        tell(sim, r, FROM_WORKER, answer);
}

/* A config with a late fate ends after the first round. False: the worker is dead, or hangs. */
static bool worker_survives(sim_t *sim, uint32_t r)
{
    rank_t *rank = &sim->ranks[r];
    for (uint32_t i = 0; i < sim->configs_max; i++) {
        fate_t fate = fate_of(sim, rank->worker_cell, i);
        if (!rank->worker_configs[i])
            continue;
        if (fate == FATE_LATE_TRAP) {
            worker_dies(sim, r, (int32_t)i, TSW_OUTCOME_DEVICE_LOST);
            return false;
        }
        if (fate == FATE_LATE_TIMEOUT) {
            tell(sim, r, FROM_WORKER,
                 (message_t){.say = SAY_STATE, .config = i, .outcome = TSW_OUTCOME_RUN_TIMEOUT});
            rank->worker_hangs = true; /* and waits to be killed */
            return false;
        }
    }
    if (chance(sim, sim->what->blank_deaths)) {
        worker_dies(sim, r, -1, TSW_OUTCOME_DEVICE_LOST);
        return false;
    }
    return true;
}

/* All rounds; what else it is told waits in its queue. */
static void worker_times(sim_t *sim, uint32_t r, message_t message)
{
    rank_t *rank = &sim->ranks[r];
    memcpy(rank->timed_configs, rank->worker_configs, sim->configs_max * sizeof(bool));
    for (uint32_t round = message.round;; round++) {
        if (round > 0 && !worker_survives(sim, r))
            return;
        if (round >= ROUNDS)
            break;
        tell(sim, r, FROM_WORKER, (message_t){.say = SAY_ROUND, .round = round});
    }
    tell(sim, r, FROM_WORKER, (message_t){.say = SAY_TIMED});
}

static void worker_receives(sim_t *sim, uint32_t r, message_t message)
{
    rank_t *rank = &sim->ranks[r];
    if (rank->worker_hangs)
        return;
    if (message.say == SAY_START) {
        if (chance(sim, sim->what->start_failures))
            worker_dies(sim, r, -1, TSW_OUTCOME_DEVICE_LOST);
        else
            tell(sim, r, FROM_WORKER, (message_t){.say = SAY_READY});
        return;
    }
    if (chance(sim, sim->what->blank_deaths)) {
        worker_dies(sim, r, -1, TSW_OUTCOME_DEVICE_LOST);
        return;
    }
    if (message.say == SAY_BEGIN) {
        rank->worker_cell = message.cell;
        memset(rank->worker_configs, 0, sim->configs_max * sizeof(bool));
    } else if (message.cell != rank->worker_cell) {
        complain(sim, "rank %u: the worker has cell %u, not %u", r, rank->worker_cell,
                 message.cell);
    } else if (message.say == SAY_ADD) {
        worker_verifies(sim, r, message);
    } else {
        worker_times(sim, r, message);
    }
}

static tsw_status_t give_round(sim_t *sim, uint32_t r, const message_t *message,
                               tsw_lane_actions_t *actions, tsw_err_t *err)
{
    rank_t *rank = &sim->ranks[r];
    uint32_t *indices = make(sim->configs_max, sizeof(*indices));
    tsw_sample_t *samples = make(sim->configs_max, sizeof(*samples));
    size_t n = 0;
    for (uint32_t i = 0; i < sim->configs_max; i++) {
        if (!rank->timed_configs[i])
            continue;
        indices[n] = i;
        samples[n++] = (tsw_sample_t){
            .interval_ns = 1000, .round = message->round, .launches = 1, .stage = TSW_STAGE_ROUND};
    }
    tsw_round_t round = {.round = message->round, .stage = TSW_STAGE_ROUND};
    tsw_status_t status = tsw_lane_round(rank->lane, &round, indices, samples, n, actions, err);
    tsw_free(indices);
    tsw_free(samples);
    return status;
}

static void lane_receives(sim_t *sim, uint32_t r, message_t message)
{
    rank_t *rank = &sim->ranks[r];
    tsw_gpu_t gpu = {.uuid = "sim:test:0"};
    tsw_lane_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_OK;
    switch (message.say) {
    case SAY_READY:
        rank->lane_may_use_worker = !rank->draining;
        status = tsw_lane_worker_ready(rank->lane, &gpu, &actions, &err);
        break;
    case SAY_STATE:
        status = tsw_lane_config_state(rank->lane, message.config, message.outcome, "of fate", NULL,
                                       &actions, &err);
        break;
    case SAY_ROUND:
        status = give_round(sim, r, &message, &actions, &err);
        break;
    case SAY_TIMED:
        status = tsw_lane_cell_timed(rank->lane,
                                     &(tsw_lane_timed_t){.peak_memory_bytes = 1 << 20,
                                                         .usage = {{[TSW_USE_WAVE] = 1000}},
                                                         .pick = -1},
                                     &actions, &err);
        break;
    default:
        rank->worker_exists = false;
        rank->lane_may_use_worker = false;
        status = tsw_lane_worker_died(rank->lane, message.culprit, message.outcome, "gone",
                                      rank->draining, &actions, &err);
        break;
    }
    check(sim, status, &err);
    carry_out_lane(sim, r, &actions);
    tsw_lane_actions_fini(&actions);
}

/* ---- the coordinator ---- */

static void lease_build(sim_t *sim, const tsw_coord_action_t *action)
{
    if (sim->build_leased[action->build])
        complain(sim, "build %u leased twice", action->build);
    sim->build_leased[action->build] = true;
    tell(sim, action->rank, TO_RANK, (message_t){.say = SAY_BUILD, .build = action->build});
}

static void lease_cell(sim_t *sim, const tsw_coord_action_t *action)
{
    const tsw_cell_t *cell = &sim->plan->cells[action->cell];
    if (!cell->compile_only && sim->what->ranks[action->rank].arch_index != (int)cell->arch_index)
        complain(sim, "cell %u leased to rank %u of another arch", action->cell, action->rank);
    if (cell->skip_reason != NULL || sim->cell_complete[action->cell])
        complain(sim, "cell %u leased though it is done", action->cell);
    tell(sim, action->rank, TO_RANK,
         (message_t){.say = SAY_LEASE, .cell = action->cell, .attempt = action->attempt});
}

static void push_build(sim_t *sim, const tsw_coord_action_t *action)
{
    uint32_t *pushes = &sim->pushes[action->rank * sim->plan->build_count + action->build];
    if (++*pushes > 1 || !sim->build_made[action->build])
        complain(sim, "build %u pushed to rank %u twice or before it was made", action->build,
                 action->rank);
    tell(sim, action->rank, TO_RANK, (message_t){.say = SAY_PUSH, .build = action->build});
}

static void carry_out_coord(sim_t *sim, const tsw_coord_actions_t *actions)
{
    for (size_t i = 0; i < actions->count; i++) {
        const tsw_coord_action_t *action = &actions->items[i];
        if (sim->finished)
            complain(sim, "action after the end");
        switch (action->type) {
        case TSW_COORD_LEASE_CELL:
            lease_cell(sim, action);
            break;
        case TSW_COORD_LEASE_BUILD:
            lease_build(sim, action);
            break;
        case TSW_COORD_PUSH_BUILD:
            push_build(sim, action);
            break;
        case TSW_COORD_STOP:
            sim->stops++;
            break;
        case TSW_COORD_FINISHED:
            sim->finished = true;
            break;
        }
    }
}

static void coord_receives(sim_t *sim, uint32_t r, message_t message)
{
    tsw_coord_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_OK;
    switch (message.say) {
    case SAY_WANT:
        status = tsw_coord_cell_wanted(sim->coord, r, &actions, &err);
        break;
    case SAY_BUILT:
        sim->build_made[message.build] = true;
        sim->report->builds_made++;
        status = tsw_coord_build_done(sim->coord, r, message.build, &actions, &err);
        break;
    case SAY_DONE:
        status = tsw_coord_cell_done(sim->coord, r, message.cell, message.attempt, message.flag,
                                     &actions, &err);
        break;
    case SAY_RETURNED:
        status =
            tsw_coord_cell_returned(sim->coord, r, message.cell, message.attempt, &actions, &err);
        break;
    default:
        status = tsw_coord_rank_retired(sim->coord, r, &actions, &err);
        break;
    }
    check(sim, status, &err);
    carry_out_coord(sim, &actions);
    tsw_coord_actions_fini(&actions);
}

/* ---- the run ---- */

static void drain(sim_t *sim)
{
    tsw_coord_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    check(sim, tsw_coord_drain(sim->coord, &actions, &err), &err);
    carry_out_coord(sim, &actions);
    tsw_coord_actions_fini(&actions);
    for (uint32_t r = 0; r < sim->what->rank_count; r++)
        tell(sim, r, TO_RANK, (message_t){.say = SAY_DRAIN});
}

/* The n-th queue that can move; false: none left. */
static bool move(sim_t *sim)
{
    size_t ways = sim->what->rank_count * (QUEUE_COUNT + 1);
    size_t first = draw(sim, ways);
    for (size_t i = 0; i < ways; i++) {
        uint32_t way = (uint32_t)((first + i) % ways);
        uint32_t r = way / (QUEUE_COUNT + 1);
        uint32_t q = way % (QUEUE_COUNT + 1);
        rank_t *rank = &sim->ranks[r];
        queue_t *queue = q == QUEUE_COUNT ? &rank->builds : &rank->queues[q];
        if (is_empty(queue))
            continue;
        message_t message = receive(queue);
        if (q == QUEUE_COUNT)
            tell(sim, r, TO_COORD, (message_t){.say = SAY_BUILT, .build = message.build});
        else if (q == TO_COORD)
            coord_receives(sim, r, message);
        else if (q == TO_RANK)
            rank_receives(sim, r, message);
        else if (q == TO_WORKER)
            worker_receives(sim, r, message);
        else
            lane_receives(sim, r, message);
        return true;
    }
    return false;
}

static void check_end(sim_t *sim)
{
    size_t live = 0;
    for (uint32_t i = 0; i < sim->plan->cell_count; i++)
        live += sim->plan->cells[i].skip_reason == NULL &&
                (sim->what->done == NULL || !sim->what->done[i]);
    size_t over = sim->report->cells_complete + tsw_coord_unreachable(sim->coord);
    sim->report->cells_unreachable = tsw_coord_unreachable(sim->coord);
    if (!sim->finished || sim->stops != sim->what->rank_count)
        complain(sim, "nothing moves, but the run has not finished (%zu of %zu cells)", over, live);
    if (sim->what->drain_at_step == 0 && over != live)
        complain(sim, "%zu cells of %zu are over", over, live);
}

static void start(sim_t *sim)
{
    const sched_sim_t *what = sim->what;
    tsw_err_t err = TSW_ERR_INIT;
    check(sim,
          tsw_coord_new(what->plan, what->done, what->ranks, what->rank_count, &sim->coord, &err),
          &err);
    for (uint32_t r = 0; r < what->rank_count; r++) {
        rank_t *rank = &sim->ranks[r];
        rank->worker_configs = make(sim->configs_max, sizeof(bool));
        rank->timed_configs = make(sim->configs_max, sizeof(bool));
        rank->has_build = make(what->plan->build_count, sizeof(bool));
        rank->leased_cells = make(what->plan->cell_count, sizeof(bool));
        tsw_lane_actions_t actions = {0};
        check(sim, tsw_lane_new(what->plan, (int32_t)r, "node", &rank->lane, &err), &err);
        check(sim,
              what->ranks[r].arch_index >= 0
                  ? tsw_lane_start(rank->lane, &actions, &err)
                  : tsw_lane_start_without_device(rank->lane, &actions, &err),
              &err);
        carry_out_lane(sim, r, &actions);
        tsw_lane_actions_fini(&actions);
    }
    tsw_coord_actions_t actions = {0};
    check(sim, tsw_coord_start(sim->coord, &actions, &err), &err);
    carry_out_coord(sim, &actions);
    tsw_coord_actions_fini(&actions);
}

static void clean_up(sim_t *sim)
{
    for (size_t r = 0; r < sim->what->rank_count; r++) {
        rank_t *rank = &sim->ranks[r];
        tsw_lane_free(rank->lane);
        for (size_t q = 0; q < QUEUE_COUNT; q++)
            tsw_free(rank->queues[q].items);
        tsw_free(rank->builds.items);
        tsw_free(rank->worker_configs);
        tsw_free(rank->timed_configs);
        tsw_free(rank->has_build);
        tsw_free(rank->leased_cells);
    }
    tsw_coord_free(sim->coord);
    tsw_free(sim->ranks);
    tsw_free(sim->build_made);
    tsw_free(sim->build_leased);
    tsw_free(sim->cell_complete);
    tsw_free(sim->pushes);
}

void sched_sim_run(const sched_sim_t *what, sched_sim_report_t *report)
{
    const tsw_plan_t *plan = what->plan;
    *report = (sched_sim_report_t){0};
    sim_t sim = {.what = what, .plan = plan, .report = report};
    sim.ranks = make(what->rank_count, sizeof(*sim.ranks));
    sim.build_made = make(plan->build_count, sizeof(bool));
    sim.build_leased = make(plan->build_count, sizeof(bool));
    sim.cell_complete = make(plan->cell_count, sizeof(bool));
    sim.pushes = make(what->rank_count * plan->build_count, sizeof(uint32_t));
    for (size_t i = 0; i < plan->cell_count; i++)
        if (plan->cells[i].config_count > sim.configs_max)
            sim.configs_max = plan->cells[i].config_count;
    size_t limit = 2000 + 200 * plan->cell_count * sim.configs_max * what->rank_count;
    start(&sim);
    while (report->problem[0] == '\0' && move(&sim)) {
        report->steps++;
        if (report->steps == what->drain_at_step)
            drain(&sim);
        if (report->steps > limit)
            complain(&sim, "no end after %zu steps", report->steps);
    }
    if (report->problem[0] == '\0')
        check_end(&sim);
    clean_up(&sim);
}
