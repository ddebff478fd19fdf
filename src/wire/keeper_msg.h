/* What a rank and a build keeper say to each other; child_msg.h tells of what is owned. */
#ifndef TSW_WIRE_KEEPER_MSG_H
#define TSW_WIRE_KEEPER_MSG_H

#include "wire/wire.h"

#define TSW_MSG_ARCH_MAX 32

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

#endif
