#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cli_exit.h"

static void test_status_when_known_then_contract_code(void **state)
{
    (void)state;
    assert_int_equal(tsw_exit_of_status(TSW_OK), 0);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_ARG), 2);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_INPUT), 2);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_NOT_FOUND), 2);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_CORRUPT), 2);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_ENV), 3);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_FULL), 3);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_CANCELED), 4);
    assert_int_equal(tsw_exit_of_status(TSW_ERR_BUG), 70);
}

static void test_status_when_in_list_then_mapped(void **state)
{
    (void)state;
#define TSW_TEST_STATUS(_name, _value, _text) TSW_##_name,
    const tsw_status_t all[] = {TSW_STATUS_MAP(TSW_TEST_STATUS)};
#undef TSW_TEST_STATUS
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const tsw_exit_t code = tsw_exit_of_status(all[i]);
        /* Only a bug may look like one. */
        assert_int_equal(code == TSW_EXIT_BUG, all[i] == TSW_ERR_BUG);
    }
    assert_int_equal(tsw_exit_of_status((tsw_status_t)-1000), TSW_EXIT_BUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_when_known_then_contract_code),
        cmocka_unit_test(test_status_when_in_list_then_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
