#include "sched/lane_cell.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BAD_REFERENCE                                                                         \
    "more than half of the configs disagree with the reference: suspect reference.cu"

static void set_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text != NULL ? text : "");
}

/* a, b and c in a row, cut at the end of out. */
static void join_text(char *out, size_t size, const char *a, const char *b, const char *c)
{
    const char *parts[] = {a, b, c};
    size_t used = 0;
    for (size_t i = 0; i < 3; i++) {
        set_text(out + used, size - used, parts[i]);
        used += strlen(out + used);
    }
}

/* ---- what the plan says ---- */

static tsw_status_t describe_cell(const tsw_plan_t *plan, const tsw_cell_t *planned,
                                  tsw_cell_result_t *result, tsw_err_t *err)
{
    const tsw_variant_t *variant = &plan->variants[planned->variant].id;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_variant_format(variant, &text);
    set_text(result->variant, sizeof(result->variant), tsw_buf_text(&text));
    bool ok = tsw_buf_ok(&text);
    tsw_buf_clear(&text);
    tsw_shape_format(variant->pack, planned->dims, &text);
    set_text(result->shape, sizeof(result->shape), tsw_buf_text(&text));
    ok = ok && tsw_buf_ok(&text);
    tsw_buf_fini(&text);
    set_text(result->pack, sizeof(result->pack), variant->pack->name);
    result->key = planned->key;
    result->pack_key = variant->pack->key;
    result->separate_tables = variant->pack->separate_tables;
    result->weight = planned->weight;
    result->arch = plan->job->archs[planned->arch_index];
    result->flops = planned->flops;
    result->bytes = planned->bytes;
    result->cache_mode = (uint8_t)plan->job->policy.cache;
    result->coverage = planned->coverage;
    return ok ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t describe_configs(const tsw_plan_t *plan, const tsw_cell_t *planned,
                                     tsw_cell_result_t *result, tsw_err_t *err)
{
    const tsw_plan_variant_t *variant = &plan->variants[planned->variant];
    result->records = tsw_calloc(planned->config_count, sizeof(*result->records));
    result->config_texts = tsw_calloc(planned->config_count, sizeof(*result->config_texts));
    if (result->records == NULL || result->config_texts == NULL)
        return tsw_err_nomem(err);
    result->record_count = planned->config_count;
    for (size_t i = 0; i < planned->config_count; i++) {
        const tsw_config_t *config = &variant->configs[planned->configs[i]];
        tsw_record_t *record = &result->records[i];
        record->cell_key = planned->key;
        record->config_key = config->key;
        record->config_index = (uint32_t)i;
        record->outcome = TSW_OUTCOME_INTERRUPTED;
        tsw_buf_t text = TSW_BUF_INIT;
        tsw_config_format(variant->id.pack, config, &text);
        result->config_texts[i] = tsw_buf_take_text(&text);
        if (result->config_texts[i] == NULL)
            return tsw_err_nomem(err);
    }
    return TSW_OK;
}

tsw_status_t tsw_lane_cell_new(const tsw_plan_t *plan, uint32_t id, uint32_t attempt,
                               tsw_lane_cell_t **cell_p, tsw_err_t *err)
{
    const tsw_cell_t *planned = &plan->cells[id];
    tsw_lane_cell_t *cell = tsw_calloc(1, sizeof(*cell));
    if (cell == NULL)
        return tsw_err_nomem(err);
    cell->id = id;
    cell->attempt = attempt;
    cell->compile_only = planned->compile_only;
    cell->config_count = planned->config_count;
    cell->order = planned->order;
    cell->counts[TSW_LANE_CONFIG_WAITING] = planned->config_count;
    cell->result.attempt = attempt;
    cell->result.pick = -1;
    tsw_status_t status = TSW_OK;
    cell->configs = tsw_calloc(planned->config_count, sizeof(*cell->configs));
    if (cell->configs == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = describe_cell(plan, planned, &cell->result, err);
    if (status == TSW_OK)
        status = describe_configs(plan, planned, &cell->result, err);
    if (status == TSW_OK)
        *cell_p = cell;
    else
        tsw_lane_cell_free(cell);
    return status;
}

void tsw_lane_cell_free(tsw_lane_cell_t *cell)
{
    if (cell == NULL)
        return;
    tsw_free(cell->configs);
    tsw_cell_result_fini(&cell->result);
    tsw_free(cell);
}

/* ---- states ---- */

void tsw_lane_cell_set_state(tsw_lane_cell_t *cell, size_t config, tsw_lane_config_state_t state)
{
    cell->counts[cell->configs[config].state]--;
    cell->counts[state]++;
    cell->configs[config].state = state;
}

void tsw_lane_cell_end(tsw_lane_cell_t *cell, size_t config, tsw_outcome_t outcome,
                       const char *detail)
{
    tsw_record_t *record = &cell->result.records[config];
    record->outcome = outcome;
    set_text(record->detail, sizeof(record->detail), detail);
    tsw_lane_cell_set_state(cell, config, TSW_LANE_CONFIG_ENDED);
}

void tsw_lane_cell_end_all(tsw_lane_cell_t *cell, tsw_outcome_t outcome, const char *detail)
{
    for (size_t i = 0; i < cell->config_count; i++) {
        tsw_lane_config_state_t state = cell->configs[i].state;
        if (state != TSW_LANE_CONFIG_ENDED && state != TSW_LANE_CONFIG_ALIAS)
            tsw_lane_cell_end(cell, i, outcome, detail);
    }
}

/* The first config that launches exactly as the one at this place of the order; that one itself
 * when there is none. */
static size_t leader_of(const tsw_lane_cell_t *cell, size_t place)
{
    const tsw_lane_config_t *config = &cell->configs[cell->order[place]];
    for (size_t i = 0; i < place; i++) {
        const tsw_lane_config_t *before = &cell->configs[cell->order[i]];
        if (before->built && tsw_key_equal(before->launch_key, config->launch_key))
            return cell->order[i];
    }
    return cell->order[place];
}

static void settle_known(tsw_lane_cell_t *cell)
{
    for (; cell->known < cell->config_count; cell->known++) {
        const size_t index = cell->order[cell->known];
        const tsw_lane_config_t *config = &cell->configs[index];
        if (config->state != TSW_LANE_CONFIG_WAITING)
            continue;
        if (!config->built)
            return;
        size_t leader = leader_of(cell, cell->known);
        if (leader == index) {
            tsw_lane_cell_set_state(cell, index, TSW_LANE_CONFIG_BUILT);
        } else {
            cell->result.records[index].alias_of = (uint32_t)leader;
            tsw_lane_cell_set_state(cell, index, TSW_LANE_CONFIG_ALIAS);
        }
    }
}

static void config_built(tsw_lane_cell_t *cell, size_t config, const tsw_lane_built_t *built)
{
    tsw_lane_config_t *state = &cell->configs[config];
    if (state->state != TSW_LANE_CONFIG_WAITING || state->built)
        return;
    tsw_record_t *record = &cell->result.records[config];
    record->build = built->facts;
    if (built->outcome != TSW_OUTCOME_OK) {
        tsw_lane_cell_end(cell, config, built->outcome, built->detail);
    } else if (cell->compile_only) {
        tsw_lane_cell_end(cell, config, TSW_OUTCOME_COMPILED, built->detail);
    } else {
        state->built = true;
        state->launch_key = built->launch_key;
        memcpy(record->grid, built->grid, sizeof(record->grid));
        memcpy(record->block, built->block, sizeof(record->block));
        record->dynamic_shared_bytes = built->dynamic_shared_bytes;
    }
}

/* Nothing can be said about any config, whatever its own build said. */
static void lack_foundation(tsw_lane_cell_t *cell, const char *detail)
{
    cell->reference_known = true;
    cell->tool_known = true;
    for (size_t i = 0; i < cell->config_count; i++)
        tsw_lane_cell_end(cell, i, TSW_OUTCOME_INVALID, detail);
}

void tsw_lane_cell_built(tsw_lane_cell_t *cell, const tsw_lane_built_t *built)
{
    bool ok = built->outcome == TSW_OUTCOME_OK;
    if (built->config_index >= 0)
        config_built(cell, (size_t)built->config_index, built);
    else if (cell->compile_only)
        return;
    else if (!ok)
        lack_foundation(cell, built->detail);
    else if (built->config_index == TSW_LANE_REFERENCE)
        cell->reference_known = true;
    else
        cell->tool_known = true;
    settle_known(cell);
}

void tsw_lane_cell_unload(tsw_lane_cell_t *cell)
{
    cell->begun = false;
    cell->timing = false;
    cell->added = 0;
    for (size_t i = 0; i < cell->config_count; i++)
        if (cell->configs[i].state == TSW_LANE_CONFIG_ADDED)
            tsw_lane_cell_set_state(cell, i, TSW_LANE_CONFIG_BUILT);
}

static bool has_timed_sample(const tsw_record_t *record)
{
    for (size_t i = record->sample_count; i-- > 0;)
        if (!tsw_stage_is_first((tsw_stage_t)record->samples[i].stage))
            return true;
    return record->sample_count > 0 &&
           (record->fate == TSW_FATE_HOPELESS || record->fate == TSW_FATE_SUSPECT);
}

void tsw_lane_cell_rewind(tsw_lane_cell_t *cell)
{
    cell->next_round = 0;
    cell->result.round_count = 0;
    for (size_t i = 0; i < cell->config_count; i++)
        cell->result.records[i].sample_count = 0;
}

void tsw_lane_cell_end_timed(tsw_lane_cell_t *cell)
{
    cell->timing = false;
    for (size_t i = 0; i < cell->config_count; i++) {
        if (cell->configs[i].state != TSW_LANE_CONFIG_VERIFIED)
            continue;
        if (has_timed_sample(&cell->result.records[i]))
            tsw_lane_cell_end(cell, i, TSW_OUTCOME_OK, NULL);
        else
            tsw_lane_cell_end(cell, i, TSW_OUTCOME_SKIPPED,
                              "correct, but no round fitted into the cell's budget");
    }
}

bool tsw_lane_cell_is_in_worker(const tsw_lane_cell_t *cell, int64_t config)
{
    if (config < 0 || config >= (int64_t)cell->config_count)
        return false;
    tsw_lane_config_state_t state = cell->configs[config].state;
    return state == TSW_LANE_CONFIG_ADDED || state == TSW_LANE_CONFIG_VERIFIED;
}

bool tsw_lane_cell_is_final(const tsw_lane_cell_t *cell)
{
    /* Should the reference fail yet, all configs are invalid, also those that did not compile. */
    bool founded = cell->compile_only || (cell->reference_known && cell->tool_known);
    return founded && !cell->timing &&
           cell->counts[TSW_LANE_CONFIG_ENDED] + cell->counts[TSW_LANE_CONFIG_ALIAS] ==
               cell->config_count;
}

bool tsw_lane_cell_can_time(const tsw_lane_cell_t *cell)
{
    return !cell->timing && cell->added == cell->config_count &&
           cell->counts[TSW_LANE_CONFIG_ADDED] == 0 && cell->counts[TSW_LANE_CONFIG_VERIFIED] > 0;
}

/* ---- the end ---- */

/* Written everywhere, no NaN, and yet other values: either side may be wrong. */
static bool differs(const tsw_record_t *record)
{
    const tsw_verify_facts_t *verify = &record->verify;
    return record->outcome == TSW_OUTCOME_WRONG_RESULT &&
           verify->mismatches > verify->nans + verify->unwritten;
}

/* One config may be wrong by itself; when most of those compared have other values, the reference
 * may be. Those that are right, or fail in a way of their own, are not touched. */
static void blame_reference(tsw_lane_cell_t *cell)
{
    size_t compared = 0;
    size_t different = 0;
    for (size_t i = 0; i < cell->config_count; i++) {
        compared += cell->result.records[i].verify.elements > 0;
        different += differs(&cell->result.records[i]);
    }
    if (different < 2 || 2 * different <= compared)
        return;
    for (size_t i = 0; i < cell->config_count; i++) {
        tsw_record_t *record = &cell->result.records[i];
        if (!differs(record))
            continue;
        char old[TSW_DETAIL_MAX];
        memcpy(old, record->detail, sizeof(old));
        join_text(record->detail, sizeof(record->detail), TEXT_BAD_REFERENCE,
                  old[0] != '\0' ? "; " : "", old);
    }
}

static void resolve_aliases(tsw_lane_cell_t *cell)
{
    for (size_t i = 0; i < cell->config_count; i++) {
        if (cell->configs[i].state != TSW_LANE_CONFIG_ALIAS)
            continue;
        tsw_record_t *record = &cell->result.records[i];
        const tsw_record_t *leader = &cell->result.records[record->alias_of];
        if (leader->outcome == TSW_OUTCOME_OK || leader->outcome == TSW_OUTCOME_SUSPECT ||
            leader->outcome == TSW_OUTCOME_UNSTABLE) {
            record->outcome = TSW_OUTCOME_ALIAS;
            continue;
        }
        char prefix[TSW_NAME_SIZE];
        snprintf(prefix, sizeof(prefix), "launches as config %u does", record->alias_of);
        join_text(record->detail, sizeof(record->detail), prefix,
                  leader->detail[0] != '\0' ? ": " : "", leader->detail);
        record->outcome = leader->outcome;
        record->verify = leader->verify;
    }
}

void tsw_lane_cell_complete(tsw_lane_cell_t *cell)
{
    blame_reference(cell);
    resolve_aliases(cell);
    cell->result.complete = 1;
}

bool tsw_lane_cell_interrupt(tsw_lane_cell_t *cell)
{
    bool worth = cell->counts[TSW_LANE_CONFIG_ENDED] > 0 || cell->result.round_count > 0;
    tsw_lane_cell_end_all(cell, TSW_OUTCOME_INTERRUPTED, NULL);
    resolve_aliases(cell);
    cell->result.complete = 0;
    return worth;
}
