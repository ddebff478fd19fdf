/* docs/rules.md says of every rule where it is checked, and the tests that it names are there. */
#include "base/buf.h"
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RULES = 87 };

static tsw_buf_t page;

static int setup(void **state)
{
    (void)state;
    return tsw_file_read(TSW_SOURCE_DIR "/docs/rules.md", &page, NULL) == TSW_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tsw_buf_fini(&page);
    return 0;
}

/* The first row of the last table, behind its head. */
static const char *first_row(void)
{
    const char *at = strstr(tsw_buf_text(&page), "## Which rule is checked where");
    assert_non_null(at);
    at = strstr(at, "| --- |");
    assert_non_null(at);
    return strchr(at, '\n') + 1;
}

/* "R2, R4, R6 to R8" up to the bar. */
static void count_rules(const char *row, int counts[RULES + 1])
{
    const char *end = strchr(row + 1, '|');
    long last = 0;
    for (const char *at = row; at < end; at++) {
        if (*at != 'R')
            continue;
        const long number = strtol(at + 1, NULL, 10);
        const bool is_range = at - row > 4 && strncmp(at - 4, " to ", 4) == 0;
        assert_in_range(number, last + 1, RULES);
        for (long n = is_range ? last + 1 : number; n <= number; n++)
            counts[n]++;
        last = number;
    }
    assert_true(last > 0);
}

static void test_every_rule_stands_once(void **state)
{
    (void)state;
    int counts[RULES + 1] = {0};
    for (const char *row = first_row(); *row == '|'; row = strchr(row, '\n') + 1)
        count_rules(row, counts);
    for (int n = 1; n <= RULES; n++) {
        if (counts[n] != 1)
            fail_msg("R%d is %d times in docs/rules.md", n, counts[n]);
    }
}

/* "unit.rules.lint" or "cli.verdict"; others need a GPU. */
static void check_test(const char *name)
{
    char path[512] = "", module[64], topic[64];
    if (sscanf(name, "unit.%63[a-z].%63[a-z_]", module, topic) == 2)
        snprintf(path, sizeof(path), TSW_SOURCE_DIR "/tests/unit/%s/test_%s_%s.c", module, module,
                 topic);
    else if (sscanf(name, "cli.%63[a-z_]", topic) == 1)
        snprintf(path, sizeof(path), TSW_SOURCE_DIR "/tests/cli/%s.case", topic);
    else if (strncmp(name, "gpu.", 4) != 0)
        fail_msg("docs/rules.md: '%s' is no test", name);
    if (path[0] != '\0' && !tsw_path_exists(path))
        fail_msg("docs/rules.md names %s, which is not there", path);
}

static void test_tests_that_are_named_exist(void **state)
{
    (void)state;
    size_t count = 0;
    for (const char *row = first_row(); *row == '|'; row = strchr(row, '\n') + 1) {
        char cells[1024];
        snprintf(cells, sizeof(cells), "%.*s", (int)strcspn(row, "\n"), row);
        char *end = strrchr(cells, '|');
        *end = '\0';
        char *rest = NULL;
        char *name = strtok_r(strrchr(cells, '|') + 1, ", ", &rest);
        for (; name != NULL; name = strtok_r(NULL, ", ", &rest)) {
            if (name[0] == '(') /* what of it, in words */
                break;
            check_test(name);
            count++;
        }
    }
    assert_true(count > RULES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rule_stands_once),
        cmocka_unit_test(test_tests_that_are_named_exist),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
