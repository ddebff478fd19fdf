#include "rules/suggest.h"

#include "lint_internal.h"

#include <string.h>

/* Below it a kernel has room that no config of it found. */
static const double roof_wanted = 0.8;

static bool has(const tsw_pack_t *pack, const char *word)
{
    return strstr(tsw_lint_source(pack), word) != NULL;
}

tsw_math_t tsw_suggest_math(const tsw_pack_t *pack)
{
    return (tsw_math_t){.approximates = has(pack, "round_approximate"),
                        .flushes = has(pack, "subnormals_to_zero")};
}

static bool is_attention(const tsw_pack_t *pack)
{
    return pack->template_id == TSW_TEMPLATE_T5_FMHA || pack->template_id == TSW_TEMPLATE_T8_VARLEN;
}

static bool is_slow(const tsw_suggest_facts_t *facts)
{
    return facts->roof_ratio > 0 && facts->roof_ratio < roof_wanted;
}

static bool wants_math(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    tsw_math_t math = tsw_suggest_math(pack);
    return is_attention(pack) && facts->large_tiles_lose && !(math.approximates && math.flushes);
}

static bool wants_tma(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    (void)facts;
    return has(pack, "ct::gather") || has(pack, "ct::scatter");
}

static bool wants_no_masks(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    return is_slow(facts) && has(pack, "_masked(");
}

static bool wants_padding(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    return is_slow(facts) && has(pack, "ct::select(") && !has(pack, "view_padding");
}

static bool wants_split(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    return facts->has_idle_sms && pack->class_id == TSW_CLASS_COMPUTE;
}

static bool wants_balance(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    bool is_ragged =
        pack->template_id == TSW_TEMPLATE_T7_GROUPED || pack->template_id == TSW_TEMPLATE_T8_VARLEN;
    return is_ragged && (is_slow(facts) || facts->has_idle_sms);
}

static bool wants_algebra(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts)
{
    (void)pack;
    return is_slow(facts);
}

static const struct {
    bool (*applies)(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts);
    const char *text;
} suggestions[] = {
    {wants_math,
     "flush subnormals to zero and round exp2 and divisions approximately: it was worth "
     "34 to 72 % on attention, and without it large tiles lose 18 to 43 %"},
    {wants_tma, "load tiles through views, which TMA serves, instead of gather and scatter"},
    {wants_no_masks, "leave out bounds checks where sizes are multiples of the tile"},
    {wants_padding, "let the view pad instead of selecting by hand"},
    {wants_split, "split the loop over K: some shapes have fewer blocks than multiprocessors"},
    {wants_balance, "start the longest groups first"},
    {wants_algebra, "look for work to leave out: the best config stays far below the roof"},
};

void tsw_suggest(const tsw_pack_t *pack, const tsw_suggest_facts_t *facts, const char *indent,
                 tsw_buf_t *out)
{
    for (size_t i = 0; i < sizeof(suggestions) / sizeof(suggestions[0]); i++) {
        if (suggestions[i].applies(pack, facts))
            tsw_buf_printf(out, "%s%s\n", indent, suggestions[i].text);
    }
}

int64_t tsw_suggest_tile_area(const tsw_pack_t *pack, const char *config)
{
    int64_t area = 0;
    for (size_t k = 0; k < pack->knob_count; k++) {
        int dim = pack->knobs[k].tiles_dim;
        if (dim < 0 || !tsw_lint_dim_of_output(pack, (size_t)dim))
            continue;
        int64_t value = tsw_lint_value_in(config, pack->knobs[k].name);
        area = area > 0 ? area * value : value;
    }
    return area;
}
