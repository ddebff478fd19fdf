/* Rules over a release table. */
#include "lint_internal.h"

#include <string.h>

enum { CONFIGS_MAX = 8 };

static tsw_place_t nowhere(void)
{
    return (tsw_place_t){.file = NULL};
}

void tsw_rule_at_most_8(tsw_lint_ctx_t *c)
{
    if (c->entry->config_count <= CONFIGS_MAX)
        return;
    tsw_lint_find(c, nowhere(), "pack %s has %zu configs, a table has at most %d", c->entry->name,
                  c->entry->config_count, CONFIGS_MAX);
    tsw_lint_fix(c, "make it again: tilesweep reduce RUN -o TABLES");
}

void tsw_rule_baseline_first(tsw_lint_ctx_t *c)
{
    if (c->pack == NULL)
        return;
    tsw_config_t baseline = tsw_config_baseline(c->pack, c->arch);
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_config_format(c->pack, &baseline, &text);
    if (!tsw_buf_ok(&text))
        tsw_lint_ok(c, tsw_err_nomem(c->err));
    else if (c->entry->config_count == 0 ||
             strcmp(c->entry->configs[0], tsw_buf_text(&text)) != 0) {
        tsw_lint_find(c, nowhere(), "config 0 of pack %s is not the baseline %s", c->entry->name,
                      tsw_buf_text(&text));
        tsw_lint_fix(c, "make it again from a run of this pack");
    }
    tsw_buf_fini(&text);
}

/* Once for the table. */
void tsw_rule_release_only(tsw_lint_ctx_t *c)
{
    tsw_err_t why = TSW_ERR_INIT;
    if (c->entry != c->table->packs || tsw_table_usable(c->table, &why) == TSW_OK)
        return;
    tsw_lint_find(c, nowhere(), "%s", why.text);
    tsw_lint_fix(c, "run a job of purpose release on a GPU");
}

void tsw_rule_fallback(tsw_lint_ctx_t *c)
{
    bool has_pair = false;
    bool has_single = false;
    for (size_t i = 0; i < c->entry->config_count; i++) {
        int64_t value = tsw_lint_value_in(c->entry->configs[i], "num_ctas");
        has_pair = has_pair || value > 1;
        has_single = has_single || value <= 1;
    }
    if (!has_pair)
        return;
    if (!tsw_lint_arch_has_clusters(c->arch)) {
        tsw_lint_find(c, nowhere(), "pack %s has a config with num_ctas above 1", c->entry->name);
        tsw_lint_fix(c, "the arch has no clusters: take the table of another arch away from it");
    } else if (!has_single) {
        tsw_lint_find(c, nowhere(), "every config of pack %s has num_ctas above 1", c->entry->name);
        tsw_lint_fix(c, "take a baseline with num_ctas 1");
    }
}

void tsw_rule_same_pack(tsw_lint_ctx_t *c)
{
    if (c->pack == NULL || tsw_key_equal(c->pack->key, c->entry->pack_key))
        return;
    tsw_lint_find(c, nowhere(), "the files of pack %s have changed since the table was made",
                  c->entry->name);
    tsw_lint_fix(c, "run the job again: times of other sources are not comparable");
}
