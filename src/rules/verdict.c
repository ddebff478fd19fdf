#include "rules/verdict.h"

#include "base/mem.h"
#include "lint_internal.h"

enum { TILES_WANTED = 16, TILE_LEAST = 16, SKINNY = 8 };

tsw_verdict_space_t tsw_verdict_space(const tsw_kind_t *kind, bool is_covered)
{
    return (tsw_verdict_space_t){is_covered, is_covered && kind != NULL && !kind->tiles};
}

tsw_verdict_t tsw_verdict_of(double ratio, double low, tsw_verdict_space_t space)
{
    if (!(ratio > 0))
        return TSW_VERDICT_NONE;
    if (ratio < TSW_VERDICT_LOW)
        return TSW_VERDICT_PROBE_NEEDED;
    if (ratio > TSW_VERDICT_HIGH)
        return low > 1 ? TSW_VERDICT_DONE : TSW_VERDICT_UNDECIDED;
    if (!space.is_covered)
        return TSW_VERDICT_NO_EFFECT;
    return ratio < 1 && !space.is_spent ? TSW_VERDICT_PROBE_NEEDED : TSW_VERDICT_STOP_COVERED;
}

const char *tsw_verdict_name(tsw_verdict_t verdict)
{
    static const char *const names[TSW_VERDICT_COUNT] = {
        "none", "done", "undecided", "no-effect", "stop-covered", TSW_VERDICT_FOR_PROBE};
    return verdict < TSW_VERDICT_COUNT ? names[verdict] : "?";
}

static int64_t smallest_of(const tsw_pack_t *pack, tsw_arch_t arch, size_t knob)
{
    const tsw_config_list_t *list = tsw_pack_list(pack, arch);
    int64_t smallest = tsw_pack_baseline(pack, arch)[knob];
    for (size_t r = 0; list != NULL && r < list->row_count; r++) {
        for (size_t i = 0; i < list->rows[r].count[knob]; i++) {
            if (list->rows[r].values[knob][i] < smallest)
                smallest = list->rows[r].values[knob][i];
        }
    }
    return smallest;
}

/* The tile of the output whose dim is the largest of a shape; -1: none. */
static int widest_knob(const tsw_pack_t *pack, const char *shape, int64_t *size_p)
{
    int widest = -1;
    for (size_t k = 0; k < pack->knob_count; k++) {
        int dim = pack->knobs[k].tiles_dim;
        if (dim < 0 || !tsw_lint_dim_of_output(pack, (size_t)dim))
            continue;
        int64_t size = tsw_lint_value_in(shape, pack->dims[dim]);
        if (widest < 0 || size > *size_p) {
            widest = (int)k;
            *size_p = size;
        }
    }
    return widest;
}

/* Fewer than 16 tiles along the largest dim leave multiprocessors idle. */
static void ask_smaller_tiles(tsw_lint_ctx_t *c, const char *shape)
{
    int64_t size = 0;
    int knob = widest_knob(c->pack, shape, &size);
    if (knob < 0 || size <= 0)
        return;
    int64_t tile = smallest_of(c->pack, c->arch, (size_t)knob);
    int64_t tiles = (size + tile - 1) / tile;
    if (tile <= TILE_LEAST || tiles >= TILES_WANTED)
        return;
    tsw_lint_find(
        c, c->list->place, "the smallest %s, %lld, cuts %s into %lld tiles, fewer than %d",
        c->pack->knobs[knob].name, (long long)tile, shape, (long long)tiles, TILES_WANTED);
    tsw_lint_fix(c, "add %s %lld", c->pack->knobs[knob].name, (long long)(tile / 2));
    tsw_lint_row(c, (size_t)knob, tile / 2);
}

static int64_t extreme_of(const tsw_config_row_t *row, size_t knob, bool largest)
{
    int64_t value = row->values[knob][0];
    for (size_t i = 1; i < row->count[knob]; i++) {
        int64_t other = row->values[knob][i];
        value = largest == (other > value) ? other : value;
    }
    return value;
}

/* Whether a config has a longer tile along one dim of the output than along another. */
static bool has_longer(const tsw_config_list_t *list, size_t along, size_t across)
{
    for (size_t r = 0; r < list->row_count; r++) {
        if (extreme_of(&list->rows[r], along, true) > extreme_of(&list->rows[r], across, false))
            return true;
    }
    return false;
}

/* A shape that is 8 times as long one way wants tiles that are longer that way. */
static void ask_asymmetric_tiles(tsw_lint_ctx_t *c, const char *shape)
{
    int64_t length = 0;
    int along = widest_knob(c->pack, shape, &length);
    for (size_t k = 0; along >= 0 && k < c->pack->knob_count; k++) {
        int dim = c->pack->knobs[k].tiles_dim;
        if (dim < 0 || dim == c->pack->knobs[along].tiles_dim ||
            !tsw_lint_dim_of_output(c->pack, (size_t)dim) ||
            length < SKINNY * tsw_lint_value_in(shape, c->pack->dims[dim]) ||
            has_longer(c->list, (size_t)along, k))
            continue;
        int64_t value = 2 * tsw_pack_baseline(c->pack, c->arch)[k];
        tsw_lint_find(c, c->list->place, "no config has a larger %s than %s, for shapes such as %s",
                      c->pack->knobs[along].name, c->pack->knobs[k].name, shape);
        tsw_lint_fix(c, "add %s %lld", c->pack->knobs[along].name, (long long)value);
        tsw_lint_row(c, (size_t)along, value);
        return;
    }
}

/* Keeps the open coverage of one arch; the number of other open findings there. */
static size_t keep_coverage(tsw_lint_t *lint, tsw_arch_t arch)
{
    size_t kept = 0, others = 0;
    for (size_t i = 0; i < lint->count; i++) {
        tsw_finding_t *finding = &lint->findings[i];
        const bool is_here = tsw_finding_is_on(finding, arch);
        if (tsw_finding_is_coverage(finding) && is_here) {
            lint->findings[kept++] = *finding;
        } else {
            others += finding->reason == NULL && is_here;
            tsw_free(finding->text);
            tsw_free(finding->fix);
            tsw_free(finding->row);
        }
    }
    lint->count = lint->open = kept;
    return others;
}

tsw_status_t tsw_verdict_coverage(const tsw_pack_t *pack, tsw_arch_t arch,
                                  const char *const *shapes, size_t shape_count,
                                  tsw_lint_t *missing_p, size_t *broken_p, tsw_err_t *err)
{
    static const tsw_lint_rule_t rule = {"R38", "tiles_of_shapes", TSW_ENTRY_EXISTING_CONFIGS, NULL,
                                         "tiles follow the shapes"};
    tsw_lint_t lint = {0};
    tsw_status_t status = tsw_lint_pack(pack, &lint, err);
    if (status != TSW_OK)
        return status;
    const size_t broken = keep_coverage(&lint, arch);
    tsw_lint_ctx_t c = {.pack = pack,
                        .kind = tsw_kind_of(pack),
                        .arch = arch,
                        .list = tsw_pack_list(pack, arch),
                        .rule = &rule,
                        .lint = &lint,
                        .err = err};
    static void (*const asks[])(tsw_lint_ctx_t *, const char *) = {ask_smaller_tiles,
                                                                   ask_asymmetric_tiles};
    for (size_t a = 0; c.list != NULL && c.kind->tiles && a < 2; a++) {
        size_t known = lint.count;
        for (size_t i = 0; i < shape_count && lint.count == known; i++) /* one shape says it */
            asks[a](&c, shapes[i]);
    }
    lint.open = lint.count;
    if (c.status == TSW_OK) {
        *missing_p = lint;
        *broken_p = broken;
    } else {
        tsw_lint_fini(&lint);
    }
    return c.status;
}
