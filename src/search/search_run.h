/* The search of a job: which configs each generation of a run measures in which cell. A pure
 * function of the whole plan and the sealed results of the generations before. */
#ifndef TSW_SEARCH_SEARCH_RUN_H
#define TSW_SEARCH_SEARCH_RUN_H

#include "plan/plan.h"
#include "record/dataset.h"

typedef struct tsw_search_run tsw_search_run_t;

/* whole is borrowed. With no searched cell there is nothing to choose. TSW_ERR_NOMEM. */
tsw_status_t tsw_search_run_new(const tsw_plan_t *whole, tsw_search_run_t **search_p,
                                tsw_err_t *err);
void tsw_search_run_free(tsw_search_run_t *search);
/* How many searched spaces the older sweeps of `seed_from` have nothing for; 0 where none is named.
 * *pack_p: the pack of the first, borrowed; untouched where there is none. */
size_t tsw_search_run_unseeded(const tsw_search_run_t *search, const tsw_pack_t **pack_p);

/* The next generation: what each cell measures, the baseline not named. Borrowed until the next
 * call; *count_p 0: the search is over. Each space ends with a generation that builds nothing: the
 * best of all its cells, measured side by side in each. TSW_ERR_NOMEM. */
tsw_status_t tsw_search_run_choose(tsw_search_run_t *search, const tsw_plan_choice_t **choices_p,
                                   size_t *count_p, tsw_err_t *err);
/* Takes in what a generation has left in the (canonical) dataset. TSW_ERR_NOMEM. */
tsw_status_t tsw_search_run_learn(tsw_search_run_t *search, const tsw_plan_t *generation,
                                  const tsw_dataset_t *dataset, tsw_err_t *err);

#endif
