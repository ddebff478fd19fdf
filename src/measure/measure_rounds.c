/* Waves of all configs, as the policy wants them. */
#include "base/mem.h"
#include "measure/measure_cell.h"
#include "measure/policy.h"
#include "record/roofline.h"

#include <math.h>

/* That run to bring the clock up. */
static const size_t few_configs = 8;

/* A graph holds many launches; none of them takes long. */
static const double graph_slack_s = 0.1;

/* Rounds of a cell that are run again since the clock was off, or others were on the GPU. */
static const uint32_t most_redos = 3;

/* Made once, before the first round. */
typedef struct {
    tsw_policy_state_t *policy;
    uint64_t start_ns, duration_ns; /* of the last wave */
    tsw_health_t health;            /* since the last round that was reported */
    uint32_t next_round;            /* behind the last one that was reported */
    bool is_warm;
    tsw_shot_t lead;
    tsw_shot_t *shots;
    uint64_t *interval_ns;
    uint32_t *launch_counts; /* in each interval */
    tsw_sample_t *samples;
    uint32_t *live; /* also: the wave's configs */
    size_t live_count;
    uint64_t *first_ns; /* of each */
} rounds_t;

static void rounds_fini(rounds_t *rounds)
{
    tsw_policy_free(rounds->policy);
    tsw_free(rounds->shots);
    tsw_free(rounds->interval_ns);
    tsw_free(rounds->launch_counts);
    tsw_free(rounds->samples);
    tsw_free(rounds->live);
    tsw_free(rounds->first_ns);
}

static tsw_status_t rounds_init(tsw_measure_t *measure, uint32_t first_round, rounds_t *rounds,
                                tsw_err_t *err)
{
    rounds->live = tsw_calloc(measure->entry_count, sizeof(*rounds->live));
    rounds->first_ns = tsw_calloc(measure->entry_count, sizeof(*rounds->first_ns));
    if (rounds->live == NULL || rounds->first_ns == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < measure->entry_count; i++)
        if (measure->entries[i].is_ok) {
            rounds->first_ns[rounds->live_count] = measure->entries[i].first_ns;
            rounds->live[rounds->live_count++] = measure->entries[i].index;
        }
    tsw_policy_setup_t setup = {
        .policy = &measure->cell.policy,
        .cell = measure->cell.cell_key,
        .live = rounds->live,
        .first_ns = rounds->first_ns,
        .count = rounds->live_count,
        .first_round = first_round,
        .floor_ns = tsw_roofline_floor_ns(
            measure->dev->ops->gpu(measure->dev), tsw_dtype_name(measure->cell.variant->dtype),
            measure->cell.policy.cache == TSW_CACHE_COLD, measure->cell.flops, measure->cell.bytes),
    };
    tsw_status_t status = tsw_policy_new(&setup, &rounds->policy, err);
    if (status != TSW_OK)
        return status;
    size_t most = tsw_policy_wave_max(rounds->policy);
    rounds->shots = tsw_calloc(most, sizeof(*rounds->shots));
    rounds->interval_ns = tsw_calloc(most, sizeof(*rounds->interval_ns));
    rounds->launch_counts = tsw_calloc(most, sizeof(*rounds->launch_counts));
    rounds->samples = tsw_calloc(most, sizeof(*rounds->samples));
    if (rounds->shots == NULL || rounds->interval_ns == NULL || rounds->launch_counts == NULL ||
        rounds->samples == NULL)
        return tsw_err_nomem(err);
    return TSW_OK;
}

static tsw_measure_entry_t *entry_of(tsw_measure_t *measure, uint32_t index)
{
    for (size_t i = 0; i < measure->entry_count; i++)
        if (measure->entries[i].index == index)
            return &measure->entries[i];
    return NULL;
}

/* Round number `at` of a wave, which took its share of the wave's time. The first takes what was
 * noted of the GPU's health since the wave before. */
static void report_round(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                         uint32_t at, const tsw_telemetry_t *telemetry, bool is_unstable)
{
    const size_t count = wave->count / wave->rounds, first = at * count;
    const uint64_t share_ns = rounds->duration_ns / wave->rounds;
    tsw_round_t round = tsw_measure_round(telemetry, &rounds->health);
    round.round = wave->round + at;
    round.stage = (uint16_t)wave->stage;
    round.is_unstable = is_unstable;
    round.cache_state = (uint8_t)tsw_measure_cache_state(measure, wave->kind);
    round.start_ns = rounds->start_ns - measure->start_ns + at * share_ns;
    round.duration_ns = share_ns;
    for (size_t i = 0; i < count; i++) {
        bool is_control = wave->is_control != NULL && wave->is_control[first + i];
        rounds->samples[i] = (tsw_sample_t){
            .interval_ns = rounds->interval_ns[first + i],
            .round = round.round,
            .launches = rounds->launch_counts[first + i],
            .stage = (uint16_t)(is_control ? TSW_STAGE_CONTROL : wave->stage),
            .slot = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX),
        };
    }
    measure->sink.round(measure->sink.user, &round, wave->configs + first, rounds->samples, count);
    rounds->health = (tsw_health_t){.foreign_processes = rounds->health.foreign_processes};
    if (!tsw_stage_is_first(wave->stage))
        rounds->next_round = round.round + 1;
}

static void report_rounds(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                          const tsw_telemetry_t *telemetry, bool is_unstable)
{
    for (uint32_t at = 0; at < wave->rounds; at++)
        report_round(measure, rounds, wave, at, telemetry, is_unstable);
}

/* The race may drop configs by the launches that were verified, so these are kept. */
static void report_first(tsw_measure_t *measure, rounds_t *rounds, uint32_t number)
{
    tsw_round_t round = {
        .round = number, .stage = TSW_STAGE_VERIFY, .cache_state = (uint8_t)measure->ring.state};
    size_t count = 0;
    for (size_t i = 0; i < rounds->live_count; i++) {
        if (rounds->first_ns[i] == 0)
            continue;
        round.duration_ns += rounds->first_ns[i];
        rounds->live[count] = rounds->live[i];
        rounds->samples[count++] =
            (tsw_sample_t){.interval_ns = rounds->first_ns[i],
                           .round = number,
                           .launches = 1,
                           .stage = TSW_STAGE_VERIFY,
                           .slot = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX)};
    }
    if (count > 0)
        measure->sink.round(measure->sink.user, &round, rounds->live, rounds->samples, count);
}

/* The fastest launch of the wave's configs; 0: not all have one. */
static uint64_t best_single(tsw_measure_t *measure, const tsw_wave_t *wave)
{
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < wave->count; i++) {
        uint64_t ns = entry_of(measure, wave->configs[i])->single_ns;
        best = ns < best ? ns : best;
    }
    return best;
}

/* By what is known of its launches; the first one, of cold code and data, took longer than others.
 */
static uint64_t expect_ns(const tsw_measure_entry_t *entry, uint32_t launches)
{
    const double usual = 0.75, late_ns = 10000.0;
    double first_ns = (double)entry->first_ns;
    double each_ns = entry->least_ns > 0 ? usual * entry->least_ns
                                         : fmax(0.5 * first_ns, usual * first_ns - late_ns);
    return (uint64_t)(each_ns * launches);
}

/* One shot per config of the wave, behind a launch of the first that is not timed. *culprit_p, 0
 * before: whose shot failed. */
static tsw_status_t aim(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                        size_t *culprit_p, tsw_err_t *err)
{
    tsw_measure_ring_t *ring = &measure->ring;
    tsw_measure_rotation_t rotation = {ring->sets, ring->state};
    uint64_t best = best_single(measure, wave);
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_GRAPH);
    tsw_status_t status = tsw_measure_shot(measure, entry_of(measure, wave->configs[0]), wave->kind,
                                           (tsw_measure_interval_t){1, false}, &rounds->lead, err);
    for (size_t i = 0; i < wave->count && status == TSW_OK; i++) {
        tsw_measure_entry_t *entry = entry_of(measure, wave->configs[i]);
        tsw_measure_interval_t interval =
            tsw_measure_interval(&rotation, wave, entry->single_ns, best);
        *culprit_p = i;
        status = tsw_measure_shot(measure, entry, wave->kind, interval, &rounds->shots[i], err);
        rounds->shots[i].expected_ns = expect_ns(entry, interval.launches);
        rounds->launch_counts[i] = interval.launches;
        entry->interval = interval;
    }
    tsw_measure_turn(measure, use);
    return status;
}

/* Shortest launches of their own: what the number of launches of an interval follows. */
static void note_least(tsw_measure_t *measure, const rounds_t *rounds, const tsw_wave_t *wave)
{
    for (size_t i = 0; i < wave->count; i++) {
        tsw_measure_entry_t *entry = entry_of(measure, wave->configs[i]);
        uint64_t ns = rounds->interval_ns[i];
        if (rounds->launch_counts[i] == 1 && (entry->single_ns == 0 || ns < entry->single_ns))
            entry->single_ns = ns;
        double each_ns = (double)ns / rounds->launch_counts[i];
        if (entry->least_ns == 0.0 || each_ns < entry->least_ns)
            entry->least_ns = each_ns;
    }
}

/* Runs the wave. A config that fails is told and dropped: *done_p is false then. */
static tsw_status_t fire(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                         bool *done_p, tsw_err_t *err)
{
    /* Other tuners launch what they time, and nothing else: their protocols cost just that. */
    bool is_led = wave->kind == TSW_WAVE_KIND_CELL && !tsw_measure_is_fixed(measure);
    bool is_counted_on = wave->stage != TSW_STAGE_WARMUP && wave->stage != TSW_STAGE_FIXED;
    tsw_wave_plan_t plan = {
        .lead = is_led ? &rounds->lead : NULL,
        .timeout_s = measure->cell.policy.launch_timeout_s + graph_slack_s,
        .idle = tsw_measure_is_fixed(measure) ? NULL : measure->sink.idle,
        .user = measure->sink.user,
        .round = wave->round + (is_counted_on ? measure->cell.policy.warmup_rounds : 0),
        .per_round = (uint32_t)(wave->count / wave->rounds),
    };
    size_t culprit = 0;
    rounds->start_ns = tsw_measure_now_ns(measure);
    tsw_status_t status = aim(measure, rounds, wave, &culprit, err); /* graphs cost time, too */
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_WAVE);
    if (status == TSW_OK)
        status = measure->dev->ops->wave(measure->dev, rounds->shots, wave->count, &plan,
                                         rounds->interval_ns, &culprit, err);
    rounds->duration_ns = tsw_measure_now_ns(measure) - rounds->start_ns;
    tsw_measure_turn(measure, use);
    *done_p = status == TSW_OK;
    if (status == TSW_OK) {
        note_least(measure, rounds, wave);
        return TSW_OK;
    }
    uint32_t index = wave->configs[culprit < wave->count ? culprit : wave->count - 1];
    tsw_policy_drop(rounds->policy, index);
    return tsw_measure_blame(measure, entry_of(measure, index), status, TSW_OUTCOME_LAUNCH_FAILED,
                             err);
}

/* Before some were launched alone an interval is a single launch: once, outside all rounds. */
static tsw_status_t try_singles(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                                bool *done_p, tsw_err_t *err)
{
    *done_p = true;
    if (wave->launches != 0 || best_single(measure, wave) > 0)
        return TSW_OK;
    return fire(measure, rounds, wave, done_p, err);
}

/* While modules were loaded the GPU may have idled, and its clock fallen: candidates run, and are
 * not kept, until it is up again, for 2 % of the cell's time or 200 ms. */
static tsw_status_t warm_up(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                            bool *done_p, tsw_err_t *err)
{
    const uint64_t long_idle_ns = 500000000, most_ns = 200000000;
    tsw_wave_t few = *wave;
    uint64_t start_ns = tsw_measure_now_ns(measure), spent_ns = 0, limit_ns = most_ns;
    tsw_status_t status = TSW_OK;
    *done_p = true;
    if (rounds->is_warm || tsw_measure_is_fixed(measure))
        return TSW_OK;
    rounds->is_warm = true;
    if (start_ns - measure->start_ns - tsw_measure_busy_ns(measure) < long_idle_ns)
        return TSW_OK;
    few.count = wave->count < few_configs ? wave->count : few_configs;
    few.launches = few.rounds = 1;
    while (status == TSW_OK && *done_p && spent_ns < limit_ns) {
        status = fire(measure, rounds, &few, done_p, err);
        spent_ns = tsw_measure_now_ns(measure) - start_ns;
        uint64_t rounds_ns = rounds->duration_ns * wave->count / few.count *
                             (measure->cell.policy.warmup_rounds + measure->cell.policy.rounds);
        limit_ns = rounds_ns / 50 < most_ns ? rounds_ns / 50 : most_ns;
    }
    return status;
}

/* The clock of the wave just run, against that of the others. What was read before the wave began
 * says nothing about it. */
static bool is_off(tsw_measure_t *measure, const rounds_t *rounds, const tsw_telemetry_t *telemetry)
{
    if (tsw_measure_is_fixed(measure) || telemetry->read_ns < rounds->start_ns)
        return false;
    bool off = tsw_measure_clock_is_off(&measure->clock, telemetry);
    tsw_measure_clock_note(&measure->clock, telemetry);
    return off;
}

static bool is_shared(const tsw_measure_t *measure, const rounds_t *rounds)
{
    return !tsw_measure_is_fixed(measure) && rounds->health.foreign_processes > 0;
}

static tsw_status_t run_wave(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                             tsw_err_t *err)
{
    bool done = false;
    tsw_status_t status = warm_up(measure, rounds, wave, &done, err);
    if (status == TSW_OK && done)
        status = try_singles(measure, rounds, wave, &done, err);
    if (status == TSW_OK && done)
        status = fire(measure, rounds, wave, &done, err);
    if (status != TSW_OK || !done)
        return status;
    tsw_telemetry_t telemetry;
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_CLOCK);
    measure->dev->ops->telemetry(measure->dev, rounds->start_ns,
                                 rounds->start_ns + rounds->duration_ns, &telemetry);
    tsw_measure_turn(measure, use);
    status = tsw_measure_look(measure, &rounds->health, err);
    if (status != TSW_OK) { /* the round tells why, and is the last one */
        report_rounds(measure, rounds, wave, &telemetry, true);
        return status;
    }
    bool unstable = is_off(measure, rounds, &telemetry) || is_shared(measure, rounds);
    if (unstable && measure->clock.redos < most_redos) {
        measure->clock.redos++; /* a wave that is not reported comes again */
        return TSW_OK;
    }
    report_rounds(measure, rounds, wave, &telemetry, unstable);
    tsw_policy_report(rounds->policy, rounds->interval_ns, rounds->launch_counts,
                      rounds->duration_ns);
    return TSW_OK;
}

static tsw_status_t run_rounds(tsw_measure_t *measure, rounds_t *rounds, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    if (tsw_measure_is_fixed(measure))
        status = measure->dev->ops->profiler(measure->dev, true, err);
    while (status == TSW_OK) {
        tsw_wave_t wave;
        tsw_policy_next(rounds->policy, &wave);
        if (wave.count == 0)
            break;
        status = run_wave(measure, rounds, &wave, err);
    }
    if (tsw_measure_is_fixed(measure) && status == TSW_OK)
        status = measure->dev->ops->profiler(measure->dev, false, err);
    return status;
}

static void keep_verdict(tsw_measure_t *measure, const rounds_t *rounds)
{
    measure->pick = tsw_policy_pick(rounds->policy);
    for (size_t i = 0; i < measure->entry_count; i++)
        measure->entries[i].fate = tsw_policy_fate(rounds->policy, measure->entries[i].index);
}

tsw_status_t tsw_measure_time(tsw_measure_t *measure, uint32_t first_round, tsw_err_t *err)
{
    tsw_err_t local = TSW_ERR_INIT;
    rounds_t rounds = {.policy = NULL, .next_round = first_round};
    tsw_status_t status = rounds_init(measure, first_round, &rounds, &local);
    if (status == TSW_OK && measure->cell.policy.protocol == TSW_PROTOCOL_RACE)
        report_first(measure, &rounds, first_round);
    if (status == TSW_OK)
        status = run_rounds(measure, &rounds, &local);
    if (status == TSW_OK)
        keep_verdict(measure, &rounds);
    if (status == TSW_OK && measure->cell.policy.objective == TSW_OBJECTIVE_ENERGY &&
        !tsw_measure_is_fixed(measure))
        status = tsw_measure_energy(measure, rounds.next_round, &local);
    if (status == TSW_OK && !tsw_measure_is_fixed(measure))
        status = tsw_measure_verify_again(measure, &local);
    if (status == TSW_OK)
        status = tsw_measure_look(measure, &rounds.health, &local);
    rounds_fini(&rounds);
    if (status != TSW_OK && err != NULL)
        *err = local;
    return status;
}
