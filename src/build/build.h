/* Source + config + arch -> cubin, in this process: the body of a keeper (tilesweep-worker build).
 * And what a cubin says about itself. */
#ifndef TSW_BUILD_BUILD_H
#define TSW_BUILD_BUILD_H

#include "base/buf.h"
#include "build/toolchain.h"
#include "plan/plan.h"
#include "record/record.h"

/* Everything a compilation depends on, besides the toolchain. Plain data that travels. */
typedef struct {
    tsw_language_t language;
    tsw_fileset_t files; /* the pack folder: source and its own includes */
    char *source;        /* name in files */
    char *entry;         /* symbol that the cubin must have */
    char **defines;      /* "TILE_M=128" */
    size_t define_count;
    char **options;
    size_t option_count;
    tsw_arch_t archs[TSW_PLAN_ARCH_MAX];
    size_t arch_count;
    bool arch_dependent; /* NVRTC once per arch instead of once for all */
    double cpu_limit_s;  /* per compiler process: soft RLIMIT_CPU */
} tsw_build_request_t;

void tsw_build_request_fini(tsw_build_request_t *request);
/* The request for one build of a plan: copies all it needs. TSW_ERR_NOMEM. */
tsw_status_t tsw_build_request_make(const tsw_plan_t *plan, const tsw_build_t *build,
                                    tsw_build_request_t *request_p, tsw_err_t *err);

typedef struct {
    tsw_outcome_t outcome; /* ok compile_failed compile_timeout out_of_memory */
    char detail[TSW_DETAIL_MAX];
    tsw_build_facts_t facts; /* outcome ok */
    tsw_buf_t cubin;         /* outcome ok */
} tsw_artifact_t;

typedef struct {
    tsw_artifact_t artifacts[TSW_PLAN_ARCH_MAX]; /* parallel to request->archs */
    size_t arch_count;
    tsw_buf_t log; /* compiler output, also on success */
} tsw_build_result_t;

void tsw_build_result_fini(tsw_build_result_t *result);

/* Compile in this process: NVRTC in-process, tileiras as child processes in the caller's process
 * group, files only below work_dir (made by the caller, removed by the caller). A source that does
 * not compile is an outcome; the status is an error only when the tool cannot work: TSW_ERR_ENV (no
 * toolchain), TSW_ERR_FULL, TSW_ERR_IO, TSW_ERR_NOMEM. */
tsw_status_t tsw_build_run(const tsw_toolchain_t *toolchain, const tsw_build_request_t *request,
                           const char *work_dir, tsw_build_result_t *result_p, tsw_err_t *err);

/* Registers, static shared memory (without the 1 KiB per block that the system reserves), spills,
 * cluster, threads of `entry` from the ELF; TSW_ERR_CORRUPT when it is no cubin or lacks the entry.
 * Never reads outside bytes. */
tsw_status_t tsw_cubin_read(const void *bytes, size_t size, const char *entry,
                            tsw_build_facts_t *facts_p, tsw_err_t *err);
/* Arch that the cubin is for. */
tsw_status_t tsw_cubin_arch(const void *bytes, size_t size, tsw_arch_t *arch_p, tsw_err_t *err);

#endif
