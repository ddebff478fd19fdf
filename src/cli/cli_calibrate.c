#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_input.h"
#include "cli/cli_once.h"
#include "cli/cli_output.h"
#include "cli/cli_roof.h"
#include "cli/cli_signals.h"
#include "pack/pack.h"
#include "reduce/reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint32_t locked_mhz;
    const char *output;
    const char *device, *toolchain, *cache_dir, *kernels;
} calibrate_args_t;

/* The types whose rate is a value of a calibration. */
static const tsw_dtype_t dtypes[] = {TSW_DTYPE_F16, TSW_DTYPE_BF16, TSW_DTYPE_E4M3};
enum { DTYPE_COUNT = sizeof(dtypes) / sizeof(dtypes[0]) };

static double *rate_of(tsw_calibration_values_t *values, tsw_dtype_t dtype)
{
    switch (dtype) {
    case TSW_DTYPE_F16:
        return &values->f16_flops_per_s;
    case TSW_DTYPE_BF16:
        return &values->bf16_flops_per_s;
    default:
        return &values->e4m3_flops_per_s;
    }
}

/* ---- the products: two large shapes, the few configs that can be the best of an arch ---- */

static bool has_dtype(const tsw_pack_t *pack, tsw_arch_t arch, tsw_dtype_t dtype)
{
    return pack->dtypes[dtype] && tsw_arch_has_dtype(arch, dtype);
}

static void print_job(const tsw_pack_t *pack, tsw_arch_t arch, tsw_buf_t *out)
{
    char arch_name[16];
    bool first = true;
    tsw_buf_printf(out, "name: calibrate\npurpose: research\narchs: [%s]\npacks:\n",
                   tsw_arch_format(arch, arch_name));
    tsw_buf_append_text(out, "  - pack: matmul\n    dtypes: [");
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (!has_dtype(pack, arch, dtypes[i]))
            continue;
        tsw_buf_printf(out, "%s%s", first ? "" : ", ", tsw_dtype_name(dtypes[i]));
        first = false;
    }
    tsw_buf_append_text(
        out, "]\n    shapes:\n"
             "      - {M: 4096, N: 4096, K: 4096}\n      - {M: 8192, N: 8192, K: 8192}\n"
             "    space:\n"
             "      - {TILE_M: 128, TILE_N: 128, TILE_K: 64, occupancy: [1, 2], num_ctas: 1}\n"
             "      - {TILE_M: 128, TILE_N: 256, TILE_K: 64, occupancy: 1, num_ctas: [1, 2]}\n"
             "      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}\n"
             "      - {TILE_M: 256, TILE_N: 256, TILE_K: 64, occupancy: 1, num_ctas: 2}\n"
             "measure: {protocol: rounds, rounds: 20, warmup: 3, cache: cold, seed: 1}\n");
}

static tsw_status_t prepare(const calibrate_args_t *args, tsw_fileset_t *snapshot, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_arch_t arch = 0;
    tsw_buf_t job = TSW_BUF_INIT;
    tsw_status_t status = tsw_once_arch(args->device, &arch, err);
    if (status == TSW_OK)
        status = tsw_once_pack_files("matmul", args->kernels, &files, err);
    if (status == TSW_OK)
        status = tsw_pack_read(&files, &pack, err);
    if (status == TSW_OK) {
        print_job(pack, arch, &job);
        status = tsw_buf_ok(&job)
                     ? tsw_once_snapshot(tsw_buf_text(&job), &files, "matmul", snapshot, err)
                     : tsw_err_nomem(err);
    }
    tsw_buf_fini(&job);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    return status;
}

static void take_rate(const tsw_cell_summary_t *cell, tsw_dtype_t dtype,
                      tsw_calibration_values_t *values)
{
    char word[32];
    snprintf(word, sizeof(word), "dtype=%s", tsw_dtype_name(dtype));
    if (cell->winner < 0 || strcmp(cell->cell->variant, word) != 0)
        return;
    const double rate = cell->cell->flops / cell->configs[cell->winner].time_ns.median * 1e9;
    double *best = rate_of(values, dtype);
    if (!(rate <= *best))
        *best = rate;
}

static void add_absent(tsw_calibration_t *calibration, tsw_dtype_t dtype, bool tried)
{
    char reason[64];
    snprintf(reason, sizeof(reason), "%s matmul: %s", tsw_dtype_name(dtype),
             tried ? "no config was right" : "the matmul pack does not have it");
    tsw_calibration_add_absent(calibration, reason);
}

static tsw_status_t take_rates(const tsw_dataset_t *dataset, tsw_calibration_t *calibration,
                               tsw_err_t *err)
{
    const tsw_reduce_options_t options = tsw_reduce_options(8);
    tsw_reduction_t *reduction = NULL;
    tsw_status_t status = tsw_reduce(dataset, &options, &reduction, err);
    if (status != TSW_OK)
        return status;
    for (size_t d = 0; d < DTYPE_COUNT; d++) {
        bool tried = false;
        for (size_t i = 0; i < reduction->cell_count; i++) {
            take_rate(&reduction->cells[i], dtypes[d], &calibration->values);
            tried = tried ||
                    strstr(reduction->cells[i].cell->variant, tsw_dtype_name(dtypes[d])) != NULL;
        }
        if (isnan(*rate_of(&calibration->values, dtypes[d])))
            add_absent(calibration, dtypes[d], tried);
    }
    tsw_reduction_free(reduction);
    return TSW_OK;
}

/* ---- the table ---- */

static const char *time_text(double ns, char out[32])
{
    if (isnan(ns))
        snprintf(out, 32, "unknown");
    else
        tsw_text_format_ns(ns, out);
    return out;
}

static void print_cache(const tsw_calibration_values_t *values, uint64_t l2_bytes)
{
    char l2[32], bytes[32], hot[32], flushed[32], rotated[32];
    const double effect = values->read_flushed_ns / values->read_hot_ns;
    const double match = values->read_flushed_ns / values->read_rotated_ns;
    printf("  L2            %s; %s read hot in %s, after a flush %s, rotated %s\n",
           tsw_text_format_bytes((double)l2_bytes, l2),
           tsw_text_format_bytes(values->read_bytes, bytes), time_text(values->read_hot_ns, hot),
           time_text(values->read_flushed_ns, flushed),
           time_text(values->read_rotated_ns, rotated));
    if (effect < 1.1)
        printf("  flush         not proved: a hot read is no faster than one after a flush\n");
    else
        printf("  flush         proved: a hot read is %.2f x as fast; flush / rotation %.3f\n",
               effect, match);
}

static void print_rate(const char *what, double per_s, double unit, const char *unit_text)
{
    if (!isnan(per_s))
        printf("  %-12s  %.4g %s\n", what, per_s / unit, unit_text);
}

static void print_table(const tsw_calibration_t *calibration)
{
    const tsw_calibration_values_t *values = &calibration->values;
    const tsw_gpu_t *gpu = &calibration->gpu;
    char arch[16], step[32], empty[32], enqueue[32], ramp[32];
    fputs(tsw_cli_mark(gpu->mode), stdout);
    printf("%s, %s, %s, driver %s\n", gpu->name, tsw_arch_format(gpu->arch, arch), gpu->uuid,
           gpu->driver_text);
    printf("  timer         steps of %s; an empty kernel takes %s\n",
           time_text(values->timer_step_ns, step), time_text(values->empty_launch_ns, empty));
    printf("  queue         %s a launch for the host; ", time_text(values->enqueue_ns, enqueue));
    if (values->queue_depth > 0)
        printf("full after %.0f\n", values->queue_depth);
    else
        printf("never full\n");
    print_cache(values, gpu->l2_bytes);
    printf("  A/A           paired %+.3f %%, sigma %.3f %%; two windows %+.3f %%\n",
           100 * values->paired_ratio, 100 * values->paired_sigma, 100 * values->window_ratio);
    if (!isnan(values->steady_mhz))
        printf("  SM clock      %.0f MHz idle, %.0f MHz under load, there after %s\n",
               values->idle_mhz, values->steady_mhz, time_text(values->ramp_ns, ramp));
    print_rate("copy", values->copy_bytes_per_s, 1e9, "GB/s, read and written");
    print_rate("f16 matmul", values->f16_flops_per_s, 1e12, "TFLOP/s");
    print_rate("bf16 matmul", values->bf16_flops_per_s, 1e12, "TFLOP/s");
    print_rate("e4m3 matmul", values->e4m3_flops_per_s, 1e12, "TFLOP/s");
    if (calibration->absent[0] != '\0')
        printf("  absent        %s\n", calibration->absent);
}

/* ---- the command ---- */

static tsw_status_t measure(const calibrate_args_t *args, tsw_calibration_t *calibration,
                            tsw_err_t *err)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_dataset_t dataset = {0};
    tsw_run_summary_t summary = {0};
    const tsw_run_options_t options = {
        .device = args->device,
        .toolchain = args->toolchain,
        .cache_dir = args->cache_dir,
        .locked_mhz = args->locked_mhz,
        .invocation = "calibrate",
        .calibration_p = calibration,
    };
    tsw_status_t status = prepare(args, &snapshot, err);
    if (status == TSW_OK)
        status = tsw_once_run(&snapshot, &options, &dataset, &summary, err);
    if (status == TSW_OK && !summary.calibrated)
        status =
            tsw_err_set(err, TSW_ERR_ENV, "the device failed the probes: the log above says how");
    if (status == TSW_OK)
        status = take_rates(&dataset, calibration, err);
    tsw_dataset_fini(&dataset);
    tsw_fileset_fini(&snapshot);
    return status;
}

static tsw_status_t keep(const tsw_calibration_t *calibration, const char *output, tsw_err_t *err)
{
    char *path = output != NULL ? tsw_strdup(output) : tsw_roof_path(&calibration->gpu);
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_roof_write(calibration, path, err);
    if (status == TSW_OK)
        printf("  stored        %s\n", path);
    tsw_free(path);
    return status;
}

/* Against the last one of this very GPU: in the file to be replaced, or in the usual place. */
static bool read_last(const tsw_calibration_t *now, const char *output, tsw_calibration_t *last)
{
    if (output != NULL && tsw_roof_read(output, last, NULL) == TSW_OK &&
        tsw_calibration_fits(last, &now->gpu, true))
        return true;
    return tsw_roof_find(&now->gpu, last) && tsw_calibration_fits(last, &now->gpu, true);
}

static tsw_status_t calibrate(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const calibrate_args_t *args = user;
    tsw_calibration_t now = {.wall_ns = 0}, last;
    tsw_buf_t worse = TSW_BUF_INIT;
    (void)words;
    (void)exit_p;
    tsw_cli_catch_signals();
    tsw_status_t status =
        tsw_cli_check_output(args->output, TSW_CALIBRATION_START, "a calibration", err);
    if (status == TSW_OK)
        status = measure(args, &now, err);
    if (status != TSW_OK)
        return status;
    print_table(&now);
    if (read_last(&now, args->output, &last) && tsw_roof_compare(&now, &last, &worse) == 0)
        printf("  health        as at the last calibration, within 3 %%\n");
    status = keep(&now, args->output, err);
    fputs(tsw_buf_text(&worse), stderr);
    tsw_buf_fini(&worse);
    return status;
}

int tsw_cli_calibrate(int argc, char **argv)
{
    calibrate_args_t args = {.device = "auto"};
    const tsw_option_t options[] = {
        {"output", 'o', "FILE", TSW_OPTION_TEXT, &args.output,
         "JSON to write (default: by UUID in TSW_CALIBRATIONS, or in the user's cache)", NULL},
        {"device", 'd', "D", TSW_OPTION_TEXT, &args.device,
         "auto, cuda or sim:NAME (default: auto)", NULL},
        {"clocks", 0, "C", TSW_OPTION_CLOCKS, &args.locked_mhz,
         "free, or lock:MHZ: hold the SM clock there and give it back at the end; needs root "
         "(default: free)",
         NULL},
        {"toolchain", 't', "DIR", TSW_OPTION_TEXT, &args.toolchain,
         "Folder with bin/ lib/ include/ of CUDA 13.3 or later (default: looked for)", NULL},
        {"cache", 'c', "DIR", TSW_OPTION_TEXT, &args.cache_dir,
         "Folder of compiled kernels (default: TSW_CACHE, or tilesweep in the user's cache)", NULL},
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &args.kernels,
         "Where packs named by a bare word are (default: the shipped ones)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "calibrate",
        .usage = "",
        .summary = "Finds out what a GPU is like for measuring: its timer, launch queue, L2 and "
                   "flush, noise, clock, copy bandwidth and best matmuls. The last two are the "
                   "roof in other commands. Times in ns, us or ms, rates in GB/s and TFLOP/s.",
        .notes = "Warns when a rate is more than 3 % lower than the last time on this GPU.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
    };
    return tsw_cli_main(&spec, argc, argv, calibrate, &args);
}
