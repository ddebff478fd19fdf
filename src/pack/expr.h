/* Expressions of packs and jobs: Lua 5.4 arithmetic over named integers: + - * / // % ^,
 * comparisons, and or not, parentheses, decimal numbers, calls of the functions below; nothing else
 * of Lua. Text chunks only, no libraries, 1 MiB of memory and a bounded number of instructions per
 * evaluation, unknown names are errors that name the nearest known one. Integers are exact: an
 * evaluation is repeated in floating point, and a disagreement (an overflow that wrapped) is
 * TSW_ERR_OVERFLOW. Functions: ceildiv(a,b) min(..) max(..) np2(x) (next power of two) pow2(x) (is
 * one?). */
#ifndef TSW_PACK_EXPR_H
#define TSW_PACK_EXPR_H

#include "pack/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *text; /* heap; NULL: absent */
    tsw_place_t place;
} tsw_expr_t;

typedef struct tsw_eval tsw_eval_t; /* an evaluator: variables and compiled expressions */

tsw_status_t tsw_eval_new(tsw_eval_t **eval_p, tsw_err_t *err);
void tsw_eval_free(tsw_eval_t *eval);

/* Set, or replace, a variable. Names are C identifiers. */
tsw_status_t tsw_eval_set(tsw_eval_t *eval, const char *name, int64_t value, tsw_err_t *err);
void tsw_eval_unset_all(tsw_eval_t *eval);

/* Evaluate; the error names the expression's place. An integer must be exact (4/2 is, 5/2 is
 * not). TSW_ERR_INPUT: syntax, unknown name, wrong type; TSW_ERR_OVERFLOW. */
tsw_status_t tsw_eval_i64(tsw_eval_t *eval, const tsw_expr_t *expr, int64_t *value_p,
                          tsw_err_t *err);
tsw_status_t tsw_eval_f64(tsw_eval_t *eval, const tsw_expr_t *expr, double *value_p,
                          tsw_err_t *err);
tsw_status_t tsw_eval_bool(tsw_eval_t *eval, const tsw_expr_t *expr, bool *value_p, tsw_err_t *err);

/* Whether the variable name occurs in the expression. */
bool tsw_expr_uses(const tsw_expr_t *expr, const char *name);

/* Whether name means something else in expressions: a keyword or a function. */
bool tsw_expr_is_reserved(const char *name);

/* Whether name can be a variable: a C identifier that is not reserved. */
bool tsw_expr_is_name(const char *name);

/* Syntax and names only: every free name must be among names[0..count). */
tsw_status_t tsw_expr_check(const tsw_expr_t *expr, const char *const *names, size_t count,
                            tsw_err_t *err);

#endif
