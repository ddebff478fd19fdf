/* The checkable rules of tuning, over packs and tables: a table of small functions. docs/rules.md
 * has the rules by number. Pure. */
#ifndef TSW_RULES_LINT_H
#define TSW_RULES_LINT_H

#include "pack/arch.h"
#include "pack/pack.h"
#include "pack/place.h"
#include "table/table.h"

/* Where docs/rules.md goes on: what the user was about to do. */
typedef enum {
    TSW_ENTRY_NEW_KERNEL,
    TSW_ENTRY_CORRUPT_RESULT,
    TSW_ENTRY_SLOW_TUNING,
    TSW_ENTRY_EMPTY_SPACE,
    TSW_ENTRY_EXISTING_CONFIGS,
    TSW_ENTRY_COUNT
} tsw_entry_t;
const char *tsw_entry_anchor(tsw_entry_t entry); /* "docs/rules.md#empty-space" */

#define TSW_LINT_ARCHS_SIZE 128

typedef struct {
    const char *number; /* "R23"; "own": of the lint itself; static */
    const char *rule;   /* "both_num_ctas"; static */
    tsw_entry_t entry;
    tsw_place_t place;               /* in kernel.yaml; file NULL: of a table, in words */
    char archs[TSW_LINT_ARCHS_SIZE]; /* "sm_100, sm_103"; "": no matter */
    char *text;                      /* what is wrong */
    char *fix;                       /* what to do */
    char *row;                       /* what to add to the list of the archs, as YAML, or NULL */
    const char *reason; /* the pack's, why it is an exception; borrowed; NULL: it is none */
    tsw_arch_t arch;    /* the first of archs; 0: none */
} tsw_finding_t;

typedef struct {
    tsw_finding_t *findings;
    size_t count;
    size_t capacity;
    size_t open; /* findings that are no exceptions */
} tsw_lint_t;

/* All findings of a pack, exceptions too, over the archs that tables are made for and those with a
 * list of their own; in the order of the rules. Dims that are part of the build stand at 128. The
 * report borrows from the pack. TSW_ERR_INPUT: an expression fails. */
tsw_status_t tsw_lint_pack(const tsw_pack_t *pack, tsw_lint_t *lint_p, tsw_err_t *err);
/* Of a table. packs: what is known of its packs, by name; what is not known is not compared. */
tsw_status_t tsw_lint_table(const tsw_table_t *table, const tsw_pack_t *const *packs,
                            size_t pack_count, tsw_lint_t *lint_p, tsw_err_t *err);
void tsw_lint_fini(tsw_lint_t *lint);

/* Whether it concerns the arch: it names it, or none. */
bool tsw_finding_is_on(const tsw_finding_t *finding, tsw_arch_t arch);

/* Missing coverage of a list: the findings of two_values, both_num_ctas and four_occupancies on
 * this arch that are no exceptions. */
bool tsw_finding_is_coverage(const tsw_finding_t *finding);

typedef struct {
    const char *number, *name, *title;
} tsw_rule_t;
/* All rules, for docs and tests; heap-free copy of one. False: no such index. */
bool tsw_lint_rule(size_t index, tsw_rule_t *rule_p);

#endif
