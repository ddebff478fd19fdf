#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/linux.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_choice.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "cli/cli_signals.h"
#include "cli/cli_tables.h"
#include "cli/cli_usage.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    tsw_run_options_t run;
    const char *kernels;
    const char *protocol; /* NULL: the job's */
    const char *part;
    double budget_s;
    const char *resume; /* NULL: no; "": as it is; "accept" */
} run_args_t;

/* Not given: the job's; 0: none. */
static const double budget_of_job = -1;

static const char *const resume_words[] = {"accept", NULL};

static void join_words(int argc, char **argv, tsw_buf_t *out)
{
    tsw_buf_append_text(out, "tilesweep");
    for (int i = 0; i < argc; i++)
        tsw_buf_printf(out, " %s", argv[i]);
}

static void print_summary(const tsw_run_summary_t *summary, const char *run_dir)
{
    const double per_s = summary->wall_s > 0 ? (double)summary->configs / summary->wall_s : 0;
    printf("%s: %zu cells: %zu usable, %zu unusable, %zu skipped, %zu left\n", run_dir,
           summary->cells, summary->cells_usable, summary->cells_unusable, summary->cells_skipped,
           summary->cells_left);
    printf("  %zu configs of cells: %zu ok, %zu alias, %zu failed; %zu builds: %zu made, %zu from "
           "the cache\n",
           summary->configs, summary->configs_ok, summary->configs_alias, summary->configs_failed,
           summary->builds, summary->builds_made, summary->builds_cached);
    printf("  %.1f s, %.1f configs/s, devices busy %.0f %%\n", summary->wall_s, per_s,
           100 * summary->gpu_busy_ratio);
    if (summary->rounds_unstable > 0)
        printf("  %zu of %zu rounds are unstable: the clock was off, or others used the GPU\n",
               summary->rounds_unstable, summary->rounds);
    if (summary->retired[0] != '\0')
        printf("  GPUs that are not used any more:\n%s", summary->retired);
}

/* Appends how the workers spent their time to out, and unless it is a part of a run the choice, and
 * writes tables when the job is for release. */
static tsw_status_t report(const char *run_dir, const tsw_dataset_t *results, bool is_part,
                           tsw_buf_t *out, tsw_err_t *err)
{
    tsw_reduction_t *reduction = NULL;
    tsw_cli_tables_t tables = {0};
    tsw_cli_verdicts_t verdicts = {0};
    char *tables_dir = tsw_path_join(run_dir, "tables");
    tsw_status_t status = tables_dir != NULL
                              ? tsw_cli_reduce_with_roofs(results, 8, &reduction, err)
                              : tsw_err_nomem(err);
    if (status == TSW_OK)
        tsw_cli_usage_print(results, out);
    if (status == TSW_OK && !is_part)
        status = tsw_cli_verdicts_make(reduction, &run_dir, 1, &verdicts, err);
    if (status == TSW_OK && strcmp(results->meta.purpose, "fixed") == 0)
        tsw_buf_append_text(out, "tuning is switched off: the fixed configs alone, verified and "
                                 "timed; no tables\n");
    if (status == TSW_OK && !is_part)
        status = tsw_cli_choice_print(results, reduction, &verdicts, out, err);
    if (status == TSW_OK && !is_part && strcmp(results->meta.purpose, "release") == 0) {
        status = tsw_cli_tables_make(results, reduction, &verdicts, &tables, err);
        tsw_buf_append_text(out, "\n");
        if (status == TSW_OK)
            status = tsw_cli_tables_write(&tables, tables_dir, out, err);
    }
    tsw_cli_tables_fini(&tables);
    tsw_cli_verdicts_fini(&verdicts);
    tsw_reduction_free(reduction);
    tsw_free(tables_dir);
    return status;
}

static bool replays_foreign(const char *device)
{
    return tsw_text_starts_with(device, "replay:") && tsw_text_ends_with(device, ".json");
}

/* Collective; the status is the same on every rank. */
static tsw_status_t run(tsw_comm_t *comm, const char *job_path, run_args_t *args,
                        tsw_run_summary_t *summary, tsw_err_t *err)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_status_t status = TSW_OK;
    if (args->run.run_dir == NULL)
        status = tsw_err_set(err, TSW_ERR_ARG, "where to? name a folder with -o RUN");
    else if (args->run.replay_names != NULL && !replays_foreign(args->run.device))
        status = tsw_err_set(err, TSW_ERR_ARG,
                             "--replay-names is for --device replay:FILE.json, this is %s",
                             args->run.device);
    else if (args->part != NULL && tsw_plan_part_parse(args->part, &args->run.part, err) != TSW_OK)
        status = tsw_err_wrap(err, "--part");
    if (status == TSW_OK && tsw_comm_rank(comm) == 0)
        status = tsw_cli_snapshot(job_path, args->kernels, &snapshot, err);
    if (status == TSW_OK && tsw_comm_rank(comm) == 0 && args->protocol != NULL)
        status = tsw_job_override_protocol(&snapshot, args->protocol, err);
    status = tsw_comm_agree(comm, status, err);
    args->run.job_path = job_path;
    if (status == TSW_OK) {
        status = tsw_run(comm, &snapshot, &args->run, summary, err);
        status = tsw_cli_name_job(err, tsw_comm_agree(comm, status, err), job_path);
    }
    tsw_fileset_fini(&snapshot);
    return status;
}

/* Rank 0, after a run: what happened, and the code to leave with. */
static int conclude(tsw_status_t status, const tsw_run_summary_t *summary,
                    const tsw_run_options_t *options, tsw_err_t *err)
{
    const char *run_dir = options->run_dir;
    const bool is_part = options->part.count > 1; /* a table needs all shapes */
    tsw_buf_t out = TSW_BUF_INIT;
    if (status != TSW_OK) {
        const int code = (int)tsw_cli_fail("run", status, err);
        if (status == TSW_ERR_FULL)
            fprintf(
                stderr,
                "tilesweep run: what is sealed is safe; with more room go on with: tilesweep run "
                "... -o %s --resume\n",
                run_dir);
        return code;
    }
    if (!summary->stopped_early)
        status = report(run_dir, options->results_p, is_part, &out, err);
    print_summary(summary, run_dir);
    fputs(tsw_buf_text(&out), stdout);
    tsw_buf_fini(&out);
    if (summary->stopped_early) {
        printf("stopped early; go on with: tilesweep run ... -o %s --resume\n", run_dir);
        return TSW_EXIT_STOPPED;
    }
    if (is_part)
        printf("part %u of %u; when all are done: tilesweep merge RUN.. -o SWEEP.h5\n",
               options->part.number, options->part.count);
    if (status != TSW_OK)
        return (int)tsw_cli_fail("run", status, err);
    return summary->cells_unusable > 0 ? TSW_EXIT_UNUSABLE : TSW_EXIT_DONE;
}

static int run_on_ranks(tsw_comm_t *comm, int argc, char **argv)
{
    run_args_t args = {.run = {.device = "auto", .progress = true}, .budget_s = budget_of_job};
    const tsw_option_t options[] = {
        {"output", 'o', "RUN", TSW_OPTION_TEXT, &args.run.run_dir,
         "Folder of this run; must be new, or empty, or resumed (no default)", NULL},
        {"local", 0, "DIR", TSW_OPTION_TEXT, &args.run.local_dir,
         "Folder on a disk of each node: ranks seal their results there and rank 0 gathers them, "
         "so "
         "that it alone needs RUN (default: all ranks write into RUN)",
         NULL},
        {"device", 'd', "D", TSW_OPTION_TEXT, &args.run.device,
         "auto, cuda, sim:NAME[,NAME..] or replay:FILE (a sweep, a cache file of Kernel Tuner or "
         "T4 "
         "results); only sim: and replay: do without a GPU "
         "(default: auto)",
         NULL},
        {"replay-names", 0, "K=N,..", TSW_OPTION_TEXT, &args.run.replay_names,
         "Replay of another tuner's file: how it calls the pack's tunables, as "
         "TILE_M=block_size_x (default: as the pack does)",
         NULL},
        {"resume", 'r', "accept", TSW_OPTION_WORD, &args.resume,
         "Go on with a run that stopped. When sources, toolchain, policy, shapes, GPUs' arch, "
         "clocks "
         "or driver are not what they were: list the differences and stop; =accept: do again what "
         "they concern (default: off)",
         resume_words},
        {"part", 0, "I/N", TSW_OPTION_TEXT, &args.part,
         "Do the I-th of N shares of the cells; `merge` joins them (default: all cells)", NULL},
        {"budget", 'b', "TIME", TSW_OPTION_SECONDS, &args.budget_s,
         "Stop, resumable, after this time: 90s, 15m, 8h; 0: never (default: the job's)", NULL},
        {"seal", 's', "TIME", TSW_OPTION_SECONDS, &args.run.seal_s,
         "Write finished cells to RUN this often; what is not yet written a kill makes anew "
         "(default: 30s)",
         NULL},
        {"jobs", 'j', "N", TSW_OPTION_COUNT, &args.run.build_jobs,
         "Builds at a time on each node (default: cores, less one per GPU that is timing)", NULL},
        {"toolchain", 't', "DIR", TSW_OPTION_TEXT, &args.run.toolchain,
         "Folder with bin/ lib/ include/ of CUDA 13.3 or later (default: TSW_TOOLCHAIN, .deps "
         "beside the program, CUDA_HOME)",
         NULL},
        {"cache", 'c', "DIR", TSW_OPTION_TEXT, &args.run.cache_dir,
         "Folder of compiled kernels (default: TSW_CACHE, or tilesweep in the user's cache)", NULL},
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &args.kernels,
         "Where packs named by a bare word are (default: the shipped ones)", NULL},
        {"protocol", 'p', "P", TSW_OPTION_TEXT, &args.protocol,
         "race, rounds, cutile, kt7, do_bench, fi10 or tunable (default: the job's)",
         tsw_protocol_names},
        {"clocks", 0, "C", TSW_OPTION_CLOCKS, &args.run.locked_mhz,
         "free, or lock:MHZ: hold every GPU's SM clock there and give it back at the end; needs "
         "root (default: free)",
         NULL},
        {"share-gpu", 0, NULL, TSW_OPTION_FLAG, &args.run.allow_shared_gpu,
         "Let two ranks use one GPU (default: an error)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "run",
        .usage = "JOB -o RUN",
        .summary = "Compiles, verifies and times every config of a job, keeps all samples in "
                   "RUN, and prints the configs to keep. Under mpirun or srun: one rank per GPU.",
        .notes = "USR1, TERM, INT or HUP stop it in an orderly way (exit code 4); --resume "
                 "goes on.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = 1,
        .silent = tsw_comm_rank(comm) > 0,
    };
    const int rank = tsw_comm_rank(comm);
    tsw_words_t words = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_run_summary_t summary = {0};
    tsw_dataset_t results = {0};
    tsw_buf_t invocation = TSW_BUF_INIT;
    char node[64];
    int code = 0;
    join_words(argc, argv, &invocation); /* parsing may permute them */
    if (tsw_cli_parse(&spec, argc, argv, &words, &code)) {
        tsw_node_name(node, sizeof(node));
        tsw_log_setup(words.level, tsw_comm_size(comm) > 1 ? rank : -1, node);
        args.run.resume = args.resume != NULL;
        if (args.budget_s != budget_of_job)
            args.run.budget_s = args.budget_s > 0 ? args.budget_s : TSW_RUN_NO_BUDGET;
        args.run.accept = args.resume != NULL && args.resume[0] != '\0';
        args.run.invocation = tsw_buf_text(&invocation);
        args.run.results_p = &results;
        const tsw_status_t status = run(comm, words.items[0], &args, &summary, &err);
        if (rank == 0)
            code = conclude(status, &summary, &args.run, &err);
    }
    tsw_words_fini(&words);
    tsw_buf_fini(&invocation);
    tsw_dataset_fini(&results);
    return code;
}

int tsw_cli_run(int argc, char **argv)
{
    tsw_comm_t *comm = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_cli_catch_signals(); /* MPI takes a while to begin */
    const tsw_status_t status = tsw_comm_open(&comm, &err);
    if (status != TSW_OK)
        return (int)tsw_cli_fail("run", status, &err);
    const int rank = tsw_comm_rank(comm);
    const int code = run_on_ranks(comm, argc, argv);
    fflush(stdout);
    tsw_comm_close(comm);
    return rank == 0 ? code : TSW_EXIT_DONE; /* another rank's code would get rank 0 killed */
}
