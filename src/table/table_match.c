#include "table/table_match.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64, NAME_SIZE = 128 };

/* A config of the file as one of the pack. */
typedef struct {
    tsw_key_t key;
    uint32_t index;
} entry_t;

typedef struct {
    const tsw_match_t *match;
    const char *names[NAMES_MAX]; /* of the file's tunables; borrowed */
    bool used[NAMES_MAX];
    size_t name_count;
    char given[TSW_KNOB_MAX][NAME_SIZE]; /* by the user, "": not */
    int column[TSW_KNOB_MAX];            /* in names; -1: the file lacks the knob */
    entry_t *entries;
    tsw_err_t *err;
} work_t;

/* ---- names ---- */

static int find_name(const work_t *w, const char *name, bool exact)
{
    for (size_t i = 0; i < w->name_count; i++) {
        const char *a = w->names[i];
        const char *b = name;
        while (*a != '\0' &&
               (*a == *b || (!exact && tolower((unsigned char)*a) == tolower((unsigned char)*b)))) {
            a++;
            b++;
        }
        if (*a == '\0' && *b == '\0')
            return (int)i;
    }
    return -1;
}

static tsw_status_t list_names(work_t *w)
{
    const tsw_import_t *import = w->match->import;
    for (size_t i = 0; i < import->count; i++) {
        for (size_t k = 0; k < import->configs[i].value_count; k++) {
            const char *name = import->configs[i].values[k].name;
            if (find_name(w, name, true) >= 0)
                continue;
            if (w->name_count == NAMES_MAX)
                return tsw_err_set(w->err, TSW_ERR_INPUT, "%s: more than %d tunables",
                                   w->match->label, NAMES_MAX);
            w->names[w->name_count++] = name;
        }
    }
    return TSW_OK;
}

static void append_hint(tsw_buf_t *out, const char *word, const char *const *names, size_t count)
{
    const char *near = tsw_text_nearest(word, names, count);
    if (near != NULL)
        tsw_buf_printf(out, " (did you mean '%s'?)", near);
}

static tsw_status_t fail(const work_t *w, tsw_status_t status, tsw_buf_t *what)
{
    if (!tsw_buf_ok(what))
        status = tsw_err_nomem(w->err);
    else
        tsw_err_set(w->err, status, "%s", tsw_buf_text(what));
    tsw_buf_fini(what);
    return status;
}

static int find_knob(const tsw_pack_t *pack, const char *name, size_t length)
{
    for (size_t k = 0; k < pack->knob_count; k++) {
        if (strlen(pack->knobs[k].name) == length && memcmp(pack->knobs[k].name, name, length) == 0)
            return (int)k;
    }
    return -1;
}

/* "KNOB=NAME,..", one at a time. */
static tsw_status_t read_given(work_t *w)
{
    const tsw_pack_t *pack = w->match->pack;
    const char *at = w->match->names != NULL ? w->match->names : "";
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        size_t name = strcspn(at, "=");
        int knob = name < length ? find_knob(pack, at, name) : -1;
        if (name >= length || length - name - 1 == 0 || length - name - 1 >= NAME_SIZE)
            return tsw_err_set(w->err, TSW_ERR_ARG,
                               "'%.*s' is no pair: write TUNABLE=NAME_IN_THE_FILE, with commas "
                               "between them",
                               (int)length, at);
        if (knob < 0) {
            tsw_buf_t what = TSW_BUF_INIT;
            char word[NAME_SIZE];
            const char *known[TSW_KNOB_MAX];
            for (size_t k = 0; k < pack->knob_count; k++)
                known[k] = pack->knobs[k].name;
            snprintf(word, sizeof(word), "%.*s", (int)(name < 100 ? name : 100), at);
            tsw_buf_printf(&what, "pack %s has no tunable '%s'", pack->name, word);
            append_hint(&what, word, known, pack->knob_count);
            return fail(w, TSW_ERR_ARG, &what);
        }
        snprintf(w->given[knob], NAME_SIZE, "%.*s", (int)(length - name - 1), at + name + 1);
        at += length + (at[length] == ',');
    }
    return TSW_OK;
}

static bool is_constant(const tsw_match_t *match, size_t knob)
{
    for (size_t i = 1; i < match->config_count; i++) {
        if (match->configs[i].values[knob] != match->configs[0].values[knob])
            return false;
    }
    return true;
}

static tsw_status_t lacks_name(work_t *w, size_t knob)
{
    const char *name = w->match->pack->knobs[knob].name;
    const char *wanted = w->given[knob][0] != '\0' ? w->given[knob] : name;
    tsw_buf_t what = TSW_BUF_INIT;
    tsw_buf_printf(&what, "%s has no tunable '%s'", w->match->label, wanted);
    append_hint(&what, wanted, w->names, w->name_count);
    tsw_buf_append_text(&what, w->name_count > 0 ? "; it has" : "; it has none");
    for (size_t i = 0; i < w->name_count; i++)
        tsw_buf_printf(&what, "%s %s", i > 0 ? "," : "", w->names[i]);
    tsw_buf_printf(&what, "; say which one it is: --replay-names %s=NAME", name);
    return fail(w, TSW_ERR_INPUT, &what);
}

static tsw_status_t find_columns(work_t *w)
{
    for (size_t k = 0; k < w->match->pack->knob_count; k++) {
        bool given = w->given[k][0] != '\0';
        const char *name = given ? w->given[k] : w->match->pack->knobs[k].name;
        int column = find_name(w, name, true);
        if (column < 0 && !given)
            column = find_name(w, name, false);
        if (column < 0 && (given || !is_constant(w->match, k)))
            return lacks_name(w, k);
        w->column[k] = column;
        if (column >= 0)
            w->used[column] = true;
    }
    return TSW_OK;
}

/* ---- values ---- */

static const char *value_in(const tsw_import_config_t *config, const char *name)
{
    for (size_t k = 0; k < config->value_count; k++) {
        if (strcmp(config->values[k].name, name) == 0)
            return config->values[k].value;
    }
    return NULL;
}

/* What the pack does not know must not make a difference. */
static tsw_status_t check_rest(const work_t *w)
{
    const tsw_import_t *import = w->match->import;
    for (size_t n = 0; n < w->name_count; n++) {
        const char *first = NULL;
        for (size_t i = 0; !w->used[n] && i < import->count; i++) {
            const char *value = value_in(&import->configs[i], w->names[n]);
            value = value != NULL ? value : "";
            first = first != NULL ? first : value;
            if (strcmp(first, value) == 0)
                continue;
            const char *known[TSW_KNOB_MAX];
            tsw_buf_t what = TSW_BUF_INIT;
            for (size_t k = 0; k < w->match->pack->knob_count; k++)
                known[k] = w->match->pack->knobs[k].name;
            tsw_buf_printf(&what, "%s varies '%s' (%s, %s, ..), which pack %s does not have",
                           w->match->label, w->names[n], first, value, w->match->pack->name);
            append_hint(&what, w->names[n], known, w->match->pack->knob_count);
            return fail(w, TSW_ERR_INPUT, &what);
        }
    }
    return TSW_OK;
}

static bool parse_value(const char *text, int64_t *value_p)
{
    double real = 0;
    if (tsw_text_parse_i64(text, value_p))
        return true;
    if (strcmp(text, "true") == 0 || strcmp(text, "True") == 0)
        *value_p = 1;
    else if (strcmp(text, "false") == 0 || strcmp(text, "False") == 0)
        *value_p = 0;
    else {
        char *end = NULL;
        real = strtod(text, &end);
        bool is_small = real >= -1e15 && real <= 1e15; /* and a number */
        if (end == text || *end != '\0' || !is_small || real != (double)(int64_t)real)
            return false;
        *value_p = (int64_t)real;
    }
    return true;
}

static tsw_status_t read_entry(work_t *w, size_t index)
{
    const tsw_match_t *match = w->match;
    const tsw_import_config_t *from = &match->import->configs[index];
    tsw_config_t config = {0};
    for (size_t k = 0; k < match->pack->knob_count; k++) {
        const char *text = w->column[k] >= 0 ? value_in(from, w->names[w->column[k]]) : NULL;
        if (w->column[k] < 0) {
            config.values[k] = match->configs[0].values[k];
        } else if (text == NULL) {
            return tsw_err_set(w->err, TSW_ERR_INPUT, "%s: config %zu has no '%s'", match->label,
                               index, w->names[w->column[k]]);
        } else if (!parse_value(text, &config.values[k])) {
            return tsw_err_set(w->err, TSW_ERR_INPUT,
                               "%s: config %zu: %s is '%.60s', no whole number", match->label,
                               index, w->names[w->column[k]], text);
        }
    }
    tsw_config_set_key(match->pack, &config);
    w->entries[index] = (entry_t){config.key, (uint32_t)index};
    return TSW_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const entry_t *x = a;
    const entry_t *y = b;
    return tsw_key_compare(x->key, y->key);
}

static tsw_status_t read_entries(work_t *w)
{
    size_t count = w->match->import->count;
    tsw_status_t status = TSW_OK;
    w->entries = tsw_calloc(count + 1, sizeof(*w->entries));
    if (w->entries == NULL)
        return tsw_err_nomem(w->err);
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        status = read_entry(w, i);
    if (status != TSW_OK)
        return status;
    if (count > 1)
        qsort(w->entries, count, sizeof(*w->entries), compare_entries);
    for (size_t i = 1; i < count; i++) {
        if (tsw_key_equal(w->entries[i].key, w->entries[i - 1].key))
            return tsw_err_set(w->err, TSW_ERR_INPUT, "%s: config %u is there twice: %.400s",
                               w->match->label, w->entries[i].index,
                               w->match->import->configs[w->entries[i].index].config);
    }
    return TSW_OK;
}

/* ---- all ---- */

static tsw_status_t nothing_in_common(const work_t *w)
{
    tsw_buf_t what = TSW_BUF_INIT;
    tsw_buf_printf(&what, "%s has none of the %zu configs of the job; the job has ",
                   w->match->label, w->match->config_count);
    tsw_config_format(w->match->pack, &w->match->configs[0], &what);
    if (w->match->import->count > 0)
        tsw_buf_printf(&what, ", the file %.400s", w->match->import->configs[0].config);
    else
        tsw_buf_append_text(&what, ", the file nothing");
    return fail(w, TSW_ERR_INPUT, &what);
}

tsw_status_t tsw_match_configs(const tsw_match_t *match, uint32_t *index_of, size_t *found_p,
                               tsw_err_t *err)
{
    work_t w = {.match = match, .err = err};
    size_t found = 0;
    tsw_status_t status = list_names(&w);
    if (status == TSW_OK)
        status = read_given(&w);
    if (status == TSW_OK && match->import->count > 0)
        status = find_columns(&w);
    if (status == TSW_OK)
        status = check_rest(&w);
    if (status == TSW_OK)
        status = read_entries(&w);
    for (size_t i = 0; status == TSW_OK && i < match->config_count; i++) {
        entry_t wanted = {.key = match->configs[i].key};
        const entry_t *entry =
            bsearch(&wanted, w.entries, match->import->count, sizeof(wanted), compare_entries);
        index_of[i] = entry != NULL ? entry->index : UINT32_MAX;
        found += entry != NULL;
    }
    if (status == TSW_OK && found == 0)
        status = nothing_in_common(&w);
    if (status == TSW_OK)
        *found_p = found;
    tsw_free(w.entries);
    return status;
}
