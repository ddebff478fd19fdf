/* The subcommands: each parses its own words (argv[0] is its name), prints, and returns the exit
 * code of the process. */
#ifndef TSW_CLI_COMMANDS_H
#define TSW_CLI_COMMANDS_H

typedef struct {
    const char *name;
    const char *summary; /* one line for `tilesweep --help` */
    int (*main)(int argc, char **argv);
} tsw_cli_command_t;

int tsw_cli_plan(int argc, char **argv);
int tsw_cli_run(int argc, char **argv); /* collective over the ranks that the launcher started */
int tsw_cli_watch(int argc, char **argv);
int tsw_cli_reduce(int argc, char **argv);
int tsw_cli_show(int argc, char **argv);
int tsw_cli_classify(int argc, char **argv);
int tsw_cli_lint(int argc, char **argv);
int tsw_cli_promote(int argc, char **argv);
int tsw_cli_merge(int argc, char **argv);
int tsw_cli_check(int argc, char **argv);
int tsw_cli_verify(int argc, char **argv);
int tsw_cli_bench(int argc, char **argv);
int tsw_cli_devices(int argc, char **argv);
int tsw_cli_calibrate(int argc, char **argv);

#endif
