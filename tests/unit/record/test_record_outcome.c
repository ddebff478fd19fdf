#include "record/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_names_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < TSW_OUTCOME_COUNT; i++) {
        tsw_outcome_t outcome = TSW_OUTCOME_COUNT;
        assert_true(tsw_outcome_parse(tsw_outcome_name((tsw_outcome_t)i), &outcome));
        assert_int_equal(outcome, i);
    }
}

static void test_stored_values_stay(void **state)
{
    (void)state;
    assert_int_equal(TSW_OUTCOME_OK, 0);
    assert_int_equal(TSW_OUTCOME_WRONG_RESULT, 8);
    assert_int_equal(TSW_OUTCOME_ALIAS, 13);
    assert_int_equal(TSW_OUTCOME_COMPILED, 16);
}

static void test_unknown_is_refused(void **state)
{
    (void)state;
    tsw_outcome_t outcome = TSW_OUTCOME_SKIPPED;
    assert_false(tsw_outcome_parse("OK", &outcome));
    assert_false(tsw_outcome_parse("", &outcome));
    assert_int_equal(outcome, TSW_OUTCOME_SKIPPED);
    assert_string_equal(tsw_outcome_name(TSW_OUTCOME_COUNT), "?");
    assert_string_equal(tsw_outcome_name((tsw_outcome_t)-1), "?");
    assert_false(tsw_outcome_again(TSW_OUTCOME_COUNT));
}

static void test_again_is_for_causes_outside_the_config(void **state)
{
    (void)state;
    assert_true(tsw_outcome_again(TSW_OUTCOME_COMPILE_TIMEOUT));
    assert_true(tsw_outcome_again(TSW_OUTCOME_OUT_OF_MEMORY));
    assert_true(tsw_outcome_again(TSW_OUTCOME_INTERRUPTED));
    assert_false(tsw_outcome_again(TSW_OUTCOME_OK));
    assert_false(tsw_outcome_again(TSW_OUTCOME_WRONG_RESULT));
}

static void test_usable_and_fault_exclude_each_other(void **state)
{
    (void)state;
    for (int i = 0; i < TSW_OUTCOME_COUNT; i++) {
        tsw_outcome_t outcome = (tsw_outcome_t)i;
        assert_false(tsw_outcome_is_usable(outcome) && tsw_outcome_is_fault(outcome));
    }
    assert_true(tsw_outcome_is_usable(TSW_OUTCOME_COMPILED));
    assert_true(tsw_outcome_is_fault(TSW_OUTCOME_SUSPECT));
    assert_false(tsw_outcome_is_fault(TSW_OUTCOME_ALIAS));
    assert_false(tsw_outcome_is_fault(TSW_OUTCOME_INTERRUPTED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_round_trip),
        cmocka_unit_test(test_stored_values_stay),
        cmocka_unit_test(test_unknown_is_refused),
        cmocka_unit_test(test_usable_and_fault_exclude_each_other),
        cmocka_unit_test(test_again_is_for_causes_outside_the_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
