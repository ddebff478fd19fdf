/* What is known from elsewhere, and what is not known yet. */
#include "base/mem.h"
#include "search/search_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 5, SEEDS_PER_CELL = 8, LINE_MAX_BYTES = 1024 };

/* ---- values never tried ---- */

static void append(char out[TSW_UNTRIED_MAX], const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, TSW_UNTRIED_MAX - used, "%s", text);
}

/* A point of the space that has the level; UINT32_MAX: none, or one of those was tried. */
static uint32_t find_untried(const tsw_search_space_t *space, const bool *usable, size_t axis,
                             uint32_t level)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < space->grid.count; i++) {
        if (!usable[i] || space->grid.levels[i * space->grid.axis_count + axis] != level)
            continue;
        if (space->tried[i])
            return UINT32_MAX;
        found = i;
    }
    return found;
}

static void list_axis(const tsw_plan_variant_t *variant, const tsw_search_space_t *space,
                      const bool *usable, size_t axis, char out[TSW_UNTRIED_MAX])
{
    char text[96];
    bool first = true;
    for (uint32_t level = 0; level < space->grid.level_counts[axis]; level++) {
        uint32_t point = find_untried(space, usable, axis, level);
        if (point == UINT32_MAX)
            continue;
        if (first)
            snprintf(text, sizeof(text), "%s%.60s=%lld", out[0] != '\0' ? " " : "",
                     variant->id.pack->knobs[axis].name,
                     (long long)variant->configs[point].values[axis]);
        else
            snprintf(text, sizeof(text), ",%lld", (long long)variant->configs[point].values[axis]);
        append(out, text);
        first = false;
    }
}

void tsw_search_untried(const tsw_plan_t *whole, const tsw_search_space_t *space,
                        char out[TSW_UNTRIED_MAX])
{
    bool *usable = tsw_calloc(space->grid.count, sizeof(*usable));
    out[0] = '\0';
    if (usable == NULL) { /* a note for people: not worth an error */
        append(out, "?");
        return;
    }
    for (size_t v = 0; v < space->view_count; v++) {
        for (size_t i = 0; i < space->grid.count; i++)
            usable[i] = usable[i] || space->valid[v][i];
    }
    for (size_t axis = 0; axis < space->grid.axis_count; axis++)
        list_axis(&whole->variants[space->variant], space, usable, axis, out);
    tsw_free(usable);
}

/* ---- seeds ---- */

/* A line of the file of seeds, its fields cut apart. */
typedef struct {
    char text[LINE_MAX_BYTES];
    const char *fields[FIELDS]; /* pack, variant, arch, shape, config */
} line_t;

/* Cuts the line at *at out of the file and moves on; false at the end. */
static bool next_line(const tsw_fileset_item_t *file, size_t *at, line_t *line)
{
    if (*at >= file->size)
        return false;
    const char *start = (const char *)file->bytes + *at;
    size_t length = strcspn(start, "\n");
    *at += length + 1;
    snprintf(line->text, sizeof(line->text), "%.*s", (int)(length < 1000 ? length : 1000), start);
    char *rest = line->text;
    for (size_t i = 0; i < FIELDS; i++) {
        line->fields[i] = rest;
        rest += strcspn(rest, "\t");
        if (*rest != '\0')
            *rest++ = '\0';
    }
    return true;
}

/* Sum of squares of the differences of the dims' logarithms; INFINITY: another set of dims. */
static double shape_distance(const tsw_pack_t *pack, const int64_t *dims, const char *shape)
{
    double sum = 0.0;
    size_t found = 0;
    while (*shape != '\0') {
        size_t name = strcspn(shape, "=");
        size_t word = strcspn(shape, " ");
        for (size_t d = 0; name < word && d < pack->dim_count; d++) {
            if (strlen(pack->dims[d]) != name || memcmp(pack->dims[d], shape, name) != 0)
                continue;
            double other = (double)strtoll(shape + name + 1, NULL, 10);
            double step = log(((double)dims[d] + 1.0) / (other + 1.0));
            sum += step * step;
            found++;
        }
        shape += word + (shape[word] == ' ');
    }
    return found == pack->dim_count ? sum : (double)INFINITY;
}

static bool fits(const tsw_plan_t *whole, const tsw_search_space_t *space, const char *variant,
                 const line_t *line)
{
    char arch[16];
    snprintf(arch, sizeof(arch), "sm_%u", whole->job->archs[space->arch_index]);
    return strcmp(line->fields[0], whole->variants[space->variant].id.pack->name) == 0 &&
           strcmp(line->fields[1], variant) == 0 && strcmp(line->fields[2], arch) == 0;
}

static uint32_t find_config(const tsw_plan_variant_t *variant, const char *text)
{
    tsw_config_t config;
    if (tsw_config_parse(variant->id.pack, text, &config, NULL) != TSW_OK)
        return UINT32_MAX;
    for (uint32_t i = 0; i < variant->config_count; i++) {
        if (tsw_key_equal(variant->configs[i].key, config.key))
            return i;
    }
    return UINT32_MAX;
}

/* The configs of the shape nearest to one cell, the best first. */
static size_t seeds_of_cell(const tsw_plan_t *whole, const tsw_search_space_t *space, size_t v,
                            const tsw_fileset_item_t *file, const char *variant,
                            uint32_t seeds[SEEDS_PER_CELL])
{
    const tsw_cell_t *cell = &whole->cells[space->cells[v]];
    const tsw_plan_variant_t *planned = &whole->variants[space->variant];
    char nearest[LINE_MAX_BYTES] = "";
    double least = INFINITY;
    line_t line;
    size_t count = 0;
    for (size_t at = 0; next_line(file, &at, &line);) {
        double far = fits(whole, space, variant, &line)
                         ? shape_distance(planned->id.pack, cell->dims, line.fields[3])
                         : (double)INFINITY;
        if (far < least) {
            least = far;
            snprintf(nearest, sizeof(nearest), "%s", line.fields[3]);
        }
    }
    for (size_t at = 0; count < SEEDS_PER_CELL && next_line(file, &at, &line);) {
        if (!fits(whole, space, variant, &line) || strcmp(line.fields[3], nearest) != 0)
            continue;
        uint32_t point = find_config(planned, line.fields[4]);
        if (point != UINT32_MAX && space->valid[v][point])
            seeds[count++] = point;
    }
    return count;
}

tsw_status_t tsw_search_seeds_find(const tsw_plan_t *whole, tsw_search_space_t *space,
                                   tsw_err_t *err)
{
    const tsw_fileset_item_t *file = tsw_fileset_find(&whole->job->snapshot, TSW_JOB_SEEDS);
    if (file == NULL)
        return TSW_OK;
    uint32_t(*found)[SEEDS_PER_CELL] = tsw_calloc(space->view_count, sizeof(*found));
    size_t *counts = tsw_calloc(space->view_count, sizeof(*counts));
    space->seeds = tsw_calloc(space->view_count * SEEDS_PER_CELL, sizeof(*space->seeds));
    tsw_buf_t variant = TSW_BUF_INIT;
    tsw_variant_format(&whole->variants[space->variant].id, &variant);
    tsw_status_t status =
        found != NULL && counts != NULL && space->seeds != NULL && tsw_buf_ok(&variant)
            ? TSW_OK
            : tsw_err_nomem(err);
    for (size_t v = 0; status == TSW_OK && v < space->view_count; v++)
        counts[v] = seeds_of_cell(whole, space, v, file, tsw_buf_text(&variant), found[v]);
    for (size_t rank = 0; status == TSW_OK && rank < SEEDS_PER_CELL; rank++) {
        for (size_t v = 0; v < space->view_count; v++) {
            if (rank < counts[v])
                space->seeds[space->seed_count++] = found[v][rank];
        }
    }
    tsw_buf_fini(&variant);
    tsw_free(found);
    tsw_free(counts);
    return status;
}
