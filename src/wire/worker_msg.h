/* What a rank and a measure worker say to each other; child_msg.h tells of what is owned. */
#ifndef TSW_WIRE_WORKER_MSG_H
#define TSW_WIRE_WORKER_MSG_H

#include "base/buf.h"
#include "base/fileset.h"
#include "record/record.h"
#include "record/timer_check.h"

#define TSW_MSG_DIM_MAX  16
#define TSW_MSG_FLAG_MAX 8
#define TSW_MSG_KNOB_MAX 16

/* Which device a measure worker opens, and the job's files. */
typedef struct {
    char kind[16];
    int64_t place;
    char model[32];
    uint32_t id;
    char node[TSW_NAME_SIZE];
    uint64_t seed;
    uint32_t arch;
    uint32_t locked_mhz; /* the SM clock is; 0: free */
    bool check_timer;    /* hold it against CUPTI's after each cell */
    char *scenario;      /* "": none */
    tsw_fileset_t snapshot;
} tsw_msg_init_t;

void tsw_put_msg_init(tsw_buf_t *out, const tsw_msg_init_t *msg);
tsw_status_t tsw_get_msg_init(const void *body, size_t size, tsw_msg_init_t *msg_p, tsw_err_t *err);
void tsw_msg_init_fini(tsw_msg_init_t *msg);

typedef struct {
    char uuid[TSW_UUID_SIZE];
    uint32_t mhz;
} tsw_msg_lock_t;

void tsw_put_msg_lock(tsw_buf_t *out, const tsw_msg_lock_t *msg);
tsw_status_t tsw_get_msg_lock(const void *body, size_t size, tsw_msg_lock_t *msg_p, tsw_err_t *err);

typedef struct {
    uint32_t pack; /* index in the job's packs */
    uint32_t dtype;
    uint32_t flags[TSW_MSG_FLAG_MAX];
    int64_t static_dims[TSW_MSG_DIM_MAX];
    int64_t dims[TSW_MSG_DIM_MAX];
    uint32_t arch;
    tsw_key_t cell_key;
    double flops, bytes;
    int64_t max_tile;
    const void *reference; /* borrowed */
    size_t reference_size;
} tsw_msg_begin_t;

void tsw_put_msg_begin(tsw_buf_t *out, const tsw_msg_begin_t *msg);
tsw_status_t tsw_get_msg_begin(const void *body, size_t size, tsw_msg_begin_t *msg_p,
                               tsw_err_t *err);

typedef struct {
    uint32_t index;
    int64_t values[TSW_MSG_KNOB_MAX];
    tsw_key_t config_key;
    tsw_build_facts_t facts;
    bool verified;
    const void *cubin; /* borrowed */
    size_t cubin_size;
    uint64_t *recorded_ns; /* replay; heap after get */
    size_t recorded_count;
} tsw_msg_add_t;

void tsw_put_msg_add(tsw_buf_t *out, const tsw_msg_add_t *msg);
tsw_status_t tsw_get_msg_add(const void *body, size_t size, tsw_msg_add_t *msg_p, tsw_err_t *err);
void tsw_msg_add_fini(tsw_msg_add_t *msg);

typedef struct {
    uint32_t index;
    tsw_outcome_t outcome;
    char detail[TSW_DETAIL_MAX];
    bool has_verify;
    tsw_verify_facts_t verify;
} tsw_msg_state_t;

void tsw_put_msg_state(tsw_buf_t *out, const tsw_msg_state_t *msg);
tsw_status_t tsw_get_msg_state(const void *body, size_t size, tsw_msg_state_t *msg_p,
                               tsw_err_t *err);

typedef struct {
    tsw_round_t round;
    uint32_t *indices; /* heap after get */
    tsw_sample_t *samples;
    size_t count;
} tsw_msg_round_t;

void tsw_put_msg_round(tsw_buf_t *out, const tsw_msg_round_t *msg);
tsw_status_t tsw_get_msg_round(const void *body, size_t size, tsw_msg_round_t *msg_p,
                               tsw_err_t *err);
void tsw_msg_round_fini(tsw_msg_round_t *msg);

typedef struct {
    uint64_t peak_bytes;
    tsw_usage_t usage;
    int32_t pick;      /* config index that the protocol chose; -1: none */
    uint32_t *indices; /* of the configs that took part; heap after get */
    uint8_t *fates;    /* tsw_fate_t of each; heap after get */
    size_t count;
} tsw_msg_timed_t;

void tsw_put_msg_timed(tsw_buf_t *out, const tsw_msg_timed_t *msg);
tsw_status_t tsw_get_msg_timed(const void *body, size_t size, tsw_msg_timed_t *msg_p,
                               tsw_err_t *err);
void tsw_msg_timed_fini(tsw_msg_timed_t *msg);

void tsw_put_timer_check(tsw_buf_t *out, const tsw_timer_check_t *check);
tsw_status_t tsw_get_timer_check(const void *body, size_t size, tsw_timer_check_t *check_p,
                                 tsw_err_t *err);

#endif
