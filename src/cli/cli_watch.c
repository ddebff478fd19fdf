#include "base/clock.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_status.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define INTERVAL_MIN_S 0.1

typedef struct {
    bool once;
    double interval_s, stale_s;
    bool clears; /* standard output is a terminal: each picture replaces the one before */
} watch_args_t;

/* What was seen last, and since when, by the clock of this machine: that of the run's may differ.
 */
typedef struct {
    int64_t attempt, updated_s;
    uint64_t since_ns;
} sight_t;

static double age_of(const tsw_run_state_t *state)
{
    return fmax(0, (double)tsw_clock_wall_ns() * 1e-9 - (double)state->updated_s);
}

static void show(const tsw_run_state_t *state, const char *run_dir, const watch_args_t *args,
                 double age_s, bool full)
{
    tsw_buf_t out = TSW_BUF_INIT;
    if (args->clears && !args->once)
        tsw_buf_append_text(&out, "\033[H\033[J");
    if (full || args->clears)
        tsw_cli_status_print(state, run_dir, age_s, &out);
    else
        tsw_cli_status_line(state, run_dir, age_s, &out);
    fputs(tsw_buf_text(&out), stdout);
    fflush(stdout);
    tsw_buf_fini(&out);
}

static int exit_of(const tsw_run_state_t *state, bool is_stale)
{
    if (tsw_cli_status_is_over(state))
        return (int)tsw_cli_status_exit(state);
    return is_stale ? TSW_EXIT_STOPPED : TSW_EXIT_DONE;
}

static tsw_status_t look_once(const char *run_dir, const watch_args_t *args, int *exit_p,
                              tsw_err_t *err)
{
    tsw_run_state_t state = {0};
    const tsw_status_t status = tsw_cli_status_read(run_dir, &state, err);
    if (status != TSW_OK)
        return status;
    const double age_s = age_of(&state);
    const bool is_stale = age_s > args->stale_s;
    show(&state, run_dir, args, is_stale ? age_s : NAN, true);
    *exit_p = exit_of(&state, is_stale);
    tsw_cli_status_fini(&state);
    return TSW_OK;
}

/* One look of many; *over_p: there is nothing more to come. */
static tsw_status_t look(const char *run_dir, const watch_args_t *args, sight_t *sight,
                         bool *over_p, int *exit_p, tsw_err_t *err)
{
    tsw_run_state_t state = {0};
    const bool first = sight->since_ns == 0;
    const uint64_t now_ns = tsw_clock_now_ns();
    const double unchanged_s = first ? 0 : (double)(now_ns - sight->since_ns) * 1e-9;
    tsw_status_t status = tsw_cli_status_read(run_dir, &state, err);
    if (status != TSW_OK && !first && unchanged_s <= args->stale_s) {
        tsw_err_clear(err); /* a shared file system may lose sight of it for a moment */
        return TSW_OK;
    }
    if (status != TSW_OK)
        return status;
    const bool changed =
        first || state.attempt != sight->attempt || state.updated_s != sight->updated_s;
    if (changed)
        *sight = (sight_t){state.attempt, state.updated_s, now_ns};
    const bool is_stale = !changed && unchanged_s > args->stale_s;
    *over_p = is_stale || tsw_cli_status_is_over(&state);
    const bool looks_stale = is_stale || (first && age_of(&state) > args->stale_s);
    if (changed || *over_p)
        show(&state, run_dir, args, looks_stale ? fmax(unchanged_s, age_of(&state)) : NAN, *over_p);
    *exit_p = exit_of(&state, is_stale);
    tsw_cli_status_fini(&state);
    return TSW_OK;
}

static tsw_status_t watch(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    watch_args_t *args = user;
    const char *run_dir = words->items[0];
    sight_t sight = {.since_ns = 0};
    bool over = false;
    args->clears = isatty(STDOUT_FILENO) != 0;
    if (args->once)
        return look_once(run_dir, args, exit_p, err);
    tsw_status_t status = look(run_dir, args, &sight, &over, exit_p, err);
    while (status == TSW_OK && !over) {
        tsw_clock_sleep((uint64_t)(fmax(args->interval_s, INTERVAL_MIN_S) * 1e9));
        status = look(run_dir, args, &sight, &over, exit_p, err);
    }
    return status;
}

int tsw_cli_watch(int argc, char **argv)
{
    watch_args_t args = {.interval_s = 5, .stale_s = 60};
    const tsw_option_t options[] = {
        {"once", '1', NULL, TSW_OPTION_FLAG, &args.once,
         "Look once and leave; exit code 0 while the run goes on (default: off)", NULL},
        {"interval", 'i', "TIME", TSW_OPTION_SECONDS, &args.interval_s,
         "Time between two looks (default: 5s)", NULL},
        {"stale", 's', "TIME", TSW_OPTION_SECONDS, &args.stale_s,
         "A run that has not updated its status for so long is given up (default: 60s)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "watch",
        .usage = "RUN",
        .summary =
            "Shows how far a run is, from RUN/status.json alone, so on any machine that sees "
            "the folder; ends when the run does, with its exit code.",
        .notes =
            "A run that no longer writes its status was killed: exit code 4, --resume goes on.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = 1,
    };
    return tsw_cli_main(&spec, argc, argv, watch, &args);
}
