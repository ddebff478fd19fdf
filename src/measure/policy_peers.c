/* The protocols of other tuners, as their public sources have them, on our kernels and device: only
 * the protocol differs. They take one config after the other:
 *
 * cutile    cuda.tile.tune 1.7: 3 warm-up launches and 5 samples each, L2 flushed, a sync per
 *           launch; then batches of 5 for the lowest mean until five configs have converged (95 %
 *           margin of 1 % or 0.5 us, 1,000 samples or 5 s); then for those that may still beat the
 *           slowest of the five. The lowest mean wins.
 * kt7       Kernel Tuner: 1 + 7 launches, hot, a sync each; lowest mean.
 * do_bench  Triton: 5 launches for an estimate, 25 ms of warm-up, 100 ms of samples, L2 flushed
 *           before each; lowest median.
 * fi10      FlashInfer, TensorRT-LLM: 2 + 10 launches, hot, one interval about the 10.
 * tunable   PyTorch TunableOp: 2 + 3 launches, out beyond 1.5x the best; 2 + 10, out beyond 1.15x;
 *           then 100; hot, one interval about each group. */
#include "base/mem.h"
#include "measure/policy_state.h"
#include "stats/stats.h"

#include <math.h>

enum {
    WAVE_MAX = 100,    /* launches of one config behind one sync */
    BATCH = 5,         /* cutile */
    CONVERGED_SET = 5, /* cutile */
    REPEATS_MAX = 20000,
};

/* A group of waves of one config. */
typedef struct {
    tsw_stage_t stage;
    tsw_wave_kind_t kind;
    uint32_t launches;  /* per interval */
    uint32_t repeats;   /* intervals; 0: by the estimate that the first step gave */
    double share_ns;    /* repeats == 0: time to fill */
    bool in_one_wave;   /* all intervals behind one sync */
    double drop_beyond; /* 0: no; else leave the config when its mean is so many times the best */
} step_t;

typedef struct {
    const step_t *steps;
    size_t step_count;
    bool by_median;
    bool refines; /* cutile's second part */
} protocol_t;

#define STEPS(_steps) .steps = (_steps), .step_count = sizeof(_steps) / sizeof((_steps)[0])

static const step_t cutile_steps[] = {
    {.stage = TSW_STAGE_WARMUP, .kind = TSW_WAVE_KIND_FLUSH, .launches = 1, .repeats = 3},
    {.stage = TSW_STAGE_ROUND, .kind = TSW_WAVE_KIND_FLUSH, .launches = 1, .repeats = BATCH},
};
static const step_t kt7_steps[] = {
    {.stage = TSW_STAGE_WARMUP, .kind = TSW_WAVE_KIND_HOT, .launches = 1, .repeats = 1},
    {.stage = TSW_STAGE_ROUND, .kind = TSW_WAVE_KIND_HOT, .launches = 1, .repeats = 7},
};
static const step_t do_bench_steps[] = {
    {.stage = TSW_STAGE_WARMUP,
     .kind = TSW_WAVE_KIND_FLUSH,
     .launches = 1,
     .repeats = 5,
     .in_one_wave = true},
    {.stage = TSW_STAGE_WARMUP,
     .kind = TSW_WAVE_KIND_FLUSH,
     .launches = 1,
     .share_ns = 25e6,
     .in_one_wave = true},
    {.stage = TSW_STAGE_ROUND,
     .kind = TSW_WAVE_KIND_FLUSH,
     .launches = 1,
     .share_ns = 100e6,
     .in_one_wave = true},
};
static const step_t fi10_steps[] = {
    {.stage = TSW_STAGE_WARMUP, .kind = TSW_WAVE_KIND_HOT, .launches = 1, .repeats = 2},
    {.stage = TSW_STAGE_ROUND, .kind = TSW_WAVE_KIND_QUEUE, .launches = 10, .repeats = 1},
};
static const step_t tunable_steps[] = {
    {.stage = TSW_STAGE_WARMUP, .kind = TSW_WAVE_KIND_QUEUE, .launches = 2, .repeats = 1},
    {.stage = TSW_STAGE_EARLY,
     .kind = TSW_WAVE_KIND_QUEUE,
     .launches = 3,
     .repeats = 1,
     .drop_beyond = 1.5},
    {.stage = TSW_STAGE_WARMUP, .kind = TSW_WAVE_KIND_QUEUE, .launches = 2, .repeats = 1},
    {.stage = TSW_STAGE_EARLY,
     .kind = TSW_WAVE_KIND_QUEUE,
     .launches = 10,
     .repeats = 1,
     .drop_beyond = 1.15},
    {.stage = TSW_STAGE_ROUND, .kind = TSW_WAVE_KIND_QUEUE, .launches = 100, .repeats = 1},
};

static const protocol_t protocols[] = {
    [TSW_PROTOCOL_CUTILE] = {STEPS(cutile_steps), .refines = true},
    [TSW_PROTOCOL_KT7] = {STEPS(kt7_steps)},
    [TSW_PROTOCOL_DO_BENCH] = {STEPS(do_bench_steps), .by_median = true},
    [TSW_PROTOCOL_FI10] = {STEPS(fi10_steps)},
    [TSW_PROTOCOL_TUNABLE] = {STEPS(tunable_steps)},
};

/* One config; mean and squares as Welford runs them. */
typedef struct {
    uint32_t config;
    bool is_out; /* failed, or dropped by the protocol */
    tsw_fate_t fate;
    double *time_ns; /* samples of the last step */
    size_t count, capacity;
    double mean, squares;
    bool is_converged;
} peer_t;

typedef struct {
    tsw_policy_state_t base;
    const protocol_t *protocol;
    peer_t *peers;
    size_t count;
    size_t at;       /* the config in hand; count: none */
    size_t step;     /* its step */
    uint32_t done;   /* intervals of the step */
    uint32_t wanted; /* intervals of the step; 0: not known yet */
    double step_sum_ns;
    double estimate_ns; /* do_bench */
    uint32_t round;     /* waves so far, the warm-up aside */
    uint32_t warmups;
    bool is_refining;
    bool is_over;
    uint32_t wave[WAVE_MAX];
    size_t wave_count;
    double *scratch; /* a figure per config */
    bool failed;     /* memory ran out: as a budget would end it */
} peers_t;

/* ---- estimators ---- */

static void take(peers_t *state, peer_t *peer, double time_ns)
{
    if (!TSW_GROW(peer->time_ns, peer->capacity, peer->count)) {
        state->failed = true;
        return;
    }
    peer->time_ns[peer->count++] = time_ns;
    double delta = time_ns - peer->mean;
    peer->mean += delta / (double)peer->count;
    peer->squares += delta * (time_ns - peer->mean);
}

/* Half of the 95 % interval of the mean, for a normal law. */
static double margin_ns(const peer_t *peer)
{
    if (peer->count < 2)
        return INFINITY;
    double n = (double)peer->count;
    return 1.96 * sqrt(peer->squares / (n - 1.0) / n);
}

static bool has_converged(const peer_t *peer)
{
    double margin = margin_ns(peer);
    return peer->count >= BATCH && (margin <= 0.01 * peer->mean || margin <= 500.0 ||
                                    peer->count >= 1000 || peer->mean * (double)peer->count > 5e9);
}

/* What the protocol ranks by; sorts the samples where it is the median. */
static double figure_ns(const peers_t *state, peer_t *peer)
{
    size_t n = peer->count;
    if (!state->protocol->by_median || n == 0)
        return peer->mean;
    return tsw_stats_median(peer->time_ns, n);
}

static bool is_measured(const peer_t *peer)
{
    return !peer->is_out && peer->fate != TSW_FATE_NONE && peer->count > 0;
}

/* The measured config of the least figure; NULL: none. */
static peer_t *find_best(const peers_t *state)
{
    peer_t *best = NULL;
    for (size_t i = 0; i < state->count; i++) {
        peer_t *peer = &state->peers[i];
        if (is_measured(peer) && (best == NULL || figure_ns(state, peer) < figure_ns(state, best)))
            best = peer;
    }
    return best;
}

/* ---- which config is next ---- */

static void finish(peers_t *state)
{
    state->is_over = true;
    peer_t *best = find_best(state);
    if (best != NULL)
        best->fate = TSW_FATE_WINNER;
}

/* cutile: the largest mean among the five best of the configs that have converged; infinite while
 * there are fewer than five. */
static double cutoff_ns(const peers_t *state)
{
    size_t converged = 0;
    for (size_t i = 0; i < state->count; i++)
        if (is_measured(&state->peers[i]) && state->peers[i].is_converged)
            state->scratch[converged++] = state->peers[i].mean;
    if (converged < CONVERGED_SET)
        return INFINITY;
    tsw_stats_sort(state->scratch, converged);
    return state->scratch[CONVERGED_SET - 1];
}

/* cutile: the most promising config that is worth another batch; NULL: all is said. */
static peer_t *find_unsettled(const peers_t *state)
{
    peer_t *found = NULL;
    double cutoff = cutoff_ns(state);
    for (size_t i = 0; i < state->count; i++) {
        peer_t *peer = &state->peers[i];
        bool open = is_measured(peer) && !peer->is_converged &&
                    (isinf(cutoff) || peer->mean - margin_ns(peer) < cutoff);
        if (open && (found == NULL || peer->mean < found->mean))
            found = peer;
    }
    return found;
}

static uint32_t repeats_of(const peers_t *state, const step_t *step)
{
    if (step->repeats > 0)
        return step->repeats;
    double repeats = state->estimate_ns > 0.0 ? step->share_ns / state->estimate_ns : 1.0;
    return repeats < 1.0 ? 1 : repeats > REPEATS_MAX ? REPEATS_MAX : (uint32_t)repeats;
}

static const step_t *step_in_hand(const peers_t *state)
{
    return &state->protocol->steps[state->step];
}

static void begin_step(peers_t *state, size_t step)
{
    state->step = step;
    state->done = 0;
    state->step_sum_ns = 0.0;
    state->wanted = repeats_of(state, step_in_hand(state));
}

/* The next config that is still in, from index on; after the last one what the protocol does then.
 */
static void begin_config(peers_t *state, size_t index)
{
    while (index < state->count && state->peers[index].is_out)
        index++;
    state->at = index;
    if (index < state->count) {
        begin_step(state, 0);
        return;
    }
    peer_t *open = state->protocol->refines ? find_unsettled(state) : NULL;
    if (open == NULL) {
        finish(state);
        return;
    }
    state->is_refining = true;
    state->at = (size_t)(open - state->peers);
    begin_step(state, state->protocol->step_count - 1);
}

static void end_config(peers_t *state, tsw_fate_t fate)
{
    state->peers[state->at].fate = fate;
    begin_config(state, state->is_refining ? state->count : state->at + 1);
}

static void end_step(peers_t *state)
{
    const step_t *step = step_in_hand(state);
    peer_t *peer = &state->peers[state->at];
    double mean = state->step_sum_ns / state->done;
    if (state->step == 0)
        state->estimate_ns = mean;
    const peer_t *best = step->drop_beyond > 0.0 ? find_best(state) : NULL;
    if (best != NULL && mean > step->drop_beyond * best->mean) {
        peer->is_out = true;
        end_config(state, TSW_FATE_HOPELESS);
    } else if (state->step + 1 < state->protocol->step_count) {
        begin_step(state, state->step + 1);
    } else {
        peer->is_converged = has_converged(peer);
        end_config(state, TSW_FATE_MEASURED);
    }
}

/* ---- the interface ---- */

static void peers_free(tsw_policy_state_t *base)
{
    peers_t *state = (peers_t *)base;
    for (size_t i = 0; state->peers != NULL && i < state->count; i++)
        tsw_free(state->peers[i].time_ns);
    tsw_free(state->peers);
    tsw_free(state->scratch);
    tsw_free(state);
}

static size_t peers_wave_max(const tsw_policy_state_t *base)
{
    (void)base;
    return WAVE_MAX;
}

static void peers_next(tsw_policy_state_t *base, tsw_wave_t *wave_p)
{
    peers_t *state = (peers_t *)base;
    *wave_p = (tsw_wave_t){.configs = state->wave};
    if (state->is_over)
        return;
    const step_t *step = step_in_hand(state);
    uint32_t left = state->wanted - state->done;
    size_t count = !step->in_one_wave ? 1 : left < WAVE_MAX ? left : WAVE_MAX;
    for (size_t i = 0; i < count; i++)
        state->wave[i] = state->peers[state->at].config;
    bool warmup = step->stage == TSW_STAGE_WARMUP;
    *wave_p = (tsw_wave_t){
        .stage = step->stage,
        .kind = step->kind,
        .round = base->first_round + (warmup ? state->warmups : state->round),
        .rounds = 1,
        .launches = step->launches,
        .configs = state->wave,
        .count = count,
    };
    state->wave_count = count;
}

/* The time is up: what has not been measured whole is left. */
static void stop(peers_t *state)
{
    for (size_t i = 0; i < state->count; i++)
        if (!state->peers[i].is_out && state->peers[i].fate == TSW_FATE_NONE)
            state->peers[i].fate = TSW_FATE_BUDGET;
    finish(state);
}

static void peers_report(tsw_policy_state_t *base, const uint64_t *interval_ns,
                         const uint32_t *launches)
{
    peers_t *state = (peers_t *)base;
    const step_t *step = step_in_hand(state);
    bool counts = state->step + 1 == state->protocol->step_count;
    for (size_t i = 0; i < state->wave_count; i++) {
        double time_ns = (double)interval_ns[i] / (launches[i] > 0 ? launches[i] : 1);
        state->step_sum_ns += time_ns;
        if (counts)
            take(state, &state->peers[state->at], time_ns);
    }
    state->done += (uint32_t)state->wave_count;
    if (step->stage == TSW_STAGE_WARMUP)
        state->warmups++;
    else
        state->round++;
    if (state->done >= state->wanted)
        end_step(state);
    if (!state->is_over && (state->failed || (!base->in_warmup && tsw_policy_is_spent(base))))
        stop(state);
}

static void peers_drop(tsw_policy_state_t *base, uint32_t config)
{
    peers_t *state = (peers_t *)base;
    for (size_t i = 0; i < state->count; i++) {
        if (state->peers[i].config != config)
            continue;
        state->peers[i].is_out = true;
        state->peers[i].fate = TSW_FATE_NONE;
        if (i == state->at && !state->is_over)
            begin_config(state, state->is_refining ? state->count : i + 1);
    }
}

static tsw_fate_t peers_fate(const tsw_policy_state_t *base, uint32_t config)
{
    const peers_t *state = (const peers_t *)base;
    for (size_t i = 0; i < state->count; i++)
        if (state->peers[i].config == config)
            return state->peers[i].fate;
    return TSW_FATE_NONE;
}

static int32_t peers_pick(const tsw_policy_state_t *base)
{
    const peers_t *state = (const peers_t *)base;
    for (size_t i = 0; i < state->count; i++)
        if (state->peers[i].fate == TSW_FATE_WINNER)
            return (int32_t)state->peers[i].config;
    return -1;
}

static const tsw_policy_ops_t peers_ops = {
    .free = peers_free,
    .wave_max = peers_wave_max,
    .next = peers_next,
    .report = peers_report,
    .drop = peers_drop,
    .fate = peers_fate,
    .pick = peers_pick,
};

tsw_status_t tsw_policy_peers_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                                  tsw_err_t *err)
{
    peers_t *state = tsw_calloc(1, sizeof(*state));
    if (state == NULL)
        return tsw_err_nomem(err);
    state->base.ops = &peers_ops;
    state->protocol = &protocols[setup->policy->protocol];
    state->count = setup->count;
    state->peers = tsw_calloc(setup->count, sizeof(*state->peers));
    state->scratch = tsw_calloc(setup->count, sizeof(*state->scratch));
    if (state->peers == NULL || state->scratch == NULL) {
        peers_free(&state->base);
        return tsw_err_nomem(err);
    }
    for (size_t i = 0; i < setup->count; i++)
        state->peers[i].config = setup->live[i];
    begin_config(state, 0);
    *state_p = &state->base;
    return TSW_OK;
}
