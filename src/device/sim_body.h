/* The state of the sim and replay bodies and the functions that their files share. Private to
 * device. */
#ifndef TSW_DEVICE_SIM_BODY_H
#define TSW_DEVICE_SIM_BODY_H

#include "device/device.h"
#include "device/nvml.h"
#include "device/sim_scenario.h"
#include "device/sim_time.h"

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
    uint64_t held, capacity, next_address;
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

static inline tsw_sim_t *tsw_sim_body(tsw_device_t *dev)
{
    return (tsw_sim_t *)dev;
}

static inline const tsw_sim_t *tsw_sim_const_body(const tsw_device_t *dev)
{
    return (const tsw_sim_t *)dev;
}

/* TSW_ERR_DEVICE_LOST when the context is lost. */
tsw_status_t tsw_sim_usable(const tsw_sim_t *sim, tsw_err_t *err);
/* What was queued before has ended. */
void tsw_sim_settle(tsw_sim_t *sim);
/* Wait for the virtual time that went by since the last call, at the scenario's pace. */
void tsw_sim_keep_pace(tsw_sim_t *sim);
/* How long so many bytes of device memory take. */
uint64_t tsw_sim_memory_ns(const tsw_sim_t *sim, uint64_t bytes);
/* A pass of the tool over so many bytes; TSW_ERR_DEVICE_LOST. */
tsw_status_t tsw_sim_pass(tsw_sim_t *sim, uint64_t bytes, tsw_err_t *err);

bool tsw_sim_is_reference(const tsw_kernel_model_t *model);
/* Whom rules of the scenario may fit; borrows from model. */
tsw_sim_subject_t tsw_sim_subject_of(const tsw_kernel_model_t *model);

/* Of the SM clock, that a throttled GPU has left. */
double tsw_sim_clock_share(const tsw_sim_t *sim, uint32_t round);
/* How long a launch takes in this round. */
uint64_t tsw_sim_launch_ns(const tsw_sim_t *sim, const tsw_kernel_model_t *model,
                           const tsw_geometry_t *geometry, uint32_t round);
/* One launch: the clock advances by its time, the fault that is due happens. */
tsw_status_t tsw_sim_execute(tsw_sim_t *sim, const tsw_launch_t *launch, uint32_t round,
                             double timeout_s, uint64_t *interval_ns_p, tsw_err_t *err);

/* The kernels of a shot, which just ended, for whoever traces. */
tsw_status_t tsw_sim_trace_note(tsw_sim_t *sim, uint32_t repeat, uint64_t ns, tsw_err_t *err);

/* Whether something stands in for the driver's NVML. */
bool tsw_sim_nvml_has_stand_in(void);
void tsw_sim_nvml_attach(tsw_sim_t *sim);

/* The entries of the table, file by file. */
tsw_status_t tsw_sim_memory_new(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                tsw_memory_t *memory_p, tsw_err_t *err);
void tsw_sim_memory_free(tsw_device_t *dev, tsw_memory_t *memory);
tsw_status_t tsw_sim_memory_ahead(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                  tsw_memory_t *memory_p, tsw_err_t *err);
tsw_status_t tsw_sim_fill(tsw_device_t *dev, const tsw_memory_t *memory, tsw_dtype_t dtype,
                          uint64_t elements, const tsw_fill_t *how, int64_t lo, int64_t hi,
                          uint64_t seed, const void *data, size_t data_size, tsw_err_t *err);
tsw_status_t tsw_sim_poison(tsw_device_t *dev, const tsw_memory_t *memory, bool fences_only,
                            tsw_err_t *err);
tsw_status_t tsw_sim_copy(tsw_device_t *dev, const tsw_memory_t *to, const tsw_memory_t *from,
                          tsw_err_t *err);
tsw_status_t tsw_sim_check_fences(tsw_device_t *dev, const tsw_memory_t *memory,
                                  uint64_t *damaged_p, int64_t *first_p, tsw_err_t *err);
tsw_status_t tsw_sim_check_gaps(tsw_device_t *dev, const tsw_memory_t *memory,
                                const tsw_gaps_t *gaps, uint64_t *damaged_p, tsw_err_t *err);
tsw_status_t tsw_sim_compare(tsw_device_t *dev, const tsw_memory_t *got, const tsw_memory_t *want,
                             tsw_dtype_t dtype, uint64_t elements, double atol, double rtol,
                             tsw_compare_t *compare_p, tsw_err_t *err);
tsw_status_t tsw_sim_checksum(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *sum_p,
                              tsw_err_t *err);
tsw_status_t tsw_sim_inspect(tsw_device_t *dev, tsw_inspection_t *items, size_t count,
                             tsw_err_t *err);
tsw_status_t tsw_sim_load_tool(tsw_device_t *dev, const void *cubin, size_t size, tsw_err_t *err);
tsw_status_t tsw_sim_kernel_load(tsw_device_t *dev, const void *cubin, size_t size,
                                 const char *entry, const tsw_kernel_model_t *model,
                                 tsw_kernel_t **kernel_p, tsw_err_t *err);
void tsw_sim_kernel_unload(tsw_device_t *dev, tsw_kernel_t *kernel);
tsw_status_t tsw_sim_run(tsw_device_t *dev, const tsw_launch_t *launch, double timeout_s,
                         tsw_err_t *err);
tsw_status_t tsw_sim_graph_new(tsw_device_t *dev, const tsw_shot_t *shot, tsw_graph_t **graph_p,
                               tsw_err_t *err);
void tsw_sim_graph_free(tsw_device_t *dev, tsw_graph_t *graph);
tsw_status_t tsw_sim_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                          const tsw_wave_plan_t *plan, uint64_t *interval_ns, size_t *finished_p,
                          tsw_err_t *err);
tsw_status_t tsw_sim_queue_depth(tsw_device_t *dev, const tsw_launch_t *launch, uint32_t tried,
                                 uint32_t *depth_p, double *enqueue_ns_p, tsw_err_t *err);
tsw_status_t tsw_sim_prove_flush(tsw_device_t *dev, tsw_flush_proof_t *proof_p, tsw_err_t *err);
void tsw_sim_telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                       tsw_telemetry_t *telemetry_p);
void tsw_sim_health(tsw_device_t *dev, bool now, tsw_health_t *health_p);
tsw_status_t tsw_sim_trace_find(tsw_device_t *dev, tsw_err_t *err);
tsw_status_t tsw_sim_trace_begin(tsw_device_t *dev, tsw_err_t *err);
tsw_status_t tsw_sim_trace_end(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                               tsw_err_t *err);
tsw_status_t tsw_sim_energy_find(tsw_device_t *dev, tsw_err_t *err);
tsw_status_t tsw_sim_energy(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                            double timeout_s, tsw_energy_t *energy_p, tsw_err_t *err);

#endif
