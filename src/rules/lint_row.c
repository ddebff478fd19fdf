/* The config that a finding wants added to a list. */
#include "lint_internal.h"

/* A list that is full gets no more: something else has to go. */
static bool is_full(const tsw_lint_ctx_t *c, const tsw_config_t *config)
{
    tsw_key_t baseline = tsw_config_baseline(c->pack, c->arch).key;
    return c->space != NULL && c->space->count >= TSW_SPACE_MAX_RELEASE &&
           !tsw_key_equal(config->key, baseline);
}

void tsw_lint_config(tsw_lint_ctx_t *c, const tsw_config_t *config)
{
    if (c->status != TSW_OK || is_full(c, config))
        return;
    tsw_buf_t row = TSW_BUF_INIT;
    for (size_t k = 0; k < c->pack->knob_count; k++)
        tsw_buf_printf(&row, "%s%s: %lld", k == 0 ? "{" : ", ", c->pack->knobs[k].name,
                       (long long)config->values[k]);
    tsw_buf_append_text(&row, "}");
    char *text = tsw_buf_take_text(&row);
    c->lint->findings[c->lint->count - 1].row = text;
    if (text == NULL)
        c->status = tsw_err_nomem(c->err);
}

static tsw_config_t with_value(const tsw_lint_ctx_t *c, const tsw_config_t *config, size_t knob,
                               int64_t value)
{
    tsw_config_t with = *config;
    with.values[knob] = value;
    tsw_config_set_key(c->pack, &with);
    return with;
}

void tsw_lint_row(tsw_lint_ctx_t *c, size_t knob, int64_t value)
{
    tsw_config_t baseline = tsw_config_baseline(c->pack, c->arch);
    tsw_config_t config = with_value(c, &baseline, knob, value);
    tsw_lint_config(c, &config);
}

/* Whether the filters leave it; they pass the baseline over. */
static bool is_kept(tsw_lint_ctx_t *c, tsw_config_t *config)
{
    tsw_config_row_t row = {.place = {.file = NULL}};
    const tsw_job_entry_t entry = {.rows = &row, .row_count = 1};
    tsw_space_t space = {0};
    bool kept = false;
    for (size_t k = 0; k < c->pack->knob_count; k++) {
        row.values[k] = &config->values[k];
        row.count[k] = 1;
    }
    if (!tsw_lint_ok(c, tsw_space_make(c->variant, c->arch, TSW_PURPOSE_RESEARCH, &entry, c->eval,
                                       &space, c->err)))
        return false;
    for (size_t i = 0; i < space.count; i++)
        kept = kept || tsw_key_equal(space.configs[i].key, config->key);
    tsw_space_fini(&space);
    return kept;
}

bool tsw_lint_find_row(tsw_lint_ctx_t *c, size_t knob, int64_t value, tsw_config_t *row_p)
{
    for (size_t i = 0; i < c->space->count; i++) { /* the baseline is the first */
        tsw_config_t config = with_value(c, &c->space->configs[i], knob, value);
        if (!is_kept(c, &config))
            continue;
        *row_p = config;
        return true;
    }
    return false;
}
