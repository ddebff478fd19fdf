#include "cli/cli_args.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_exit.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_MAX = 32, KEY_FIRST = 256 };

typedef struct {
    const tsw_cli_spec_t *spec;
    tsw_option_t options[OPTION_MAX]; /* the command's, then the common ones */
    size_t option_count;
    tsw_words_t words;
    bool verbose, quiet, help;
    tsw_err_t err;
} parse_t;

static void add_common(parse_t *parse)
{
    const tsw_option_t common[] = {
        {"verbose", 'v', NULL, TSW_OPTION_FLAG, &parse->verbose, "Log more (default: off)", NULL},
        {"quiet", 'q', NULL, TSW_OPTION_FLAG, &parse->quiet, "Log errors only (default: off)",
         NULL},
        {"help", 'h', NULL, TSW_OPTION_FLAG, &parse->help, "Print this help", NULL},
    };
    const size_t own = parse->spec->option_count;
    TSW_ASSERT(own + sizeof(common) / sizeof(common[0]) <= OPTION_MAX);
    memcpy(parse->options, parse->spec->options, own * sizeof(tsw_option_t));
    memcpy(parse->options + own, common, sizeof(common));
    parse->option_count = own + sizeof(common) / sizeof(common[0]);
}

static const tsw_option_t *find_long(const parse_t *parse, const char *name, size_t length)
{
    for (size_t i = 0; i < parse->option_count; i++) {
        const char *known = parse->options[i].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return &parse->options[i];
    }
    return NULL;
}

static const tsw_option_t *find_letter(const parse_t *parse, char letter)
{
    for (size_t i = 0; i < parse->option_count; i++)
        if (parse->options[i].letter == letter)
            return &parse->options[i];
    return NULL;
}

void tsw_cli_unknown(char *out, size_t size, const char *what, const char *word,
                     const char *const *known, size_t count)
{
    const char *nearest = tsw_text_nearest(word, known, count);
    if (nearest != NULL) {
        snprintf(out, size, "unknown %s '%s'; did you mean '%s'?", what, word, nearest);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "unknown %s '%s'; known:", what, word);
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %s", known[i]);
}

static tsw_status_t unknown_option(parse_t *parse, const char *word, size_t length)
{
    char names[OPTION_MAX][40];
    const char *known[OPTION_MAX];
    char given[64];
    char text[TSW_ERR_TEXT_MAX];
    snprintf(given, sizeof(given), "%.*s", (int)length, word);
    for (size_t i = 0; i < parse->option_count; i++) {
        snprintf(names[i], sizeof(names[i]), "--%s", parse->options[i].name);
        known[i] = names[i];
    }
    tsw_cli_unknown(text, sizeof(text), "option", given, known, parse->option_count);
    return tsw_err_set(&parse->err, TSW_ERR_ARG, "%s", text);
}

/* One "--name", "--name=value"; *skip_p: the next word is its value. */
static tsw_status_t check_long(parse_t *parse, const char *word, bool is_last, bool *skip_p)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const tsw_option_t *option = find_long(parse, word + 2, length - 2);
    if (option == NULL)
        return unknown_option(parse, word, length);
    if (option->value == NULL && equals != NULL)
        return tsw_err_set(&parse->err, TSW_ERR_ARG, "option '--%s' takes no value", option->name);
    *skip_p = option->value != NULL && equals == NULL && option->kind != TSW_OPTION_WORD;
    if (*skip_p && is_last)
        return tsw_err_set(&parse->err, TSW_ERR_ARG, "option '--%s' needs a value: %s",
                           option->name, option->value);
    return TSW_OK;
}

/* "-v", "-vq", "-oFILE" or "-o" with the next word as its value. */
static tsw_status_t check_letters(parse_t *parse, const char *word, bool is_last, bool *skip_p)
{
    for (const char *c = word + 1; *c != '\0'; c++) {
        const tsw_option_t *option = find_letter(parse, *c);
        if (option == NULL) {
            const char letter[] = {'-', *c, '\0'};
            return unknown_option(parse, letter, 2);
        }
        if (option->value == NULL)
            continue;
        if (option->kind == TSW_OPTION_WORD)
            break;
        *skip_p = c[1] == '\0';
        if (*skip_p && is_last)
            return tsw_err_set(&parse->err, TSW_ERR_ARG, "option '-%c' needs a value: %s", *c,
                               option->value);
        break;
    }
    return TSW_OK;
}

/* getopt, below argp, takes any unambiguous start of an option: so check every option here. */
static tsw_status_t check_options(parse_t *parse, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const bool is_last = i + 1 == argc;
        bool skip = false;
        tsw_status_t status = TSW_OK;
        if (strcmp(word, "--") == 0)
            break;
        if (word[0] == '-' && word[1] == '-')
            status = check_long(parse, word, is_last, &skip);
        else if (word[0] == '-' && word[1] != '\0')
            status = check_letters(parse, word, is_last, &skip);
        if (status != TSW_OK)
            return status;
        i += skip ? 1 : 0;
    }
    return TSW_OK;
}

static tsw_status_t check_choice(const tsw_option_t *option, const char *word, tsw_err_t *err)
{
    size_t count = 0;
    if (option->choices == NULL)
        return TSW_OK;
    for (; option->choices[count] != NULL; count++)
        if (strcmp(option->choices[count], word) == 0)
            return TSW_OK;
    char what[64];
    char text[TSW_ERR_TEXT_MAX];
    snprintf(what, sizeof(what), "value of --%s", option->name);
    tsw_cli_unknown(text, sizeof(text), what, word, option->choices, count);
    return tsw_err_set(err, TSW_ERR_ARG, "%s", text);
}

static tsw_status_t store_clocks(const tsw_option_t *option, const char *word, tsw_err_t *err)
{
    int64_t mhz = 0;
    const bool is_locked = tsw_text_starts_with(word, "lock:") &&
                           tsw_text_parse_i64(word + strlen("lock:"), &mhz) && mhz > 0 &&
                           mhz <= UINT32_MAX;
    if (!is_locked && strcmp(word, "free") != 0)
        return tsw_err_set(err, TSW_ERR_ARG, "--%s: '%s' is neither free nor lock:MHZ",
                           option->name, word);
    *(uint32_t *)option->target = (uint32_t)mhz;
    return TSW_OK;
}

static tsw_status_t store_count(const tsw_option_t *option, const char *word, int least,
                                tsw_err_t *err)
{
    int64_t count = 0;
    if (!tsw_text_parse_i64(word, &count) || count < least || count > UINT32_MAX)
        return tsw_err_set(err, TSW_ERR_ARG, "--%s: '%s' is no whole number from %d on",
                           option->name, word, least);
    *(uint32_t *)option->target = (uint32_t)count;
    return TSW_OK;
}

static tsw_status_t store_value(const tsw_option_t *option, const char *word, tsw_err_t *err)
{
    switch (option->kind) {
    case TSW_OPTION_FLAG:
        *(bool *)option->target = true;
        return TSW_OK;
    case TSW_OPTION_TEXT:
        if (word[0] == '\0') /* as of a variable that is not set */
            return tsw_err_set(err, TSW_ERR_ARG, "--%s: %s is empty", option->name, option->value);
        *(const char **)option->target = word;
        return check_choice(option, word, err);
    case TSW_OPTION_WORD:
        *(const char **)option->target = word != NULL ? word : "";
        return word != NULL ? check_choice(option, word, err) : TSW_OK;
    case TSW_OPTION_NUMBER:
        return store_count(option, word, 0, err);
    case TSW_OPTION_COUNT:
        return store_count(option, word, 1, err);
    case TSW_OPTION_CLOCKS:
        return store_clocks(option, word, err);
    case TSW_OPTION_SECONDS:
        if (!tsw_text_parse_seconds(word, (double *)option->target))
            return tsw_err_set(err, TSW_ERR_ARG, "--%s: '%s' is no time like 90, 90s, 15m or 8h",
                               option->name, word);
        return TSW_OK;
    }
    return tsw_err_set(err, TSW_ERR_BUG, "option of no kind");
}

static error_t on_key(int key, char *word, struct argp_state *state)
{
    parse_t *parse = state->input;
    if (key == ARGP_KEY_ARG) {
        parse->words.items[parse->words.count++] = word;
        return 0;
    }
    if (key < KEY_FIRST || key >= KEY_FIRST + OPTION_MAX) {
        const tsw_option_t *option =
            key > 0 && key < KEY_FIRST ? find_letter(parse, (char)key) : NULL;
        if (option == NULL)
            return ARGP_ERR_UNKNOWN;
        return store_value(option, word, &parse->err) == TSW_OK ? 0 : EINVAL;
    }
    return store_value(&parse->options[key - KEY_FIRST], word, &parse->err) == TSW_OK ? 0 : EINVAL;
}

static void fill_argp(const parse_t *parse, struct argp_option *options)
{
    for (size_t i = 0; i < parse->option_count; i++) {
        const tsw_option_t *option = &parse->options[i];
        options[i] = (struct argp_option){
            .name = option->name,
            .key = option->letter != 0 ? option->letter : KEY_FIRST + (int)i,
            .arg = option->value,
            .flags = option->kind == TSW_OPTION_WORD ? OPTION_ARG_OPTIONAL : 0,
            .doc = option->help,
            .group = i < parse->spec->option_count ? 0 : -1,
        };
    }
}

static tsw_status_t check_words(parse_t *parse)
{
    const tsw_cli_spec_t *spec = parse->spec;
    if (parse->words.count < spec->min_words)
        return tsw_err_set(&parse->err, TSW_ERR_ARG, "words are missing; usage: tilesweep %s %s",
                           spec->command, spec->usage);
    if (parse->words.count > spec->max_words)
        return tsw_err_set(&parse->err, TSW_ERR_ARG, "one word too many: '%s'",
                           parse->words.items[spec->max_words]);
    for (size_t i = 0; i < parse->words.count; i++)
        if (parse->words.items[i][0] == '\0') /* as of a variable that is not set */
            return tsw_err_set(&parse->err, TSW_ERR_ARG,
                               "word %zu is empty; usage: tilesweep %s %s", i + 1, spec->command,
                               spec->usage);
    if (parse->verbose && parse->quiet)
        return tsw_err_set(&parse->err, TSW_ERR_ARG, "-v and -q exclude each other");
    return TSW_OK;
}

static void print_help(const tsw_cli_spec_t *spec, const struct argp *argp)
{
    char name[64];
    snprintf(name, sizeof(name), "tilesweep %s", spec->command);
    argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}

static tsw_status_t parse_words(parse_t *parse, int argc, char **argv)
{
    struct argp_option options[OPTION_MAX + 1] = {{0}};
    tsw_buf_t doc = TSW_BUF_INIT;
    fill_argp(parse, options);
    const char *notes = parse->spec->notes;
    tsw_buf_printf(&doc, "%s%s%s", parse->spec->summary, notes != NULL ? "\v" : "",
                   notes != NULL ? notes : "");
    const struct argp argp = {.options = options,
                              .parser = on_key,
                              .args_doc = parse->spec->usage,
                              .doc = tsw_buf_text(&doc)};
    tsw_status_t status = check_options(parse, argc, argv);
    if (status == TSW_OK &&
        argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, parse) != 0)
        status = parse->err.code != TSW_OK
                     ? parse->err.code
                     : tsw_err_set(&parse->err, TSW_ERR_BUG, "argp and we disagree");
    if (status == TSW_OK && parse->help && !parse->spec->silent)
        print_help(parse->spec, &argp);
    if (status == TSW_OK && !parse->help)
        status = check_words(parse);
    tsw_buf_fini(&doc);
    return status;
}

bool tsw_cli_parse(const tsw_cli_spec_t *spec, int argc, char **argv, tsw_words_t *words_p,
                   int *exit_p)
{
    parse_t parse = {.spec = spec, .err = TSW_ERR_INIT};
    add_common(&parse);
    parse.words.items = tsw_calloc((size_t)argc + 1, sizeof(char *));
    tsw_status_t status =
        parse.words.items != NULL ? parse_words(&parse, argc, argv) : tsw_err_nomem(&parse.err);
    *exit_p = TSW_EXIT_DONE;
    if (status != TSW_OK) {
        *exit_p = (int)tsw_exit_of_status(status);
        if (!spec->silent) {
            tsw_cli_fail(spec->command, status, &parse.err);
            fprintf(stderr, "try 'tilesweep %s --help'\n", spec->command);
        }
    }
    if (status != TSW_OK || parse.help) {
        tsw_words_fini(&parse.words);
        return false;
    }
    parse.words.level = parse.verbose ? TSW_LOG_DEBUG : parse.quiet ? TSW_LOG_ERROR : TSW_LOG_INFO;
    tsw_log_setup(parse.words.level, -1, "");
    *words_p = parse.words;
    return true;
}

void tsw_words_fini(tsw_words_t *words)
{
    tsw_free(words->items);
    *words = (tsw_words_t){0};
}

int tsw_cli_main(const tsw_cli_spec_t *spec, int argc, char **argv, tsw_cli_body_fn_t body,
                 void *args)
{
    tsw_words_t words = {0};
    tsw_err_t err = TSW_ERR_INIT;
    int code = 0;
    if (!tsw_cli_parse(spec, argc, argv, &words, &code))
        return code;
    const tsw_status_t status = body(&words, args, &code, &err);
    tsw_words_fini(&words);
    return status == TSW_OK ? code : (int)tsw_cli_fail(spec->command, status, &err);
}
