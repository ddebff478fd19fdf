/* Which simulated device is whose, by the names of --device. */
#include "base/text.h"
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

static tsw_status_t check_model(const char *model, tsw_err_t *err)
{
    tsw_arch_t arch = 0;
    const char *const *names = NULL;
    size_t count = 0;
    if (tsw_sim_arch(model, &arch))
        return TSW_OK;
    tsw_sim_models(&names, &count);
    const char *near = tsw_text_nearest(model, names, count);
    tsw_buf_t known = TSW_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        tsw_buf_printf(&known, " %s", names[i]);
    tsw_err_set(err, TSW_ERR_ARG, "--device: no simulated \"%s\"%s%s%s; known:%s", model,
                near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                near != NULL ? "?" : "", tsw_buf_text(&known));
    tsw_buf_fini(&known);
    return TSW_ERR_ARG;
}

/* Name i of a list with commas, around and around. */
static void pick_name(const char *list, int i, char *out, size_t size)
{
    int count = 1;
    for (const char *at = strchr(list, ','); at != NULL; at = strchr(at + 1, ','))
        count++;
    const char *name = list;
    for (int skip = i % count; skip > 0; skip--)
        name = strchr(name, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(name, ","), name);
}

/* "h200", or "h200@3": the virtual GPU 3, whatever the rank. Cuts the number off. */
static tsw_status_t parse_model(char *name, int rank, uint32_t *id_p, tsw_err_t *err)
{
    char *at = strchr(name, '@');
    int64_t id = rank;
    if (at != NULL && (!tsw_text_parse_i64(at + 1, &id) || id < 0 || id > UINT32_MAX))
        return tsw_err_set(err, TSW_ERR_ARG, "--device: \"%s\" is no number of a virtual GPU",
                           at + 1);
    if (at != NULL)
        *at = '\0';
    *id_p = (uint32_t)id;
    return check_model(name, err);
}

uint32_t tsw_run_sim_gpu(const tsw_run_t *run, int rank)
{
    char name[64];
    uint32_t id = 0;
    pick_name(run->options->device + strlen("sim:"), rank, name, sizeof(name));
    parse_model(name, rank, &id, NULL);
    return id;
}

tsw_status_t tsw_run_sim_choose(const char *models, int rank, tsw_device_spec_t *spec,
                                tsw_err_t *err)
{
    char name[64];
    tsw_status_t status = TSW_OK;
    /* All of them, on every rank: a bad name must not depend on the number of ranks. */
    for (int i = 0; status == TSW_OK && i <= (int)strlen(models); i++) {
        pick_name(models, i, name, sizeof(name));
        status = parse_model(name, rank, &spec->id, err);
    }
    if (status != TSW_OK)
        return status;
    pick_name(models, rank, name, sizeof(name));
    if (strchr(name, '@') != NULL)
        spec->node[0] = '\0'; /* the same GPU, on whatever node the rank is */
    parse_model(name, rank, &spec->id, NULL);
    snprintf(spec->kind, sizeof(spec->kind), "sim");
    snprintf(spec->model, sizeof(spec->model), "%.31s", name);
    return TSW_OK;
}
