/* What a plan was made from, as text for people: docs/file-format.md. */
#include "plan/plan_internal.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_KEY 12 /* hex digits: enough to tell two versions of a file apart */

/* Lines in the making; sorted at the end, so that the order of a job's entries plays no part. */
typedef struct {
    char **items;
    size_t count, capacity;
    bool failed;
} lines_t;

/* Takes over what is in line, which is empty and usable again. */
static void add_line(lines_t *lines, tsw_buf_t *line)
{
    char *text = tsw_buf_take_text(line);
    if (text == NULL || !TSW_GROW(lines->items, lines->capacity, lines->count)) {
        tsw_free(text);
        lines->failed = true;
        return;
    }
    lines->items[lines->count++] = text;
}

static void append_short(tsw_buf_t *out, tsw_key_t key)
{
    char text[TSW_KEY_TEXT_SIZE];
    tsw_key_format(key, text);
    text[SHORT_KEY] = '\0';
    tsw_buf_append_text(out, text);
}

/* ---- the job ---- */

static void add_text(lines_t *lines, const char *name, const char *value)
{
    tsw_buf_t line = TSW_BUF_INIT;
    tsw_buf_printf(&line, "%s: %s", name, value);
    add_line(lines, &line);
}

static void add_number(lines_t *lines, const char *name, double value)
{
    tsw_buf_t line = TSW_BUF_INIT;
    tsw_buf_printf(&line, "%s: %.17g", name, value);
    add_line(lines, &line);
}

/* All of a policy: what is missing here is missing in the key of a plan. */
static void add_policy(lines_t *lines, const tsw_policy_t *policy)
{
    add_text(lines, "measure.protocol", tsw_protocol_name(policy->protocol));
    add_text(lines, "measure.objective", tsw_objective_name(policy->objective));
    add_number(lines, "measure.rounds", policy->rounds);
    add_number(lines, "measure.warmup", policy->warmup_rounds);
    add_text(lines, "measure.cache", policy->cache == TSW_CACHE_HOT ? "hot" : "cold");
    tsw_buf_t line = TSW_BUF_INIT;
    tsw_buf_printf(&line, "measure.seed: %llu", (unsigned long long)policy->seed);
    add_line(lines, &line);
    add_number(lines, "limits.launch", policy->launch_timeout_s);
    add_number(lines, "limits.cell", policy->cell_budget_s);
}

/* What the choices of a search depend on besides results. */
static void add_search(lines_t *lines, const tsw_plan_t *plan)
{
    const tsw_search_t *search = &plan->job->search;
    const tsw_fileset_item_t *seeds = tsw_fileset_find(&plan->job->snapshot, TSW_JOB_SEEDS);
    if (!tsw_plan_is_searched(plan))
        return;
    add_number(lines, "search.builds", search->builds);
    add_number(lines, "search.per_generation", search->per_generation);
    if (seeds == NULL)
        return;
    tsw_buf_t line = TSW_BUF_INIT;
    tsw_buf_append_text(&line, "search.seed_from: ");
    append_short(&line, tsw_key_of(seeds->bytes, seeds->size));
    add_line(lines, &line);
}

static void add_archs(lines_t *lines, const tsw_job_t *job)
{
    for (size_t a = 0; a < job->arch_count; a++) {
        tsw_buf_t line = TSW_BUF_INIT;
        tsw_buf_printf(&line, "arch sm_%u: %s", job->archs[a],
                       job->compile_only[a] ? "compiled only" : "measured");
        add_line(lines, &line);
    }
}

static void add_pack_files(lines_t *lines, const tsw_fileset_t *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const tsw_fileset_item_t *item = &snapshot->items[i];
        tsw_buf_t line = TSW_BUF_INIT;
        if (!tsw_text_starts_with(item->name, "packs/"))
            continue;
        tsw_buf_printf(&line, "file %s: ", item->name + strlen("packs/"));
        append_short(&line, tsw_key_of(item->bytes, item->size));
        add_line(lines, &line);
    }
}

/* ---- cells ---- */

/* One sum over many keys: their order plays no part. */
static void mix(tsw_key_t *sum, tsw_key_t key)
{
    sum->hi += key.hi;
    sum->lo += key.lo;
}

static tsw_key_t key_of_dims(const tsw_cell_t *cell, double weight)
{
    struct {
        int64_t dims[TSW_DIM_MAX];
        double weight;
    } all;
    memset(&all, 0, sizeof(all));
    memcpy(all.dims, cell->dims, sizeof(all.dims));
    all.weight = weight;
    return tsw_key_of(&all, sizeof(all));
}

/* All variants that differ in static dims alone, on one arch: a line for each would be too many. */
typedef struct {
    const tsw_variant_t *id;
    uint32_t arch;
    tsw_key_t configs, shapes, weights; /* sums */
    size_t config_count, shape_count;
    bool weighted;
    int64_t low[TSW_DIM_MAX], high[TSW_DIM_MAX];
} group_t;

typedef struct {
    group_t *items;
    size_t count, capacity;
    size_t *of_variant; /* [variant * archs + arch] */
} groups_t;

static bool is_of_group(const group_t *group, const tsw_variant_t *id, uint32_t arch)
{
    return group->arch == arch && group->id->pack == id->pack && group->id->dtype == id->dtype &&
           memcmp(group->id->flags, id->flags, sizeof(id->flags)) == 0;
}

static group_t *group_of(groups_t *groups, const tsw_variant_t *id, uint32_t arch)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (is_of_group(&groups->items[i], id, arch))
            return &groups->items[i];
    }
    if (!TSW_GROW(groups->items, groups->capacity, groups->count))
        return NULL;
    group_t *group = &groups->items[groups->count++];
    *group = (group_t){.id = id, .arch = arch};
    for (size_t d = 0; d < TSW_DIM_MAX; d++) {
        group->low[d] = INT64_MAX;
        group->high[d] = INT64_MIN;
    }
    return group;
}

static bool group_variants(groups_t *groups, const tsw_plan_t *plan)
{
    size_t archs = plan->job->arch_count;
    groups->of_variant = tsw_calloc(plan->variant_count * archs + 1, sizeof(size_t));
    if (groups->of_variant == NULL)
        return false;
    for (size_t v = 0; v < plan->variant_count; v++) {
        for (uint32_t a = 0; a < archs; a++) {
            const tsw_space_t *space = &plan->variants[v].spaces[a];
            group_t *group = group_of(groups, &plan->variants[v].id, a);
            if (group == NULL)
                return false;
            for (size_t i = 0; i < space->count; i++)
                mix(&group->configs, space->configs[i].key);
            group->config_count += space->count;
            groups->of_variant[v * archs + a] = (size_t)(group - groups->items);
        }
    }
    return true;
}

static void group_cells(groups_t *groups, const tsw_plan_t *plan)
{
    size_t archs = plan->job->arch_count;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        size_t at = groups->of_variant[cell->variant * archs + cell->arch_index];
        group_t *group = &groups->items[at];
        mix(&group->shapes, key_of_dims(cell, 0));
        mix(&group->weights, key_of_dims(cell, cell->weight));
        group->weighted = group->weighted || cell->weight != 1.0;
        group->shape_count++;
        for (size_t d = 0; d < TSW_DIM_MAX; d++) {
            group->low[d] = cell->dims[d] < group->low[d] ? cell->dims[d] : group->low[d];
            group->high[d] = cell->dims[d] > group->high[d] ? cell->dims[d] : group->high[d];
        }
    }
}

static void begin_line(tsw_buf_t *line, const char *what, const tsw_plan_t *plan,
                       const group_t *group)
{
    tsw_buf_printf(line, "%s of %s ", what, group->id->pack->name);
    tsw_variant_format_flags(group->id, line);
    tsw_buf_printf(line, " sm_%u: ", plan->job->archs[group->arch]);
}

static void append_ranges(tsw_buf_t *line, const group_t *group)
{
    const tsw_pack_t *pack = group->id->pack;
    for (size_t d = 0; d < pack->dim_count; d++) {
        tsw_buf_printf(line, " %s=%lld", pack->dims[d], (long long)group->low[d]);
        if (group->high[d] > group->low[d])
            tsw_buf_printf(line, "..%lld", (long long)group->high[d]);
    }
}

/* "shapes of rmsnorm dtype=f16 sm_90: 5 3fa9c1d20b17 M=16..256 N=1024", their weights, and the
 * configs. */
static void add_group(lines_t *lines, const tsw_plan_t *plan, const group_t *group)
{
    tsw_buf_t line = TSW_BUF_INIT;
    begin_line(&line, "configs", plan, group);
    tsw_buf_printf(&line, "%zu ", group->config_count);
    append_short(&line, group->configs);
    add_line(lines, &line);
    if (group->shape_count == 0)
        return;
    begin_line(&line, "shapes", plan, group);
    tsw_buf_printf(&line, "%zu ", group->shape_count);
    append_short(&line, group->shapes);
    append_ranges(&line, group);
    add_line(lines, &line);
    begin_line(&line, "weights", plan, group);
    if (group->weighted)
        append_short(&line, group->weights);
    else
        tsw_buf_append_text(&line, "all 1");
    add_line(lines, &line);
}

static void add_cells(lines_t *lines, const tsw_plan_t *plan)
{
    groups_t groups = {0};
    if (group_variants(&groups, plan))
        group_cells(&groups, plan);
    else
        lines->failed = true;
    for (size_t i = 0; !lines->failed && i < groups.count; i++)
        add_group(lines, plan, &groups.items[i]);
    tsw_free(groups.items);
    tsw_free(groups.of_variant);
}

/* ---- all of it ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tsw_status_t tsw_plan_inputs_make(const tsw_plan_t *plan, char **inputs_p, tsw_err_t *err)
{
    lines_t lines = {0};
    tsw_buf_t text = TSW_BUF_INIT;
    const tsw_job_t *job = plan->job;
    add_text(&lines, "purpose", tsw_purpose_name(job->purpose));
    add_policy(&lines, &job->policy);
    add_search(&lines, plan);
    add_archs(&lines, job);
    add_pack_files(&lines, &job->snapshot);
    add_cells(&lines, plan);
    if (lines.count > 1)
        qsort(lines.items, lines.count, sizeof(lines.items[0]), compare_lines);
    for (size_t i = 0; i < lines.count; i++) {
        tsw_buf_printf(&text, "%s\n", lines.items[i]);
        tsw_free(lines.items[i]);
    }
    tsw_free(lines.items);
    char *inputs = lines.failed ? NULL : tsw_buf_take_text(&text);
    tsw_buf_fini(&text);
    if (inputs == NULL)
        return tsw_err_nomem(err);
    *inputs_p = inputs;
    return TSW_OK;
}
