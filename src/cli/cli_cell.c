#include "cli/cli_cell.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_input.h"
#include "device/device.h"
#include "run/run.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = TSW_DIM_MAX + TSW_FLAG_MAX + 1 };

/* ---- the words of the command line ---- */

typedef struct {
    const tsw_pack_t *pack;
    const char *dtype;
    const char *dims[TSW_DIM_MAX];
    const char *flags[TSW_FLAG_MAX];
} assignment_t;

/* Where the value of `name` goes; NULL: the pack has no such name. */
static const char **slot_of(assignment_t *assignment, const char *name)
{
    const tsw_pack_t *pack = assignment->pack;
    if (strcmp(name, "dtype") == 0)
        return &assignment->dtype;
    const int dim = tsw_pack_dim_index(pack, name);
    if (dim >= 0)
        return &assignment->dims[dim];
    for (size_t i = 0; i < pack->flag_count; i++)
        if (strcmp(pack->flags[i].name, name) == 0)
            return &assignment->flags[i];
    return NULL;
}

static tsw_status_t unknown_name(const tsw_pack_t *pack, const char *name, tsw_err_t *err)
{
    const char *known[NAMES_MAX] = {"dtype"};
    char text[TSW_ERR_TEXT_MAX];
    size_t count = 1;
    for (size_t i = 0; i < pack->dim_count; i++)
        known[count++] = pack->dims[i];
    for (size_t i = 0; i < pack->flag_count; i++)
        known[count++] = pack->flags[i].name;
    tsw_cli_unknown(text, sizeof(text), "name", name, known, count);
    return tsw_err_set(err, TSW_ERR_ARG, "pack %s: %s", pack->name, text);
}

static tsw_status_t check_flag(const tsw_flag_t *flag, const char *value, tsw_err_t *err)
{
    char what[80];
    char text[TSW_ERR_TEXT_MAX];
    for (size_t i = 0; i < flag->value_count; i++)
        if (strcmp(flag->values[i], value) == 0)
            return TSW_OK;
    snprintf(what, sizeof(what), "value of %s", flag->name);
    tsw_cli_unknown(text, sizeof(text), what, value, (const char *const *)flag->values,
                    flag->value_count);
    return tsw_err_set(err, TSW_ERR_ARG, "%s", text);
}

/* What the pack needs is there and of the right kind; a flag left out takes its first value, a
 * dtype the pack's first. */
static tsw_status_t complete_assignment(assignment_t *assignment, tsw_err_t *err)
{
    const tsw_pack_t *pack = assignment->pack;
    int64_t value = 0;
    for (size_t i = 0; i < pack->dim_count; i++) {
        const char *text = assignment->dims[i];
        if (text == NULL)
            return tsw_err_set(err, TSW_ERR_ARG, "pack %s needs a value for %s, e.g. %s=1024",
                               pack->name, pack->dims[i], pack->dims[i]);
        if (!tsw_text_parse_i64(text, &value) || value < 0)
            return tsw_err_set(err, TSW_ERR_ARG, "%s=%s: no whole number from 0 on that fits",
                               pack->dims[i], text);
    }
    for (size_t i = 0; i < pack->flag_count; i++) {
        if (assignment->flags[i] == NULL)
            assignment->flags[i] = pack->flags[i].values[0];
        tsw_status_t status = check_flag(&pack->flags[i], assignment->flags[i], err);
        if (status != TSW_OK)
            return status;
    }
    for (int d = 0; assignment->dtype == NULL && d < TSW_DTYPE_COUNT; d++)
        if (pack->dtypes[d])
            assignment->dtype = tsw_dtype_name((tsw_dtype_t)d);
    return TSW_OK;
}

static tsw_status_t read_words(const tsw_one_cell_t *cell, assignment_t *assignment, tsw_err_t *err)
{
    for (size_t i = 1; i < cell->word_count; i++) {
        const char *word = cell->words[i];
        const char *equals = strchr(word, '=');
        char name[TSW_NAME_SIZE];
        if (equals == NULL || (size_t)(equals - word) >= sizeof(name))
            return tsw_err_set(err, TSW_ERR_ARG, "'%s' is not NAME=VALUE", word);
        snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
        const char **slot = slot_of(assignment, name);
        if (slot == NULL)
            return unknown_name(assignment->pack, name, err);
        if (*slot != NULL)
            return tsw_err_set(err, TSW_ERR_ARG, "%s is given twice", name);
        *slot = equals + 1;
    }
    return complete_assignment(assignment, err);
}

/* ---- the config ---- */

/* Value of a knob in "A=1 B=2"; false when it is not named there. */
static bool find_knob(const char *text, const char *name, const char **value_p, size_t *length_p)
{
    const size_t name_length = strlen(name);
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, " ");
        if (length > name_length && at[name_length] == '=' && memcmp(at, name, name_length) == 0) {
            *value_p = at + name_length + 1;
            *length_p = length - name_length - 1;
            return true;
        }
        at += length;
    }
    return false;
}

/* The words given first, then the baseline's value of every knob that they leave out. */
static tsw_status_t read_config(const tsw_pack_t *pack, const char *text, tsw_config_t *config_p,
                                tsw_err_t *err)
{
    tsw_buf_t full = TSW_BUF_INIT;
    const char *value = NULL;
    size_t length = 0;
    tsw_buf_append_text(&full, text != NULL ? text : "");
    for (size_t i = 0; i < pack->knob_count; i++)
        if (text == NULL || !find_knob(text, pack->knobs[i].name, &value, &length))
            tsw_buf_printf(&full, "%s%s=%lld", full.size > 0 ? " " : "", pack->knobs[i].name,
                           (long long)pack->baseline[i]);
    tsw_status_t status = tsw_buf_ok(&full)
                              ? tsw_config_parse(pack, tsw_buf_text(&full), config_p, err)
                              : tsw_err_nomem(err);
    tsw_buf_fini(&full);
    return status;
}

/* ---- the device ---- */

static tsw_status_t arch_of_device(const char *device, tsw_arch_t *arch_p, tsw_err_t *err)
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

/* ---- the job ---- */

static void print_job(const tsw_one_cell_t *cell, const assignment_t *assignment, tsw_arch_t arch,
                      const tsw_config_t *config, const char *pack_name, tsw_buf_t *out)
{
    const tsw_pack_t *pack = assignment->pack;
    char arch_name[16];
    tsw_buf_printf(out, "name: bench\npurpose: research\narchs: [%s]\npacks:\n",
                   tsw_arch_format(arch, arch_name));
    tsw_buf_printf(out, "  - pack: %s\n    dtypes: [%s]\n", pack_name, assignment->dtype);
    for (size_t i = 0; i < pack->flag_count; i++)
        tsw_buf_printf(out, "%s%s: [%s]%s", i == 0 ? "    flags: {" : ", ", pack->flags[i].name,
                       assignment->flags[i], i + 1 == pack->flag_count ? "}\n" : "");
    tsw_buf_append_text(out, "    shapes:\n      - {");
    for (size_t i = 0; i < pack->dim_count; i++)
        tsw_buf_printf(out, "%s%s: %s", i > 0 ? ", " : "", pack->dims[i], assignment->dims[i]);
    tsw_buf_append_text(out, "}\n    space:\n      - {");
    for (size_t i = 0; i < pack->knob_count; i++)
        tsw_buf_printf(out, "%s%s: %lld", i > 0 ? ", " : "", pack->knobs[i].name,
                       (long long)config->values[i]);
    tsw_buf_printf(out,
                   "}\nmeasure:\n  protocol: %s\n  rounds: %u\n  warmup: %u\n  cache: %s\n"
                   "  seed: 1\n",
                   cell->protocol, cell->rounds, cell->warmup, cell->hot ? "hot" : "cold");
}

static tsw_status_t make_snapshot(const char *job_text, const tsw_fileset_t *files,
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

/* ---- the pack ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static tsw_status_t unknown_pack(const char *word, const char *kernels, tsw_err_t *err)
{
    tsw_names_t names = {0};
    char text[TSW_ERR_TEXT_MAX];
    tsw_status_t status = tsw_dir_list(kernels, &names, err);
    if (status != TSW_OK)
        return status;
    tsw_cli_unknown(text, sizeof(text), "pack", word, (const char *const *)names.names,
                    names.count);
    tsw_names_fini(&names);
    return tsw_err_set(err, TSW_ERR_NOT_FOUND, "%s", text);
}

/* Files of a pack: a bare word is looked up among the shipped ones, all else is a folder. */
static tsw_status_t read_pack_files(const tsw_one_cell_t *cell, tsw_fileset_t *files,
                                    tsw_err_t *err)
{
    const char *word = cell->words[0];
    char *kernels = NULL;
    char *dir = NULL;
    tsw_status_t status = TSW_OK;
    if (strchr(word, '/') != NULL) {
        dir = tsw_strdup(word);
    } else {
        status = tsw_cli_kernels_dir(cell->kernels, &kernels, err);
        dir = status == TSW_OK ? tsw_path_join(kernels, word) : NULL;
    }
    if (status == TSW_OK && dir == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK && !tsw_path_is_dir(dir))
        status = kernels != NULL
                     ? unknown_pack(word, kernels, err)
                     : tsw_err_set(err, TSW_ERR_NOT_FOUND, "no pack folder at '%s'", dir);
    if (status == TSW_OK)
        status = tsw_fileset_add_dir(files, "", dir, err);
    tsw_free(dir);
    tsw_free(kernels);
    return status;
}

/* The snapshot of the one-cell job, and the canonical text of its config. */
static tsw_status_t prepare(const tsw_one_cell_t *cell, tsw_fileset_t *snapshot,
                            tsw_buf_t *config_text, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_config_t config = {0};
    tsw_arch_t arch = 0;
    tsw_buf_t job = TSW_BUF_INIT;
    const char *name = last_part(cell->words[0]);
    tsw_status_t status = read_pack_files(cell, &files, err);
    if (status == TSW_OK)
        status = tsw_pack_read(&files, &pack, err);
    assignment_t assignment = {.pack = pack};
    if (status == TSW_OK)
        status = read_words(cell, &assignment, err);
    if (status == TSW_OK)
        status = read_config(pack, cell->config, &config, err);
    if (status == TSW_OK)
        status = arch_of_device(cell->device, &arch, err);
    if (status == TSW_OK) {
        tsw_config_format(pack, &config, config_text);
        print_job(cell, &assignment, arch, &config, name, &job);
        status = tsw_buf_ok(&job) && tsw_buf_ok(config_text)
                     ? make_snapshot(tsw_buf_text(&job), &files, name, snapshot, err)
                     : tsw_err_nomem(err);
    }
    tsw_buf_fini(&job);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    return status;
}

/* ---- the run ---- */

static tsw_status_t make_temp_dir(char **dir_p, tsw_err_t *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir =
        tsw_path_join(tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp", "tilesweep-bench-XXXXXX");
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

static tsw_status_t run_in(const char *run_dir, const tsw_one_cell_t *cell, const char *invocation,
                           tsw_fileset_t *snapshot, tsw_err_t *err)
{
    const tsw_run_options_t options = {
        .run_dir = run_dir,
        .device = cell->device,
        .toolchain = cell->toolchain,
        .cache_dir = cell->cache_dir,
        .invocation = invocation,
    };
    tsw_comm_t *comm = NULL;
    tsw_run_summary_t summary = {0};
    tsw_status_t status = tsw_comm_open(&comm, err);
    if (status != TSW_OK)
        return status;
    if (tsw_comm_size(comm) != 1)
        status = tsw_err_set(err, TSW_ERR_ARG, "runs with one rank, not under mpirun or srun");
    else
        status = tsw_run(comm, snapshot, &options, &summary, err);
    tsw_comm_close(comm);
    if (status == TSW_OK && summary.stopped_early)
        status = tsw_err_set(err, TSW_ERR_CANCELED, "stopped before the end");
    return status;
}

static const tsw_record_t *follow_alias(const tsw_cell_result_t *cell, const tsw_record_t *record)
{
    if (record->outcome != TSW_OUTCOME_ALIAS)
        return record;
    for (size_t i = 0; i < cell->record_count; i++)
        if (cell->records[i].config_index == record->alias_of)
            return &cell->records[i];
    return record;
}

static tsw_status_t find_records(const char *config, tsw_one_result_t *result, tsw_err_t *err)
{
    if (result->dataset.cell_count != 1)
        return tsw_err_set(err, TSW_ERR_BUG, "%zu cells instead of one",
                           result->dataset.cell_count);
    const tsw_cell_result_t *cell = &result->dataset.cells[0];
    for (size_t i = 0; i < cell->record_count; i++) {
        if (cell->records[i].config_index == 0)
            result->baseline = follow_alias(cell, &cell->records[i]);
        if (strcmp(cell->config_texts[i], config) == 0) {
            result->record = follow_alias(cell, &cell->records[i]);
            result->config = cell->config_texts[i];
        }
    }
    if (result->record == NULL)
        return tsw_err_set(err, TSW_ERR_ARG,
                           "the config %s is not possible for this shape and architecture; "
                           "'tilesweep plan' names the filters",
                           config);
    return TSW_OK;
}

tsw_status_t tsw_one_cell_run(const tsw_one_cell_t *cell, const char *invocation,
                              tsw_one_result_t *result_p, tsw_err_t *err)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_buf_t config = TSW_BUF_INIT;
    tsw_one_result_t result = {0};
    char *temp = NULL;
    char *run_dir = NULL;
    char *skipped = NULL;
    tsw_status_t status = prepare(cell, &snapshot, &config, err);
    if (status == TSW_OK)
        status = make_temp_dir(&temp, err);
    if (status == TSW_OK && (run_dir = tsw_path_join(temp, "run")) == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = run_in(run_dir, cell, invocation, &snapshot, err);
    if (status == TSW_OK)
        status = tsw_store_read(run_dir, &result.dataset, &skipped, err);
    if (status == TSW_OK)
        status = find_records(tsw_buf_text(&config), &result, err);
    if (status == TSW_OK)
        *result_p = result;
    else
        tsw_one_result_fini(&result);
    if (temp != NULL)
        tsw_dir_remove(temp, NULL);
    tsw_free(skipped);
    tsw_free(run_dir);
    tsw_free(temp);
    tsw_buf_fini(&config);
    tsw_fileset_fini(&snapshot);
    return status;
}

void tsw_one_result_fini(tsw_one_result_t *result)
{
    tsw_dataset_fini(&result->dataset);
    *result = (tsw_one_result_t){0};
}
