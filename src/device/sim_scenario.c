#include "device/sim_scenario.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static const char *const fault_names[] = {
    [TSW_FAULT_NONE] = "",           [TSW_FAULT_WRONG] = "wrong",
    [TSW_FAULT_NAN] = "nan",         [TSW_FAULT_UNWRITTEN] = "unwritten",
    [TSW_FAULT_OVERRUN] = "overrun", [TSW_FAULT_INPUT] = "input",
    [TSW_FAULT_INPLACE] = "inplace", [TSW_FAULT_LAUNCH] = "launch",
    [TSW_FAULT_HANG] = "hang",       [TSW_FAULT_LOST] = "lost",
    [TSW_FAULT_CRASH] = "crash",     [TSW_FAULT_LOAD] = "load",
    [TSW_FAULT_OOM] = "oom",         [TSW_FAULT_SLOW] = "slow",
    [TSW_FAULT_CANARY] = "canary",   [TSW_FAULT_CAPACITY] = "capacity",
    [TSW_FAULT_PACE] = "pace",
};

enum { FAULT_COUNT = sizeof(fault_names) / sizeof(fault_names[0]) };

static bool takes_value(tsw_fault_t fault)
{
    return fault == TSW_FAULT_SLOW || fault == TSW_FAULT_CAPACITY || fault == TSW_FAULT_PACE;
}

static bool takes_target(tsw_fault_t fault)
{
    return fault < TSW_FAULT_CANARY;
}

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t\r");
}

/* Cuts the next word off; "" at the end of the line. */
static char *next_word(char **at_p)
{
    char *word = skip_blanks(*at_p);
    char *end = word + strcspn(word, " \t\r");
    if (*end != '\0')
        *end++ = '\0';
    *at_p = end;
    return word;
}

static tsw_status_t parse_fault(char *word, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    char *at = strchr(word, '@');
    int64_t launch = 1;
    if (at != NULL) {
        *at++ = '\0';
        if (!tsw_text_parse_i64(at, &launch) || launch < 1)
            return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: bad launch number \"%s\"", line,
                               at);
    }
    rule->from_launch = (uint64_t)launch;
    for (size_t i = 1; i < FAULT_COUNT; i++) {
        if (strcmp(word, fault_names[i]) == 0) {
            rule->fault = (tsw_fault_t)i;
            return TSW_OK;
        }
    }
    const char *nearest = tsw_text_nearest(word, fault_names + 1, FAULT_COUNT - 1);
    return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: unknown fault \"%s\"%s%s%s", line, word,
                       nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "\"?" : "");
}

static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
        text[--length] = '\0';
}

static tsw_status_t parse_target(char *text, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    trim_end(text);
    if (text[0] == '\0')
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "scenario:%d: no target: \"*\", \"reference\" or knobs of a config",
                           line);
    rule->target = tsw_strdup(text);
    return rule->target != NULL ? TSW_OK : tsw_err_nomem(err);
}

/* One line; *mine_p: there is a rule, and it is for this GPU. The caller frees its target. */
static tsw_status_t parse_line(char *at, int line, uint32_t gpu, tsw_sim_rule_t *rule_p,
                               bool *mine_p, tsw_err_t *err)
{
    tsw_sim_rule_t rule = {.value = 1.0};
    char *word = next_word(&at);
    *mine_p = word[0] != '\0';
    if (!*mine_p)
        return TSW_OK;
    if (tsw_text_starts_with(word, "gpu=")) {
        int64_t id = 0;
        if (!tsw_text_parse_i64(word + 4, &id) || id < 0)
            return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: bad GPU number \"%s\"", line,
                               word + 4);
        *mine_p = (uint64_t)id == gpu;
        word = next_word(&at);
    }
    tsw_status_t status = parse_fault(word, line, &rule, err);
    if (status == TSW_OK && takes_value(rule.fault)) {
        word = next_word(&at);
        if (!tsw_text_parse_f64(word, &rule.value) || rule.value <= 0)
            status = tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: %s needs a number above 0", line,
                                 fault_names[rule.fault]);
    }
    at = skip_blanks(at);
    if (status == TSW_OK && takes_target(rule.fault))
        status = parse_target(at, line, &rule, err);
    else if (status == TSW_OK && *at != '\0')
        status = tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: %s takes no target", line,
                             fault_names[rule.fault]);
    if (status == TSW_OK)
        *rule_p = rule;
    return status;
}

tsw_status_t tsw_sim_scenario_parse(const char *text, uint32_t gpu, tsw_sim_scenario_t *scenario_p,
                                    tsw_err_t *err)
{
    tsw_sim_scenario_t scenario = {.rules = NULL};
    tsw_status_t status = TSW_OK;
    char *copy = tsw_strdup(text != NULL ? text : "");
    if (copy == NULL)
        return tsw_err_nomem(err);
    char *at = copy;
    for (int line = 1; at != NULL && status == TSW_OK; line++) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end++ = '\0';
        at[strcspn(at, "#")] = '\0';
        tsw_sim_rule_t rule = {.value = 1.0};
        bool mine = false;
        status = parse_line(at, line, gpu, &rule, &mine, err);
        if (status == TSW_OK && mine &&
            !TSW_GROW(scenario.rules, scenario.capacity, scenario.count))
            status = tsw_err_nomem(err);
        if (status == TSW_OK && mine)
            scenario.rules[scenario.count++] = rule;
        else
            tsw_free(rule.target);
        at = end;
    }
    tsw_free(copy);
    if (status != TSW_OK)
        tsw_sim_scenario_fini(&scenario);
    else
        *scenario_p = scenario;
    return status;
}

void tsw_sim_scenario_fini(tsw_sim_scenario_t *scenario)
{
    for (size_t i = 0; i < scenario->count; i++)
        tsw_free(scenario->rules[i].target);
    tsw_free(scenario->rules);
    *scenario = (tsw_sim_scenario_t){.rules = NULL};
}

/* Whether text, words between single blanks, has this word. */
static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool has_all_words(const char *text, const char *words)
{
    const char *at = words + strspn(words, " \t");
    while (*at != '\0') {
        size_t length = strcspn(at, " \t");
        if (!has_word(text, at, length))
            return false;
        at += length + strspn(at + length, " \t");
    }
    return true;
}

static bool fits(const tsw_sim_rule_t *rule, const tsw_sim_subject_t *subject)
{
    tsw_key_t key;
    if (rule->target == NULL)
        return false;
    if (subject->text == NULL)
        return strcmp(rule->target, "reference") == 0;
    if (strcmp(rule->target, "*") == 0)
        return true;
    if (tsw_key_parse(rule->target, &key))
        return tsw_key_equal(key, subject->key);
    return has_all_words(subject->text, rule->target);
}

tsw_fault_t tsw_sim_fault_at_load(const tsw_sim_scenario_t *scenario,
                                  const tsw_sim_subject_t *subject)
{
    for (size_t i = 0; i < scenario->count; i++) {
        const tsw_sim_rule_t *rule = &scenario->rules[i];
        if ((rule->fault == TSW_FAULT_LOAD || rule->fault == TSW_FAULT_OOM) && fits(rule, subject))
            return rule->fault;
    }
    return TSW_FAULT_NONE;
}

tsw_fault_t tsw_sim_fault_at_launch(const tsw_sim_scenario_t *scenario,
                                    const tsw_sim_subject_t *subject, uint64_t launch)
{
    for (size_t i = 0; i < scenario->count; i++) {
        const tsw_sim_rule_t *rule = &scenario->rules[i];
        bool of_launch = rule->fault >= TSW_FAULT_WRONG && rule->fault <= TSW_FAULT_CRASH;
        if (of_launch && launch >= rule->from_launch && fits(rule, subject))
            return rule->fault;
    }
    return TSW_FAULT_NONE;
}

double tsw_sim_slowness(const tsw_sim_scenario_t *scenario, const tsw_sim_subject_t *subject)
{
    for (size_t i = 0; i < scenario->count; i++)
        if (scenario->rules[i].fault == TSW_FAULT_SLOW && fits(&scenario->rules[i], subject))
            return scenario->rules[i].value;
    return 1.0;
}

const tsw_sim_rule_t *tsw_sim_gpu_rule(const tsw_sim_scenario_t *scenario, tsw_fault_t fault)
{
    for (size_t i = 0; i < scenario->count; i++)
        if (scenario->rules[i].fault == fault)
            return &scenario->rules[i];
    return NULL;
}
