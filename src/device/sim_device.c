/* The sim and replay bodies: memory, data and time are virtual; nothing sleeps, unless a scenario
 * asks for a pace. sim computes times and makes the faults of a scenario, replay takes recorded
 * times. */
#include "device/sim_body.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "device/device_bodies.h"

#include <stdio.h>

static void sim_close(tsw_device_t *dev)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    tsw_nvml_close(sim->nvml);
    tsw_free(sim->traced);
    tsw_sim_scenario_fini(&sim->scenario);
    tsw_free(sim);
}

static const tsw_gpu_t *sim_gpu(const tsw_device_t *dev)
{
    return &tsw_sim_const_body(dev)->gpu;
}

static tsw_status_t canary(tsw_device_t *dev, tsw_err_t *err)
{
    tsw_status_t status = tsw_sim_pass(tsw_sim_body(dev), 0, err);
    if (status == TSW_OK &&
        tsw_sim_gpu_rule(&tsw_sim_body(dev)->scenario, TSW_FAULT_CANARY) != NULL)
        return tsw_err_set(err, TSW_ERR_DEVICE, "canary: failed as the scenario says");
    return status;
}

static uint64_t now_ns(const tsw_device_t *dev)
{
    return tsw_sim_const_body(dev)->clock_ns;
}

static tsw_status_t profiler(tsw_device_t *dev, bool on, tsw_err_t *err)
{
    (void)on;
    return tsw_sim_usable(tsw_sim_body(dev), err);
}

static const tsw_device_ops_t sim_ops = {
    .name = "sim",
    .close = sim_close,
    .gpu = sim_gpu,
    .load_tool = tsw_sim_load_tool,
    .canary = canary,
    .memory_new = tsw_sim_memory_new,
    .memory_free = tsw_sim_memory_free,
    .memory_ahead = tsw_sim_memory_ahead,
    .fill = tsw_sim_fill,
    .poison = tsw_sim_poison,
    .copy = tsw_sim_copy,
    .check_fences = tsw_sim_check_fences,
    .check_gaps = tsw_sim_check_gaps,
    .compare = tsw_sim_compare,
    .checksum = tsw_sim_checksum,
    .inspect = tsw_sim_inspect,
    .kernel_load = tsw_sim_kernel_load,
    .kernel_unload = tsw_sim_kernel_unload,
    .run = tsw_sim_run,
    .graph_new = tsw_sim_graph_new,
    .graph_free = tsw_sim_graph_free,
    .wave = tsw_sim_wave,
    .queue_depth = tsw_sim_queue_depth,
    .prove_flush = tsw_sim_prove_flush,
    .telemetry = tsw_sim_telemetry,
    .health = tsw_sim_health,
    .trace_find = tsw_sim_trace_find,
    .trace_begin = tsw_sim_trace_begin,
    .trace_end = tsw_sim_trace_end,
    .energy_find = tsw_sim_energy_find,
    .energy = tsw_sim_energy,
    .now_ns = now_ns,
    .profiler = profiler,
};

static void describe(tsw_sim_t *sim, const char *kind, const char *name, tsw_arch_t arch,
                     uint32_t id)
{
    tsw_gpu_t *gpu = &sim->gpu;
    snprintf(gpu->mode, sizeof(gpu->mode), "%s", kind);
    snprintf(gpu->uuid, sizeof(gpu->uuid), "%.7s:%.24s:%u", kind, name, id);
    snprintf(gpu->name, sizeof(gpu->name), "%s (%s)", sim->model->title,
             sim->is_replay ? "replayed" : "simulated");
    snprintf(gpu->driver_text, sizeof(gpu->driver_text), "%s",
             sim->is_replay ? "replayed" : "simulated");
    gpu->arch = arch;
    gpu->sm_count = sim->model->sm_count;
    gpu->memory_bytes = sim->model->memory_bytes;
    gpu->l2_bytes = sim->model->l2_bytes;
}

static tsw_status_t open_body(const tsw_device_spec_t *spec, const tsw_sim_model_t *model,
                              bool is_replay, tsw_device_t **dev_p, tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_calloc(1, sizeof(*sim));
    if (sim == NULL)
        return tsw_err_nomem(err);
    sim->base.ops = &sim_ops;
    sim->model = model;
    sim->is_replay = is_replay;
    sim->place = (tsw_sim_place_t){.seed = spec->seed, .gpu = spec->id};
    sim->place.node = tsw_rng_fold(tsw_key_of_text(spec->node));
    sim->next_address = 1ull << 40;
    tsw_status_t status = tsw_sim_scenario_parse(spec->scenario, spec->id, &sim->scenario, err);
    if (status != TSW_OK) {
        sim_close(&sim->base);
        return status;
    }
    const tsw_sim_rule_t *rule = tsw_sim_gpu_rule(&sim->scenario, TSW_FAULT_CAPACITY);
    sim->capacity = rule != NULL ? (uint64_t)rule->value : model->memory_bytes;
    rule = tsw_sim_gpu_rule(&sim->scenario, TSW_FAULT_PACE);
    sim->pace = rule != NULL ? rule->value : 0;
    describe(sim, spec->kind, spec->model[0] != '\0' ? spec->model : model->name,
             is_replay && spec->arch != 0 ? spec->arch : model->arch, spec->id);
    tsw_sim_nvml_attach(sim);
    *dev_p = &sim->base;
    return TSW_OK;
}

tsw_status_t tsw_sim_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err)
{
    const tsw_sim_model_t *model = tsw_sim_model(spec->model);
    if (model != NULL)
        return open_body(spec, model, false, dev_p, err);
    const char *const *names = NULL;
    size_t count = 0;
    tsw_sim_models(&names, &count);
    const char *nearest = tsw_text_nearest(spec->model, names, count);
    return tsw_err_set(err, TSW_ERR_ENV,
                       "no model \"%s\" to simulate%s%s%s; known: a100 l40s h100 h200 b200 rtx5090",
                       spec->model, nearest != NULL ? " (did you mean \"" : "",
                       nearest != NULL ? nearest : "", nearest != NULL ? "\"?)" : "");
}

tsw_status_t tsw_replay_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err)
{
    const tsw_sim_model_t *model = tsw_sim_model(spec->model);
    if (model == NULL)
        model = tsw_sim_model_like(spec->arch);
    return open_body(spec, model, true, dev_p, err);
}
