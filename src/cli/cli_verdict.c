#include "cli/cli_verdict.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli_input.h"
#include "space/kind.h"

#include <math.h>
#include <string.h>

/* Regret that makes large tiles a loss. */
#define LARGE_TILE_LOSS 0.05

/* ---- the packs ---- */

static const tsw_pack_t *find_pack(const tsw_cli_verdicts_t *verdicts, tsw_key_t key)
{
    for (size_t i = 0; i < verdicts->pack_count; i++) {
        if (tsw_key_equal(verdicts->packs[i]->key, key))
            return verdicts->packs[i];
    }
    return NULL;
}

static bool is_wanted(const tsw_reduction_t *reduction, const tsw_pack_t *pack)
{
    for (size_t i = 0; i < reduction->group_count; i++) {
        if (tsw_key_equal(reduction->groups[i].cells[0]->cell->pack_key, pack->key))
            return true;
    }
    return false;
}

/* A folder that is no pack, or another one, is passed over. */
static tsw_status_t take_folder(const tsw_reduction_t *reduction, const char *dir,
                                tsw_cli_verdicts_t *verdicts, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_err_t why = TSW_ERR_INIT;
    tsw_status_t status = tsw_fileset_add_dir(&files, "", dir, &why);
    if (status == TSW_OK)
        status = tsw_pack_read(&files, &pack, &why);
    tsw_fileset_fini(&files);
    if (status == TSW_ERR_NOMEM)
        return tsw_err_nomem(err);
    if (status != TSW_OK || !is_wanted(reduction, pack) || find_pack(verdicts, pack->key) != NULL) {
        tsw_pack_free(pack);
        return TSW_OK;
    }
    if (!TSW_GROW(verdicts->packs, verdicts->pack_capacity, verdicts->pack_count)) {
        tsw_pack_free(pack);
        return tsw_err_nomem(err);
    }
    verdicts->packs[verdicts->pack_count++] = pack;
    return TSW_OK;
}

static tsw_status_t take_folders(const tsw_reduction_t *reduction, const char *dir,
                                 tsw_cli_verdicts_t *verdicts, tsw_err_t *err)
{
    tsw_names_t names = {0};
    tsw_status_t status = TSW_OK;
    if (!tsw_path_is_dir(dir) || tsw_cli_list_packs(dir, &names, NULL) != TSW_OK)
        return TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < names.count; i++) {
        char *path = tsw_path_join(dir, names.names[i]);
        status = path != NULL ? take_folder(reduction, path, verdicts, err) : tsw_err_nomem(err);
        tsw_free(path);
    }
    tsw_names_fini(&names);
    return status;
}

/* The packs of a run, or of the run that a sweep lies in; heap. */
static char *packs_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (tsw_path_is_dir(path))
        return tsw_path_join(path, "packs");
    if (slash == NULL)
        return tsw_strdup("packs");
    char *dir = tsw_strdup(path);
    char *packs = NULL;
    if (dir != NULL) {
        dir[slash - path] = '\0';
        packs = tsw_path_join(dir, "packs");
    }
    tsw_free(dir);
    return packs;
}

static tsw_status_t take_packs(const tsw_reduction_t *reduction, const char *const *paths,
                               size_t path_count, tsw_cli_verdicts_t *verdicts, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    char *shipped = NULL;
    for (size_t i = 0; status == TSW_OK && i < path_count; i++) {
        char *dir = packs_of(paths[i]);
        status = dir != NULL ? take_folders(reduction, dir, verdicts, err) : tsw_err_nomem(err);
        tsw_free(dir);
    }
    if (status == TSW_OK && tsw_cli_kernels_dir(NULL, &shipped, NULL) == TSW_OK)
        status = take_folders(reduction, shipped, verdicts, err);
    tsw_free(shipped);
    return status;
}

/* ---- facts for suggestions ---- */

/* The largest tiles of the cell are slower than the winner's, which are smaller. */
static bool large_tiles_lose(const tsw_cell_summary_t *cell, const tsw_pack_t *pack)
{
    int64_t largest = 0;
    double least = INFINITY;
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_config_result_t *config = &cell->configs[i];
        int64_t area = config->usable ? tsw_suggest_tile_area(pack, config->config) : 0;
        if (area > largest) {
            largest = area;
            least = INFINITY;
        }
        if (area == largest && config->usable)
            least = fmin(least, config->regret);
    }
    return largest > 0 && isfinite(least) && least > LARGE_TILE_LOSS;
}

static bool has_idle_sms(const tsw_cell_summary_t *cell)
{
    const uint32_t *grid = cell->configs[cell->winner].record->grid;
    double blocks = (double)grid[0] * grid[1] * grid[2];
    return blocks > 0 && blocks < cell->cell->gpu.sm_count;
}

static tsw_suggest_facts_t facts_of(const tsw_group_t *group, const tsw_pack_t *pack)
{
    tsw_suggest_facts_t facts = {.roof_ratio = 0};
    size_t losing = 0, roofed = 0;
    for (size_t i = 0; i < group->cell_count; i++) {
        const tsw_cell_summary_t *cell = group->cells[i];
        losing += pack != NULL && large_tiles_lose(cell, pack);
        facts.has_idle_sms = facts.has_idle_sms || has_idle_sms(cell);
        roofed += cell->roof_ratio > 0;
        facts.roof_ratio += cell->roof_ratio > 0 ? cell->roof_ratio : 0;
    }
    facts.large_tiles_lose = 2 * losing > group->cell_count;
    facts.roof_ratio /= roofed > 0 ? (double)roofed : 1;
    return facts;
}

/* ---- verdicts ---- */

static tsw_status_t judge(const tsw_group_t *group, const tsw_cli_verdicts_t *verdicts,
                          tsw_cli_verdict_t *verdict, tsw_err_t *err)
{
    const char **shapes = tsw_calloc(group->cell_count, sizeof(*shapes));
    if (shapes == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < group->cell_count; i++)
        shapes[i] = group->cells[i]->cell->shape;
    verdict->pack = find_pack(verdicts, group->cells[0]->cell->pack_key);
    tsw_status_t status = TSW_OK;
    if (verdict->pack != NULL)
        status = tsw_verdict_coverage(verdict->pack, group->arch, shapes, group->cell_count,
                                      &verdict->missing, &verdict->broken, err);
    tsw_free(shapes);
    verdict->facts = facts_of(group, verdict->pack);
    tsw_verdict_space_t space =
        tsw_verdict_space(verdict->pack != NULL ? tsw_kind_of(verdict->pack) : NULL,
                          verdict->pack != NULL && verdict->missing.count == 0);
    verdict->is_spent = space.is_spent;
    verdict->verdict = tsw_verdict_of(group->gain.ratio, group->gain.low, space);
    return status;
}

tsw_status_t tsw_cli_verdicts_make(const tsw_reduction_t *reduction, const char *const *paths,
                                   size_t path_count, tsw_cli_verdicts_t *verdicts_p,
                                   tsw_err_t *err)
{
    tsw_cli_verdicts_t verdicts = {0};
    tsw_status_t status = take_packs(reduction, paths, path_count, &verdicts, err);
    if (status == TSW_OK) {
        verdicts.items = tsw_calloc(reduction->group_count, sizeof(*verdicts.items));
        if (verdicts.items == NULL)
            status = tsw_err_nomem(err);
    }
    for (; status == TSW_OK && verdicts.count < reduction->group_count; verdicts.count++)
        status = judge(&reduction->groups[verdicts.count], &verdicts,
                       &verdicts.items[verdicts.count], err);
    if (status == TSW_OK)
        *verdicts_p = verdicts;
    else
        tsw_cli_verdicts_fini(&verdicts);
    return status;
}

void tsw_cli_verdicts_fini(tsw_cli_verdicts_t *verdicts)
{
    for (size_t i = 0; i < verdicts->count; i++)
        tsw_lint_fini(&verdicts->items[i].missing);
    for (size_t i = 0; i < verdicts->pack_count; i++)
        tsw_pack_free(verdicts->packs[i]);
    tsw_free(verdicts->items);
    tsw_free(verdicts->packs);
    *verdicts = (tsw_cli_verdicts_t){0};
}
