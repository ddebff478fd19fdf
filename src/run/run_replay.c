/* Replay: a recorded sweep instead of compilers and clocks. */
#include "base/mem.h"
#include "run/run_state.h"

/* What was recorded of the cell; of a generation's cell also where all configs were measured. */
static const tsw_cell_result_t *recorded_cell(const tsw_run_t *run, const tsw_cell_t *cell)
{
    const tsw_cell_result_t *whole = NULL;
    for (size_t i = 0; i < run->recorded.cell_count; i++) {
        if (tsw_key_equal(run->recorded.cells[i].key, cell->key))
            return &run->recorded.cells[i];
        if (tsw_key_equal(run->recorded.cells[i].key, cell->whole_key))
            whole = &run->recorded.cells[i];
    }
    return whole;
}

static const tsw_record_t *find_record(const tsw_cell_result_t *cell, tsw_key_t config_key)
{
    for (size_t i = 0; cell != NULL && i < cell->record_count; i++) {
        if (tsw_key_equal(cell->records[i].config_key, config_key))
            return &cell->records[i];
    }
    return NULL;
}

/* The record that was measured for this one: its own, or that of the config it is an alias of. When
 * the file was made, another one of the equal configs may have been the first. */
static const tsw_record_t *find_measured(const tsw_cell_result_t *cell, const tsw_record_t *record)
{
    if (record == NULL || record->outcome != TSW_OUTCOME_ALIAS)
        return record;
    for (size_t i = 0; i < cell->record_count; i++) {
        if (cell->records[i].config_index == record->alias_of)
            return &cell->records[i];
    }
    return record;
}

/* Stages that decide are as one. */
static bool is_of(const tsw_sample_t *sample, tsw_stage_t stage)
{
    return sample->stage == stage ||
           (tsw_stage_decides(stage) && tsw_stage_decides((tsw_stage_t)sample->stage));
}

/* Per launch, in order. */
static size_t take_samples(const tsw_record_t *record, tsw_stage_t stage, uint64_t *ns)
{
    size_t count = 0;
    for (size_t i = 0; i < record->sample_count; i++) {
        const tsw_sample_t *sample = &record->samples[i];
        if (is_of(sample, stage) && sample->launches > 0)
            ns[count++] = sample->interval_ns / sample->launches;
    }
    return count;
}

tsw_status_t tsw_run_recorded_samples(const tsw_run_t *run, const tsw_cell_t *cell,
                                      uint32_t config_index, uint64_t **ns_p, size_t *count_p,
                                      tsw_err_t *err)
{
    if (!run->replay)
        return TSW_OK;
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    const tsw_cell_result_t *recorded = recorded_cell(run, cell);
    const tsw_record_t *record = find_measured(
        recorded, find_record(recorded, variant->configs[cell->configs[config_index]].key));
    if (record == NULL || record->sample_count == 0)
        return TSW_OK;
    uint64_t *ns = tsw_calloc(record->sample_count, sizeof(*ns));
    if (ns == NULL)
        return tsw_err_nomem(err);
    /* What was dropped early has others: better than nothing. */
    static const tsw_stage_t stages[] = {TSW_STAGE_ROUND, TSW_STAGE_EARLY, TSW_STAGE_VERIFY};
    size_t count = 0;
    for (size_t i = 0; count == 0 && i < sizeof(stages) / sizeof(stages[0]); i++)
        count = take_samples(record, stages[i], ns);
    *ns_p = ns;
    *count_p = count;
    return TSW_OK;
}

/* A record of this build on this arch, in any cell. */
static const tsw_record_t *find_build(const tsw_run_t *run, const tsw_build_t *build,
                                      uint32_t arch_index)
{
    const tsw_plan_variant_t *variant = &run->plan->variants[build->variant];
    for (size_t i = 0; i < run->plan->cell_count; i++) {
        const tsw_cell_t *cell = &run->plan->cells[i];
        if (cell->variant != build->variant || cell->arch_index != arch_index)
            continue;
        const tsw_record_t *record =
            find_record(recorded_cell(run, cell), variant->configs[build->config].key);
        if (record != NULL)
            return record;
    }
    return NULL;
}

bool tsw_run_recorded_failure(const tsw_run_t *run, const tsw_cell_t *cell, uint32_t config_index,
                              tsw_outcome_t *outcome_p, const char **detail_p)
{
    if (!run->replay)
        return false;
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    const tsw_record_t *record =
        find_record(recorded_cell(run, cell), variant->configs[cell->configs[config_index]].key);
    if (record == NULL) {
        *outcome_p = TSW_OUTCOME_SKIPPED;
        *detail_p = "not in the file that is replayed";
        return true;
    }
    *outcome_p = record->outcome;
    *detail_p = record->detail;
    return record->outcome != TSW_OUTCOME_OK && record->outcome != TSW_OUTCOME_ALIAS &&
           record->outcome != TSW_OUTCOME_COMPILED;
}

void tsw_run_replay_build(tsw_run_t *run, uint32_t id)
{
    const tsw_build_t *build = &run->plan->builds[id];
    tsw_msg_artifacts_t msg = {.build = id};
    for (uint32_t i = 0; i < run->job->arch_count; i++) {
        if ((build->arch_mask >> i & 1) == 0)
            continue;
        const tsw_record_t *record =
            build->kind == TSW_BUILD_CONFIG ? find_build(run, build, i) : NULL;
        if (record != NULL)
            msg.artifacts[msg.count].facts = record->build;
        msg.arch_index[msg.count++] = i;
    }
    run->builds.cached++;
    tsw_run_builds_report(run, &msg);
}
