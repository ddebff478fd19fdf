#include "plan/plan_internal.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

tsw_status_t tsw_plan_part_parse(const char *text, tsw_plan_part_t *part_p, tsw_err_t *err)
{
    const char *slash = strchr(text, '/');
    char number[16] = "";
    int64_t i = 0, n = 0;
    if (slash != NULL && (size_t)(slash - text) < sizeof(number))
        memcpy(number, text, (size_t)(slash - text));
    if (!tsw_text_parse_i64(number, &i) || !tsw_text_parse_i64(slash + 1, &n) || i < 1 || i > n ||
        n > UINT32_MAX)
        return tsw_err_set(err, TSW_ERR_ARG, "\"%s\" is no part: write 2/8 for the 2nd of 8", text);
    *part_p = (tsw_plan_part_t){.number = (uint32_t)i, .count = (uint32_t)n};
    return TSW_OK;
}

/* A cell while the parts are dealt. */
typedef struct {
    tsw_arch_t arch;
    tsw_key_t key;
    uint32_t id;
} card_t;

static int compare_cards(const void *a, const void *b)
{
    const card_t *x = a;
    const card_t *y = b;
    if (x->arch != y->arch)
        return x->arch < y->arch ? -1 : 1;
    return tsw_key_compare(x->key, y->key);
}

/* Removes the cells that are not kept; the others keep their order. */
static void remove_cells(tsw_plan_t *plan, const bool *keep)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->cell_count; i++) {
        if (!keep[i]) {
            tsw_plan_cell_fini(&plan->cells[i]);
            continue;
        }
        plan->cells[count] = plan->cells[i];
        plan->cells[count].id = (uint32_t)count;
        count++;
    }
    plan->cell_count = count;
}

tsw_status_t tsw_plan_keep_part(tsw_plan_t *plan, tsw_plan_part_t part, tsw_err_t *err)
{
    if (part.count == 0)
        return TSW_OK;
    if (part.number > plan->cell_count)
        return tsw_err_set(err, TSW_ERR_ARG, "part %u of %u has no cell: the job has %zu",
                           part.number, part.count, plan->cell_count);
    card_t *cards = tsw_calloc(plan->cell_count, sizeof(*cards));
    bool *keep = tsw_calloc(plan->cell_count, sizeof(*keep));
    tsw_status_t status = cards != NULL && keep != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK) {
        for (uint32_t i = 0; i < plan->cell_count; i++) {
            const tsw_cell_t *cell = &plan->cells[i];
            cards[i] = (card_t){plan->job->archs[cell->arch_index], cell->key, i};
        }
        qsort(cards, plan->cell_count, sizeof(*cards), compare_cards);
        for (size_t i = part.number - 1; i < plan->cell_count; i += part.count)
            keep[cards[i].id] = true;
        remove_cells(plan, keep);
    }
    tsw_free(cards);
    tsw_free(keep);
    return status;
}
