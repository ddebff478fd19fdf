#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_cell.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "cli/cli_roof.h"
#include "cli/cli_signals.h"
#include "pack/arch.h"
#include "rules/lint.h"
#include "stats/stats.h"

#include <stdio.h>
#include <string.h>

enum { MS_NS = 1000000 };

/* ns per launch of the samples that count: warm-up never does. */
static tsw_status_t summarise(const tsw_record_t *record, tsw_summary_t *summary_p, tsw_err_t *err)
{
    double *values = tsw_calloc(record->sample_count + 1, sizeof(*values));
    size_t count = 0;
    if (values == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < record->sample_count; i++)
        if (!tsw_stage_is_first((tsw_stage_t)record->samples[i].stage))
            values[count++] = tsw_sample_ns(&record->samples[i]);
    *summary_p = tsw_stats_summary(values, count);
    tsw_free(values);
    return TSW_OK;
}

/* The eight fields that benchmarks of kernels exchange, in ms, percent and MiB. */
static void print_record(const char *pack, const tsw_summary_t *time, uint64_t peak_bytes)
{
    const double rel_std = time->mean > 0 ? 100 * time->std / time->mean : 0;
    const unsigned long long mib = (peak_bytes + (1u << 20) - 1) >> 20;
    printf("%s: {'forward': {'mean': %.9g, 'std': %.9g, 'rel_std': %.9g, 'median': %.9g, "
           "'min': %.9g, 'max': %.9g, 'nrep': %zu, 'peak_mem_mb': %llu}} ms\n",
           pack, time->mean / MS_NS, time->std / MS_NS, rel_std, time->median / MS_NS,
           time->min / MS_NS, time->max / MS_NS, time->n, mib);
}

static void print_verdict(const tsw_record_t *record, bool simulated)
{
    const tsw_verify_facts_t *verify = &record->verify;
    printf("  outcome    %s%s%s\n", tsw_outcome_name(record->outcome),
           record->detail[0] != '\0' ? ": " : "", record->detail);
    if (record->outcome == TSW_OUTCOME_WRONG_RESULT || record->outcome == TSW_OUTCOME_NAN_RESULT)
        printf("  see        %s\n", tsw_entry_anchor(TSW_ENTRY_CORRUPT_RESULT));
    if (verify->elements > 0 && simulated)
        printf("  verified   nothing: a simulated device computes no results\n");
    else if (verify->elements > 0)
        printf("  verified   %llu elements: %llu beyond the tolerance, %llu NaN, %llu not written; "
               "largest error %.3g absolute, %.3g relative\n",
               (unsigned long long)verify->elements, (unsigned long long)verify->mismatches,
               (unsigned long long)verify->nans, (unsigned long long)verify->unwritten,
               verify->max_abs, verify->max_rel);
    if (record->build.cubin_bytes > 0)
        printf("  build      %u registers, %u bytes spilled, %u bytes shared, cluster %u\n",
               record->build.registers, record->build.spill_bytes, record->build.shared_bytes,
               record->build.cluster);
}

static void print_times(const tsw_cell_result_t *cell, const tsw_summary_t *time,
                        const tsw_summary_t *baseline)
{
    char median[32], mean[32], std[32], low[32], high[32];
    tsw_calibration_t calibration;
    double roof_ns = 0;
    if (time->n == 0)
        return;
    printf("  median     %s of %zu; mean %s, std %s, from %s to %s\n",
           tsw_text_format_ns(time->median, median), time->n, tsw_text_format_ns(time->mean, mean),
           tsw_text_format_ns(time->std, std), tsw_text_format_ns(time->min, low),
           tsw_text_format_ns(time->max, high));
    printf("  rate       %.4g TFLOP/s, %.4g GB/s\n", cell->flops / time->median / 1e3,
           cell->bytes / time->median);
    if (tsw_roof_find(&cell->gpu, &calibration)) {
        roof_ns = tsw_calibration_roof_ns(&calibration, cell->variant, cell->flops, cell->bytes);
        if (roof_ns > 0)
            printf("  roof       %.3f of what this device was calibrated to achieve\n",
                   roof_ns / time->median);
    }
    if (baseline->n > 0)
        printf("  baseline   %.3f x as fast as config 0\n", baseline->median / time->median);
}

static tsw_status_t print_result(const tsw_one_result_t *result, bool times, bool record_line,
                                 tsw_err_t *err)
{
    const tsw_cell_result_t *cell = &result->dataset.cells[0];
    tsw_summary_t time = {0}, baseline = {0};
    char arch[16];
    tsw_status_t status = summarise(result->record, &time, err);
    if (status == TSW_OK && result->baseline != NULL)
        status = summarise(result->baseline, &baseline, err);
    if (status != TSW_OK)
        return status;
    fputs(tsw_cli_mark(result->dataset.meta.mode), stdout);
    printf("%s %s %s on %s, %s\n  config     %s\n", cell->pack, cell->variant, cell->shape,
           tsw_arch_format(cell->arch, arch), cell->gpu.name, result->config);
    print_verdict(result->record, tsw_cli_is_simulated(&result->dataset));
    if (times)
        print_times(cell, &time, &baseline);
    if (record_line && time.n > 0)
        print_record(cell->pack, &time, cell->peak_memory_bytes);
    return TSW_OK;
}

/* Exit code 1 when the timers disagree. */
static tsw_status_t print_timer(const tsw_one_result_t *result, int *exit_p, tsw_err_t *err)
{
    const tsw_cell_result_t *cell = &result->dataset.cells[0];
    char own[32], cupti[32];
    if (result->timer.count == 0)
        return tsw_err_set(err, TSW_ERR_ENV, "the timer was not checked: the log above says why");
    for (size_t i = 0; i < result->timer.count; i++) {
        const tsw_timer_check_t *check = &result->timer.items[i];
        const bool agrees = tsw_timer_check_agrees(check);
        const bool is_known = check->config_index < cell->record_count;
        printf("  timer      %s, %u an interval: %s; CUPTI: %s (%+.2f %%, %+.3f us): %s\n",
               is_known ? cell->config_texts[check->config_index] : "?", check->launches,
               tsw_text_format_ns(check->own_ns, own), tsw_text_format_ns(check->cupti_ns, cupti),
               100 * check->off_ns / check->cupti_ns, check->off_ns / 1e3,
               agrees ? "within 2 % or 0.5 us" : "they DISAGREE by more than 2 % and 0.5 us");
        if (!agrees)
            *exit_p = TSW_EXIT_UNUSABLE;
    }
    return TSW_OK;
}

typedef struct {
    const char *command;
    tsw_one_cell_t cell;
    bool times, record_line, fixed;
} bench_args_t;

static tsw_status_t run_and_print(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    bench_args_t *args = user;
    tsw_one_result_t result = {0};
    args->cell.words = words->items;
    args->cell.word_count = words->count;
    args->cell.protocol = args->fixed ? "fixed" : "rounds";
    if (args->fixed && args->cell.check_timer)
        return tsw_err_set(err, TSW_ERR_ARG,
                           "--fixed times nothing that --check-timer could check");
    tsw_cli_catch_signals();
    tsw_status_t status = tsw_one_cell_run(&args->cell, args->command, &result, err);
    if (status == TSW_OK) {
        const bool usable = result.record->outcome == TSW_OUTCOME_OK;
        *exit_p = usable ? TSW_EXIT_DONE : TSW_EXIT_UNUSABLE;
        status = print_result(&result, args->times, args->record_line, err);
    }
    if (status == TSW_OK && args->cell.check_timer)
        status = print_timer(&result, exit_p, err);
    tsw_one_result_fini(&result);
    return status;
}

enum { SHARED_OPTIONS = 5 };

/* Options that verify and bench share. */
static void share_options(tsw_one_cell_t *cell, tsw_option_t options[SHARED_OPTIONS])
{
    const tsw_option_t shared[SHARED_OPTIONS] = {
        {"config", 'C', "KNOBS", TSW_OPTION_TEXT, &cell->config,
         "E.g. 'TILE_M=64 occupancy=2'; what is left out is the baseline's (default: the baseline)",
         NULL},
        {"device", 'd', "D", TSW_OPTION_TEXT, &cell->device,
         "auto, cuda or sim:NAME (default: auto)", NULL},
        {"toolchain", 't', "DIR", TSW_OPTION_TEXT, &cell->toolchain,
         "Folder with bin/ lib/ include/ of CUDA 13.3 or later (default: looked for)", NULL},
        {"cache", 'c', "DIR", TSW_OPTION_TEXT, &cell->cache_dir,
         "Folder of compiled kernels (default: TSW_CACHE, or tilesweep in the user's cache)", NULL},
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &cell->kernels,
         "Where packs named by a bare word are (default: the shipped ones)", NULL},
    };
    memcpy(options, shared, sizeof(shared));
}

static const char usage[] = "PACK DIM=N... [dtype=TYPE] [FLAG=VALUE...]";

int tsw_cli_verify(int argc, char **argv)
{
    bench_args_t args = {.command = "verify", .cell = {.device = "auto", .rounds = 1, .warmup = 1}};
    tsw_option_t options[SHARED_OPTIONS];
    share_options(&args.cell, options);
    const tsw_cli_spec_t spec = {
        .command = "verify",
        .usage = usage,
        .summary = "Runs one config of a pack once and compares every element with the pack's "
                   "reference kernel. Exit code 1 when it is wrong.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, run_and_print, &args);
}

int tsw_cli_bench(int argc, char **argv)
{
    bench_args_t args = {
        .command = "bench", .cell = {.device = "auto", .rounds = 30, .warmup = 3}, .times = true};
    const tsw_option_t own[] = {
        {"rounds", 'n', "N", TSW_OPTION_COUNT, &args.cell.rounds, "Timed launches (default: 30)",
         NULL},
        {"warmup", 'w', "N", TSW_OPTION_NUMBER, &args.cell.warmup,
         "Launches before them that do not count (default: 3)", NULL},
        {"hot", 0, NULL, TSW_OPTION_FLAG, &args.cell.hot,
         "Leave the L2 cache as it is between launches (default: flush it)", NULL},
        {"clocks", 0, "C", TSW_OPTION_CLOCKS, &args.cell.locked_mhz,
         "free, or lock:MHZ: hold the SM clock there and give it back at the end; needs root "
         "(default: free)",
         NULL},
        {"check-timer", 0, NULL, TSW_OPTION_FLAG, &args.cell.check_timer,
         "Afterwards time more launches of both, with CUPTI watching; exit code 1 when they differ "
         "by more than "
         "2 % and 0.5 us, 3 without CUPTI (default: off)",
         NULL},
        {"print-record", 0, NULL, TSW_OPTION_FLAG, &args.record_line,
         "End with a line of mean, std, rel_std, median, min, max, nrep, peak_mem_mb: ms, rel_std "
         "in percent, memory in MiB (default: off)",
         NULL},
        {"fixed", 0, NULL, TSW_OPTION_FLAG, &args.fixed,
         "For profilers: launch exactly --rounds times between cuProfilerStart and "
         "cuProfilerStop; nothing is verified or warmed up (default: off)",
         NULL},
    };
    tsw_option_t options[SHARED_OPTIONS + sizeof(own) / sizeof(own[0])];
    share_options(&args.cell, options);
    memcpy(options + SHARED_OPTIONS, own, sizeof(own));
    const tsw_cli_spec_t spec = {
        .command = "bench",
        .usage = usage,
        .summary = "Verifies and times one config of a pack beside the baseline, in interleaved "
                   "rounds.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, run_and_print, &args);
}
