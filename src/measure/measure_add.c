/* A config comes to the cell in hand. */
#include "base/mem.h"
#include "measure/measure_cell.h"

static tsw_status_t load_config(tsw_measure_t *measure, const tsw_measure_config_t *config,
                                tsw_measure_entry_t *entry, tsw_err_t *err)
{
    const tsw_pack_t *pack = measure->cell.variant->pack;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_config_format(pack, &config->config, &text);
    entry->config_text = tsw_buf_take_text(&text);
    if (entry->config_text == NULL)
        return tsw_err_nomem(err);
    tsw_kernel_model_t model = tsw_measure_model(measure);
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
    tsw_status_t status = tsw_measure_make_launch(measure, &config->config, &entry->launch, err);
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
