/* tilesweep: the command line. One file per subcommand (cli_*.c). */
#include "base/linux.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "tsw_version.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const tsw_cli_command_t commands[] = {
    {"plan", "what a job would run, and what it costs", tsw_cli_plan},
    {"run", "compile, verify and time a job's configs", tsw_cli_run},
    {"watch", "how far a run is, until it ends", tsw_cli_watch},
    {"reduce", "at most 8 configs per architecture from runs", tsw_cli_reduce},
    {"show", "a row per config of a run", tsw_cli_show},
    {"merge", "one sweep file from runs", tsw_cli_merge},
    {"check", "validate a run, a sweep file or a table", tsw_cli_check},
    {"verify", "one pack, one shape: is a config right?", tsw_cli_verify},
    {"bench", "one pack, one shape: how fast is a config?", tsw_cli_bench},
    {"classify", "what is searched for a pack, and why", tsw_cli_classify},
    {"lint", "what packs and tables have against the rules", tsw_cli_lint},
    {"promote", "a patch of a pack's list from a probe", tsw_cli_promote},
    {"devices", "what is here, and what is missing", tsw_cli_devices},
    {"calibrate", "what this GPU is like for measuring", tsw_cli_calibrate},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *out)
{
    fprintf(out, "usage: tilesweep COMMAND ...\n\n"
                 "Tunes CUDA kernels over the GPUs of a cluster: shapes x configs x architectures\n"
                 "in, a table of at most 8 configs per architecture out.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s  %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n'tilesweep COMMAND --help' tells more; 'tilesweep --version' the version.\n"
                 "Exit codes: 0 done; 1 done, but nothing usable for some cell; 2 usage or input\n"
                 "file; 3 environment; 4 stopped early, resumable; 70 bug.\n");
}

static int unknown_word(const char *word)
{
    static const char *const options[] = {"--help", "--version"};
    const char *names[COMMAND_COUNT];
    char text[512];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    if (word[0] == '-')
        tsw_cli_unknown(text, sizeof(text), "option", word, options, 2);
    else
        tsw_cli_unknown(text, sizeof(text), "command", word, names, COMMAND_COUNT);
    fprintf(stderr, "tilesweep: %s\ntry 'tilesweep --help'\n", text);
    return TSW_EXIT_USAGE;
}

static const tsw_cli_command_t *find_command(const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(word, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* "help COMMAND" */
static int help(char *word)
{
    char option[] = "--help";
    char *words[] = {word, option, NULL};
    const tsw_cli_command_t *command = find_command(word);
    return command != NULL ? command->main(2, words) : unknown_word(word);
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        print_usage(stderr);
        return TSW_EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0 && argc > 2)
        return help(argv[2]);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return TSW_EXIT_DONE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("tilesweep %s\n", TSW_VERSION);
        return TSW_EXIT_DONE;
    }
    const tsw_cli_command_t *command = find_command(word);
    return command != NULL ? command->main(argc - 1, argv + 1) : unknown_word(word);
}

/* A reader that has seen enough, such as head, is fine. */
static bool is_reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* Whether all output came through. Why a write before the last one failed, errno does not tell. */
static bool finish_output(void)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE || is_reader_gone())
        return true;
    fprintf(stderr, "tilesweep: standard output: %s\n",
            errno != 0 ? strerror(errno) : "not all could be written");
    return false;
}

int main(int argc, char **argv)
{
    if (!tsw_process_open_standard())
        return TSW_EXIT_ENV;
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails, as on a full disk */
    int code = dispatch(argc, argv);
    if (!finish_output() && code == TSW_EXIT_DONE)
        code = TSW_EXIT_ENV;
    return code;
}
