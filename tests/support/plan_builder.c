#include "plan_builder.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *make(size_t count, size_t size)
{
    void *memory = tsw_calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "plan_builder: out of memory\n");
        abort();
    }
    return memory;
}

static char *copy(const char *text)
{
    return strcpy(make(strlen(text) + 1, 1), text);
}

static tsw_key_t key_of(const char *kind, size_t a, size_t b)
{
    char text[96];
    snprintf(text, sizeof(text), "%s %zu %zu", kind, a, b);
    return tsw_key_of_text(text);
}

static tsw_pack_t *build_pack(void)
{
    tsw_pack_t *pack = make(1, sizeof(*pack));
    pack->name = copy("demo");
    pack->dims[0] = copy("M");
    pack->dim_count = 1;
    pack->knobs[0] = (tsw_knob_t){.name = copy("TILE_M"), .macro = copy("TILE_M")};
    pack->knob_count = 1;
    pack->key = key_of("pack", 0, 0);
    return pack;
}

static tsw_job_t *build_job(const plan_build_t *what)
{
    static const tsw_arch_t archs[] = {90, 80, 86, 89, 100, 103, 120, 121};
    tsw_job_t *job = make(1, sizeof(*job));
    job->archs = make(what->archs, sizeof(*job->archs));
    job->compile_only = make(what->archs, sizeof(*job->compile_only));
    job->arch_count = what->archs;
    for (size_t i = 0; i < what->archs; i++) {
        job->archs[i] = archs[i];
        job->compile_only[i] = (what->compile_only >> i & 1u) != 0;
    }
    job->policy = (tsw_policy_t){.warmup_rounds = 1, .rounds = 3, .cache = TSW_CACHE_HOT};
    job->packs = make(1, sizeof(*job->packs));
    job->packs[0] = build_pack();
    job->pack_count = 1;
    return job;
}

static void build_variant(tsw_plan_t *plan, const plan_build_t *what, uint32_t v)
{
    tsw_plan_variant_t *variant = &plan->variants[v];
    uint32_t first = 1 + v * (uint32_t)(what->configs + 1);
    uint32_t mask = (1u << what->archs) - 1;
    variant->id.pack = plan->job->packs[0];
    variant->id.dtype = (tsw_dtype_t)(v % TSW_DTYPE_COUNT);
    variant->key = key_of("variant", v, 0);
    variant->config_count = what->configs;
    variant->configs = make(what->configs, sizeof(*variant->configs));
    variant->config_builds = make(what->configs, sizeof(*variant->config_builds));
    variant->reference_build = first;
    plan->builds[first] =
        (tsw_build_t){.id = first, .kind = TSW_BUILD_REFERENCE, .variant = v, .arch_mask = mask};
    for (uint32_t i = 0; i < what->configs; i++) {
        variant->configs[i].values[0] = 16 * ((int64_t)i + 1);
        variant->configs[i].key = key_of("config", v, i);
        variant->config_builds[i] = first + 1 + i;
        plan->builds[first + 1 + i] = (tsw_build_t){.id = first + 1 + i,
                                                    .kind = TSW_BUILD_CONFIG,
                                                    .variant = v,
                                                    .config = i,
                                                    .arch_mask = mask,
                                                    .key = key_of("build", v, i)};
    }
}

static void build_cell(tsw_plan_t *plan, const plan_build_t *what, uint32_t arch, uint32_t c)
{
    uint32_t id = arch * (uint32_t)what->cells_per_arch + c;
    tsw_cell_t *cell = &plan->cells[id];
    cell->id = id;
    cell->variant = c % (uint32_t)what->variants;
    cell->arch_index = arch;
    cell->dims[0] = 128 * ((int64_t)c + 1);
    cell->weight = 1.0;
    cell->key = key_of("cell", arch, c);
    cell->config_count = what->configs;
    cell->configs = make(what->configs, sizeof(*cell->configs));
    cell->order = make(what->configs, sizeof(*cell->order));
    for (uint32_t i = 0; i < what->configs; i++) {
        cell->configs[i] = i;
        cell->order[i] = what->backwards && i > 0 ? (uint32_t)what->configs - i : i;
    }
    cell->flops = 1e9;
    cell->bytes = 1e6;
    cell->cost_ns = 1e6 * (double)(what->cells_per_arch - c);
    cell->compile_only = plan->job->compile_only[arch];
}

tsw_plan_t *plan_build(const plan_build_t *what)
{
    tsw_plan_t *plan = make(1, sizeof(*plan));
    plan->job = build_job(what);
    plan->variant_count = what->variants;
    plan->variants = make(what->variants, sizeof(*plan->variants));
    plan->build_count = 1 + what->variants * (what->configs + 1);
    plan->builds = make(plan->build_count, sizeof(*plan->builds));
    plan->builds[0] = (tsw_build_t){.kind = TSW_BUILD_TOOL, .arch_mask = (1u << what->archs) - 1};
    for (uint32_t v = 0; v < what->variants; v++)
        build_variant(plan, what, v);
    plan->cell_count = what->archs * what->cells_per_arch;
    plan->cells = make(plan->cell_count, sizeof(*plan->cells));
    for (uint32_t a = 0; a < what->archs; a++)
        for (uint32_t c = 0; c < what->cells_per_arch; c++)
            build_cell(plan, what, a, c);
    return plan;
}

static void free_job(tsw_job_t *job)
{
    tsw_pack_t *pack = job->packs[0];
    tsw_free(pack->name);
    tsw_free(pack->dims[0]);
    tsw_free(pack->knobs[0].name);
    tsw_free(pack->knobs[0].macro);
    tsw_free(pack);
    tsw_free(job->packs);
    tsw_free(job->archs);
    tsw_free(job->compile_only);
    tsw_free(job);
}

void plan_built_free(tsw_plan_t *plan)
{
    if (plan == NULL)
        return;
    for (size_t v = 0; v < plan->variant_count; v++) {
        tsw_free(plan->variants[v].configs);
        tsw_free(plan->variants[v].config_builds);
    }
    for (size_t c = 0; c < plan->cell_count; c++) {
        tsw_free(plan->cells[c].configs);
        tsw_free(plan->cells[c].order);
        tsw_free(plan->cells[c].skip_reason);
    }
    tsw_free(plan->variants);
    tsw_free(plan->builds);
    tsw_free(plan->cells);
    /* The job is this builder's own; a plan only borrows one. */
    union {
        const tsw_job_t *borrowed;
        tsw_job_t *owned;
    } job = {.borrowed = plan->job};
    free_job(job.owned);
    tsw_free(plan);
}

uint32_t plan_built_reference(const tsw_plan_t *plan, uint32_t cell)
{
    return plan->variants[plan->cells[cell].variant].reference_build;
}

uint32_t plan_built_config(const tsw_plan_t *plan, uint32_t cell, size_t config_index)
{
    const tsw_cell_t *planned = &plan->cells[cell];
    return plan->variants[planned->variant].config_builds[planned->configs[config_index]];
}
