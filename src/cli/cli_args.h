/* Options of a subcommand: one table gives parsing, checks and --help. */
#ifndef TSW_CLI_ARGS_H
#define TSW_CLI_ARGS_H

#include "base/err.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    TSW_OPTION_FLAG,    /* bool */
    TSW_OPTION_TEXT,    /* const char *, borrowed from argv */
    TSW_OPTION_WORD,    /* the same, but --name alone, which gives "", is fine: --name[=value] */
    TSW_OPTION_NUMBER,  /* uint32_t */
    TSW_OPTION_COUNT,   /* uint32_t, at least 1 */
    TSW_OPTION_CLOCKS,  /* uint32_t, MHz of "lock:1500"; 0: "free" */
    TSW_OPTION_SECONDS, /* double: "90", "90s", "15m", "8h" */
} tsw_option_kind_t;

typedef struct {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    const char *value; /* what --help calls the value; NULL for a flag */
    tsw_option_kind_t kind;
    void *target;
    const char *help;           /* with the default and the unit */
    const char *const *choices; /* NULL-terminated list of the words allowed; NULL: free */
} tsw_option_t;

typedef struct {
    const char *command;
    const char *usage;   /* "JOB -o RUN" */
    const char *summary; /* above the options in --help */
    const char *notes;   /* below them; may be NULL */
    const tsw_option_t *options;
    size_t option_count;
    size_t min_words, max_words; /* words that are no options */
    bool silent;                 /* print nothing: another rank does */
} tsw_cli_spec_t;

typedef struct {
    const char **items; /* heap; the words borrowed from argv */
    size_t count;
    tsw_log_level_t level; /* -v debug, -q error, else info */
} tsw_words_t;

/* What a command does once its words are read: args is what the options were stored into. *exit_p
 * is 0 and may be set; a status other than TSW_OK is told by the caller. */
typedef tsw_status_t (*tsw_cli_body_fn_t)(const tsw_words_t *words, void *args, int *exit_p,
                                          tsw_err_t *err);

/* A whole command: parse, do, tell errors; returns the exit code. */
int tsw_cli_main(const tsw_cli_spec_t *spec, int argc, char **argv, tsw_cli_body_fn_t body,
                 void *args);

/* Every command has -v, -q and --help besides its own options. No abbreviations: an unknown option
 * is an error that names the nearest known one. False: help or an error was printed and *exit_p is
 * the code to leave with. True: targets and *words_p are filled, the log is set up. */
bool tsw_cli_parse(const tsw_cli_spec_t *spec, int argc, char **argv, tsw_words_t *words_p,
                   int *exit_p);
void tsw_words_fini(tsw_words_t *words);

/* "unknown WHAT 'WORD'" with the nearest known word, or the list of all when none is near. Writes
 * to out. */
void tsw_cli_unknown(char *out, size_t size, const char *what, const char *word,
                     const char *const *known, size_t count);

#endif
