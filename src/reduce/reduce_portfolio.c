#include "reduce/reduce_portfolio.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>

/* A step must gain more than rounding could: sums of the same set differ by less. */
#define GAIN_MIN 1e-12

typedef struct {
    const tsw_portfolio_problem_t *p;
    bool *in;
    size_t member_count;
    double *best; /* per cell: lowest regret of the members, or of all but one */
    tsw_portfolio_cost_t cost;
} solver_t;

static bool is_better(tsw_portfolio_cost_t a, tsw_portfolio_cost_t b)
{
    if (a.uncovered != b.uncovered)
        return a.uncovered < b.uncovered;
    return a.sum < b.sum - GAIN_MIN * fmax(1.0, b.sum);
}

/* best[] over the members without one of them (SIZE_MAX: over all). */
static void fill_best(solver_t *s, size_t without)
{
    for (size_t j = 0; j < s->p->cell_count; j++)
        s->best[j] = INFINITY;
    for (size_t c = 0; c < s->p->candidate_count; c++) {
        if (!s->in[c] || c == without)
            continue;
        const double *row = &s->p->regret[c * s->p->cell_count];
        for (size_t j = 0; j < s->p->cell_count; j++)
            s->best[j] = fmin(s->best[j], row[j]);
    }
}

/* Cost of best[] with one candidate more (SIZE_MAX: none). */
static tsw_portfolio_cost_t cost_with(const solver_t *s, size_t candidate)
{
    tsw_portfolio_cost_t cost = {0, 0.0};
    const double *row =
        candidate != SIZE_MAX ? &s->p->regret[candidate * s->p->cell_count] : s->best;
    for (size_t j = 0; j < s->p->cell_count; j++) {
        double regret = fmin(s->best[j], row[j]);
        if (isinf(regret))
            cost.uncovered++;
        else
            cost.sum += s->p->weight[j] * regret;
    }
    return cost;
}

/* The candidate that helps best[] most beyond a cost; SIZE_MAX: none does. */
static size_t best_addition(const solver_t *s, tsw_portfolio_cost_t *cost)
{
    size_t found = SIZE_MAX;
    for (size_t c = 0; c < s->p->candidate_count; c++) {
        if (s->in[c])
            continue;
        tsw_portfolio_cost_t with = cost_with(s, c);
        if (is_better(with, *cost)) {
            *cost = with;
            found = c;
        }
    }
    return found;
}

static void grow_greedily(solver_t *s)
{
    fill_best(s, SIZE_MAX);
    s->cost = cost_with(s, SIZE_MAX);
    while (s->member_count < s->p->max_members) {
        size_t c = best_addition(s, &s->cost);
        if (c == SIZE_MAX)
            break;
        s->in[c] = true;
        s->member_count++;
        fill_best(s, SIZE_MAX);
    }
}

/* The best exchange of one member for one other; false: none helps. */
static bool swap_once(solver_t *s)
{
    size_t leaves = SIZE_MAX;
    size_t enters = SIZE_MAX;
    tsw_portfolio_cost_t cost = s->cost;
    for (size_t m = 0; m < s->p->candidate_count; m++) {
        if (!s->in[m] || m == s->p->fixed)
            continue;
        fill_best(s, m);
        size_t c = best_addition(s, &cost);
        if (c != SIZE_MAX) {
            leaves = m;
            enters = c;
        }
    }
    if (leaves == SIZE_MAX)
        return false;
    s->in[leaves] = false;
    s->in[enters] = true;
    s->cost = cost;
    return true;
}

/* Members that can go without loss go, the least preferred first. */
static void drop_useless(solver_t *s)
{
    for (size_t m = s->p->candidate_count; m-- > 0;) {
        if (!s->in[m] || m == s->p->fixed || s->member_count == 1)
            continue;
        fill_best(s, m);
        tsw_portfolio_cost_t without = cost_with(s, SIZE_MAX);
        if (!is_better(s->cost, without)) {
            s->in[m] = false;
            s->member_count--;
            s->cost = without;
        }
    }
}

tsw_status_t tsw_portfolio_solve(const tsw_portfolio_problem_t *problem, bool *in,
                                 tsw_portfolio_cost_t *cost_p, tsw_err_t *err)
{
    solver_t s = {.p = problem, .in = in};
    s.best = tsw_calloc(problem->cell_count, sizeof(*s.best));
    if (s.best == NULL)
        return tsw_err_nomem(err);
    for (size_t c = 0; c < problem->candidate_count; c++)
        in[c] = c == problem->fixed;
    s.member_count = problem->fixed < problem->candidate_count ? 1 : 0;
    grow_greedily(&s);
    while (swap_once(&s))
        ;
    drop_useless(&s);
    *cost_p = s.cost;
    tsw_free(s.best);
    return TSW_OK;
}
