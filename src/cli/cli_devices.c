#include "base/clock.h"
#include "base/linux.h"
#include "base/mem.h"
#include "base/text.h"
#include "build/toolchain.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_roof.h"
#include "comm/comm.h"
#include "device/device.h"
#include "store/store.h"
#include "tsw_version.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    bool arch_only;
    const char *toolchain;
} devices_args_t;

static void print_gpu(size_t index, const tsw_gpu_t *gpu)
{
    char arch[16], memory[32], l2[32];
    printf("  gpu %zu      %s, %s, %u SMs, %s, L2 %s, %s\n", index, gpu->name,
           tsw_arch_format(gpu->arch, arch), gpu->sm_count,
           tsw_text_format_bytes((double)gpu->memory_bytes, memory),
           tsw_text_format_bytes((double)gpu->l2_bytes, l2), gpu->uuid);
    if (index == 0)
        printf("  driver     %s, CUDA %u.%u\n", gpu->driver_text, gpu->driver_version / 1000,
               gpu->driver_version % 1000 / 10);
}

static void print_calibration(const tsw_gpu_t *gpu)
{
    tsw_calibration_t found;
    char when[32];
    if (!tsw_roof_find(gpu, &found)) {
        printf("             not calibrated: 'tilesweep calibrate' tells what it can achieve\n");
        return;
    }
    printf("             calibrated %s%s", tsw_clock_format_utc(found.wall_ns, when),
           tsw_calibration_fits(&found, gpu, true) ? "" : " on another of its kind");
    if (isfinite(found.values.copy_bytes_per_s))
        printf(", copy %.0f GB/s", found.values.copy_bytes_per_s / 1e9);
    if (isfinite(found.values.f16_flops_per_s))
        printf(", f16 matmul %.0f TFLOP/s", found.values.f16_flops_per_s / 1e12);
    printf("\n");
}

static void print_gpus(const tsw_gpu_t *gpus, size_t count, const char *missing)
{
    for (size_t i = 0; i < count; i++) {
        print_gpu(i, &gpus[i]);
        print_calibration(&gpus[i]);
    }
    if (count == 0)
        printf("  gpu        none: %s\n"
               "             a GPU host with a driver measures; anywhere, --device sim:NAME "
               "simulates\n",
               missing != NULL ? missing : "no device");
}

static void print_simulated(void)
{
    const char *const *names = NULL;
    size_t count = 0;
    char arch_name[16];
    tsw_arch_t arch = 0;
    tsw_sim_models(&names, &count);
    printf("  simulated ");
    for (size_t i = 0; i < count; i++)
        if (tsw_sim_arch(names[i], &arch))
            printf(" %s (%s)", names[i], tsw_arch_format(arch, arch_name));
    printf("\n");
}

static tsw_status_t print_toolchain(const char *option, tsw_err_t *err)
{
    tsw_toolchain_t toolchain = {0};
    tsw_status_t status = tsw_toolchain_find(option, NULL, &toolchain, err);
    if (status != TSW_OK)
        return status;
    if (!toolchain.found)
        printf("  toolchain  none: %s\n"
               "             'make setup' brings it; so does any CUDA 13.3 or later\n",
               toolchain.text);
    else
        printf("  toolchain  %s in %s\n", toolchain.text, toolchain.root);
    if (toolchain.found && toolchain.tileiras == NULL)
        printf("             no tileiras: packs in CUDA Tile C++ cannot be compiled\n");
    tsw_toolchain_fini(&toolchain);
    return TSW_OK;
}

static void print_libraries(void)
{
    char mpi[96], hdf5[32];
    printf("  libraries  %s, %s\n", tsw_comm_library(mpi), tsw_store_library(hdf5));
}

static tsw_status_t print_all(const devices_args_t *args, const tsw_gpu_t *gpus, size_t count,
                              const char *missing, tsw_err_t *err)
{
    tsw_cpus_t cpus = {0};
    char node[64];
    tsw_cpus_of_process(&cpus);
    tsw_node_name(node, sizeof(node));
    printf("tilesweep %s on %s, %d of %d cores\n", TSW_VERSION, node, tsw_cpus_count(&cpus),
           tsw_cpus_online());
    print_gpus(gpus, count, missing);
    print_simulated();
    print_libraries();
    return print_toolchain(args->toolchain, err);
}

/* For scripts: the arch to measure on, or exit code 3. */
static tsw_status_t print_arch(const tsw_gpu_t *gpus, size_t count, const char *missing,
                               tsw_err_t *err)
{
    char arch[16];
    if (count == 0)
        return tsw_err_set(err, TSW_ERR_ENV, "no usable GPU: %s",
                           missing != NULL ? missing : "no device");
    printf("%s\n", tsw_arch_format(gpus[0].arch, arch));
    return TSW_OK;
}

static tsw_status_t devices(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const devices_args_t *args = user;
    tsw_gpu_t *gpus = NULL;
    size_t count = 0;
    char *missing = NULL;
    (void)words;
    (void)exit_p;
    tsw_status_t status = tsw_device_list(&gpus, &count, &missing, err);
    if (status == TSW_OK)
        status = args->arch_only ? print_arch(gpus, count, missing, err)
                                 : print_all(args, gpus, count, missing, err);
    tsw_free(gpus);
    tsw_free(missing);
    return status;
}

int tsw_cli_devices(int argc, char **argv)
{
    devices_args_t args = {0};
    const tsw_option_t options[] = {
        {"arch", 'a', NULL, TSW_OPTION_FLAG, &args.arch_only,
         "Only the architecture of the first usable GPU; exit code 3 without one (default: off)",
         NULL},
        {"toolchain", 't', "DIR", TSW_OPTION_TEXT, &args.toolchain,
         "Folder with bin/ lib/ include/ of CUDA 13.3 or later (default: looked for)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "devices",
        .usage = "",
        .summary = "Tells which GPUs, toolchain and libraries are here, what is missing, and how "
                   "to get it.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
    };
    return tsw_cli_main(&spec, argc, argv, devices, &args);
}
