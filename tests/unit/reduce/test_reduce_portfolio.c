#include "base/mem.h"
#include "base/rng.h"
#include "reduce/reduce_portfolio.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOT INFINITY

static void assert_near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* Greedy takes candidate 3 first (good everywhere), though 1 and 2 together are perfect. With room
 * for all of them it goes again. */
static void test_solve_gets_out_of_a_greedy_trap(void **state)
{
    (void)state;
    const double regret[] = {
        0.9, 0.9, 0.9, 0.9, /* baseline */
        0.0, 0.0, 0.9, 0.9, /* 1 */
        0.9, 0.9, 0.0, 0.0, /* 2 */
        0.2, 0.2, 0.2, 0.2, /* 3 */
    };
    const double weight[] = {1, 1, 1, 1};
    tsw_portfolio_problem_t p = {.regret = regret,
                                 .weight = weight,
                                 .candidate_count = 4,
                                 .cell_count = 4,
                                 .fixed = 0,
                                 .max_members = 3};
    bool in[4];
    tsw_portfolio_cost_t cost;
    for (; p.max_members <= 4; p.max_members++) {
        assert_int_equal(tsw_portfolio_solve(&p, in, &cost, NULL), TSW_OK);
        assert_true(in[0] && in[1] && in[2] && !in[3]);
        assert_int_equal(cost.uncovered, 0);
        assert_near(cost.sum, 0.0, 0.0);
    }
}

static void test_solve_covers_cells_before_it_saves_time(void **state)
{
    (void)state;
    const double regret[] = {
        5.0, 5.0, 5.0, NOT, /* baseline */
        0.0, 0.0, 0.0, NOT, /* 1 */
        NOT, NOT, NOT, 9.0, /* 2 */
    };
    const double weight[] = {1, 1, 1, 0.001};
    tsw_portfolio_problem_t p = {.regret = regret,
                                 .weight = weight,
                                 .candidate_count = 3,
                                 .cell_count = 4,
                                 .fixed = 0,
                                 .max_members = 2};
    bool in[3];
    tsw_portfolio_cost_t cost;
    assert_int_equal(tsw_portfolio_solve(&p, in, &cost, NULL), TSW_OK);
    assert_true(in[0] && !in[1] && in[2]);
    assert_int_equal(cost.uncovered, 0);
}

static void test_solve_takes_no_more_than_is_of_use(void **state)
{
    (void)state;
    const double regret[] = {
        0.1, 0.0, /* baseline */
        0.0, 0.1, /* 1 */
        0.0, 0.1, /* 2: as good as 1 */
    };
    const double weight[] = {1, 1};
    tsw_portfolio_problem_t p = {.regret = regret,
                                 .weight = weight,
                                 .candidate_count = 3,
                                 .cell_count = 2,
                                 .fixed = 0,
                                 .max_members = 3};
    bool in[3];
    tsw_portfolio_cost_t cost;
    assert_int_equal(tsw_portfolio_solve(&p, in, &cost, NULL), TSW_OK);
    assert_true(in[0] && in[1] && !in[2]);
}

static void test_solve_works_without_a_fixed_member(void **state)
{
    (void)state;
    const double regret[] = {0.5, 0.0};
    const double weight[] = {1};
    tsw_portfolio_problem_t p = {.regret = regret,
                                 .weight = weight,
                                 .candidate_count = 2,
                                 .cell_count = 1,
                                 .fixed = SIZE_MAX,
                                 .max_members = 1};
    bool in[2];
    tsw_portfolio_cost_t cost;
    assert_int_equal(tsw_portfolio_solve(&p, in, &cost, NULL), TSW_OK);
    assert_true(!in[0] && in[1]);
}

enum { CANDIDATES = 12, CELLS = 30, MEMBERS = 4 };

static double cost_of(const double *regret, unsigned set)
{
    double sum = 0.0;
    for (size_t j = 0; j < CELLS; j++) {
        double best = INFINITY;
        for (size_t c = 0; c < CANDIDATES; c++) {
            if (set >> c & 1)
                best = fmin(best, regret[c * CELLS + j]);
        }
        sum += best;
    }
    return sum;
}

static int popcount(unsigned set)
{
    int n = 0;
    for (; set != 0; set &= set - 1)
        n++;
    return n;
}

/* Against every set of 4 out of 12: never far from the optimum, and no single swap is better. */
static void test_solve_is_close_to_the_optimum(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        double regret[CANDIDATES * CELLS];
        double weight[CELLS];
        for (size_t i = 0; i < CANDIDATES * CELLS; i++)
            regret[i] = tsw_rng_uniform(tsw_rng_u64(seed, i, 0, 0, 0));
        for (size_t j = 0; j < CELLS; j++)
            weight[j] = 1.0;
        tsw_portfolio_problem_t p = {.regret = regret,
                                     .weight = weight,
                                     .candidate_count = CANDIDATES,
                                     .cell_count = CELLS,
                                     .fixed = 0,
                                     .max_members = MEMBERS};
        bool in[CANDIDATES];
        tsw_portfolio_cost_t cost;
        assert_int_equal(tsw_portfolio_solve(&p, in, &cost, NULL), TSW_OK);
        unsigned set = 0;
        for (size_t c = 0; c < CANDIDATES; c++)
            set |= in[c] ? 1U << c : 0;
        double optimum = INFINITY;
        for (unsigned other = 1; other < 1U << CANDIDATES; other++) {
            if (!(other & 1) || popcount(other) > MEMBERS)
                continue;
            optimum = fmin(optimum, cost_of(regret, other));
            if (popcount(other) == MEMBERS && popcount(other & set) == MEMBERS - 1)
                assert_true(cost_of(regret, other) >= cost.sum - 1e-9);
        }
        assert_near(cost.sum, cost_of(regret, set), 1e-9);
        assert_true(cost.sum <= optimum * 1.05);
    }
}

static void test_solve_reports_a_lack_of_memory(void **state)
{
    (void)state;
    const double regret[] = {0.5};
    const double weight[] = {1};
    tsw_portfolio_problem_t p = {.regret = regret,
                                 .weight = weight,
                                 .candidate_count = 1,
                                 .cell_count = 1,
                                 .fixed = 0,
                                 .max_members = 1};
    bool in[1];
    tsw_portfolio_cost_t cost;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_portfolio_solve(&p, in, &cost, &err), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve_gets_out_of_a_greedy_trap),
        cmocka_unit_test(test_solve_covers_cells_before_it_saves_time),
        cmocka_unit_test(test_solve_takes_no_more_than_is_of_use),
        cmocka_unit_test(test_solve_works_without_a_fixed_member),
        cmocka_unit_test(test_solve_is_close_to_the_optimum),
        cmocka_unit_test(test_solve_reports_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
