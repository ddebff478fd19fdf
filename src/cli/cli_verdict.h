/* Verdicts of a reduction: what the gain of each group says, and what is to be done. */
#ifndef TSW_CLI_VERDICT_H
#define TSW_CLI_VERDICT_H

#include "reduce/reduce.h"
#include "rules/suggest.h"
#include "rules/verdict.h"

typedef struct {
    tsw_verdict_t verdict;
    bool is_spent; /* a probe has nothing left to vary */
    const tsw_pack_t
        *pack;          /* borrowed; NULL: its files are not at hand, so coverage is not known */
    tsw_lint_t missing; /* coverage */
    size_t broken;      /* other findings of the lint of the pack on the arch */
    tsw_suggest_facts_t facts;
} tsw_cli_verdict_t;

typedef struct {
    tsw_cli_verdict_t *items; /* one per group of the reduction */
    size_t count;
    tsw_pack_t **packs; /* owned */
    size_t pack_count;
    size_t pack_capacity;
} tsw_cli_verdicts_t;

/* paths: the runs and sweeps that the dataset was read from. The files of packs are looked for in
 * runs, beside sweeps, then among the shipped ones; only equal files count. */
tsw_status_t tsw_cli_verdicts_make(const tsw_reduction_t *reduction, const char *const *paths,
                                   size_t path_count, tsw_cli_verdicts_t *verdicts_p,
                                   tsw_err_t *err);
void tsw_cli_verdicts_fini(tsw_cli_verdicts_t *verdicts);

/* The lines of one group, indented by two. A run of another purpose than release has what it found
 * in place of a verdict; the purpose fixed has nothing. */
void tsw_cli_verdict_print(const char *purpose, const tsw_group_t *group,
                           const tsw_cli_verdict_t *verdict, tsw_buf_t *out);

#endif
