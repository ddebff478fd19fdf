/* The choice of few configs that serve many cells: a matrix of regrets in, a set out. Private to
 * reduce. */
#ifndef TSW_REDUCE_REDUCE_PORTFOLIO_H
#define TSW_REDUCE_REDUCE_PORTFOLIO_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const double *regret; /* [candidate * cell_count + cell]; infinite: not usable there */
    const double *weight; /* per cell, 0 or more */
    size_t candidate_count;
    size_t cell_count;
    size_t fixed;       /* candidate that must be in; SIZE_MAX: none */
    size_t max_members; /* at least 1 */
} tsw_portfolio_problem_t;

/* How well a set serves: cells without any usable member first, then the weighted sum of regrets
 * over the others. */
typedef struct {
    size_t uncovered;
    double sum;
} tsw_portfolio_cost_t;

/* Greedy, then the best swap until none helps, then members without use are dropped. in[c] for
 * every candidate. Equal costs: the lower candidate, so order candidates by preference. */
tsw_status_t tsw_portfolio_solve(const tsw_portfolio_problem_t *problem, bool *in,
                                 tsw_portfolio_cost_t *cost_p, tsw_err_t *err);

#endif
