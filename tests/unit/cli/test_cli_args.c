#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/cli_args.h"

#include <string.h>

enum { ARGV_MAX = 16 };

typedef struct {
    bool resume;
    const char *output;
    const char *format;
    uint32_t jobs;
    double budget_s;
    uint32_t warmup;
    tsw_words_t words;
    int code;
    bool parsed;
} outcome_t;

/* Parses "run" and the words, up to NULL. */
static outcome_t parse(const char *first, ...)
{
    static const char *const formats[] = {"text", "csv", "json", NULL};
    outcome_t out = {.jobs = 7, .warmup = 3, .code = -1};
    const tsw_option_t options[] = {
        {"resume", 'r', NULL, TSW_OPTION_FLAG, &out.resume, "go on", NULL},
        {"output", 'o', "RUN", TSW_OPTION_TEXT, &out.output, "folder", NULL},
        {"format", 'f', "F", TSW_OPTION_TEXT, &out.format, "format", formats},
        {"jobs", 'j', "N", TSW_OPTION_COUNT, &out.jobs, "builds", NULL},
        {"warmup", 'w', "N", TSW_OPTION_NUMBER, &out.warmup, "launches", NULL},
        {"budget", 0, "TIME", TSW_OPTION_SECONDS, &out.budget_s, "time", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "run",
        .usage = "JOB",
        .summary = "s",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = 2,
        .silent = true,
    };
    char words[ARGV_MAX][64] = {"run"};
    char *argv[ARGV_MAX + 1] = {words[0]};
    int argc = 1;
    va_list args;
    va_start(args, first);
    for (const char *word = first; word != NULL && argc < ARGV_MAX; word = va_arg(args, char *)) {
        strncpy(words[argc], word, sizeof(words[0]) - 1);
        argv[argc] = words[argc];
        argc++;
    }
    va_end(args);
    out.parsed = tsw_cli_parse(&spec, argc, argv, &out.words, &out.code);
    tsw_words_fini(&out.words);
    return out;
}

static void assert_usage_error(outcome_t out)
{
    assert_false(out.parsed);
    assert_int_equal(out.code, 2);
}

static void test_options_when_right_then_stored(void **state)
{
    (void)state;
    outcome_t out = parse("--resume", "job", "--jobs=3", "--budget", "2m", NULL);
    assert_true(out.parsed);
    assert_true(out.resume);
    assert_int_equal(out.jobs, 3);
    assert_true(out.budget_s > 119 && out.budget_s < 121);
}

static void test_letters_when_joined_then_stored(void **state)
{
    (void)state;
    outcome_t out = parse("-rj4", "job", NULL);
    assert_true(out.parsed && out.resume);
    assert_int_equal(out.jobs, 4);
}

static void test_options_when_absent_then_defaults_stay(void **state)
{
    (void)state;
    outcome_t out = parse("job", NULL);
    assert_true(out.parsed);
    assert_int_equal(out.jobs, 7);
    assert_null(out.output);
}

static void test_option_when_abbreviated_then_refused(void **state)
{
    (void)state;
    assert_usage_error(parse("job", "--resum", NULL));
    assert_usage_error(parse("job", "--out", "x", NULL));
}

static void test_option_when_unknown_then_refused(void **state)
{
    (void)state;
    assert_usage_error(parse("job", "--device", "x", NULL));
    assert_usage_error(parse("job", "-x", NULL));
    assert_usage_error(parse("job", "-rx", NULL));
}

static void test_value_when_missing_or_too_much_then_refused(void **state)
{
    (void)state;
    assert_usage_error(parse("job", "--output", NULL));
    assert_usage_error(parse("job", "-o", NULL));
    assert_usage_error(parse("job", "--resume=yes", NULL));
}

static void test_value_when_it_looks_like_an_option_then_taken(void **state)
{
    (void)state;
    outcome_t out = parse("job", "--output", "--odd", NULL);
    assert_true(out.parsed);
}

static void test_value_when_of_wrong_kind_then_refused(void **state)
{
    (void)state;
    assert_usage_error(parse("job", "-j", "0", NULL));
    assert_usage_error(parse("job", "-j", "-1", NULL));
    assert_usage_error(parse("job", "-j", "two", NULL));
    assert_usage_error(parse("job", "-j", "4294967296", NULL));
    assert_usage_error(parse("job", "-w", "-1", NULL));
    assert_int_equal(parse("job", "-w", "0", NULL).warmup, 0);
    assert_usage_error(parse("job", "--budget", "soon", NULL));
    assert_usage_error(parse("job", "--budget", "99999999999h", NULL));
    assert_usage_error(parse("job", "--format", "xml", NULL));
}

static void test_words_when_too_few_or_many_then_refused(void **state)
{
    (void)state;
    assert_usage_error(parse(NULL, NULL));
    assert_usage_error(parse("a", "b", "c", NULL));
    assert_usage_error(parse("", NULL));
    assert_usage_error(parse("a", "", NULL));
    assert_true(parse("a", "b", NULL).parsed);
}

static void test_words_after_dashes_when_like_options_then_words(void **state)
{
    (void)state;
    assert_true(parse("--", "--resum", NULL).parsed);
}

static void test_help_when_asked_then_done(void **state)
{
    (void)state;
    outcome_t out = parse("--help", NULL);
    assert_false(out.parsed);
    assert_int_equal(out.code, 0);
}

static void test_memory_when_short_then_environment_code(void **state)
{
    (void)state;
    tsw_mem_fail_at(1);
    outcome_t out = parse("job", NULL);
    tsw_mem_fail_at(0);
    assert_false(out.parsed);
    assert_int_equal(out.code, 3);
}

static void test_unknown_when_near_then_names_it_else_lists_all(void **state)
{
    (void)state;
    const char *const known[] = {"plan", "reduce"};
    char text[128];
    tsw_cli_unknown(text, sizeof(text), "command", "redcue", known, 2);
    assert_string_equal(text, "unknown command 'redcue'; did you mean 'reduce'?");
    tsw_cli_unknown(text, sizeof(text), "command", "xyzzy", known, 2);
    assert_string_equal(text, "unknown command 'xyzzy'; known: plan reduce");
    char small[24]; /* cut, never past the end */
    tsw_cli_unknown(small, sizeof(small), "command", "xyzzy", known, 2);
    assert_int_equal(strlen(small), sizeof(small) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_when_right_then_stored),
        cmocka_unit_test(test_letters_when_joined_then_stored),
        cmocka_unit_test(test_options_when_absent_then_defaults_stay),
        cmocka_unit_test(test_option_when_abbreviated_then_refused),
        cmocka_unit_test(test_option_when_unknown_then_refused),
        cmocka_unit_test(test_value_when_missing_or_too_much_then_refused),
        cmocka_unit_test(test_value_when_it_looks_like_an_option_then_taken),
        cmocka_unit_test(test_value_when_of_wrong_kind_then_refused),
        cmocka_unit_test(test_words_when_too_few_or_many_then_refused),
        cmocka_unit_test(test_words_after_dashes_when_like_options_then_words),
        cmocka_unit_test(test_help_when_asked_then_done),
        cmocka_unit_test(test_memory_when_short_then_environment_code),
        cmocka_unit_test(test_unknown_when_near_then_names_it_else_lists_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
