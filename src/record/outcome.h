/* What happened to a config: a result, never an error of the tool. */
#ifndef TSW_RECORD_OUTCOME_H
#define TSW_RECORD_OUTCOME_H

#include <stdbool.h>

/* X(NAME, name, again): again: a resume tries it once more. Values are stored: append only. */
#define TSW_OUTCOME_MAP(X)                                                                         \
    X(OK, "ok", false)                                                                             \
    X(INVALID, "invalid", false)                                                                   \
    X(COMPILE_FAILED, "compile_failed", false)                                                     \
    X(COMPILE_TIMEOUT, "compile_timeout", true)                                                    \
    X(LOAD_FAILED, "load_failed", false)                                                           \
    X(LAUNCH_FAILED, "launch_failed", false)                                                       \
    X(RUN_TIMEOUT, "run_timeout", false)                                                           \
    X(DEVICE_LOST, "device_lost", false)                                                           \
    X(WRONG_RESULT, "wrong_result", false)                                                         \
    X(NAN_RESULT, "nan_result", false)                                                             \
    X(OUT_OF_MEMORY, "out_of_memory", true)                                                        \
    X(SUSPECT, "suspect", false)                                                                   \
    X(UNSTABLE, "unstable", false)                                                                 \
    X(ALIAS, "alias", false)                                                                       \
    X(INTERRUPTED, "interrupted", true)                                                            \
    X(SKIPPED, "skipped", false)                                                                   \
    X(COMPILED, "compiled", false) /* compile-only archs: built, never timed */

typedef enum {
#define TSW_OUTCOME_ENUM(_name, _text, _again) TSW_OUTCOME_##_name,
    TSW_OUTCOME_MAP(TSW_OUTCOME_ENUM)
#undef TSW_OUTCOME_ENUM
        TSW_OUTCOME_COUNT
} tsw_outcome_t;

const char *tsw_outcome_name(tsw_outcome_t outcome); /* "?" outside the list */
bool tsw_outcome_parse(const char *name, tsw_outcome_t *outcome_p);
bool tsw_outcome_again(tsw_outcome_t outcome);
bool tsw_outcome_is_usable(tsw_outcome_t outcome); /* ok, compiled */
/* Something is wrong with the config; not: nothing is known of it. */
bool tsw_outcome_is_fault(tsw_outcome_t outcome);

#endif
