/* Rules of a scenario that name what the run has not: they would never happen, and nobody would
 * know. */
#include "device/sim_scenario.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 80, NAMES_MAX = 64 };

static bool is_had(const tsw_sim_cast_t *cast, char *target)
{
    const tsw_sim_rule_t rule = {.target = target};
    for (size_t i = 0; i < cast->config_count; i++) {
        if (tsw_sim_rule_fits(&rule, &cast->configs[i]))
            return true;
    }
    return false;
}

static bool next_word(const char **at_p, char word[WORD_MAX])
{
    const char *at = *at_p + strspn(*at_p, " \t");
    size_t length = strcspn(at, " \t");
    snprintf(word, WORD_MAX, "%.*s", (int)length, at);
    *at_p = at + length;
    return length > 0;
}

/* ---- the nearest ---- */

/* The value that a config has for a name of so many letters. */
static bool value_in(const char *text, const char *name, size_t length, int64_t *value_p)
{
    char word[WORD_MAX];
    while (next_word(&text, word)) {
        if (strncmp(word, name, length) == 0 && word[length] == '=')
            return tsw_text_parse_i64(word + length + 1, value_p);
    }
    return false;
}

/* False: no config has the name. */
static bool nearest_value(const tsw_sim_cast_t *cast, const char *word, int64_t *nearest_p)
{
    const size_t length = strcspn(word, "=");
    int64_t wanted = 0;
    double least = -1;
    tsw_text_parse_i64(word + length + 1, &wanted);
    for (size_t i = 0; i < cast->config_count; i++) {
        int64_t value = 0;
        if (!value_in(cast->configs[i].text, word, length, &value))
            continue;
        double distance = (double)value - (double)wanted;
        distance = distance < 0 ? -distance : distance;
        if (least < 0 || distance < least) {
            least = distance;
            *nearest_p = value;
        }
    }
    return least >= 0;
}

/* Names of knobs, each once; texts of their own. */
static size_t names_of(const tsw_sim_cast_t *cast, char names[NAMES_MAX][WORD_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < cast->config_count; i++) {
        const char *at = cast->configs[i].text;
        char word[WORD_MAX];
        while (count < NAMES_MAX && next_word(&at, word)) {
            word[strcspn(word, "=")] = '\0';
            size_t same = 0;
            while (same < count && strcmp(names[same], word) != 0)
                same++;
            if (same == count)
                memcpy(names[count++], word, WORD_MAX);
        }
    }
    return count;
}

/* The config that has most words of the target. */
static const char *nearest_config(const tsw_sim_cast_t *cast, const char *target)
{
    const char *nearest = "";
    size_t most = 0;
    for (size_t i = 0; i < cast->config_count; i++) {
        const tsw_sim_cast_t alone = {.configs = &cast->configs[i], .config_count = 1};
        const char *at = target;
        char word[WORD_MAX];
        size_t had = 0;
        while (next_word(&at, word))
            had += is_had(&alone, word);
        if (had > most) {
            most = had;
            nearest = cast->configs[i].text;
        }
    }
    return nearest;
}

/* ---- faults ---- */

static tsw_status_t no_such_name(const tsw_sim_cast_t *cast, int line, char *word, tsw_err_t *err)
{
    char names[NAMES_MAX][WORD_MAX];
    const char *known[NAMES_MAX];
    size_t count = names_of(cast, names);
    for (size_t i = 0; i < count; i++)
        known[i] = names[i];
    word[strcspn(word, "=")] = '\0';
    const char *nearest = tsw_text_nearest(word, known, count);
    return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: target: no config of the job has %s%s%s%s",
                       line, word, nearest != NULL ? "; did you mean " : "",
                       nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}

static tsw_status_t check_words(const tsw_sim_cast_t *cast, const tsw_sim_rule_t *rule,
                                tsw_err_t *err)
{
    const char *at = rule->target;
    char word[WORD_MAX];
    while (next_word(&at, word)) {
        int64_t nearest = 0;
        if (is_had(cast, word))
            continue;
        if (!nearest_value(cast, word, &nearest))
            return no_such_name(cast, rule->line, word, err);
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "scenario:%d: target: no config of the job has %s; the nearest is "
                           "%.*s=%lld",
                           rule->line, word, (int)strcspn(word, "="), word, (long long)nearest);
    }
    return tsw_err_set(err, TSW_ERR_INPUT,
                       "scenario:%d: target: no config of the job has all of \"%s\"; the nearest "
                       "is %s",
                       rule->line, rule->target, nearest_config(cast, rule->target));
}

static tsw_status_t check_target(const tsw_sim_cast_t *cast, const tsw_sim_rule_t *rule,
                                 tsw_err_t *err)
{
    tsw_key_t key;
    if (rule->target == NULL || rule->fault == TSW_FAULT_THROTTLE || cast->config_count == 0 ||
        strcmp(rule->target, "reference") == 0 || is_had(cast, rule->target))
        return TSW_OK;
    if (tsw_key_parse(rule->target, &key))
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "scenario:%d: target: no config of the job has the key %s; knobs say "
                           "the same, as %s",
                           rule->line, rule->target, cast->configs[0].text);
    return check_words(cast, rule, err);
}

static tsw_status_t check_gpu(const tsw_sim_cast_t *cast, const tsw_sim_rule_t *rule,
                              tsw_err_t *err)
{
    int64_t nearest = -1, least = INT64_MAX;
    for (size_t i = 0; i < cast->gpu_count; i++) {
        const int64_t distance = llabs(cast->gpus[i] - rule->gpu);
        if (distance < least) {
            least = distance;
            nearest = cast->gpus[i];
        }
    }
    if (rule->gpu < 0 || cast->gpu_count == 0 || least == 0)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_INPUT,
                       "scenario:%d: gpu=%lld: the run has no such virtual GPU; the nearest is "
                       "gpu=%lld",
                       rule->line, (long long)rule->gpu, (long long)nearest);
}

static tsw_status_t check_rank(const tsw_sim_cast_t *cast, const tsw_sim_rule_t *rule,
                               tsw_err_t *err)
{
    const int64_t attempt = rule->attempt >= 0 ? rule->attempt : 1;
    if (attempt != cast->attempt || rule->rank < cast->rank_count)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_INPUT,
                       "scenario:%d: rank=%lld: the run has %d rank%s; the last is rank=%d",
                       rule->line, (long long)rule->rank, cast->rank_count,
                       cast->rank_count == 1 ? "" : "s", cast->rank_count - 1);
}

tsw_status_t tsw_sim_scenario_check(const char *text, const tsw_sim_cast_t *cast, tsw_err_t *err)
{
    tsw_sim_scenario_t scenario = {.rules = NULL};
    tsw_status_t status = tsw_sim_scenario_parse_all(text, &scenario, err);
    for (size_t i = 0; status == TSW_OK && i < scenario.count; i++) {
        const tsw_sim_rule_t *rule = &scenario.rules[i];
        status = check_target(cast, rule, err);
        if (status == TSW_OK)
            status = check_gpu(cast, rule, err);
        if (status == TSW_OK && rule->rank >= 0)
            status = check_rank(cast, rule, err);
    }
    tsw_sim_scenario_fini(&scenario);
    return status;
}
