#include "cli/cli_once.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_input.h"
#include "device/device.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

tsw_status_t tsw_once_arch(const char *device, tsw_arch_t *arch_p, tsw_err_t *err)
{
    tsw_gpu_t *gpus = NULL;
    size_t count = 0;
    char *missing = NULL;
    if (tsw_text_starts_with(device, "sim:")) {
        const char *const *names = NULL;
        size_t name_count = 0;
        char text[TSW_ERR_TEXT_MAX];
        if (tsw_sim_arch(device + 4, arch_p))
            return TSW_OK;
        tsw_sim_models(&names, &name_count);
        tsw_cli_unknown(text, sizeof(text), "simulated device", device + 4, names, name_count);
        return tsw_err_set(err, TSW_ERR_ARG, "--device: %s", text);
    }
    if (strcmp(device, "auto") != 0 && strcmp(device, "cuda") != 0)
        return tsw_err_set(err, TSW_ERR_ARG, "--device: '%s' is none of auto, cuda, sim:NAME",
                           device);
    tsw_status_t status = tsw_device_list(&gpus, &count, &missing, err);
    if (status == TSW_OK && count == 0)
        status = tsw_err_set(err, TSW_ERR_ENV, "no usable GPU: %s",
                             missing != NULL ? missing : "none is there");
    if (status == TSW_OK)
        *arch_p = gpus[0].arch;
    tsw_free(gpus);
    tsw_free(missing);
    return status;
}

static tsw_status_t unknown_pack(const char *word, const char *kernels, tsw_err_t *err)
{
    tsw_names_t names = {0};
    char text[TSW_ERR_TEXT_MAX];
    tsw_status_t status = tsw_cli_list_packs(kernels, &names, err);
    if (status != TSW_OK)
        return status;
    if (names.count == 0)
        return tsw_err_set(err, TSW_ERR_NOT_FOUND, "unknown pack '%s': %s has no packs", word,
                           kernels);
    tsw_cli_unknown(text, sizeof(text), "pack", word, (const char *const *)names.names,
                    names.count);
    tsw_names_fini(&names);
    return tsw_err_set(err, TSW_ERR_NOT_FOUND, "%s", text);
}

tsw_status_t tsw_once_pack_files(const char *word, const char *kernels_option, tsw_fileset_t *files,
                                 tsw_err_t *err)
{
    char *kernels = NULL;
    char *dir = NULL;
    tsw_status_t status = TSW_OK;
    if (strchr(word, '/') != NULL || word[0] == '.') {
        dir = tsw_strdup(word);
    } else {
        status = tsw_cli_kernels_dir(kernels_option, &kernels, err);
        dir = status == TSW_OK ? tsw_path_join(kernels, word) : NULL;
    }
    if (status == TSW_OK && dir == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK && !tsw_path_is_dir(dir))
        status = kernels != NULL ? unknown_pack(word, kernels, err)
                                 : tsw_err_set(err, TSW_ERR_NOT_FOUND,
                                               tsw_path_exists(dir) ? "'%s' is no folder of a pack"
                                                                    : "no pack folder at '%s'",
                                               dir);
    if (status == TSW_OK && !tsw_cli_is_pack_dir(dir)) /* before all that is in it is read */
        status = tsw_err_set(err, TSW_ERR_NOT_FOUND, "no pack at '%s': it has no kernel.yaml", dir);
    if (status == TSW_OK)
        status = tsw_fileset_add_dir(files, "", dir, err);
    tsw_free(dir);
    tsw_free(kernels);
    return status;
}

tsw_status_t tsw_once_snapshot(const char *job_text, const tsw_fileset_t *files,
                               const char *pack_name, tsw_fileset_t *snapshot, tsw_err_t *err)
{
    tsw_status_t status = tsw_fileset_add(snapshot, "job.yaml", job_text, strlen(job_text), err);
    for (size_t i = 0; status == TSW_OK && i < files->count; i++) {
        tsw_buf_t name = TSW_BUF_INIT;
        tsw_buf_printf(&name, "packs/%s/%s", pack_name, files->items[i].name);
        status = tsw_buf_ok(&name)
                     ? tsw_fileset_add(snapshot, tsw_buf_text(&name), files->items[i].bytes,
                                       files->items[i].size, err)
                     : tsw_err_nomem(err);
        tsw_buf_fini(&name);
    }
    return status;
}

static tsw_status_t make_temp_dir(char **dir_p, tsw_err_t *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = tsw_path_join(tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp", "tilesweep-XXXXXX");
    if (dir == NULL)
        return tsw_err_nomem(err);
    if (mkdtemp(dir) == NULL) {
        tsw_status_t status =
            tsw_err_set(err, TSW_ERR_IO, "cannot make a temporary folder like %s", dir);
        tsw_free(dir);
        return status;
    }
    *dir_p = dir;
    return TSW_OK;
}

static tsw_status_t run_alone(tsw_fileset_t *snapshot, const tsw_run_options_t *options,
                              tsw_run_summary_t *summary_p, tsw_err_t *err)
{
    tsw_comm_t *comm = NULL;
    tsw_status_t status = tsw_comm_open(&comm, err);
    if (status != TSW_OK)
        return status;
    if (tsw_comm_size(comm) != 1)
        status = tsw_err_set(err, TSW_ERR_ARG, "runs with one rank, not under mpirun or srun");
    else
        status = tsw_run(comm, snapshot, options, summary_p, err);
    tsw_comm_close(comm);
    if (status == TSW_OK && summary_p->stopped_early)
        status = tsw_err_set(err, TSW_ERR_CANCELED, "stopped before the end");
    return status;
}

tsw_status_t tsw_once_run(tsw_fileset_t *snapshot, const tsw_run_options_t *options,
                          tsw_dataset_t *dataset_p, tsw_run_summary_t *summary_p, tsw_err_t *err)
{
    tsw_run_options_t own = *options;
    tsw_dataset_t results = {0};
    char *temp = NULL;
    char *run_dir = NULL;
    tsw_status_t status = make_temp_dir(&temp, err);
    if (status == TSW_OK && (run_dir = tsw_path_join(temp, "run")) == NULL)
        status = tsw_err_nomem(err);
    own.run_dir = run_dir;
    own.results_p = &results;
    if (status == TSW_OK)
        status = tsw_cli_name_job(err, run_alone(snapshot, &own, summary_p, err), NULL);
    if (status == TSW_OK)
        *dataset_p = results;
    else
        tsw_dataset_fini(&results);
    if (temp != NULL)
        tsw_dir_remove(temp, NULL);
    tsw_free(run_dir);
    tsw_free(temp);
    return status;
}
