#include "reduce/reduce_group.h"

#include "base/mem.h"
#include "reduce/reduce_portfolio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A config that loses no more on some shape is near its best. */
#define CLOSE_REGRET 0.05

/* ---- candidates ---- */

/* One result of one cell, to be sorted by config. */
typedef struct {
    const tsw_config_result_t *result;
    size_t cell;
} entry_t;

/* A config of the group: the entries that have its text. */
typedef struct {
    const char *config;
    const entry_t *entries;
    size_t entry_count;
    bool is_baseline;
    bool is_alias; /* in some cell */
} candidate_t;

typedef struct {
    tsw_group_t *group;
    const tsw_reduce_options_t *options;
    entry_t *entries;
    size_t entry_count;
    candidate_t *candidates;
    size_t candidate_count;
    size_t fixed; /* the baseline's index, or SIZE_MAX */
    double *regret;
    double *weight;
    bool *in;
    uint32_t *selected_index; /* per candidate */
} group_work_t;

static int compare_entries(const void *a, const void *b)
{
    const entry_t *x = a;
    const entry_t *y = b;
    int order = strcmp(x->result->config, y->result->config);
    return order != 0 ? order : (x->cell > y->cell) - (x->cell < y->cell);
}

/* In order of preference: the baseline, then what was measured itself everywhere, then by text. */
static int compare_candidates(const void *a, const void *b)
{
    const candidate_t *x = a;
    const candidate_t *y = b;
    if (x->is_baseline != y->is_baseline)
        return x->is_baseline ? -1 : 1;
    if (x->is_alias != y->is_alias)
        return x->is_alias ? 1 : -1;
    return strcmp(x->config, y->config);
}

static tsw_status_t collect_entries(group_work_t *w, tsw_err_t *err)
{
    size_t total = 0;
    for (size_t j = 0; j < w->group->cell_count; j++)
        total += w->group->cells[j]->config_count;
    w->entries = tsw_calloc(total, sizeof(*w->entries));
    if (w->entries == NULL)
        return tsw_err_nomem(err);
    for (size_t j = 0; j < w->group->cell_count; j++) {
        const tsw_cell_summary_t *cell = w->group->cells[j];
        for (size_t i = 0; i < cell->config_count; i++) {
            if (cell->configs[i].usable || (int32_t)i == cell->baseline)
                w->entries[w->entry_count++] = (entry_t){&cell->configs[i], j};
        }
    }
    qsort(w->entries, w->entry_count, sizeof(*w->entries), compare_entries);
    return TSW_OK;
}

static bool is_baseline_entry(const group_work_t *w, const entry_t *entry)
{
    const tsw_cell_summary_t *cell = w->group->cells[entry->cell];
    return cell->baseline >= 0 && entry->result == &cell->configs[cell->baseline];
}

static tsw_status_t collect_candidates(group_work_t *w, tsw_err_t *err)
{
    w->candidates = tsw_calloc(w->entry_count, sizeof(*w->candidates));
    if (w->candidates == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < w->entry_count; i++) {
        const entry_t *entry = &w->entries[i];
        if (i == 0 || strcmp(entry->result->config, entry[-1].result->config) != 0)
            w->candidates[w->candidate_count++] =
                (candidate_t){.config = entry->result->config, .entries = entry};
        candidate_t *candidate = &w->candidates[w->candidate_count - 1];
        candidate->entry_count++;
        candidate->is_baseline = candidate->is_baseline || is_baseline_entry(w, entry);
        candidate->is_alias = candidate->is_alias || entry->result->is_alias;
    }
    qsort(w->candidates, w->candidate_count, sizeof(*w->candidates), compare_candidates);
    w->fixed = w->candidates[0].is_baseline ? 0 : SIZE_MAX;
    return TSW_OK;
}

static tsw_status_t fill_matrix(group_work_t *w, tsw_err_t *err)
{
    size_t cells = w->group->cell_count;
    if (w->candidate_count > SIZE_MAX / cells)
        return tsw_err_nomem(err);
    w->regret = tsw_calloc(w->candidate_count * cells, sizeof(*w->regret));
    w->weight = tsw_calloc(cells, sizeof(*w->weight));
    w->in = tsw_calloc(w->candidate_count, sizeof(*w->in));
    w->selected_index = tsw_calloc(w->candidate_count, sizeof(*w->selected_index));
    if (w->regret == NULL || w->weight == NULL || w->in == NULL || w->selected_index == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < w->candidate_count * cells; i++)
        w->regret[i] = INFINITY;
    for (size_t c = 0; c < w->candidate_count; c++) {
        for (size_t i = 0; i < w->candidates[c].entry_count; i++) {
            const entry_t *entry = &w->candidates[c].entries[i];
            w->regret[c * cells + entry->cell] = entry->result->regret;
        }
    }
    for (size_t j = 0; j < cells; j++) {
        double weight = w->group->cells[j]->cell->weight;
        w->weight[j] = weight > 0.0 && isfinite(weight) ? weight : 0.0;
    }
    return TSW_OK;
}

/* ---- outcome ---- */

static void mean_and_worst(const group_work_t *w, const double *regret, double *mean_p,
                           double *worst_p)
{
    double sum = 0.0;
    double weights = 0.0;
    *worst_p = 0.0;
    for (size_t j = 0; j < w->group->cell_count; j++) {
        if (w->weight[j] > 0.0)
            sum += w->weight[j] * regret[j];
        weights += w->weight[j];
        *worst_p = fmax(*worst_p, regret[j]);
    }
    *mean_p = weights > 0.0 ? sum / weights : 0.0;
}

/* Candidates are in order of preference; the table has the baseline, then the others by text. */
static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tsw_status_t list_selected(group_work_t *w, tsw_err_t *err)
{
    tsw_group_t *g = w->group;
    size_t count = 0;
    for (size_t c = 0; c < w->candidate_count; c++)
        count += w->in[c];
    g->selected = tsw_calloc(count, sizeof(*g->selected));
    if (g->selected == NULL)
        return tsw_err_nomem(err);
    for (size_t c = 0; c < w->candidate_count; c++) {
        if (w->in[c])
            g->selected[g->selected_count++] = w->candidates[c].config;
    }
    size_t head = w->fixed == 0 ? 1 : 0;
    qsort(g->selected + head, count - head, sizeof(*g->selected), compare_texts);
    for (size_t c = 0; c < w->candidate_count; c++) {
        for (size_t i = 0; w->in[c] && i < count; i++) {
            if (g->selected[i] == w->candidates[c].config)
                w->selected_index[c] = (uint32_t)i;
        }
    }
    return TSW_OK;
}

static const tsw_config_result_t *result_in(const group_work_t *w, size_t candidate, size_t cell)
{
    const candidate_t *c = &w->candidates[candidate];
    size_t low = 0;
    size_t high = c->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->entries[middle].cell < cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->entry_count && c->entries[low].cell == cell ? c->entries[low].result : NULL;
}

/* Of the selected configs the one with the least regret; among equals the lowest median, then the
 * first in the table. */
static void choose(group_work_t *w, size_t cell)
{
    tsw_group_t *g = w->group;
    double best_median = 0.0;
    g->choice[cell] = UINT32_MAX;
    g->choice_regret[cell] = INFINITY;
    for (size_t c = 0; c < w->candidate_count; c++) {
        double regret = w->regret[c * g->cell_count + cell];
        if (!w->in[c] || isinf(regret) || regret > g->choice_regret[cell])
            continue;
        double median = result_in(w, c, cell)->time_ns.median;
        if (regret == g->choice_regret[cell] &&
            (median > best_median ||
             (median == best_median && w->selected_index[c] > g->choice[cell])))
            continue;
        g->choice[cell] = w->selected_index[c];
        g->choice_regret[cell] = regret;
        best_median = median;
    }
}

static tsw_status_t choose_all(group_work_t *w, tsw_err_t *err)
{
    tsw_group_t *g = w->group;
    g->choice = tsw_calloc(g->cell_count, sizeof(*g->choice));
    g->choice_regret = tsw_calloc(g->cell_count, sizeof(*g->choice_regret));
    if (g->choice == NULL || g->choice_regret == NULL)
        return tsw_err_nomem(err);
    for (size_t j = 0; j < g->cell_count; j++)
        choose(w, j);
    mean_and_worst(w, g->choice_regret, &g->mean_regret, &g->worst_regret);
    if (w->fixed == 0) {
        mean_and_worst(w, w->regret, &g->baseline_mean_regret, &g->baseline_worst_regret);
    } else {
        g->baseline_mean_regret = INFINITY;
        g->baseline_worst_regret = INFINITY;
    }
    return TSW_OK;
}

/* Cells that a left-out candidate won and whose choice now costs something. */
static tsw_dropped_winner_t loss_of(const group_work_t *w, size_t candidate)
{
    const tsw_group_t *g = w->group;
    tsw_dropped_winner_t loss = {.config = w->candidates[candidate].config};
    for (size_t i = 0; i < w->candidates[candidate].entry_count; i++) {
        const entry_t *entry = &w->candidates[candidate].entries[i];
        const tsw_cell_summary_t *cell = g->cells[entry->cell];
        if (entry->result != &cell->configs[cell->winner] || !(g->choice_regret[entry->cell] > 0.0))
            continue;
        loss.cell_count++;
        loss.worst_regret = fmax(loss.worst_regret, g->choice_regret[entry->cell]);
    }
    return loss;
}

static int compare_dropped(const void *a, const void *b)
{
    return strcmp(((const tsw_dropped_winner_t *)a)->config,
                  ((const tsw_dropped_winner_t *)b)->config);
}

static tsw_status_t list_dropped(group_work_t *w, tsw_err_t *err)
{
    tsw_group_t *g = w->group;
    size_t capacity = 0;
    for (size_t c = 0; c < w->candidate_count; c++) {
        tsw_dropped_winner_t loss = w->in[c] ? (tsw_dropped_winner_t){0} : loss_of(w, c);
        if (loss.cell_count == 0)
            continue;
        if (!TSW_GROW(g->dropped_winners, capacity, g->dropped_winner_count))
            return tsw_err_nomem(err);
        g->dropped_winners[g->dropped_winner_count++] = loss;
    }
    if (g->dropped_winner_count > 1)
        qsort(g->dropped_winners, g->dropped_winner_count, sizeof(*g->dropped_winners),
              compare_dropped);
    return TSW_OK;
}

static bool is_close(const entry_t *entry)
{
    return entry->result->usable && !entry->result->is_alias &&
           entry->result->regret <= CLOSE_REGRET;
}

/* Configs that are left out, though some shape would hardly lose by them. */
static size_t close_count(const group_work_t *w)
{
    size_t count = 0;
    for (size_t c = 0; c < w->candidate_count; c++) {
        bool close = false;
        for (size_t i = 0; !w->in[c] && i < w->candidates[c].entry_count; i++)
            close = close || is_close(&w->candidates[c].entries[i]);
        count += close;
    }
    return count;
}

static size_t usable_count(const group_work_t *w)
{
    size_t count = 0;
    for (size_t c = 0; c < w->candidate_count; c++) {
        bool usable = false;
        for (size_t i = 0; i < w->candidates[c].entry_count; i++)
            usable = usable || w->candidates[c].entries[i].result->usable;
        count += usable;
    }
    return count;
}

tsw_status_t tsw_reduce_group(tsw_group_t *group, const tsw_reduce_options_t *options,
                              tsw_err_t *err)
{
    group_work_t w = {.group = group, .options = options};
    tsw_portfolio_cost_t cost = {0, 0.0};
    tsw_status_t status = collect_entries(&w, err);
    if (status == TSW_OK)
        status = collect_candidates(&w, err);
    if (status == TSW_OK)
        status = fill_matrix(&w, err);
    if (status == TSW_OK) {
        tsw_portfolio_problem_t problem = {.regret = w.regret,
                                           .weight = w.weight,
                                           .candidate_count = w.candidate_count,
                                           .cell_count = group->cell_count,
                                           .fixed = w.fixed,
                                           .max_members = options->max_configs};
        group->candidate_count = usable_count(&w);
        status = tsw_portfolio_solve(&problem, w.in, &cost, err);
    }
    if (status == TSW_OK)
        status = list_selected(&w, err);
    if (status == TSW_OK)
        status = choose_all(&w, err);
    if (status == TSW_OK)
        status = list_dropped(&w, err);
    if (status == TSW_OK)
        group->close_count = close_count(&w);
    tsw_free(w.entries);
    tsw_free(w.candidates);
    tsw_free(w.regret);
    tsw_free(w.weight);
    tsw_free(w.in);
    tsw_free(w.selected_index);
    return status;
}
