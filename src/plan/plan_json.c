#include "plan/plan.h"

#include "base/json.h"

/* `"name": "` of what a formatter appends to a buffer, as a JSON string. */
static void append_field(tsw_buf_t *out, const char *name, const tsw_buf_t *text)
{
    tsw_buf_printf(out, "\"%s\": ", name);
    tsw_json_append_text(out, tsw_buf_text(text));
}

static void append_key(tsw_buf_t *out, tsw_key_t key)
{
    char text[TSW_KEY_TEXT_SIZE];
    tsw_buf_printf(out, "\"key\": \"%s\"", tsw_key_format(key, text));
}

static void append_report(tsw_buf_t *out, const tsw_filter_report_t *report)
{
    tsw_buf_append_text(out, "\"filters\": [");
    for (size_t i = 0; i < report->count; i++) {
        const tsw_filter_t *filter = &report->filters[i];
        tsw_buf_append_text(out, i > 0 ? ", {\"name\": " : "{\"name\": ");
        tsw_json_append_text(out, filter->name);
        tsw_buf_append_text(out, ", \"reason\": ");
        tsw_json_append_text(out, filter->reason);
        tsw_buf_printf(out, ", \"in\": %zu, \"removed\": %zu}", filter->in, filter->removed);
    }
    tsw_buf_append_text(out, "]");
}

static void append_configs(tsw_buf_t *out, const tsw_plan_variant_t *variant, tsw_buf_t *text)
{
    tsw_buf_append_text(out, "\"configs\": [");
    for (size_t i = 0; i < variant->config_count; i++) {
        tsw_buf_clear(text);
        tsw_config_format(variant->id.pack, &variant->configs[i], text);
        tsw_buf_append_text(out, i > 0 ? ", " : "");
        tsw_json_append_text(out, tsw_buf_text(text));
    }
    tsw_buf_append_text(out, "]");
}

static void append_variant(tsw_buf_t *out, const tsw_plan_t *plan,
                           const tsw_plan_variant_t *variant, tsw_buf_t *text)
{
    tsw_buf_append_text(out, "{\"pack\": ");
    tsw_json_append_text(out, variant->id.pack->name);
    tsw_buf_clear(text);
    tsw_variant_format(&variant->id, text);
    tsw_buf_append_text(out, ", ");
    append_field(out, "variant", text);
    tsw_buf_append_text(out, ", ");
    append_key(out, variant->key);
    tsw_buf_append_text(out, ", ");
    append_configs(out, variant, text);
    tsw_buf_append_text(out, ", \"spaces\": [");
    for (size_t a = 0; a < plan->job->arch_count; a++) {
        const tsw_space_t *space = &variant->spaces[a];
        tsw_buf_printf(out, "%s{\"arch\": \"sm_%u\", \"listed\": %zu, \"count\": %zu, ",
                       a > 0 ? ", " : "", plan->job->archs[a], space->listed, space->count);
        append_report(out, &space->report);
        tsw_buf_append_text(out, "}");
    }
    tsw_buf_append_text(out, "]}");
}

static void append_cell(tsw_buf_t *out, const tsw_plan_t *plan, const tsw_cell_t *cell,
                        tsw_buf_t *text)
{
    const tsw_plan_variant_t *variant = &plan->variants[cell->variant];
    tsw_buf_clear(text);
    tsw_shape_format(variant->id.pack, cell->dims, text);
    tsw_buf_printf(out, "{\"id\": %u, \"variant\": %u, \"arch\": \"sm_%u\", ", cell->id,
                   cell->variant, plan->job->archs[cell->arch_index]);
    append_field(out, "shape", text);
    tsw_buf_append_text(out, ", \"weight\": ");
    tsw_json_append_real(out, cell->weight);
    tsw_buf_append_text(out, ", ");
    append_key(out, cell->key);
    tsw_buf_append_text(out, ", \"configs\": [");
    for (size_t i = 0; i < cell->config_count; i++)
        tsw_buf_printf(out, "%s%u", i > 0 ? ", " : "", cell->configs[i]);
    tsw_buf_append_text(out, "], \"flops\": ");
    tsw_json_append_real(out, cell->flops);
    tsw_buf_append_text(out, ", \"bytes\": ");
    tsw_json_append_real(out, cell->bytes);
    tsw_buf_append_text(out, ", \"cost_ns\": ");
    tsw_json_append_real(out, cell->cost_ns);
    tsw_buf_printf(
        out, ", \"compile_only\": %s, \"skip_reason\": ", cell->compile_only ? "true" : "false");
    if (cell->skip_reason != NULL)
        tsw_json_append_text(out, cell->skip_reason);
    else
        tsw_buf_append_text(out, "null");
    tsw_buf_append_text(out, ", ");
    append_report(out, &cell->report);
    tsw_buf_append_text(out, "}");
}

static void append_build(tsw_buf_t *out, const tsw_plan_t *plan, const tsw_build_t *build)
{
    static const char *const kinds[] = {"tool", "reference", "config"};
    tsw_buf_printf(out, "{\"id\": %u, \"kind\": \"%s\", ", build->id, kinds[build->kind]);
    if (build->kind != TSW_BUILD_TOOL)
        tsw_buf_printf(out, "\"variant\": %u, ", build->variant);
    if (build->kind == TSW_BUILD_CONFIG)
        tsw_buf_printf(out, "\"config\": %u, ", build->config);
    append_key(out, build->key);
    tsw_buf_append_text(out, ", \"archs\": [");
    bool first = true;
    for (size_t a = 0; a < plan->job->arch_count; a++) {
        if ((build->arch_mask >> a & 1U) == 0)
            continue;
        tsw_buf_printf(out, "%s\"sm_%u\"", first ? "" : ", ", plan->job->archs[a]);
        first = false;
    }
    tsw_buf_append_text(out, "]}");
}

void tsw_plan_json(const tsw_plan_t *plan, tsw_buf_t *out)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_buf_append_text(out, "{\n\"schema\": 1,\n\"job\": ");
    tsw_json_append_text(out, plan->job->name);
    tsw_buf_printf(out, ",\n\"purpose\": \"%s\",\n", tsw_purpose_name(plan->job->purpose));
    append_key(out, plan->key);
    tsw_buf_printf(out, ",\n\"duplicates\": %zu,\n\"variants\": [", plan->duplicate_count);
    for (size_t i = 0; i < plan->variant_count; i++) {
        tsw_buf_append_text(out, i > 0 ? ",\n" : "\n");
        append_variant(out, plan, &plan->variants[i], &text);
    }
    tsw_buf_append_text(out, "\n],\n\"builds\": [");
    for (size_t i = 0; i < plan->build_count; i++) {
        tsw_buf_append_text(out, i > 0 ? ",\n" : "\n");
        append_build(out, plan, &plan->builds[i]);
    }
    tsw_buf_append_text(out, "\n],\n\"cells\": [");
    for (size_t i = 0; i < plan->cell_count; i++) {
        tsw_buf_append_text(out, i > 0 ? ",\n" : "\n");
        append_cell(out, plan, &plan->cells[i], &text);
    }
    tsw_buf_append_text(out, "\n]\n}\n");
    if (!tsw_buf_ok(&text))
        out->failed = true;
    tsw_buf_fini(&text);
}
