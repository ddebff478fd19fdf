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

static void append_range(tsw_buf_t *line, const tsw_plan_t *plan, uint32_t variant, uint32_t arch,
                         size_t dim)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        if (cell->variant != variant || cell->arch_index != arch)
            continue;
        low = cell->dims[dim] < low ? cell->dims[dim] : low;
        high = cell->dims[dim] > high ? cell->dims[dim] : high;
    }
    tsw_buf_printf(line, " %s=%lld", plan->variants[variant].id.pack->dims[dim], (long long)low);
    if (high > low)
        tsw_buf_printf(line, "..%lld", (long long)high);
}

static void begin_line(tsw_buf_t *line, const char *what, const tsw_plan_t *plan, uint32_t variant,
                       uint32_t arch)
{
    const tsw_variant_t *id = &plan->variants[variant].id;
    tsw_buf_printf(line, "%s of %s ", what, id->pack->name);
    tsw_variant_format(id, line);
    tsw_buf_printf(line, " sm_%u: ", plan->job->archs[arch]);
}

/* "shapes of rmsnorm dtype=f16 sm_90: 5 3fa9c1d20b17 M=16..256 N=1024", and their weights. */
static void add_shapes(lines_t *lines, const tsw_plan_t *plan, uint32_t variant, uint32_t arch)
{
    const tsw_pack_t *pack = plan->variants[variant].id.pack;
    tsw_key_t shapes = {0}, weights = {0};
    size_t count = 0;
    bool weighted = false;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        if (cell->variant != variant || cell->arch_index != arch)
            continue;
        mix(&shapes, key_of_dims(cell, 0));
        mix(&weights, key_of_dims(cell, cell->weight));
        weighted = weighted || cell->weight != 1.0;
        count++;
    }
    if (count == 0)
        return;
    tsw_buf_t line = TSW_BUF_INIT;
    begin_line(&line, "shapes", plan, variant, arch);
    tsw_buf_printf(&line, "%zu ", count);
    append_short(&line, shapes);
    for (size_t d = 0; d < pack->dim_count; d++)
        append_range(&line, plan, variant, arch, d);
    add_line(lines, &line);
    begin_line(&line, "weights", plan, variant, arch);
    if (weighted)
        append_short(&line, weights);
    else
        tsw_buf_append_text(&line, "all 1");
    add_line(lines, &line);
}

static void add_configs(lines_t *lines, const tsw_plan_t *plan, uint32_t variant, uint32_t arch)
{
    const tsw_space_t *space = &plan->variants[variant].spaces[arch];
    tsw_key_t sum = {0};
    tsw_buf_t line = TSW_BUF_INIT;
    for (size_t i = 0; i < space->count; i++)
        mix(&sum, space->configs[i].key);
    begin_line(&line, "configs", plan, variant, arch);
    tsw_buf_printf(&line, "%zu ", space->count);
    append_short(&line, sum);
    add_line(lines, &line);
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
    for (uint32_t v = 0; v < plan->variant_count; v++) {
        for (uint32_t a = 0; a < job->arch_count; a++) {
            add_configs(&lines, plan, v, a);
            add_shapes(&lines, plan, v, a);
        }
    }
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
