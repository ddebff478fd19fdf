#include "pack/expr.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static tsw_expr_t expr_of(const char *text)
{
    static char copy[8192];
    snprintf(copy, sizeof(copy), "%s", text);
    return (tsw_expr_t){.text = copy, .place = {"kernel.yaml", 12, 8}};
}

static int set_up(void **state)
{
    tsw_eval_t *eval = NULL;
    if (tsw_eval_new(&eval, NULL) != TSW_OK)
        return -1;
    const struct {
        const char *name;
        int64_t value;
    } variables[] = {{"M", 100},        {"N", 4096},   {"TILE_M", 64},   {"TILE_N", 128},
                     {"NUM_SM", 132},   {"causal", 1}, {"occupancy", 2}, {"BIG", INT64_C(1) << 40},
                     {"MIN", INT64_MIN}};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        if (tsw_eval_set(eval, variables[i].name, variables[i].value, NULL) != TSW_OK)
            return -1;
    }
    *state = eval;
    return 0;
}

static int tear_down(void **state)
{
    tsw_eval_free(*state);
    return 0;
}

static void test_i64_values(void **state)
{
    const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"1", 1},
        {"2 * M * N", 819200},
        {"ceildiv(M, TILE_M) * ceildiv(N, TILE_N)", 64},
        {"ceildiv(-7, 2)", -3},
        {"ceildiv(7, -2)", -3},
        {"ceildiv(-7, -2)", 4},
        {"min(NUM_SM * occupancy, M)", 100},
        {"max(1, 2, 3, 2)", 3},
        {"np2(M)", 128},
        {"np2(128)", 128},
        {"np2(0)", 1},
        {"4 / 2", 2},
        {"2 ^ 10", 1024},
        {"7 // 2", 3},
        {"-7 % 3", 2},
        {"causal == 1 and 10 or 20", 10},
        {"BIG * 4194304", INT64_C(1) << 62},
        {"9223372036854775807", INT64_MAX},
        {"(M\n + 1)", 101},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_expr_t expr = expr_of(cases[i].text);
        tsw_err_t err = TSW_ERR_INIT;
        int64_t value = -1;
        for (int again = 0; again < 2; again++) { /* the second time from the cache */
            if (tsw_eval_i64(*state, &expr, &value, &err) != TSW_OK)
                fail_msg("%s: %s", cases[i].text, err.text);
            if (value != cases[i].value)
                fail_msg("%s: %lld", cases[i].text, (long long)value);
        }
    }
}

static void test_bool_and_f64_values(void **state)
{
    bool truth = false;
    double real = 0.0;
    tsw_expr_t expr = expr_of("TILE_M * TILE_N <= 65536 and not (M < 64) and M ~= N");
    assert_int_equal(tsw_eval_bool(*state, &expr, &truth, NULL), TSW_OK);
    assert_true(truth);
    expr = expr_of("pow2(M) or pow2(96) or pow2(0) or pow2(-4)");
    assert_int_equal(tsw_eval_bool(*state, &expr, &truth, NULL), TSW_OK);
    assert_false(truth);
    expr = expr_of("1 / 4 + 1.5e0");
    assert_int_equal(tsw_eval_f64(*state, &expr, &real, NULL), TSW_OK);
    assert_true(real == 1.75);
    expr = expr_of("2 * BIG * BIG"); /* beyond int64, fine as a real */
    assert_int_equal(tsw_eval_f64(*state, &expr, &real, NULL), TSW_OK);
    assert_true(real == 0x1p81);
}

typedef enum { WANT_I64, WANT_BOOL, WANT_F64 } want_t;

static void test_bad_expressions_say_why(void **state)
{
    const struct {
        want_t want;
        const char *text;
        tsw_status_t status;
        const char *says;
    } cases[] = {
        {WANT_I64, "", TSW_ERR_INPUT, "unexpected symbol"},
        {WANT_I64, "M *", TSW_ERR_INPUT, "in 'M *'"},
        {WANT_I64, "TILE_X", TSW_ERR_INPUT, "unknown name 'TILE_X' (did you mean 'TILE_"},
        {WANT_I64, "ceidiv(M, 2)", TSW_ERR_INPUT, "is no function"},
        {WANT_I64, "os.exit(1)", TSW_ERR_INPUT, "'.' has no place"},
        {WANT_I64, "M.x", TSW_ERR_INPUT, "'.' has no place"},
        {WANT_I64, "'abc'", TSW_ERR_INPUT, "has no place"},
        {WANT_I64, "[[abc]]", TSW_ERR_INPUT, "has no place"},
        {WANT_I64, "{}", TSW_ERR_INPUT, "'{' has no place"},
        {WANT_I64, "#M", TSW_ERR_INPUT, "has no place"},
        {WANT_I64, "M != N", TSW_ERR_INPUT, "~="},
        {WANT_I64, "M && N", TSW_ERR_INPUT, "write and"},
        {WANT_I64, "M -- N", TSW_ERR_INPUT, "no comments"},
        {WANT_I64, "M = 1", TSW_ERR_INPUT, "=="},
        {WANT_I64, "0x10", TSW_ERR_INPUT, "'0x10' has no place"},
        {WANT_I64, "1e", TSW_ERR_INPUT, "'1e' has no place"},
        {WANT_I64, "function() end", TSW_ERR_INPUT, "'function' has no place"},
        {WANT_I64, "nil", TSW_ERR_INPUT, "'nil' has no place"},
        {WANT_I64, "while true do end", TSW_ERR_INPUT, "'while' has no place"},
        {WANT_I64, "(1, 2)", TSW_ERR_INPUT, "near ','"},
        {WANT_I64, "1), (2", TSW_ERR_INPUT, "closes nothing"},
        {WANT_I64, "M(2)", TSW_ERR_INPUT, "'M' is no function"},
        {WANT_I64, "min", TSW_ERR_INPUT, "'min' is a function"},
        {WANT_I64, "min()", TSW_ERR_INPUT, "number expected"},
        {WANT_I64, "min(1, true)", TSW_ERR_INPUT, "number expected"},
        {WANT_I64, "true + 1", TSW_ERR_INPUT, "arithmetic on a boolean"},
        {WANT_I64, "5 / 2", TSW_ERR_INPUT, "gives 2.5"},
        {WANT_I64, "1 / 0", TSW_ERR_INPUT, "divides by zero"},
        {WANT_I64, "1 // 0", TSW_ERR_INPUT, "zero"},
        {WANT_I64, "M % (M - M)", TSW_ERR_INPUT, "attempt to perform"},
        {WANT_I64, "ceildiv(1, 0)", TSW_ERR_INPUT, "divides by zero"},
        {WANT_I64, "M == 1", TSW_ERR_INPUT, "wanted a whole number"},
        {WANT_I64, "BIG * BIG", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "4294967296 * 4294967296", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "BIG * BIG + 5", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "9223372036854775807 + 1", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "9223372036854775808", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "ceildiv(MIN, -1)", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "2 ^ 62", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_I64, "np2(BIG * 8388607)", TSW_ERR_INPUT, "np2"},
        {WANT_BOOL, "M", TSW_ERR_INPUT, "wanted true or false"},
        {WANT_BOOL, "BIG * BIG == 0", TSW_ERR_OVERFLOW, "64-bit"},
        {WANT_F64, "M < N", TSW_ERR_INPUT, "wanted a number"},
        {WANT_F64, "0 / 0", TSW_ERR_INPUT, "divides by zero"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_expr_t expr = expr_of(cases[i].text);
        tsw_err_t err = TSW_ERR_INIT;
        int64_t integer = 42;
        double real = 42.0;
        bool truth = false;
        tsw_status_t status =
            cases[i].want == WANT_I64    ? tsw_eval_i64(*state, &expr, &integer, &err)
            : cases[i].want == WANT_BOOL ? tsw_eval_bool(*state, &expr, &truth, &err)
                                         : tsw_eval_f64(*state, &expr, &real, &err);
        if (status != cases[i].status || strstr(err.text, cases[i].says) == NULL ||
            strncmp(err.text, "kernel.yaml:12:8: ", 18) != 0)
            fail_msg("%s: status %d: %s", cases[i].text, (int)status, err.text);
        assert_int_equal(integer, 42);
    }
}

static void test_deep_and_long_text_is_refused(void **state)
{
    char text[6000];
    tsw_err_t err = TSW_ERR_INIT;
    int64_t value = 0;
    memset(text, '(', 2000);
    memset(text + 2000, '1', 1);
    memset(text + 2001, ')', 2000);
    text[4001] = '\0';
    tsw_expr_t expr = expr_of(text);
    assert_int_equal(tsw_eval_i64(*state, &expr, &value, &err), TSW_ERR_INPUT);
    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    expr = expr_of(text);
    assert_int_equal(tsw_eval_i64(*state, &expr, &value, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "4096 characters"));
}

/* More distinct expressions than 1 MiB holds: the cache is dropped, results stay right. */
static void test_many_expressions_fit_the_memory_limit(void **state)
{
    for (int64_t i = 0; i < 4000; i++) {
        char text[64];
        snprintf(text, sizeof(text), "M * N + %lld", (long long)i);
        tsw_expr_t expr = expr_of(text);
        int64_t value = 0;
        assert_int_equal(tsw_eval_i64(*state, &expr, &value, NULL), TSW_OK);
        assert_int_equal(value, 409600 + i);
    }
}

static void test_variables_replace_and_vanish(void **state)
{
    tsw_expr_t expr = expr_of("M + 1");
    tsw_err_t err = TSW_ERR_INIT;
    int64_t value = 0;
    assert_int_equal(tsw_eval_set(*state, "M", 7, NULL), TSW_OK);
    assert_int_equal(tsw_eval_i64(*state, &expr, &value, NULL), TSW_OK);
    assert_int_equal(value, 8);
    tsw_eval_unset_all(*state);
    assert_int_equal(tsw_eval_i64(*state, &expr, &value, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "unknown name 'M'"));
    const char *bad[] = {"min", "and", "while", "1a", "", "a b", "a.b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(tsw_eval_set(*state, bad[i], 1, NULL), TSW_ERR_ARG);
}

static void test_check_knows_names_and_syntax(void **state)
{
    (void)state;
    const char *names[] = {"M", "TILE_M"};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_expr_t expr = expr_of("ceildiv(M, TILE_M)");
    assert_int_equal(tsw_expr_check(&expr, names, 2, &err), TSW_OK);
    assert_true(tsw_expr_uses(&expr, "M"));
    assert_true(tsw_expr_uses(&expr, "TILE_M"));
    assert_false(tsw_expr_uses(&expr, "TILE"));
    expr = expr_of("M * TILE_N");
    assert_int_equal(tsw_expr_check(&expr, names, 2, &err), TSW_ERR_INPUT);
    assert_string_equal(err.text, "kernel.yaml:12:8: in 'M * TILE_N': unknown name 'TILE_N' (did "
                                  "you mean 'TILE_M'?)");
    expr = expr_of("M * (TILE_M");
    assert_int_equal(tsw_expr_check(&expr, names, 2, &err), TSW_ERR_INPUT);
    expr = (tsw_expr_t){.text = NULL};
    assert_int_equal(tsw_expr_check(&expr, names, 2, &err), TSW_ERR_INPUT);
    assert_false(tsw_expr_uses(&expr, "M"));
}

static tsw_status_t new_and_evaluate(void)
{
    tsw_eval_t *eval = NULL;
    tsw_expr_t expr = expr_of("ceildiv(M, 3) + 1");
    int64_t value = 0;
    tsw_status_t status = tsw_eval_new(&eval, NULL);
    if (status == TSW_OK)
        status = tsw_eval_set(eval, "M", 10, NULL);
    if (status == TSW_OK)
        status = tsw_eval_i64(eval, &expr, &value, NULL);
    if (status == TSW_OK)
        assert_int_equal(value, 5);
    tsw_eval_free(eval);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    bool failed = false;
    for (long n = 1; n < 400; n++) {
        tsw_mem_fail_at(n);
        tsw_status_t status = new_and_evaluate();
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        failed = failed || status == TSW_ERR_NOMEM;
    }
    assert_true(failed);
    assert_int_equal(new_and_evaluate(), TSW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_i64_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bool_and_f64_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_expressions_say_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep_and_long_text_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_expressions_fit_the_memory_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_variables_replace_and_vanish, set_up, tear_down),
        cmocka_unit_test(test_check_knows_names_and_syntax),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
