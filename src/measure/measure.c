#include "measure/measure.h"

#include "base/mem.h"
#include "measure/measure_cell.h"
#include "measure/policy.h"

#include <stdio.h>
#include <string.h>

/* The reference is plain and slow on purpose. */
static const double least_reference_timeout_s = 60.0;

static bool is_fixed(const tsw_measure_t *measure)
{
    return measure->cell.policy.protocol == TSW_PROTOCOL_FIXED;
}

static uint64_t now_ns(const tsw_measure_t *measure)
{
    return measure->dev->ops->now_ns(measure->dev);
}

/* ---- launches ---- */

tsw_status_t tsw_measure_run(tsw_measure_t *measure, const tsw_launch_t *launch, double timeout_s,
                             tsw_err_t *err)
{
    uint64_t start_ns = now_ns(measure);
    tsw_status_t status = measure->dev->ops->run(measure->dev, launch, timeout_s, err);
    measure->busy_ns += now_ns(measure) - start_ns;
    return status;
}

static tsw_kernel_model_t model_of(const tsw_measure_t *measure)
{
    return (tsw_kernel_model_t){
        .flops = measure->cell.flops,
        .bytes = measure->cell.bytes,
        .dtype = measure->cell.variant->dtype,
        .cell_key = measure->cell.cell_key,
    };
}

static tsw_status_t load_reference(tsw_measure_t *measure, tsw_err_t *err)
{
    const tsw_measure_cell_t *cell = &measure->cell;
    tsw_kernel_model_t model = model_of(measure);
    tsw_status_t status = measure->dev->ops->kernel_load(
        measure->dev, cell->reference_cubin, cell->reference_size,
        cell->variant->pack->reference.entry, &model, &measure->reference, err);
    measure->reference_launch.kernel = measure->reference;
    return status;
}

static tsw_status_t load_config(tsw_measure_t *measure, const tsw_measure_config_t *config,
                                tsw_measure_entry_t *entry, tsw_err_t *err)
{
    const tsw_pack_t *pack = measure->cell.variant->pack;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_config_format(pack, &config->config, &text);
    entry->config_text = tsw_buf_take_text(&text);
    if (entry->config_text == NULL)
        return tsw_err_nomem(err);
    tsw_kernel_model_t model = model_of(measure);
    model.config_key = config->config.key;
    model.config_text = entry->config_text;
    model.facts = config->facts;
    model.recorded_ns = config->recorded_ns;
    model.recorded_count = config->recorded_count;
    tsw_status_t status = measure->dev->ops->kernel_load(
        measure->dev, config->cubin, config->size, pack->kernel.entry, &model, &entry->kernel, err);
    entry->launch.kernel = entry->kernel;
    entry->launch.config_index = config->index;
    return status;
}

/* Geometry and parameters; config NULL: the reference. */
static tsw_status_t make_launch(tsw_measure_t *measure, const tsw_config_t *config,
                                tsw_launch_t *launch, tsw_err_t *err)
{
    const tsw_measure_cell_t *cell = &measure->cell;
    const tsw_pack_t *pack = cell->variant->pack;
    int64_t num_sm = (int64_t)measure->dev->ops->gpu(measure->dev)->sm_count;
    tsw_status_t status =
        tsw_variant_bind(cell->variant, cell->dims, config, num_sm, measure->eval, err);
    if (status == TSW_OK)
        status = tsw_geometry_of(config != NULL ? &pack->kernel : &pack->reference, measure->eval,
                                 &launch->geometry, err);
    if (status == TSW_OK)
        status = tsw_measure_params(
            measure, config != NULL ? TSW_BUFFERS_SPLIT : TSW_BUFFERS_REFERENCE, launch, err);
    return status;
}

/* ---- begin and end ---- */

tsw_status_t tsw_measure_run_reference(tsw_measure_t *measure, tsw_err_t *err)
{
    double timeout_s = 10 * measure->cell.policy.launch_timeout_s;
    if (timeout_s < least_reference_timeout_s)
        timeout_s = least_reference_timeout_s;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++)
        if (measure->args[i].reference.total > 0)
            status =
                measure->dev->ops->poison(measure->dev, &measure->args[i].reference, false, err);
    if (status == TSW_OK)
        status = tsw_measure_run(measure, &measure->reference_launch, timeout_s, err);
    if (status == TSW_OK)
        status = tsw_measure_seal(measure, err);
    return status;
}

static tsw_status_t begin_reference(tsw_measure_t *measure, tsw_err_t *err)
{
    char detail[TSW_DETAIL_MAX] = "";
    tsw_status_t status = load_reference(measure, err);
    if (status == TSW_OK)
        status = make_launch(measure, NULL, &measure->reference_launch, err);
    if (status == TSW_OK)
        status = tsw_measure_run_reference(measure, err);
    if (status == TSW_OK)
        status = tsw_measure_inspect(measure, detail, err);
    if (status == TSW_OK && detail[0] != '\0')
        status = tsw_err_set(err, TSW_ERR_INPUT, "%s", detail);
    if (status != TSW_OK)
        tsw_err_wrap(err, "reference kernel");
    return status;
}

tsw_status_t tsw_measure_begin(tsw_device_t *dev, const tsw_measure_cell_t *cell,
                               const tsw_measure_sink_t *sink, tsw_measure_t **measure_p,
                               tsw_err_t *err)
{
    tsw_measure_t *measure = tsw_calloc(1, sizeof(*measure));
    if (measure == NULL)
        return tsw_err_nomem(err);
    measure->dev = dev;
    measure->cell = *cell;
    measure->sink = *sink;
    measure->start_ns = now_ns(measure);
    int64_t num_sm = (int64_t)dev->ops->gpu(dev)->sm_count;
    tsw_status_t status = tsw_eval_new(&measure->eval, err);
    if (status == TSW_OK)
        status = tsw_variant_bind(cell->variant, cell->dims, NULL, num_sm, measure->eval, err);
    if (status == TSW_OK)
        status = tsw_measure_args_new(measure, !is_fixed(measure), err);
    if (status == TSW_OK && !is_fixed(measure))
        status = begin_reference(measure, err);
    if (status != TSW_OK)
        tsw_measure_end(measure);
    else
        *measure_p = measure;
    return status;
}

void tsw_measure_end(tsw_measure_t *measure)
{
    if (measure == NULL)
        return;
    for (size_t i = 0; i < measure->entry_count; i++) {
        measure->dev->ops->kernel_unload(measure->dev, measure->entries[i].kernel);
        tsw_free(measure->entries[i].config_text);
    }
    if (measure->reference != NULL)
        measure->dev->ops->kernel_unload(measure->dev, measure->reference);
    tsw_measure_args_free(measure);
    tsw_eval_free(measure->eval);
    tsw_free(measure->entries);
    tsw_free(measure);
}

uint64_t tsw_measure_busy_ns(const tsw_measure_t *measure)
{
    return measure->busy_ns;
}

uint64_t tsw_measure_peak_bytes(const tsw_measure_t *measure)
{
    return measure->dev->ops->memory_peak(measure->dev);
}

/* ---- outcomes ---- */

/* What a failed call means for the config that made it; device_outcome: for a plain refusal. */
static tsw_outcome_t outcome_of(tsw_status_t status, tsw_outcome_t device_outcome)
{
    switch (status) {
    case TSW_ERR_DEVICE:
        return device_outcome;
    case TSW_ERR_DEVICE_MEMORY:
        return TSW_OUTCOME_OUT_OF_MEMORY;
    case TSW_ERR_DEVICE_LOST:
        return TSW_OUTCOME_DEVICE_LOST;
    case TSW_ERR_TIMEOUT:
        return TSW_OUTCOME_RUN_TIMEOUT;
    default:
        return TSW_OUTCOME_INVALID;
    }
}

/* The process cannot go on after these. */
static bool is_fatal(tsw_status_t status)
{
    return status == TSW_ERR_DEVICE_LOST || status == TSW_ERR_TIMEOUT || status == TSW_ERR_NOMEM;
}

static void tell(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_outcome_t outcome,
                 const char *detail, const tsw_verify_facts_t *verify)
{
    entry->is_ok = outcome == TSW_OUTCOME_OK;
    measure->sink.config_state(measure->sink.user, entry->index, outcome, detail, verify);
}

/* A call for the config failed: its outcome. Yields TSW_OK when the process may go on. */
static tsw_status_t blame(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_status_t status,
                          tsw_outcome_t device_outcome, const tsw_err_t *err)
{
    if (status != TSW_ERR_NOMEM)
        tell(measure, entry, outcome_of(status, device_outcome), err->text, NULL);
    return is_fatal(status) ? status : TSW_OK;
}

/* ---- verification ---- */

/* One launch, and all that it left behind. */
static tsw_status_t launch_and_check(tsw_measure_t *measure, const tsw_launch_t *launch,
                                     tsw_outcome_t *outcome_p, char *detail,
                                     tsw_verify_facts_t *facts_p, tsw_err_t *err)
{
    char damage[TSW_DETAIL_MAX] = "";
    tsw_status_t status =
        tsw_measure_run(measure, launch, measure->cell.policy.launch_timeout_s, err);
    if (status == TSW_OK)
        status = tsw_measure_compare(measure, outcome_p, detail, facts_p, err);
    if (status == TSW_OK)
        status = tsw_measure_inspect(measure, damage, err);
    if (status == TSW_OK && damage[0] != '\0') {
        *outcome_p = TSW_OUTCOME_WRONG_RESULT;
        snprintf(detail, TSW_DETAIL_MAX, "%s", damage);
    }
    return status;
}

static tsw_status_t verify(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_verify_facts_t facts = {.elements = 0};
    char detail[TSW_DETAIL_MAX] = "";
    tsw_status_t status = tsw_measure_poison(measure, err);
    if (status == TSW_OK)
        status = launch_and_check(measure, &entry->launch, &outcome, detail, &facts, err);
    if (status != TSW_OK)
        return blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    tell(measure, entry, outcome, detail, &facts);
    return TSW_OK;
}

/* A config that was verified before: its kernel must have run before a wave. */
static tsw_status_t try_once(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_status_t status =
        tsw_measure_run(measure, &entry->launch, measure->cell.policy.launch_timeout_s, err);
    if (status != TSW_OK)
        return blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    entry->is_ok = true;
    return TSW_OK;
}

static tsw_status_t add(tsw_measure_t *measure, const tsw_measure_config_t *config,
                        tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_status_t status = make_launch(measure, &config->config, &entry->launch, err);
    if (status == TSW_OK)
        status = load_config(measure, config, entry, err);
    if (status != TSW_OK)
        return blame(measure, entry, status, TSW_OUTCOME_LOAD_FAILED, err);
    if (is_fixed(measure)) {
        tell(measure, entry, TSW_OUTCOME_OK, "", NULL);
        return TSW_OK;
    }
    return config->verified ? try_once(measure, entry, err) : verify(measure, entry, err);
}

tsw_status_t tsw_measure_add(tsw_measure_t *measure, const tsw_measure_config_t *config,
                             tsw_err_t *err)
{
    tsw_err_t local = TSW_ERR_INIT;
    if (!TSW_GROW(measure->entries, measure->entry_capacity, measure->entry_count))
        return tsw_err_nomem(err);
    tsw_measure_entry_t *entry = &measure->entries[measure->entry_count++];
    *entry = (tsw_measure_entry_t){.index = config->index};
    measure->sink.busy(measure->sink.user, (int32_t)config->index);
    tsw_status_t status = add(measure, config, entry, &local);
    if (!is_fatal(status))
        measure->sink.busy(measure->sink.user, -1);
    if (status != TSW_OK && err != NULL)
        *err = local;
    return status;
}

/* The last launch, over what the launches before it left in the outputs. */
static tsw_status_t verify_last(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_verify_facts_t facts = {.elements = 0};
    char detail[TSW_DETAIL_MAX] = "", text[2 * TSW_DETAIL_MAX];
    tsw_status_t status = launch_and_check(measure, &entry->launch, &outcome, detail, &facts, err);
    if (status != TSW_OK)
        return blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    if (outcome == TSW_OUTCOME_OK)
        return TSW_OK;
    snprintf(
        text, sizeof(text),
        "right at the first launch, wrong at the last: does it read what it wrote (an in-place "
        "kernel)? %s",
        detail);
    tell(measure, entry, outcome, text, &facts);
    return TSW_OK;
}

static bool has_inout(const tsw_measure_t *measure)
{
    for (size_t i = 0; i < measure->arg_count; i++)
        if (measure->args[i].arg->role == TSW_ROLE_INOUT)
            return true;
    return false;
}

static tsw_status_t copy_pristine(tsw_measure_t *measure, tsw_err_t *err)
{
    tsw_status_t status = tsw_measure_poison(measure, err);
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i];
        if (arg->arg->role == TSW_ROLE_INOUT)
            status = measure->dev->ops->copy(measure->dev, &arg->output, &arg->input, err);
    }
    return status;
}

/* As applications run it: one buffer that is read and written. */
static tsw_status_t verify_in_place(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                                    tsw_err_t *err)
{
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_verify_facts_t facts = {.elements = 0};
    char detail[TSW_DETAIL_MAX] = "", text[2 * TSW_DETAIL_MAX];
    tsw_launch_t launch = entry->launch;
    tsw_measure_pointers(measure, TSW_BUFFERS_IN_PLACE, &launch);
    tsw_status_t status = copy_pristine(measure, err);
    if (status == TSW_OK)
        status = launch_and_check(measure, &launch, &outcome, detail, &facts, err);
    if (status != TSW_OK)
        return blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    if (outcome == TSW_OUTCOME_OK)
        return TSW_OK;
    snprintf(text, sizeof(text), "right with split buffers, wrong in place: %s", detail);
    tell(measure, entry, outcome, text, &facts);
    return TSW_OK;
}

static tsw_status_t verify_again(tsw_measure_t *measure, tsw_err_t *err)
{
    char detail[TSW_DETAIL_MAX] = "";
    bool inout = has_inout(measure);
    /* Whoever damaged something during the rounds will do it again, alone. */
    tsw_status_t status = tsw_measure_inspect(measure, detail, err);
    for (size_t i = 0; i < measure->entry_count && status == TSW_OK; i++) {
        tsw_measure_entry_t *entry = &measure->entries[i];
        if (!entry->is_ok)
            continue;
        measure->sink.busy(measure->sink.user, (int32_t)entry->index);
        status = verify_last(measure, entry, err);
        if (status == TSW_OK && inout && entry->is_ok)
            status = verify_in_place(measure, entry, err);
        if (!is_fatal(status))
            measure->sink.busy(measure->sink.user, -1);
    }
    return status;
}

/* ---- rounds ---- */

/* Made once, before the first round. */
typedef struct {
    tsw_policy_state_t *policy;
    tsw_launch_t *launches;
    uint64_t *interval_ns;
    tsw_sample_t *samples;
    uint32_t *live; /* also: the wave's configs */
} rounds_t;

static void rounds_fini(rounds_t *rounds)
{
    tsw_policy_free(rounds->policy);
    tsw_free(rounds->launches);
    tsw_free(rounds->interval_ns);
    tsw_free(rounds->samples);
    tsw_free(rounds->live);
}

static tsw_status_t rounds_init(tsw_measure_t *measure, uint32_t first_round, rounds_t *rounds,
                                tsw_err_t *err)
{
    size_t live = 0;
    rounds->live = tsw_calloc(measure->entry_count, sizeof(*rounds->live));
    if (rounds->live == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < measure->entry_count; i++)
        if (measure->entries[i].is_ok)
            rounds->live[live++] = measure->entries[i].index;
    tsw_status_t status = tsw_policy_new(&measure->cell.policy, measure->cell.cell_key,
                                         rounds->live, live, first_round, &rounds->policy, err);
    if (status != TSW_OK)
        return status;
    size_t most = tsw_policy_wave_max(rounds->policy);
    rounds->launches = tsw_calloc(most, sizeof(*rounds->launches));
    rounds->interval_ns = tsw_calloc(most, sizeof(*rounds->interval_ns));
    rounds->samples = tsw_calloc(most, sizeof(*rounds->samples));
    if (rounds->launches == NULL || rounds->interval_ns == NULL || rounds->samples == NULL)
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

static void report_round(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                         uint64_t start_ns, uint64_t duration_ns)
{
    tsw_telemetry_t telemetry;
    measure->dev->ops->telemetry(measure->dev, &telemetry);
    tsw_round_t round = {
        .round = wave->round,
        .stage = (uint16_t)wave->stage,
        .sm_clock_mhz = telemetry.sm_clock_mhz,
        .mem_clock_mhz = telemetry.mem_clock_mhz,
        .power_w = telemetry.power_w,
        .temperature_celsius = telemetry.temperature_celsius,
        .throttle_reasons = telemetry.throttle_reasons,
        .start_ns = start_ns - measure->start_ns,
        .duration_ns = duration_ns,
    };
    for (size_t i = 0; i < wave->count; i++)
        rounds->samples[i] = (tsw_sample_t){
            .interval_ns = rounds->interval_ns[i],
            .round = wave->round,
            .stage = (uint16_t)wave->stage,
            .slot = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX),
        };
    measure->sink.round(measure->sink.user, &round, wave->configs, rounds->samples, wave->count, 1);
}

static tsw_wave_mode_t mode_of(const tsw_measure_t *measure)
{
    if (is_fixed(measure))
        return TSW_WAVE_BARE;
    return measure->cell.policy.cache == TSW_CACHE_COLD ? TSW_WAVE_COLD : TSW_WAVE_HOT;
}

static tsw_status_t run_wave(tsw_measure_t *measure, rounds_t *rounds, const tsw_wave_t *wave,
                             tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    uint32_t number = wave->round;
    size_t finished = 0;
    if (wave->stage == TSW_STAGE_ROUND)
        number += measure->cell.policy.warmup_rounds;
    for (size_t i = 0; i < wave->count; i++)
        rounds->launches[i] = entry_of(measure, wave->configs[i])->launch;
    uint64_t start_ns = now_ns(measure);
    tsw_status_t status =
        ops->wave(measure->dev, rounds->launches, wave->count, mode_of(measure), number,
                  measure->cell.policy.launch_timeout_s, rounds->interval_ns, &finished, err);
    uint64_t duration_ns = now_ns(measure) - start_ns;
    measure->busy_ns += duration_ns;
    if (status != TSW_OK) {
        uint32_t culprit = wave->configs[finished < wave->count ? finished : wave->count - 1];
        tsw_policy_drop(rounds->policy, culprit);
        return blame(measure, entry_of(measure, culprit), status, TSW_OUTCOME_LAUNCH_FAILED, err);
    }
    report_round(measure, rounds, wave, start_ns, duration_ns);
    tsw_policy_report(rounds->policy, rounds->interval_ns, 1, duration_ns);
    return TSW_OK;
}

static tsw_status_t run_rounds(tsw_measure_t *measure, rounds_t *rounds, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    if (is_fixed(measure))
        status = measure->dev->ops->profiler(measure->dev, true, err);
    while (status == TSW_OK) {
        tsw_wave_t wave;
        tsw_policy_next(rounds->policy, &wave);
        if (wave.count == 0)
            break;
        status = run_wave(measure, rounds, &wave, err);
    }
    if (is_fixed(measure) && status == TSW_OK)
        status = measure->dev->ops->profiler(measure->dev, false, err);
    return status;
}

tsw_status_t tsw_measure_time(tsw_measure_t *measure, uint32_t first_round, tsw_err_t *err)
{
    tsw_err_t local = TSW_ERR_INIT;
    rounds_t rounds = {.policy = NULL};
    tsw_status_t status = rounds_init(measure, first_round, &rounds, &local);
    if (status == TSW_OK)
        status = run_rounds(measure, &rounds, &local);
    if (status == TSW_OK && !is_fixed(measure))
        status = verify_again(measure, &local);
    rounds_fini(&rounds);
    if (status != TSW_OK && err != NULL)
        *err = local;
    return status;
}
