/* What ranks say to each other: everything goes to or from rank 0. Conventions as in child_msg.h.
 * A pair of ranks sees the messages of each other in the order of sending. */
#ifndef TSW_WIRE_RANK_MSG_H
#define TSW_WIRE_RANK_MSG_H

#include "base/linux.h"
#include "wire/keeper_msg.h"

typedef enum {
    TSW_RANK_WANT_CELL = 1, /* to 0, empty */
    TSW_RANK_LEASE_CELL,    /* from 0 */
    TSW_RANK_LEASE_BUILD,   /* from 0: u32 build */
    TSW_RANK_BUILT,         /* to 0: artifacts of a build that ended */
    TSW_RANK_PUSH,          /* from 0: the same, for the rank's own arch */
    TSW_RANK_CELL_DONE,     /* to 0 */
    TSW_RANK_CELL_RETURNED, /* to 0: a tsw_msg_lease_t that ended without a result */
    TSW_RANK_RETIRED,       /* to 0: the GPU is lost; a tsw_msg_failed_t */
    TSW_RANK_PIECE,         /* to 0: of a segment in a node's folder */
    TSW_RANK_RECEIPT,       /* from 0: for such a piece; the next one only after it */
    TSW_RANK_GATHERED,      /* to 0, before work: all that was left over is sent; empty */
    TSW_RANK_STOP,          /* from 0: no more work will come, empty */
    TSW_RANK_DRAIN,         /* both ways: stop early; a tsw_msg_failed_t, or empty: on request */
    TSW_RANK_BYE,           /* both ways: my last message, empty */
} tsw_rank_msg_t;

/* Gathered from every rank before work starts. */
typedef struct {
    char node[TSW_NAME_SIZE];
    tsw_cpus_t cpus;
    bool toolchain_found;
    tsw_key_t toolchain_key;
    char toolchain[256];
    tsw_key_t plan_key;

    bool has_gpu;
    tsw_gpu_t gpu;
} tsw_msg_hello_t;

void tsw_put_msg_hello(tsw_buf_t *out, const tsw_msg_hello_t *msg);
tsw_status_t tsw_get_msg_hello(const void *body, size_t size, tsw_msg_hello_t *msg_p,
                               tsw_err_t *err);

typedef struct {
    uint32_t cell;
    uint32_t attempt;
} tsw_msg_lease_t;

void tsw_put_msg_lease(tsw_buf_t *out, const tsw_msg_lease_t *msg);
tsw_status_t tsw_get_msg_lease(const void *body, size_t size, tsw_msg_lease_t *msg_p,
                               tsw_err_t *err);

void tsw_put_msg_u32(tsw_buf_t *out, uint32_t value);
tsw_status_t tsw_get_msg_u32(const void *body, size_t size, uint32_t *value_p, tsw_err_t *err);

/* Artifacts of one build: some of the job's archs. */
typedef struct {
    uint32_t build;
    size_t count;
    uint32_t arch_index[TSW_MSG_ARCH_MAX]; /* in the job's archs */
    tsw_msg_artifact_t artifacts[TSW_MSG_ARCH_MAX];
} tsw_msg_artifacts_t;

void tsw_put_msg_artifacts(tsw_buf_t *out, const tsw_msg_artifacts_t *msg);
tsw_status_t tsw_get_msg_artifacts(const void *body, size_t size, tsw_msg_artifacts_t *msg_p,
                                   tsw_err_t *err);

/* store/transfer.h: the fields of a tsw_piece_t. */
typedef struct {
    char name[48];
    uint64_t size, offset;
    tsw_key_t key;
    const void *bytes; /* borrowed from the body */
    size_t count;
} tsw_msg_piece_t;

void tsw_put_msg_piece(tsw_buf_t *out, const tsw_msg_piece_t *msg);
tsw_status_t tsw_get_msg_piece(const void *body, size_t size, tsw_msg_piece_t *msg_p,
                               tsw_err_t *err);

typedef struct {
    char name[48];
    uint64_t next;
    bool refused; /* rank 0 can take no more: what is in the node's folder stays there */
} tsw_msg_receipt_t;

void tsw_put_msg_receipt(tsw_buf_t *out, const tsw_msg_receipt_t *msg);
tsw_status_t tsw_get_msg_receipt(const void *body, size_t size, tsw_msg_receipt_t *msg_p,
                                 tsw_err_t *err);

typedef struct {
    uint32_t cell;
    uint32_t attempt;
    bool usable;             /* at least one config is ok */
    uint32_t configs_failed; /* of the cell */
    uint64_t busy_ns;        /* device time of the rank's cells so far */
    uint64_t wall_ns;        /* since the rank began its first cell */
} tsw_msg_cell_done_t;

void tsw_put_msg_cell_done(tsw_buf_t *out, const tsw_msg_cell_done_t *msg);
tsw_status_t tsw_get_msg_cell_done(const void *body, size_t size, tsw_msg_cell_done_t *msg_p,
                                   tsw_err_t *err);

#endif
