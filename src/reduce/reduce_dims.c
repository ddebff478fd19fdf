#include "reduce/reduce.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value of `name` in "A=1 B=2", and its length; NULL: it is not there. */
static const char *value_of(const char *config, const char *name, size_t length, size_t *size_p)
{
    for (const char *at = config; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word > length && at[length] == '=' && memcmp(at, name, length) == 0) {
            *size_p = word - length - 1;
            return at + length + 1;
        }
        at += word;
        at += *at == ' ' ? 1 : 0;
    }
    return NULL;
}

static bool has_value(const char *config, const char *name, size_t length, const char *value,
                      size_t size)
{
    size_t other_size = 0;
    const char *other = value_of(config, name, length, &other_size);
    return other != NULL && other_size == size && memcmp(other, value, size) == 0;
}

/* Whether all selected configs have the value, and some usable one has another. */
static bool is_dropped(const tsw_group_t *group, const char *name, size_t length, const char *value,
                       size_t size)
{
    bool varied = false;
    for (size_t i = 0; i < group->selected_count; i++) {
        if (!has_value(group->selected[i], name, length, value, size))
            return false;
    }
    for (size_t c = 0; c < group->cell_count; c++) {
        const tsw_cell_summary_t *cell = group->cells[c];
        for (size_t i = 0; i < cell->config_count; i++)
            varied = varied || (cell->configs[i].usable &&
                                !has_value(cell->configs[i].config, name, length, value, size));
    }
    return varied;
}

void tsw_reduce_dropped_dims(const tsw_group_t *group, tsw_buf_t *out)
{
    const char *at = group->selected_count > 0 ? group->selected[0] : "";
    const char *between = "";
    while (*at != '\0') {
        size_t word = strcspn(at, " ");
        size_t length = strcspn(at, "=");
        if (length < word && is_dropped(group, at, length, at + length + 1, word - length - 1)) {
            tsw_buf_printf(out, "%s%.*s", between, (int)word, at);
            between = " ";
        }
        at += word;
        at += *at == ' ' ? 1 : 0;
    }
}

/* ---- what one value alone would cost ---- */

enum { CANDIDATES_MAX = 1000 };

typedef struct {
    tsw_value_regret_t *values;
    size_t count;
    size_t capacity;
    double *cell; /* per value: least regret in the cell at hand */
    double weights;
} values_t;

/* The index of a word; it is added when it is new. SIZE_MAX: out of memory, or too long. */
static size_t index_of(values_t *v, const char *word, size_t size)
{
    size_t at = 0;
    while (at < v->count &&
           (strlen(v->values[at].text) != size || memcmp(v->values[at].text, word, size) != 0))
        at++;
    if (at < v->count)
        return at;
    if (size >= sizeof(v->values[0].text) || !TSW_GROW(v->values, v->capacity, v->count))
        return SIZE_MAX;
    v->values[at] = (tsw_value_regret_t){.name_size = 0};
    memcpy(v->values[at].text, word, size);
    v->values[at].name_size = strcspn(v->values[at].text, "=");
    v->count++;
    return at;
}

static tsw_status_t collect(values_t *v, const tsw_group_t *group, tsw_err_t *err)
{
    for (size_t c = 0; c < group->cell_count; c++) {
        for (size_t i = 0; i < group->cells[c]->config_count; i++) {
            const tsw_config_result_t *config = &group->cells[c]->configs[i];
            for (const char *at = config->config; config->usable && *at != '\0';) {
                size_t word = strcspn(at, " ");
                if (index_of(v, at, word) == SIZE_MAX)
                    return tsw_err_nomem(err);
                at += word;
                at += *at == ' ' ? 1 : 0;
            }
        }
    }
    return TSW_OK;
}

static void add_cell(values_t *v, const tsw_cell_summary_t *cell)
{
    for (size_t k = 0; k < v->count; k++)
        v->cell[k] = INFINITY;
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_config_result_t *config = &cell->configs[i];
        for (const char *at = config->config; config->usable && *at != '\0';) {
            size_t word = strcspn(at, " ");
            size_t k = index_of(v, at, word);
            v->cell[k] = fmin(v->cell[k], config->regret);
            at += word;
            at += *at == ' ' ? 1 : 0;
        }
    }
    double weight = cell->cell->weight > 0 && isfinite(cell->cell->weight) ? cell->cell->weight : 0;
    v->weights += weight;
    for (size_t k = 0; k < v->count; k++) {
        v->values[k].mean_regret += weight > 0 ? weight * v->cell[k] : 0;
        v->values[k].worst_regret = fmax(v->values[k].worst_regret, v->cell[k]);
    }
}

/* Of the same name, the first to appear: the order of names. */
static size_t first_of_name(const values_t *v, const tsw_value_regret_t *value)
{
    size_t at = 0;
    while (v->values[at].name_size != value->name_size ||
           memcmp(v->values[at].text, value->text, value->name_size) != 0)
        at++;
    return at;
}

static int compare_values(const void *a, const void *b)
{
    const tsw_value_regret_t *x = a;
    const tsw_value_regret_t *y = b;
    int order = (x->name_index > y->name_index) - (x->name_index < y->name_index);
    if (order == 0)
        order = (x->mean_regret > y->mean_regret) - (x->mean_regret < y->mean_regret);
    return order != 0 ? order : strcmp(x->text, y->text);
}

tsw_status_t tsw_reduce_values(const tsw_group_t *group, tsw_value_regret_t **values_p,
                               size_t *count_p, tsw_err_t *err)
{
    values_t v = {0};
    tsw_status_t status =
        group->candidate_count <= CANDIDATES_MAX ? collect(&v, group, err) : TSW_OK;
    if (status == TSW_OK) {
        v.cell = tsw_calloc(v.count, sizeof(*v.cell));
        status = v.cell != NULL ? TSW_OK : tsw_err_nomem(err);
    }
    for (size_t c = 0; status == TSW_OK && c < group->cell_count; c++)
        add_cell(&v, group->cells[c]);
    for (size_t k = 0; status == TSW_OK && k < v.count; k++) {
        v.values[k].mean_regret /= v.weights > 0 ? v.weights : 1;
        v.values[k].name_index = first_of_name(&v, &v.values[k]);
    }
    tsw_free(v.cell);
    if (status != TSW_OK) {
        tsw_free(v.values);
        return status;
    }
    if (v.count > 1)
        qsort(v.values, v.count, sizeof(*v.values), compare_values);
    *values_p = v.values;
    *count_p = v.count;
    return TSW_OK;
}
