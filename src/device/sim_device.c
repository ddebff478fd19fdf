/* The sim and replay bodies: memory, data and time are virtual; nothing sleeps, unless a scenario
 * asks for a pace. sim computes times and makes the faults of a scenario, replay takes recorded
 * times. */
#include "device/device.h"

#include "base/clock.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text.h"
#include "device/device_bodies.h"
#include "device/nvml.h"
#include "device/sim_scenario.h"
#include "device/sim_time.h"
#include "device/tool_host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fixed costs in virtual time. */
enum {
    LOAD_NS = 600000, /* a module */
    CALL_NS = 8000,   /* a kernel of the tool with its wait */
    QUEUE_NS = 2000,  /* a copy, which nobody waits for */
    LAUNCH_NS = 5000, /* a launch of its own */
    WAVE_NS = 150000, /* the host's part of a wave */
    GRAPH_NS = 80000, /* a graph, without its nodes */
    NODE_NS = 2500,
    EVENT_NS = 150,
    REFERENCE_SLOWNESS = 40,
    QUEUE_DEPTH = 1022,
    ENERGY_READ_NS = 1000000,  /* between readings of the counter */
    ENERGY_STEP_NS = 50000000, /* between its steps */
    ENERGY_ROUNDS = 2048,      /* whose noise a block of launches sees */
};

typedef struct {
    tsw_device_t base;
    tsw_gpu_t gpu;
    const tsw_sim_model_t *model;
    bool is_replay;
    tsw_sim_scenario_t scenario;
    tsw_sim_place_t place;
    tsw_nvml_t *nvml; /* NULL, unless TSW_LIBNVML asks for one: a stand-in, for tests */
    bool is_traced;
    tsw_span_t *traced;
    size_t traced_count, traced_capacity;
    uint64_t clock_ns;
    double energy_mj;   /* of the blocks that were asked for their energy */
    uint32_t round;     /* of the newest wave */
    uint64_t queued_ns; /* of copies that nobody waited for yet */
    double pace;        /* real time for each virtual; 0: none */
    uint64_t paced_ns;  /* so far was waited for */
    uint64_t held, peak, capacity, next_address;
    bool lost;
    tsw_fault_t result_fault; /* of the last launch, until somebody looks */
    bool reference_is_wrong;
    uint64_t touched[TSW_PARAM_MAX]; /* parameters of the last launch */
    uint32_t touched_count;
} tsw_sim_t;

/* What a tsw_kernel_t of these bodies is. */
typedef struct {
    tsw_kernel_model_t model;
    uint64_t launches;
} tsw_sim_kernel_t;

static tsw_sim_t *body(tsw_device_t *dev)
{
    return (tsw_sim_t *)dev;
}

static const tsw_sim_t *const_body(const tsw_device_t *dev)
{
    return (const tsw_sim_t *)dev;
}

static bool is_reference(const tsw_kernel_model_t *model)
{
    return model->config_text == NULL;
}

static tsw_sim_subject_t subject_of(const tsw_kernel_model_t *model)
{
    return (tsw_sim_subject_t){.text = model->config_text, .key = model->config_key};
}

static tsw_status_t usable(const tsw_sim_t *sim, tsw_err_t *err)
{
    if (sim->lost)
        return tsw_err_set(err, TSW_ERR_DEVICE_LOST, "the simulated context was lost before");
    return TSW_OK;
}

/* What was queued before has ended. */
static void settle(tsw_sim_t *sim)
{
    sim->clock_ns += sim->queued_ns;
    sim->queued_ns = 0;
}

/* Waits for the virtual time that went by since the last call, at the scenario's pace. */
static void keep_pace(tsw_sim_t *sim)
{
    if (sim->pace > 0)
        tsw_clock_sleep((uint64_t)((double)(sim->clock_ns - sim->paced_ns) * sim->pace));
    sim->paced_ns = sim->clock_ns;
}

static uint64_t memory_ns(const tsw_sim_t *sim, uint64_t bytes)
{
    return (uint64_t)((double)bytes / sim->model->dram_bytes_per_s * 1e9);
}

/* A pass of the tool over so many bytes. */
static tsw_status_t pass(tsw_sim_t *sim, uint64_t bytes, tsw_err_t *err)
{
    tsw_status_t status = usable(sim, err);
    settle(sim);
    if (status == TSW_OK)
        sim->clock_ns += CALL_NS + memory_ns(sim, bytes);
    return status;
}

static void sim_close(tsw_device_t *dev)
{
    tsw_sim_t *sim = body(dev);
    tsw_nvml_close(sim->nvml);
    tsw_free(sim->traced);
    tsw_sim_scenario_fini(&sim->scenario);
    tsw_free(sim);
}

static const tsw_gpu_t *sim_gpu(const tsw_device_t *dev)
{
    return &const_body(dev)->gpu;
}

static tsw_status_t load_tool(tsw_device_t *dev, const void *cubin, size_t size, tsw_err_t *err)
{
    (void)cubin;
    (void)size;
    body(dev)->clock_ns += LOAD_NS;
    return usable(body(dev), err);
}

static tsw_status_t canary(tsw_device_t *dev, tsw_err_t *err)
{
    tsw_status_t status = pass(body(dev), 0, err);
    if (status == TSW_OK && tsw_sim_gpu_rule(&body(dev)->scenario, TSW_FAULT_CANARY) != NULL)
        return tsw_err_set(err, TSW_ERR_DEVICE, "canary: failed as the scenario says");
    return status;
}

static tsw_status_t memory_new(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                               tsw_memory_t *memory_p, tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    const uint64_t unit = 256;
    tsw_status_t status = usable(sim, err);
    if (status != TSW_OK)
        return status;
    uint64_t front = (fence_bytes + unit - 1) / unit * unit;
    if (bytes > sim->capacity || front > sim->capacity ||
        bytes + 2 * front + unit > sim->capacity - sim->held)
        return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY,
                           "%llu bytes and fences of %llu do not fit: %llu of %llu are in use",
                           (unsigned long long)bytes, (unsigned long long)front,
                           (unsigned long long)sim->held, (unsigned long long)sim->capacity);
    tsw_memory_t memory = {.bytes = bytes, .fence_bytes = front, .base = sim->next_address};
    memory.address = memory.base + front;
    memory.total = front + (bytes + front + unit - 1) / unit * unit;
    sim->next_address += memory.total;
    sim->peak = sim->held == 0 ? 0 : sim->peak;
    sim->held += memory.total;
    sim->peak = sim->held > sim->peak ? sim->held : sim->peak;
    *memory_p = memory;
    return TSW_OK;
}

static void memory_free(tsw_device_t *dev, tsw_memory_t *memory)
{
    body(dev)->held -= memory->total;
    *memory = (tsw_memory_t){.address = 0};
}

static uint64_t memory_peak(const tsw_device_t *dev)
{
    return const_body(dev)->peak;
}

static tsw_status_t fill(tsw_device_t *dev, const tsw_memory_t *memory, tsw_dtype_t dtype,
                         uint64_t elements, const tsw_fill_t *how, int64_t lo, int64_t hi,
                         uint64_t seed, const void *data, size_t data_size, tsw_err_t *err)
{
    (void)dtype;
    (void)elements;
    (void)lo;
    (void)hi;
    (void)seed;
    if (how->kind == TSW_FILL_DATASET && (data == NULL || data_size != memory->bytes))
        return tsw_err_set(err, TSW_ERR_ARG, "the dataset has %zu bytes, the argument needs %llu",
                           data_size, (unsigned long long)memory->bytes);
    return pass(body(dev), memory->bytes, err);
}

static tsw_status_t poison(tsw_device_t *dev, const tsw_memory_t *memory, bool fences_only,
                           tsw_err_t *err)
{
    return pass(body(dev), fences_only ? 2 * memory->fence_bytes : memory->total, err);
}

static tsw_status_t copy(tsw_device_t *dev, const tsw_memory_t *to, const tsw_memory_t *from,
                         tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    TSW_ASSERT(to->bytes == from->bytes);
    tsw_status_t status = usable(sim, err);
    if (status == TSW_OK) {
        sim->clock_ns += QUEUE_NS;
        sim->queued_ns += memory_ns(sim, 2 * to->bytes);
    }
    return status;
}

static bool was_touched(const tsw_sim_t *sim, const tsw_memory_t *memory)
{
    for (uint32_t i = 0; i < sim->touched_count; i++)
        if (sim->touched[i] == memory->address)
            return true;
    return false;
}

/* Whether the last launch did that to this memory; the first who asks gets it. */
static bool take_fault(tsw_sim_t *sim, tsw_fault_t fault, const tsw_memory_t *memory)
{
    if (sim->result_fault != fault || !was_touched(sim, memory))
        return false;
    sim->result_fault = TSW_FAULT_NONE;
    return true;
}

static tsw_status_t check_fences(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *damaged_p,
                                 int64_t *first_p, tsw_err_t *err)
{
    tsw_status_t status = pass(body(dev), 2 * memory->fence_bytes, err);
    if (status != TSW_OK)
        return status;
    bool damaged = take_fault(body(dev), TSW_FAULT_OVERRUN, memory);
    *damaged_p = damaged ? 2 : 0;
    *first_p = (int64_t)memory->bytes;
    return TSW_OK;
}

/* Faults show at the buffers themselves. */
static tsw_status_t check_gaps(tsw_device_t *dev, const tsw_memory_t *memory,
                               const tsw_gaps_t *gaps, uint64_t *damaged_p, tsw_err_t *err)
{
    (void)memory;
    tsw_status_t status = pass(body(dev), gaps->bytes * gaps->count, err);
    if (status == TSW_OK)
        *damaged_p = 0;
    return status;
}

static tsw_compare_t faulty_result(tsw_fault_t fault, uint64_t elements)
{
    tsw_compare_t compare = {.elements = elements, .max_abs = 1e-3, .max_rel = 1e-3};
    switch (fault) {
    case TSW_FAULT_WRONG:
    case TSW_FAULT_INPLACE:
        compare.mismatches = elements / 3 + 1;
        compare.first_bad = elements / 7;
        compare.max_abs = 1.5;
        compare.max_rel = 0.75;
        break;
    case TSW_FAULT_NAN:
        compare.nans = elements / 5 + 1;
        compare.mismatches = compare.nans;
        break;
    case TSW_FAULT_UNWRITTEN:
        compare.unwritten = elements - elements / 2;
        compare.mismatches = compare.unwritten;
        compare.first_bad = elements / 2;
        break;
    default:
        break;
    }
    return compare;
}

static tsw_status_t compare(tsw_device_t *dev, const tsw_memory_t *got, const tsw_memory_t *want,
                            tsw_dtype_t dtype, uint64_t elements, double atol, double rtol,
                            tsw_compare_t *compare_p, tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    (void)dtype;
    (void)atol;
    (void)rtol;
    tsw_status_t status = pass(sim, got->bytes + want->bytes, err);
    if (status != TSW_OK)
        return status;
    tsw_fault_t fault = was_touched(sim, got) ? sim->result_fault : TSW_FAULT_NONE;
    if (fault == TSW_FAULT_NONE && sim->reference_is_wrong)
        fault = TSW_FAULT_WRONG;
    *compare_p = faulty_result(fault, elements);
    return TSW_OK;
}

static tsw_status_t checksum(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *sum_p,
                             tsw_err_t *err)
{
    tsw_status_t status = pass(body(dev), memory->bytes, err);
    if (status != TSW_OK)
        return status;
    bool changed = take_fault(body(dev), TSW_FAULT_INPUT, memory);
    *sum_p = tsw_rng_u64(changed ? 1 : 0, memory->address, memory->bytes, 0, 0);
    return TSW_OK;
}

static tsw_status_t inspect(tsw_device_t *dev, tsw_inspection_t *items, size_t count,
                            tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        if (items[i].want != NULL)
            status = compare(dev, items[i].memory, items[i].want, items[i].dtype, items[i].elements,
                             items[i].atol, items[i].rtol, &items[i].compare, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        if (items[i].memory->total > 0)
            status = check_fences(dev, items[i].memory, &items[i].damaged, &items[i].first, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        if (items[i].with_sum)
            status = checksum(dev, items[i].memory, &items[i].sum, err);
    return status;
}

static tsw_status_t kernel_load(tsw_device_t *dev, const void *cubin, size_t size,
                                const char *entry, const tsw_kernel_model_t *model,
                                tsw_kernel_t **kernel_p, tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    (void)cubin;
    (void)size;
    tsw_status_t status = usable(sim, err);
    if (status != TSW_OK)
        return status;
    if (sim->is_replay && !is_reference(model) && model->recorded_count == 0)
        return tsw_err_set(err, TSW_ERR_DEVICE, "entry %s: no samples of this config are recorded",
                           entry);
    tsw_sim_subject_t subject = subject_of(model);
    sim->clock_ns += LOAD_NS;
    switch (tsw_sim_fault_at_load(&sim->scenario, &subject)) {
    case TSW_FAULT_LOAD:
        return tsw_err_set(err, TSW_ERR_DEVICE, "entry %s: loading failed as the scenario says",
                           entry);
    case TSW_FAULT_OOM:
        return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY,
                           "entry %s: out of device memory as the scenario says", entry);
    default:
        break;
    }
    tsw_sim_kernel_t *kernel = tsw_calloc(1, sizeof(*kernel));
    if (kernel == NULL)
        return tsw_err_nomem(err);
    kernel->model = *model;
    *kernel_p = (tsw_kernel_t *)kernel;
    return TSW_OK;
}

static void kernel_unload(tsw_device_t *dev, tsw_kernel_t *kernel)
{
    (void)dev;
    tsw_free(kernel);
}

/* Of the SM clock, that a throttled GPU has left. */
static double clock_share(const tsw_sim_t *sim, uint32_t round)
{
    const tsw_sim_rule_t *throttle = tsw_sim_throttle(&sim->scenario, round);
    return throttle != NULL ? throttle->value : 1;
}

static uint64_t launch_ns(const tsw_sim_t *sim, const tsw_kernel_model_t *model,
                          const tsw_geometry_t *geometry, uint32_t round)
{
    if (sim->is_replay)
        return model->recorded_count > 0 ? model->recorded_ns[round % model->recorded_count] : 1;
    tsw_sim_subject_t subject = subject_of(model);
    double ns = tsw_sim_time_ns(sim->model, model, geometry);
    ns *= tsw_sim_slowness(&sim->scenario, &subject);
    ns /= clock_share(sim, round);
    if (is_reference(model))
        ns *= REFERENCE_SLOWNESS;
    else
        ns *= tsw_sim_noise(&sim->place, model->cell_key, model->config_key, round);
    return (uint64_t)llround(ns);
}

static bool is_in_place(const tsw_launch_t *launch)
{
    for (uint32_t i = 1; i < launch->param_count; i++)
        if (launch->params[i] == launch->params[i - 1] && launch->params[i] >= 1ull << 32)
            return true;
    return false;
}

static void note_result(tsw_sim_t *sim, const tsw_launch_t *launch, tsw_fault_t fault)
{
    const tsw_sim_kernel_t *kernel = (const tsw_sim_kernel_t *)launch->kernel;
    if (fault == TSW_FAULT_INPLACE && !is_in_place(launch))
        fault = TSW_FAULT_NONE;
    if (is_reference(&kernel->model)) {
        sim->reference_is_wrong = fault == TSW_FAULT_WRONG;
        fault = fault == TSW_FAULT_WRONG ? TSW_FAULT_NONE : fault;
    }
    sim->result_fault = fault;
    memcpy(sim->touched, launch->params, sizeof(sim->touched));
    sim->touched_count = launch->param_count;
}

/* One launch: the clock advances by its time, the fault that is due happens. */
static tsw_status_t execute(tsw_sim_t *sim, const tsw_launch_t *launch, uint32_t round,
                            double timeout_s, uint64_t *interval_ns_p, tsw_err_t *err)
{
    /* Kernels count their launches; the port hands them out as constant. */
    tsw_sim_kernel_t *kernel = (tsw_sim_kernel_t *)(uintptr_t)launch->kernel;
    tsw_sim_subject_t subject = subject_of(&kernel->model);
    settle(sim);
    tsw_fault_t fault = tsw_sim_fault_at_launch(&sim->scenario, &subject, ++kernel->launches);
    if (fault == TSW_FAULT_CRASH)
        abort();
    if (fault == TSW_FAULT_LAUNCH)
        return tsw_err_set(err, TSW_ERR_DEVICE, "launch refused as the scenario says");
    if (fault == TSW_FAULT_LOST) {
        sim->lost = true;
        return tsw_err_set(err, TSW_ERR_DEVICE_LOST, "context lost as the scenario says");
    }
    if (!sim->is_replay &&
        tsw_sim_blocks_per_sm(sim->model, &kernel->model, &launch->geometry) == 0)
        return tsw_err_set(err, TSW_ERR_DEVICE,
                           "launch refused: too many threads, registers or too much shared memory");
    uint64_t ns = launch_ns(sim, &kernel->model, &launch->geometry, round);
    if (fault == TSW_FAULT_HANG || (double)ns > timeout_s * 1e9) {
        sim->lost = true;
        sim->clock_ns += (uint64_t)(timeout_s * 1e9);
        return tsw_err_set(err, TSW_ERR_TIMEOUT, "still running after %g s", timeout_s);
    }
    note_result(sim, launch, fault);
    sim->clock_ns += LAUNCH_NS + ns;
    *interval_ns_p = ns;
    return TSW_OK;
}

static tsw_status_t run(tsw_device_t *dev, const tsw_launch_t *launch, double timeout_s,
                        tsw_err_t *err)
{
    uint64_t ns = 0;
    tsw_status_t status = usable(body(dev), err);
    return status == TSW_OK ? execute(body(dev), launch, 0, timeout_s, &ns, err) : status;
}

/* A graph holds nothing: its launches are with the shot. */
static tsw_status_t graph_new(tsw_device_t *dev, const tsw_launch_t *launches, uint32_t set_count,
                              uint32_t repeat, tsw_graph_t **graph_p, tsw_err_t *err)
{
    (void)launches;
    (void)set_count;
    tsw_sim_t *sim = body(dev);
    tsw_status_t status = usable(sim, err);
    if (status != TSW_OK)
        return status;
    uint32_t *graph = tsw_memdup(&repeat, sizeof(repeat));
    if (graph == NULL)
        return tsw_err_nomem(err);
    sim->clock_ns += GRAPH_NS + (uint64_t)repeat * NODE_NS;
    *graph_p = (tsw_graph_t *)graph;
    return TSW_OK;
}

static void graph_free(tsw_device_t *dev, tsw_graph_t *graph)
{
    (void)dev;
    tsw_free(graph);
}

/* Between the events of a shot, which just ended, lies more than its kernels. */
static tsw_status_t note_traced(tsw_sim_t *sim, uint32_t repeat, uint64_t ns, tsw_err_t *err)
{
    uint64_t start_ns = sim->clock_ns - repeat * ns;
    for (uint32_t i = 0; i < repeat; i++, start_ns += ns) {
        if (!TSW_GROW(sim->traced, sim->traced_capacity, sim->traced_count))
            return tsw_err_nomem(err);
        sim->traced[sim->traced_count++] =
            (tsw_span_t){start_ns, start_ns + (ns > 2 * EVENT_NS ? ns - EVENT_NS : ns)};
    }
    return TSW_OK;
}

/* All launches of a shot take what its first one takes; faults count it as one. */
static tsw_status_t shoot(tsw_sim_t *sim, const tsw_shot_t *shot, uint32_t round, double timeout_s,
                          uint64_t *interval_ns_p, tsw_err_t *err)
{
    uint64_t ns = 0;
    double flush_s = 2.0 * (double)sim->model->l2_bytes / sim->model->dram_bytes_per_s;
    if (shot->flush)
        sim->clock_ns += (uint64_t)(flush_s * 1e9);
    tsw_status_t status =
        execute(sim, &shot->launches[shot->first_set], round, timeout_s, &ns, err);
    if (status != TSW_OK)
        return status;
    sim->clock_ns += (uint64_t)(shot->repeat - 1) * ns;
    *interval_ns_p = shot->repeat * ns;
    return sim->is_traced ? note_traced(sim, shot->repeat, ns, err) : TSW_OK;
}

static tsw_status_t wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                         const tsw_wave_plan_t *plan, uint64_t *interval_ns, size_t *finished_p,
                         tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    size_t finished = 0;
    tsw_status_t status = usable(sim, err);
    sim->clock_ns += WAVE_NS;
    while (status == TSW_OK && finished < count) {
        uint32_t round = plan->round;
        if (plan->per_round > 0)
            round += (uint32_t)(finished / plan->per_round);
        sim->round = round;
        status = shoot(sim, &shots[finished], round, plan->timeout_s, &interval_ns[finished], err);
        finished += status == TSW_OK;
    }
    keep_pace(sim);
    *finished_p = finished;
    return status;
}

/* Something stands in for the driver's NVML. */
static bool has_stand_in(void)
{
    return tsw_library_path("TSW_LIBNVML", NULL) != NULL;
}

static tsw_status_t energy_find(tsw_device_t *dev, tsw_err_t *err)
{
    const tsw_sim_t *sim = body(dev);
    if (sim->is_replay)
        return tsw_err_set(err, TSW_ERR_ENV, "the energy counter: a replay has none");
    return has_stand_in() ? tsw_nvml_energy_find(sim->nvml, &sim->gpu, err) : TSW_OK;
}

/* By the stand-in for the driver's library where there is one, else by a counter of its own. */
static tsw_status_t read_energy(tsw_sim_t *sim, double watts, uint64_t start_ns,
                                tsw_energy_window_t *window, tsw_energy_step_t *step_p,
                                tsw_err_t *err)
{
    uint64_t ns = sim->clock_ns - start_ns;
    if (sim->nvml != NULL)
        return tsw_nvml_energy_step(sim->nvml, window, sim->clock_ns, step_p, err);
    double mj = sim->energy_mj + watts * (double)(ns - ns % ENERGY_STEP_NS) * 1e-6;
    *step_p = tsw_energy_window_add(window, sim->clock_ns, (uint64_t)llround(mj));
    return TSW_OK;
}

/* The mean of many launches, like that of a block. */
static double mean_ns(const tsw_sim_t *sim, const tsw_shot_t *shot, uint32_t round)
{
    const tsw_launch_t *launch = &shot->launches[0];
    const tsw_kernel_model_t *model = &((const tsw_sim_kernel_t *)launch->kernel)->model;
    double sum = 0.0;
    for (uint32_t i = 0; i < ENERGY_ROUNDS; i++)
        sum += (double)launch_ns(sim, model, &launch->geometry, round * ENERGY_ROUNDS + i + 1);
    return sum / ENERGY_ROUNDS;
}

static tsw_status_t energy(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                           double timeout_s, tsw_energy_t *energy_p, tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    const tsw_kernel_model_t *model = &((const tsw_sim_kernel_t *)shot->launches[0].kernel)->model;
    tsw_sim_subject_t subject = subject_of(model);
    double watts = tsw_sim_watts(sim->model, model) * tsw_sim_power(&sim->scenario, &subject);
    tsw_energy_window_t window = {.has_begun = false};
    tsw_energy_step_t step = TSW_ENERGY_RUNNING;
    uint64_t ns = 0;
    tsw_status_t status = usable(sim, err);
    if (status == TSW_OK)
        status = execute(sim, &shot->launches[shot->first_set], round, timeout_s, &ns, err);
    uint64_t start_ns = sim->clock_ns;
    while (status == TSW_OK && step == TSW_ENERGY_RUNNING) {
        status = read_energy(sim, watts, start_ns, &window, &step, err);
        sim->clock_ns += ENERGY_READ_NS;
    }
    keep_pace(sim);
    if (status != TSW_OK)
        return status;
    uint64_t elapsed_ns = sim->clock_ns - start_ns;
    double launch = mean_ns(sim, shot, round), launches = ceil((double)elapsed_ns / launch);
    sim->energy_mj += watts * (double)elapsed_ns * 1e-6;
    *energy_p = tsw_energy_of(&window, (uint64_t)launches, (uint64_t)llround(launches * launch));
    return TSW_OK;
}

static tsw_status_t queue_depth(tsw_device_t *dev, const tsw_launch_t *launch, uint32_t tried,
                                uint32_t *depth_p, double *enqueue_ns_p, tsw_err_t *err)
{
    (void)launch;
    tsw_status_t status = usable(body(dev), err);
    if (status != TSW_OK)
        return status;
    body(dev)->clock_ns += (uint64_t)LAUNCH_NS * QUEUE_DEPTH;
    *depth_p = tried > QUEUE_DEPTH ? QUEUE_DEPTH : 0;
    *enqueue_ns_p = LAUNCH_NS;
    return TSW_OK;
}

static tsw_status_t prove_flush(tsw_device_t *dev, tsw_flush_proof_t *proof_p, tsw_err_t *err)
{
    tsw_status_t status = usable(body(dev), err);
    if (status == TSW_OK)
        *proof_p = (tsw_flush_proof_t){.hot_ns = 160, .cold_ns = 480};
    return status;
}

/* No thread here: a stand-in is read at each call, so that equal runs see the same. */
static void telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                      tsw_telemetry_t *telemetry_p)
{
    const tsw_sim_t *sim = body(dev);
    (void)from_ns;
    (void)to_ns;
    if (sim->nvml != NULL) {
        tsw_nvml_read(sim->nvml, telemetry_p);
        telemetry_p->read_ns = sim->clock_ns;
        return;
    }
    const tsw_sim_rule_t *throttle = tsw_sim_throttle(&sim->scenario, sim->round);
    double share = clock_share(sim, sim->round);
    *telemetry_p = (tsw_telemetry_t){.sm_clock_mhz = (uint32_t)(sim->model->sm_clock_mhz * share),
                                     .throttle_reasons = throttle != NULL ? throttle->reason : 0,
                                     .mem_clock_mhz = sim->model->mem_clock_mhz,
                                     .power_w = sim->model->power_w,
                                     .temperature_celsius = 55.0f,
                                     .max_sm_clock_mhz = sim->model->sm_clock_mhz,
                                     .read_ns = sim->clock_ns};
}

static void health(tsw_device_t *dev, bool now, tsw_health_t *health_p)
{
    (void)now;
    tsw_nvml_health(body(dev)->nvml, health_p);
}

static tsw_status_t trace_find(tsw_device_t *dev, tsw_err_t *err)
{
    return usable(body(dev), err);
}

static tsw_status_t trace_begin(tsw_device_t *dev, tsw_err_t *err)
{
    body(dev)->is_traced = true;
    body(dev)->traced_count = 0;
    return usable(body(dev), err);
}

static tsw_status_t trace_end(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                              tsw_err_t *err)
{
    tsw_sim_t *sim = body(dev);
    tsw_status_t status = usable(sim, err);
    sim->is_traced = false;
    if (status != TSW_OK)
        return status;
    *spans_p = sim->traced;
    *count_p = sim->traced_count;
    sim->traced = NULL;
    sim->traced_count = sim->traced_capacity = 0;
    return TSW_OK;
}

static uint64_t now_ns(const tsw_device_t *dev)
{
    return const_body(dev)->clock_ns;
}

static tsw_status_t profiler(tsw_device_t *dev, bool on, tsw_err_t *err)
{
    (void)on;
    return usable(body(dev), err);
}

static const tsw_device_ops_t sim_ops = {
    .name = "sim",
    .close = sim_close,
    .gpu = sim_gpu,
    .load_tool = load_tool,
    .canary = canary,
    .memory_new = memory_new,
    .memory_free = memory_free,
    .memory_peak = memory_peak,
    .fill = fill,
    .poison = poison,
    .copy = copy,
    .check_fences = check_fences,
    .check_gaps = check_gaps,
    .compare = compare,
    .checksum = checksum,
    .inspect = inspect,
    .kernel_load = kernel_load,
    .kernel_unload = kernel_unload,
    .run = run,
    .graph_new = graph_new,
    .graph_free = graph_free,
    .wave = wave,
    .queue_depth = queue_depth,
    .prove_flush = prove_flush,
    .telemetry = telemetry,
    .health = health,
    .trace_find = trace_find,
    .trace_begin = trace_begin,
    .trace_end = trace_end,
    .energy_find = energy_find,
    .energy = energy,
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

/* A simulated GPU has a clock, a temperature and errors of its own only where a test stands in for
 * the driver. */
static void attach_nvml(tsw_sim_t *sim)
{
    char driver_text[TSW_NAME_SIZE];
    if (sim->is_replay || !has_stand_in())
        return;
    memcpy(driver_text, sim->gpu.driver_text, sizeof(driver_text));
    sim->nvml = tsw_nvml_attach(&sim->gpu);
    memcpy(sim->gpu.driver_text, driver_text, sizeof(driver_text));
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
    attach_nvml(sim);
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
