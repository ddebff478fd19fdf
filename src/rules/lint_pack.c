/* Rules over a whole kernel.yaml. */
#include "lint_internal.h"

#include "space/space_forbid.h"

#include <string.h>

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

void tsw_rule_kind_fits(tsw_lint_ctx_t *c)
{
    const tsw_pack_t *pack = c->pack;
    bool has_matmul = pack->template_id >= TSW_TEMPLATE_T3_MATMUL;
    if (has_matmul && pack->class_id == TSW_CLASS_MEMORY) {
        tsw_lint_find(c, pack->template_place,
                      "template %s is a matmul by kind, whatever its shapes: class memory would "
                      "take its tiles away",
                      tsw_template_name(pack->template_id));
        tsw_lint_fix(c, "write 'class: compute'; shapes of low intensity only order work");
    }
}

void tsw_rule_no_num_ctas(tsw_lint_ctx_t *c)
{
    for (size_t i = 0; i < c->pack->knob_count; i++) {
        if (!tsw_space_forbids(c->pack, i, TSW_FORBID_NUM_CTAS))
            continue;
        tsw_lint_find(c, c->pack->knobs[i].place,
                      "a %s kernel searches num_ctas, though its blocks share no tile",
                      c->kind->name);
        tsw_lint_fix(c, "take num_ctas out of 'hints', 'baseline' and 'lists'");
    }
}

void tsw_rule_fixed_block(tsw_lint_ctx_t *c)
{
    for (size_t i = 0; i < c->pack->knob_count; i++) {
        if (!tsw_space_forbids(c->pack, i, TSW_FORBID_BLOCK))
            continue;
        tsw_lint_find(c, c->pack->knobs[i].place, "a %s kernel searches %s", c->kind->name,
                      c->pack->knobs[i].name);
        tsw_lint_fix(c,
                     "make it a constant of the source; jobs/block-sweep.yaml finds the value for "
                     "each arch, offline");
    }
}

void tsw_rule_only_tiles(tsw_lint_ctx_t *c)
{
    for (size_t i = 0; i < c->pack->knob_count; i++) {
        if (!tsw_space_forbids(c->pack, i, TSW_FORBID_TUNABLE))
            continue;
        tsw_lint_find(c, c->pack->knobs[i].place,
                      "%s is no tile size, and releases tune nothing else", c->pack->knobs[i].name);
        tsw_lint_fix(c, "fix its value in the source; to try values, use a job for research on a "
                        "copy of the pack, or improve the kernel");
    }
}

void tsw_rule_size_guard(tsw_lint_ctx_t *c)
{
    const tsw_pack_t *pack = c->pack;
    for (size_t i = 0; i < pack->knob_count; i++) {
        const tsw_knob_t *knob = &pack->knobs[i];
        bool guarded = !knob->is_tile || knob->tiles_dim >= 0;
        for (size_t k = 0; k < pack->constraint_count; k++)
            guarded = guarded || tsw_expr_uses(&pack->constraints[k].expr, knob->name);
        if (guarded)
            continue;
        tsw_lint_find(c, knob->place, "nothing keeps %s from exceeding what it tiles", knob->name);
        tsw_lint_fix(c, "name its dim, '%s: {tiles: DIM}', or write a constraint over it",
                     knob->name);
    }
}

static bool grid_uses(const tsw_pack_t *pack, const char *name)
{
    bool uses = false;
    for (int i = 0; i < 3; i++)
        uses = uses ||
               (pack->kernel.grid[i].text != NULL && tsw_expr_uses(&pack->kernel.grid[i], name));
    return uses;
}

/* Of the tiles of one dim: several may cut it, as those of queries and of keys do. */
static bool grid_follows_dim(const tsw_pack_t *pack, size_t dim)
{
    bool is_tiled = false;
    for (size_t i = 0; i < pack->knob_count; i++) {
        if (pack->knobs[i].tiles_dim != (int)dim)
            continue;
        is_tiled = true;
        if (grid_uses(pack, pack->knobs[i].name))
            return true;
    }
    return !is_tiled;
}

void tsw_rule_grid_formula(tsw_lint_ctx_t *c)
{
    const tsw_pack_t *pack = c->pack;
    for (size_t d = 0; d < pack->dim_count; d++) {
        if (!tsw_lint_dim_of_output(pack, d) || grid_follows_dim(pack, d))
            continue;
        tsw_lint_find(c, pack->kernel.grid[0].place,
                      "the grid has no tile of %s, a dim of the output: it cannot cover it for "
                      "every config",
                      pack->dims[d]);
        tsw_lint_fix(c, "use ceildiv(%s, its tile) in 'grid'", pack->dims[d]);
    }
}

void tsw_rule_persistent_grid(tsw_lint_ctx_t *c)
{
    const tsw_pack_t *pack = c->pack;
    bool must = pack->template_id == TSW_TEMPLATE_T4_PERSISTENT;
    bool persistent = grid_uses(pack, "NUM_SM");
    const char *missing = NULL;
    if (must && !persistent)
        missing = "NUM_SM";
    else if (persistent && tsw_pack_knob_index(pack, "occupancy") >= 0 &&
             !grid_uses(pack, "occupancy"))
        missing = "occupancy";
    else if (persistent && c->kind->num_ctas && tsw_pack_knob_index(pack, "num_ctas") >= 0 &&
             !grid_uses(pack, "num_ctas"))
        missing = "num_ctas";
    if (missing == NULL)
        return;
    tsw_lint_find(c, pack->kernel.grid[0].place, "a persistent grid that does not use %s", missing);
    tsw_lint_fix(c, "%s",
                 must || tsw_pack_knob_index(pack, "num_ctas") >= 0
                     ? "write min(NUM_SM // num_ctas, tiles) * occupancy"
                     : "write min(NUM_SM * occupancy, rows)");
}

void tsw_rule_math_flags(tsw_lint_ctx_t *c)
{
    static const char *const flags[] = {"fast_math", "fast-math", "ftz",
                                        "prec-div",  "prec-sqrt", "fmad"};
    for (size_t i = 0; i < c->pack->option_count; i++) {
        for (size_t k = 0; k < COUNT_OF(flags); k++) {
            if (strstr(c->pack->options[i], flags[k]) == NULL)
                continue;
            tsw_lint_find(c, c->pack->template_place, "option %s changes the arithmetic",
                          c->pack->options[i]);
            tsw_lint_fix(c, "make it a pack of its own with tolerances of its own; it is no "
                            "config");
            break;
        }
    }
}
