/* A cell comes to hand, with its memory and its reference, and goes. */
#include "base/mem.h"
#include "measure/measure_cell.h"

static tsw_status_t load_reference(tsw_measure_t *measure, tsw_err_t *err)
{
    const tsw_measure_cell_t *cell = &measure->cell;
    tsw_kernel_model_t model = tsw_measure_model(measure);
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_LOAD);
    tsw_status_t status = measure->dev->ops->kernel_load(
        measure->dev, cell->reference_cubin, cell->reference_size,
        cell->variant->pack->reference.entry, &model, &measure->reference, err);
    tsw_measure_turn(measure, use);
    measure->reference_launch.kernel = measure->reference;
    return status;
}

static tsw_status_t begin_reference(tsw_measure_t *measure, tsw_err_t *err)
{
    char detail[TSW_DETAIL_MAX] = "";
    tsw_status_t status = load_reference(measure, err);
    if (status == TSW_OK)
        status = tsw_measure_make_launch(measure, NULL, &measure->reference_launch, err);
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

/* ---- what is to be known of it ---- */

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
