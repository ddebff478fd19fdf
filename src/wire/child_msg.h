/* What a rank and its children say to each other. Plain data: the owner of a type (build, measure,
 * device) translates. `put` appends the body of a frame; `get` reads one: the status is
 * TSW_ERR_CORRUPT unless the whole body was understood. Blobs are borrowed from the body, text and
 * arrays are heap, freed by the struct's `_fini`. */
#ifndef TSW_WIRE_CHILD_MSG_H
#define TSW_WIRE_CHILD_MSG_H

#include "record/timer_check.h"
#include "wire/wire.h"

/* Types of frames. The build keeper gets one BUILD and answers BUILT or FAILED. The measure worker
 * gets INIT (HELLO or FAILED), TOOL (READY or FAILED), and per cell BEGIN, ADD.., TIME; it sends
 * BUSY, STATE and ROUND meanwhile and ends the cell with TIMED, or with REFUSED when the cell could
 * not begin. Between cells CALIBRATE
 * is answered with CALIBRATED. FAILED is the last word of a process. */
typedef enum {
    TSW_CHILD_BUILD = 1,
    TSW_CHILD_BUILT,
    TSW_CHILD_FAILED,
    TSW_CHILD_INIT,
    TSW_CHILD_HELLO, /* a tsw_gpu_t */
    TSW_CHILD_TOOL,  /* a cubin */
    TSW_CHILD_READY, /* empty */
    TSW_CHILD_BEGIN,
    TSW_CHILD_ADD,
    TSW_CHILD_TIME, /* u32 first round */
    TSW_CHILD_BUSY, /* i64 index, -1 none, -2 the reference */
    TSW_CHILD_STATE,
    TSW_CHILD_ROUND,
    TSW_CHILD_TIMED,
    TSW_CHILD_REFUSED, /* a tsw_msg_failed_t */
    TSW_CHILD_CALIBRATE,
    TSW_CHILD_CALIBRATED, /* a tsw_calibration_t */
    TSW_CHILD_LOCK,       /* to the holder of a clock's lock, which answers LOCKED or FAILED */
    TSW_CHILD_LOCKED,     /* empty */
    TSW_CHILD_TIMER,      /* a tsw_timer_check_t */
} tsw_child_msg_t;

#define TSW_MSG_ARCH_MAX 32
#define TSW_MSG_DIM_MAX  16
#define TSW_MSG_FLAG_MAX 8
#define TSW_MSG_KNOB_MAX 16

typedef struct {
    char **items;
    size_t count;
} tsw_msg_texts_t;

/* One build: the toolchain (found once by the rank) and the request. */
typedef struct {
    char *root, *nvrtc, *tileiras, *toolchain; /* tileiras "": none */
    tsw_key_t toolchain_key;
    char *work_dir;
    uint32_t language;
    tsw_fileset_t files;
    char *source, *entry;
    tsw_msg_texts_t defines, options;
    uint32_t archs[TSW_MSG_ARCH_MAX];
    size_t arch_count;
    bool arch_dependent;
    double cpu_limit_s;
} tsw_msg_build_t;

void tsw_put_msg_build(tsw_buf_t *out, const tsw_msg_build_t *msg);
tsw_status_t tsw_get_msg_build(const void *body, size_t size, tsw_msg_build_t *msg_p,
                               tsw_err_t *err);
void tsw_msg_build_fini(tsw_msg_build_t *msg);

/* What a build gave for one arch. */
typedef struct {
    tsw_outcome_t outcome;
    char detail[TSW_DETAIL_MAX];
    tsw_build_facts_t facts;
    const void *cubin; /* borrowed */
    size_t cubin_size;
} tsw_msg_artifact_t;

void tsw_put_msg_artifact(tsw_buf_t *out, const tsw_msg_artifact_t *artifact);
void tsw_get_msg_artifact(tsw_reader_t *in, tsw_msg_artifact_t *artifact_p);

typedef struct {
    tsw_msg_artifact_t artifacts[TSW_MSG_ARCH_MAX]; /* parallel to archs of the request */
    size_t count;
    const void *log; /* borrowed */
    size_t log_size;
} tsw_msg_built_t;

void tsw_put_msg_built(tsw_buf_t *out, const tsw_msg_built_t *msg);
tsw_status_t tsw_get_msg_built(const void *body, size_t size, tsw_msg_built_t *msg_p,
                               tsw_err_t *err);

typedef struct {
    tsw_status_t status;
    char text[TSW_ERR_TEXT_MAX];
} tsw_msg_failed_t;

void tsw_put_timer_check(tsw_buf_t *out, const tsw_timer_check_t *check);
tsw_status_t tsw_get_timer_check(const void *body, size_t size, tsw_timer_check_t *check_p,
                                 tsw_err_t *err);

void tsw_put_msg_failed(tsw_buf_t *out, tsw_status_t status, const char *text);
tsw_status_t tsw_get_msg_failed(const void *body, size_t size, tsw_msg_failed_t *msg_p,
                                tsw_err_t *err);

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

/* TSW_OK when the reader took all of its body, else TSW_ERR_CORRUPT naming the message, or
 * TSW_ERR_NOMEM. */
tsw_status_t tsw_msg_done(const tsw_reader_t *in, const char *what, tsw_err_t *err);

#endif
