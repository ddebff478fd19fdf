#include "measure/measure.h"

#include "base/mem.h"
#include "measure/measure_cell.h"

/* The reference is plain and slow on purpose. */
static const double least_reference_timeout_s = 60.0;

bool tsw_measure_is_fixed(const tsw_measure_t *measure)
{
    return measure->cell.policy.protocol == TSW_PROTOCOL_FIXED;
}

uint64_t tsw_measure_now_ns(const tsw_measure_t *measure)
{
    return measure->dev->ops->now_ns(measure->dev);
}

tsw_use_t tsw_measure_turn(tsw_measure_t *measure, tsw_use_t use)
{
    return tsw_watch_turn(measure->watch, measure->dev, use);
}

tsw_status_t tsw_measure_launch(tsw_measure_t *measure, const tsw_launch_t *launch, uint64_t *ns_p,
                                tsw_err_t *err)
{
    const tsw_shot_t shot = {.launches = launch, .set_count = 1, .repeat = 1};
    const tsw_wave_plan_t plan = {.timeout_s = measure->cell.policy.launch_timeout_s};
    size_t finished = 0;
    return measure->dev->ops->wave(measure->dev, &shot, 1, &plan, ns_p, &finished, err);
}

/* ---- launches ---- */

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
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_LOAD);
    tsw_status_t status = measure->dev->ops->kernel_load(
        measure->dev, cell->reference_cubin, cell->reference_size,
        cell->variant->pack->reference.entry, &model, &measure->reference, err);
    tsw_measure_turn(measure, use);
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
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_LOAD);
    tsw_status_t status = measure->dev->ops->kernel_load(
        measure->dev, config->cubin, config->size, pack->kernel.entry, &model, &entry->kernel, err);
    tsw_measure_turn(measure, use);
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

tsw_status_t tsw_measure_run_reference(tsw_measure_t *measure, char *detail, tsw_err_t *err)
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
        status = measure->dev->ops->run(measure->dev, &measure->reference_launch, timeout_s, err);
    if (status == TSW_OK)
        status = tsw_measure_seal(measure, detail, err);
    return status;
}

static tsw_status_t begin_reference(tsw_measure_t *measure, tsw_err_t *err)
{
    char detail[TSW_DETAIL_MAX] = "";
    tsw_status_t status = load_reference(measure, err);
    if (status == TSW_OK)
        status = make_launch(measure, NULL, &measure->reference_launch, err);
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_REFERENCE);
    if (status == TSW_OK) {
        measure->sink.busy(measure->sink.user, TSW_MEASURE_BUSY_REFERENCE);
        status = tsw_measure_run_reference(measure, detail, err);
    }
    if (!tsw_measure_is_fatal(status))
        measure->sink.busy(measure->sink.user, TSW_MEASURE_BUSY_NONE);
    tsw_measure_turn(measure, use);
    if (status == TSW_OK && detail[0] != '\0')
        status = tsw_err_set(err, TSW_ERR_INPUT, "%s", detail);
    if (status != TSW_OK)
        tsw_err_wrap(err, "reference kernel");
    return status;
}

/* A cold cell needs a flush that flushes. */
static tsw_status_t check_flush(tsw_measure_t *measure, tsw_err_t *err)
{
    static const double least_ratio = 1.25;
    tsw_flush_proof_t proof = {.hot_ns = 0};
    if (measure->cell.policy.cache == TSW_CACHE_HOT || tsw_measure_is_fixed(measure))
        return TSW_OK;
    tsw_status_t status = measure->dev->ops->prove_flush(measure->dev, &proof, err);
    if (status == TSW_OK && proof.cold_ns < least_ratio * proof.hot_ns)
        return tsw_err_set(err, TSW_ERR_ENV,
                           "overwriting twice the L2 does not empty it: a load takes %.0f ns after "
                           "it and %.0f ns without; only `cache: hot` can be measured here",
                           proof.cold_ns, proof.hot_ns);
    return status;
}

/* Its memory, and what fills that. */
static tsw_status_t make(tsw_device_t *dev, const tsw_measure_cell_t *cell, bool is_ahead,
                         tsw_measure_t **measure_p, tsw_err_t *err)
{
    tsw_measure_t *measure = tsw_calloc(1, sizeof(*measure));
    if (measure == NULL)
        return tsw_err_nomem(err);
    measure->dev = dev;
    measure->cell = *cell;
    measure->is_ahead = is_ahead;
    measure->pick = -1;
    measure->watch = &measure->own_watch;
    tsw_watch_start(&measure->own_watch, dev, TSW_USE_OTHER);
    if (cell->watch != NULL && !is_ahead) /* else the time is another cell's */
        measure->watch = cell->watch;
    int64_t num_sm = (int64_t)dev->ops->gpu(dev)->sm_count;
    tsw_status_t status = cell->eval != NULL ? TSW_OK : tsw_eval_new(&measure->own_eval, err);
    measure->eval = cell->eval != NULL ? cell->eval : measure->own_eval;
    if (status == TSW_OK)
        status = tsw_variant_bind(cell->variant, cell->dims, NULL, num_sm, measure->eval, err);
    if (status == TSW_OK)
        status = tsw_measure_args_new(measure, !tsw_measure_is_fixed(measure), err);
    if (status != TSW_OK)
        tsw_measure_end(measure);
    else
        *measure_p = measure;
    return status;
}

static bool has_dataset(const tsw_pack_t *pack)
{
    for (size_t i = 0; i < pack->arg_count; i++)
        if (pack->args[i].fill.kind == TSW_FILL_DATASET)
            return true;
    return false;
}

tsw_measure_t *tsw_measure_prepare(tsw_device_t *dev, const tsw_measure_cell_t *cell)
{
    tsw_measure_t *measure = NULL;
    const bool waits = has_dataset(cell->variant->pack); /* for its copy to the device */
    return !waits && make(dev, cell, true, &measure, NULL) == TSW_OK ? measure : NULL;
}

tsw_status_t tsw_measure_begin_prepared(tsw_measure_t *measure, const tsw_measure_cell_t *cell,
                                        const tsw_measure_sink_t *sink, tsw_err_t *err)
{
    measure->cell = *cell;
    measure->sink = *sink;
    measure->is_ahead = false;
    measure->clock.locked_mhz = cell->locked_mhz;
    measure->watch = cell->watch != NULL ? cell->watch : &measure->own_watch;
    measure->start_ns = tsw_measure_now_ns(measure);
    tsw_status_t status = check_flush(measure, err);
    if (status == TSW_OK && !tsw_measure_is_fixed(measure))
        status = begin_reference(measure, err);
    if (status == TSW_OK)
        status = tsw_measure_ring_new(measure, err);
    if (status != TSW_OK)
        tsw_measure_end(measure);
    return status;
}

tsw_status_t tsw_measure_begin(tsw_device_t *dev, const tsw_measure_cell_t *cell,
                               const tsw_measure_sink_t *sink, tsw_measure_t **measure_p,
                               tsw_err_t *err)
{
    tsw_measure_t *measure = NULL;
    tsw_status_t status = make(dev, cell, false, &measure, err);
    if (status == TSW_OK)
        status = tsw_measure_begin_prepared(measure, cell, sink, err);
    if (status == TSW_OK)
        *measure_p = measure;
    return status;
}

void tsw_measure_end(tsw_measure_t *measure)
{
    if (measure == NULL)
        return;
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_GRAPH);
    for (size_t i = 0; i < measure->entry_count; i++)
        tsw_measure_shots_free(measure, &measure->entries[i]);
    tsw_measure_turn(measure, TSW_USE_LOAD);
    for (size_t i = 0; i < measure->entry_count; i++) {
        measure->dev->ops->kernel_unload(measure->dev, measure->entries[i].kernel);
        tsw_free(measure->entries[i].config_text);
    }
    if (measure->reference != NULL)
        measure->dev->ops->kernel_unload(measure->dev, measure->reference);
    tsw_measure_turn(measure, TSW_USE_ALLOCATE);
    tsw_measure_ring_free(measure);
    tsw_measure_args_free(measure);
    tsw_measure_turn(measure, use);
    tsw_eval_free(measure->own_eval);
    tsw_free(measure->entries);
    tsw_free(measure);
}

int32_t tsw_measure_pick(const tsw_measure_t *measure)
{
    return measure->pick;
}

size_t tsw_measure_config_count(const tsw_measure_t *measure)
{
    return measure->entry_count;
}

tsw_fate_t tsw_measure_fate(const tsw_measure_t *measure, size_t at, uint32_t *index_p)
{
    *index_p = measure->entries[at].index;
    return measure->entries[at].fate;
}

uint64_t tsw_measure_busy_ns(const tsw_measure_t *measure)
{
    return tsw_usage_measuring(&measure->watch->usage);
}

uint64_t tsw_measure_peak_bytes(const tsw_measure_t *measure)
{
    uint64_t bytes = measure->ring.arena.total;
    for (size_t i = 0; i < measure->arg_count; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i];
        bytes += arg->input.total + arg->output.total + arg->reference.total;
    }
    return bytes; /* all of it is held from the begin to the end */
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

bool tsw_measure_is_fatal(tsw_status_t status)
{
    return status == TSW_ERR_DEVICE_LOST || status == TSW_ERR_TIMEOUT || status == TSW_ERR_NOMEM;
}

void tsw_measure_tell(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_outcome_t outcome,
                      const char *detail, const tsw_verify_facts_t *verify)
{
    entry->is_ok = outcome == TSW_OUTCOME_OK;
    measure->sink.config_state(measure->sink.user, entry->index, outcome, detail, verify);
}

tsw_status_t tsw_measure_blame(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                               tsw_status_t status, tsw_outcome_t device_outcome,
                               const tsw_err_t *err)
{
    if (status != TSW_ERR_NOMEM)
        tsw_measure_tell(measure, entry, outcome_of(status, device_outcome), err->text, NULL);
    return tsw_measure_is_fatal(status) ? status : TSW_OK;
}

/* ---- add ---- */

/* A config that was verified before: its kernel must have run before a wave. */
static tsw_status_t try_once(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_VERIFY);
    tsw_status_t status = tsw_measure_launch(measure, &entry->launch, &entry->first_ns, err);
    tsw_measure_turn(measure, use);
    if (status != TSW_OK)
        return tsw_measure_blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
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
        return tsw_measure_blame(measure, entry, status, TSW_OUTCOME_LOAD_FAILED, err);
    if (tsw_measure_is_fixed(measure)) {
        tsw_measure_tell(measure, entry, TSW_OUTCOME_OK, "", NULL);
        return TSW_OK;
    }
    status =
        config->verified ? try_once(measure, entry, err) : tsw_measure_verify(measure, entry, err);
    if (config->facts.spill_bytes > measure->most_spill) { /* the driver made room for them */
        measure->most_spill = config->facts.spill_bytes;
        entry->first_ns = 0;
    }
    return status;
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
    if (!tsw_measure_is_fatal(status))
        measure->sink.busy(measure->sink.user, -1);
    if (status != TSW_OK && err != NULL)
        *err = local;
    return status;
}
