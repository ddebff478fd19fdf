/* The cell in hand: its buffers and configs. Private to measure. */
#ifndef TSW_MEASURE_MEASURE_CELL_H
#define TSW_MEASURE_MEASURE_CELL_H

#include "measure/measure.h"
#include "measure/policy_wave.h"

/* One argument of the pack. Buffers that its role does not need have no bytes. */
typedef struct {
    const tsw_arg_t *arg;
    tsw_dtype_t dtype;
    uint64_t elements;
    tsw_memory_t input;     /* in; inout: pristine, what is read */
    tsw_memory_t output;    /* out, workspace; inout: the scratch that is written */
    tsw_memory_t reference; /* out, inout: what the reference wrote */
    uint64_t input_sum, reference_sum;
    uint64_t input_offset, output_offset; /* in a set of the ring */
} tsw_measure_arg_t;

/* What an interval is made of. */
typedef struct {
    uint32_t launches;
    bool is_graph;
} tsw_measure_interval_t;

typedef struct {
    uint32_t index;
    bool is_ok;
    tsw_fate_t fate;
    tsw_kernel_t *kernel;
    char *config_text;   /* canonical */
    tsw_launch_t launch; /* with split buffers, of set 0 */
    uint64_t first_ns;   /* the launch that was verified; 0: none, or its time says nothing */
    tsw_measure_interval_t interval; /* of its last shot; no launches: none yet */
    uint64_t single_ns;              /* shortest launch of its own so far; 0: none */
    double least_ns;                 /* per launch, of its shortest interval so far; 0: none */
    tsw_launch_t *launches;          /* one per set; NULL: not needed yet */
    tsw_graph_t *graph;
    uint32_t graph_launches;
} tsw_measure_entry_t;

/* How many buffer sets, and how launches that go round them find the L2. */
typedef struct {
    uint32_t sets;
    tsw_cache_state_t state;
} tsw_measure_rotation_t;

/* Set 0 are the arguments' own buffers; copies of them, set after set, lie in the arena. */
typedef struct {
    uint32_t sets;
    tsw_cache_state_t state;
    uint64_t period; /* bytes from one set to the next */
    tsw_memory_t arena;
    uint32_t next_set; /* the one whose turn was longest ago */
} tsw_measure_ring_t;

#define TSW_MEASURE_CLOCKS 32

/* SM clocks of the last rounds. */
typedef struct {
    uint32_t mhz[TSW_MEASURE_CLOCKS];
    size_t count, next;
    uint32_t redos;      /* rounds that were run again */
    uint32_t locked_mhz; /* 0: free */
} tsw_measure_clock_t;

struct tsw_measure {
    tsw_device_t *dev;
    tsw_measure_cell_t cell;
    tsw_measure_sink_t sink;
    tsw_eval_t *eval, *own_eval;
    bool is_ahead; /* another cell is in hand */
    tsw_measure_arg_t *args;
    size_t arg_count;
    tsw_inspection_t *inspections; /* scratch: one per buffer of an argument */
    tsw_measure_ring_t ring;
    tsw_measure_clock_t clock;
    tsw_kernel_t *reference;
    tsw_launch_t reference_launch;
    tsw_measure_entry_t *entries;
    size_t entry_count, entry_capacity;
    uint32_t most_spill; /* bytes per thread, of the configs that ran */
    uint64_t start_ns;
    tsw_watch_t *watch, own_watch;
    int32_t pick;
};

/* ---- measure_call.c ---- */

bool tsw_measure_is_fixed(const tsw_measure_t *measure); /* launches only, nothing verified */
uint64_t tsw_measure_now_ns(const tsw_measure_t *measure);
/* From now on time goes to another use; yields the one before. */
tsw_use_t tsw_measure_turn(tsw_measure_t *measure, tsw_use_t use);
/* Launch a config and wait, within the policy's limit. *ns_p: how long it took. */
tsw_status_t tsw_measure_launch(tsw_measure_t *measure, const tsw_launch_t *launch, uint64_t *ns_p,
                                tsw_err_t *err);
/* Tell the sink what became of a config. */
void tsw_measure_tell(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_outcome_t outcome,
                      const char *detail, const tsw_verify_facts_t *verify);
/* A call for the config failed: tells its outcome, device_outcome for a plain refusal. Yields
 * TSW_OK when the process may go on. */
tsw_status_t tsw_measure_blame(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                               tsw_status_t status, tsw_outcome_t device_outcome,
                               const tsw_err_t *err);
/* The process cannot go on after these. */
bool tsw_measure_is_fatal(tsw_status_t status);

/* ---- measure_args.c ---- */

/* Evaluate sizes, allocate everything, fill the inputs. */
tsw_status_t tsw_measure_args_new(tsw_measure_t *measure, bool with_reference, tsw_err_t *err);
void tsw_measure_args_free(tsw_measure_t *measure);
tsw_status_t tsw_measure_args_fill(tsw_measure_t *measure, tsw_err_t *err);

typedef enum {
    TSW_BUFFERS_SPLIT,     /* reads input, writes output */
    TSW_BUFFERS_REFERENCE, /* reads input, writes reference */
    TSW_BUFFERS_IN_PLACE,  /* inout: reads and writes output */
} tsw_buffers_t;

/* Kernel parameters in the pack's order; scalars as eval is bound now. */
tsw_status_t tsw_measure_params(const tsw_measure_t *measure, tsw_buffers_t buffers,
                                tsw_launch_t *launch, tsw_err_t *err);
/* Only the pointers, of a launch whose scalars are set; set above 0: only split buffers. */
void tsw_measure_pointers(const tsw_measure_t *measure, tsw_buffers_t buffers, uint32_t set,
                          tsw_launch_t *launch);

/* ---- measure_kernel.c ---- */

/* What all kernels of the cell have in common; a config's own numbers are the caller's to add. */
tsw_kernel_model_t tsw_measure_model(const tsw_measure_t *measure);
/* Geometry and parameters; config NULL: the reference. */
tsw_status_t tsw_measure_make_launch(tsw_measure_t *measure, const tsw_config_t *config,
                                     tsw_launch_t *launch, tsw_err_t *err);

/* ---- measure_ring.c ---- */

/* Pure. touched: bytes that a launch reads and writes; footprint: bytes of one more set in memory;
 * budget: bytes for all of them. */
tsw_measure_rotation_t tsw_measure_rotation(tsw_cache_mode_t cache, uint64_t l2_bytes,
                                            uint64_t touched, uint64_t footprint, uint64_t budget);
/* Once the inputs are filled. Without memory for sets the L2 is flushed instead. */
tsw_status_t tsw_measure_ring_new(tsw_measure_t *measure, tsw_err_t *err);
void tsw_measure_ring_free(tsw_measure_t *measure);
/* Of a buffer in a set; first: the buffer of set 0. */
uint64_t tsw_measure_ring_address(const tsw_measure_t *measure, const tsw_memory_t *first,
                                  uint64_t offset, uint32_t set);
/* *damaged_p: bytes between the buffers of sets 1.. that changed. */
tsw_status_t tsw_measure_ring_check(tsw_measure_t *measure, uint64_t *damaged_p, tsw_err_t *err);

/* ---- measure_shots.c ---- */

/* Pure. As the wave wants it, for a config whose single launch takes single_ns (0: unknown), where
 * the fastest of the wave takes best_ns. */
tsw_measure_interval_t tsw_measure_interval(const tsw_measure_rotation_t *rotation,
                                            const tsw_wave_t *wave, uint64_t single_ns,
                                            uint64_t best_ns);
/* The interval that a wave of this kind wants of a config; makes its graph when there is none. */
tsw_status_t tsw_measure_shot(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                              tsw_wave_kind_t kind, tsw_measure_interval_t interval,
                              tsw_shot_t *shot_p, tsw_err_t *err);
void tsw_measure_shots_free(tsw_measure_t *measure, tsw_measure_entry_t *entry);
/* How intervals of such a wave find the L2. */
tsw_cache_state_t tsw_measure_cache_state(const tsw_measure_t *measure, tsw_wave_kind_t kind);

/* The same for launches back to back, however long: without a flush, in turn over the ring. */
tsw_status_t tsw_measure_shot_endless(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                                      tsw_shot_t *shot_p, tsw_err_t *err);

/* ---- measure_energy.c ---- */

/* After the rounds by time: those that may win run in blocks, rounds numbered from `round` on, and
 * the pick and the fates are those of the energy. TSW_ERR_DEVICE_UNFIT: the counter was lost. */
tsw_status_t tsw_measure_energy(tsw_measure_t *measure, uint32_t round, tsw_err_t *err);

/* ---- measure_check.c ---- */

/* Poison what a launch is to write. */
tsw_status_t tsw_measure_poison(tsw_measure_t *measure, tsw_err_t *err);
/* (Re)compute the reference's outputs, and note what must not change. detail: fences that it
 * damaged, as tsw_measure_inspect. */
tsw_status_t tsw_measure_run_reference(tsw_measure_t *measure, char *detail, tsw_err_t *err);
/* Finds and mends what a launch damaged: fences, inputs, reference outputs. detail: the first
 * damage in words, "" when there is none; size TSW_DETAIL_MAX. */
tsw_status_t tsw_measure_inspect(tsw_measure_t *measure, char *detail, tsw_err_t *err);
/* The same, and the outputs against the reference's, in one go. outcome OK, WRONG_RESULT or
 * NAN_RESULT, detail in words. */
tsw_status_t tsw_measure_judge(tsw_measure_t *measure, tsw_outcome_t *outcome_p, char *detail,
                               tsw_verify_facts_t *facts_p, tsw_err_t *err);

/* ---- measure_look.c ---- */

/* A round with the state of the GPU as it is now, or is noted. */
tsw_round_t tsw_measure_round(const tsw_telemetry_t *telemetry, const tsw_health_t *health);
/* Adds what happened to the GPU since the last look. An error when the GPU must not be used any
 * more. */
tsw_status_t tsw_measure_look(tsw_measure_t *measure, tsw_health_t *sum, tsw_err_t *err);

/* ---- measure_clock.c ---- */

/* Pure. More than 2 % off the median of the rounds so far, or throttled below 75 % of the highest
 * clock by more than the power cap. A clock that is locked: not there. */
bool tsw_measure_clock_is_off(const tsw_measure_clock_t *clock, const tsw_telemetry_t *now);
void tsw_measure_clock_note(tsw_measure_clock_t *clock, const tsw_telemetry_t *now);

/* ---- measure_verify.c ---- */

/* The first launch, over poison; tells the outcome. An error only when the process must go. */
tsw_status_t tsw_measure_verify(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err);
/* After the rounds: every config's last launch, and its in-place form. */
tsw_status_t tsw_measure_verify_again(tsw_measure_t *measure, tsw_err_t *err);

#endif
