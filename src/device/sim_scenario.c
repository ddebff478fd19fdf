#include "device/sim_scenario.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    bool value, target, of_rank;
} shape_t;

static const shape_t shapes[] = {
    [TSW_FAULT_NONE] = {.name = ""},
    [TSW_FAULT_WRONG] = {.name = "wrong", .target = true},
    [TSW_FAULT_NAN] = {.name = "nan", .target = true},
    [TSW_FAULT_UNWRITTEN] = {.name = "unwritten", .target = true},
    [TSW_FAULT_OVERRUN] = {.name = "overrun", .target = true},
    [TSW_FAULT_INPUT] = {.name = "input", .target = true},
    [TSW_FAULT_INPLACE] = {.name = "inplace", .target = true},
    [TSW_FAULT_LAUNCH] = {.name = "launch", .target = true},
    [TSW_FAULT_HANG] = {.name = "hang", .target = true},
    [TSW_FAULT_LOST] = {.name = "lost", .target = true},
    [TSW_FAULT_CRASH] = {.name = "crash", .target = true},
    [TSW_FAULT_LOAD] = {.name = "load", .target = true},
    [TSW_FAULT_OOM] = {.name = "oom", .target = true},
    [TSW_FAULT_SLOW] = {.name = "slow", .target = true, .value = true},
    [TSW_FAULT_POWER] = {.name = "power", .target = true, .value = true},
    [TSW_FAULT_THROTTLE] = {.name = "throttle", .target = true, .value = true},
    [TSW_FAULT_CANARY] = {.name = "canary"},
    [TSW_FAULT_CAPACITY] = {.name = "capacity", .value = true},
    [TSW_FAULT_PACE] = {.name = "pace", .value = true},
    [TSW_FAULT_KILL] = {.name = "kill", .of_rank = true},
    [TSW_FAULT_DIE] = {.name = "die", .of_rank = true},
    [TSW_FAULT_ABORT] = {.name = "abort", .of_rank = true},
    [TSW_FAULT_FULL] = {.name = "full", .of_rank = true},
};

enum { FAULT_COUNT = sizeof(shapes) / sizeof(shapes[0]) };

/* Of NVML's mask. */
static const struct {
    const char *name;
    uint64_t bit;
} reasons[] = {
    {"power_cap", 0x4},   {"hw_slowdown", 0x8},  {"sw_thermal", 0x20},
    {"hw_thermal", 0x40}, {"power_brake", 0x80},
};

enum { REASON_COUNT = sizeof(reasons) / sizeof(reasons[0]) };

static tsw_status_t unknown(int line, const char *what, const char *word, const char *const *known,
                            size_t count, tsw_err_t *err)
{
    const char *nearest = tsw_text_nearest(word, known, count);
    return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: unknown %s \"%s\"%s%s%s", line, what, word,
                       nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "\"?" : "");
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

/* "3", or where a range is allowed "3-5"; from there on without one. */
static tsw_status_t parse_when(char *text, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    int64_t from = 0, to = 0;
    char *dash = rule->fault == TSW_FAULT_THROTTLE ? strchr(text, '-') : NULL;
    if (dash != NULL)
        *dash++ = '\0';
    bool ok = tsw_text_parse_i64(text, &from) && from >= 1 &&
              (dash == NULL || (tsw_text_parse_i64(dash, &to) && to >= from));
    if (!ok)
        return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: bad number \"%s%s%s\" after @", line,
                           text, dash != NULL ? "-" : "", dash != NULL ? dash : "");
    rule->from = (uint64_t)from;
    rule->to = dash != NULL ? (uint64_t)to : UINT64_MAX;
    return TSW_OK;
}

static tsw_status_t parse_fault(char *word, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    const char *names[FAULT_COUNT];
    char *when = strchr(word, '@');
    if (when != NULL)
        *when++ = '\0';
    for (size_t i = 1; i < FAULT_COUNT; i++)
        if (strcmp(word, names[i] = shapes[i].name) == 0)
            rule->fault = (tsw_fault_t)i;
    if (rule->fault == TSW_FAULT_NONE)
        return unknown(line, "fault", word, names + 1, FAULT_COUNT - 1, err);
    return when != NULL ? parse_when(when, line, rule, err) : TSW_OK;
}

/* KEY=NUMBER in front of the fault. */
static tsw_status_t parse_key(char *word, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    static const char *const keys[] = {"gpu", "rank", "attempt"};
    int64_t *const targets[] = {&rule->gpu, &rule->rank, &rule->attempt};
    char *text = strchr(word, '=');
    *text++ = '\0';
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(word, keys[i]) != 0)
            continue;
        const bool from_one = targets[i] == &rule->attempt;
        if (!tsw_text_parse_i64(text, targets[i]) || *targets[i] < from_one)
            return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: %s: bad number \"%s\"", line, word,
                               text);
        return TSW_OK;
    }
    return unknown(line, "key", word, keys, sizeof(keys) / sizeof(keys[0]), err);
}

static tsw_status_t check_scope(const tsw_sim_rule_t *rule, int line, tsw_err_t *err)
{
    const shape_t *shape = &shapes[rule->fault];
    if (shape->of_rank && (rule->gpu >= 0 || rule->rank < 0))
        return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: %s is of a rank: rank=N%s", line,
                           shape->name, rule->gpu >= 0 ? ", not gpu=N" : " is missing");
    if (!shape->of_rank && (rule->rank >= 0 || rule->attempt >= 0))
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "scenario:%d: %s is of a GPU: gpu=N, not rank=N nor attempt=N", line,
                           shape->name);
    return TSW_OK;
}

static tsw_status_t parse_reason(tsw_sim_rule_t *rule, int line, tsw_err_t *err)
{
    const char *names[REASON_COUNT];
    for (size_t i = 0; i < REASON_COUNT; i++)
        if (strcmp(rule->target, names[i] = reasons[i].name) == 0)
            rule->reason = reasons[i].bit;
    if (rule->reason == 0)
        return unknown(line, "reason", rule->target, names, REASON_COUNT, err);
    if (rule->value > 1)
        return tsw_err_set(
            err, TSW_ERR_INPUT,
            "scenario:%d: throttle needs the share of the clock that is left, 0 to 1", line);
    return TSW_OK;
}

static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
        text[--length] = '\0';
}

/* "KNOB=VALUE", both there. */
static bool is_knob(const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    int64_t value = 0;
    char text[32];
    if (equals == NULL || equals == word)
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)(word + length - equals - 1), equals + 1);
    return tsw_text_parse_i64(text, &value);
}

/* A word that no config can have would be a fault that never happens. */
static tsw_status_t check_target(const char *target, int line, tsw_err_t *err)
{
    tsw_key_t key;
    if (strcmp(target, "*") == 0 || strcmp(target, "reference") == 0 || tsw_key_parse(target, &key))
        return TSW_OK;
    for (const char *at = target; *at != '\0'; at += strspn(at, " \t")) {
        size_t length = strcspn(at, " \t");
        if (!is_knob(at, length))
            return tsw_err_set(err, TSW_ERR_INPUT,
                               "scenario:%d: target \"%.*s\": it is *, reference, knobs as "
                               "TILE_M=128, or a config's key of 32 hex digits",
                               line, (int)(length < 40 ? length : 40), at);
        at += length;
    }
    return TSW_OK;
}

static tsw_status_t parse_target(char *text, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    trim_end(text);
    if (text[0] == '\0')
        return tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: no %s", line,
                           rule->fault == TSW_FAULT_THROTTLE
                               ? "reason: power_cap, hw_slowdown, sw_thermal, .."
                               : "target: \"*\", \"reference\" or knobs of a config");
    rule->target = tsw_strdup(text);
    if (rule->target == NULL)
        return tsw_err_nomem(err);
    return rule->fault == TSW_FAULT_THROTTLE ? parse_reason(rule, line, err)
                                             : check_target(text, line, err);
}

/* One line; the fault stays NONE when there is no rule in it. The caller frees the target, also
 * after an error. */
static tsw_status_t parse_line(char *at, int line, tsw_sim_rule_t *rule, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    char *word = next_word(&at);
    if (word[0] == '\0')
        return TSW_OK;
    while (status == TSW_OK && strchr(word, '=') != NULL) {
        status = parse_key(word, line, rule, err);
        word = next_word(&at);
    }
    if (status == TSW_OK)
        status = parse_fault(word, line, rule, err);
    if (status == TSW_OK)
        status = check_scope(rule, line, err);
    const shape_t *shape = &shapes[rule->fault];
    if (status == TSW_OK && shape->value) {
        word = next_word(&at);
        if (!tsw_text_parse_f64(word, &rule->value) || rule->value <= 0)
            status = tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: %s needs a number above 0", line,
                                 shape->name);
    }
    at = skip_blanks(at);
    if (status == TSW_OK && shape->target)
        status = parse_target(at, line, rule, err);
    else if (status == TSW_OK && *at != '\0')
        status =
            tsw_err_set(err, TSW_ERR_INPUT, "scenario:%d: %s takes no target", line, shape->name);
    return status;
}

typedef struct {
    enum { OF_ALL, OF_GPU, OF_RANK } kind;
    int64_t number; /* of the GPU or the rank */
} whose_t;

static bool is_for(const tsw_sim_rule_t *rule, whose_t whose)
{
    if (rule->fault == TSW_FAULT_NONE || whose.kind == OF_ALL)
        return rule->fault != TSW_FAULT_NONE;
    if (shapes[rule->fault].of_rank != (whose.kind == OF_RANK))
        return false;
    return whose.kind == OF_RANK ? rule->rank == whose.number
                                 : rule->gpu < 0 || rule->gpu == whose.number;
}

static tsw_status_t parse(const char *text, whose_t whose, tsw_sim_scenario_t *scenario_p,
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
        tsw_sim_rule_t rule = {.value = 1.0,
                               .gpu = -1,
                               .rank = -1,
                               .attempt = -1,
                               .from = 1,
                               .to = UINT64_MAX,
                               .line = line};
        status = parse_line(at, line, &rule, err);
        bool mine = status == TSW_OK && is_for(&rule, whose);
        if (mine && !TSW_GROW(scenario.rules, scenario.capacity, scenario.count))
            status = tsw_err_nomem(err);
        if (mine && status == TSW_OK)
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

tsw_status_t tsw_sim_scenario_parse(const char *text, uint32_t gpu, tsw_sim_scenario_t *scenario_p,
                                    tsw_err_t *err)
{
    return parse(text, (whose_t){.kind = OF_GPU, .number = gpu}, scenario_p, err);
}

tsw_status_t tsw_sim_scenario_parse_rank(const char *text, int rank, tsw_sim_scenario_t *scenario_p,
                                         tsw_err_t *err)
{
    return parse(text, (whose_t){.kind = OF_RANK, .number = rank}, scenario_p, err);
}

tsw_status_t tsw_sim_scenario_parse_all(const char *text, tsw_sim_scenario_t *scenario_p,
                                        tsw_err_t *err)
{
    return parse(text, (whose_t){.kind = OF_ALL}, scenario_p, err);
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

bool tsw_sim_rule_fits(const tsw_sim_rule_t *rule, const tsw_sim_subject_t *subject)
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
        if ((rule->fault == TSW_FAULT_LOAD || rule->fault == TSW_FAULT_OOM) &&
            tsw_sim_rule_fits(rule, subject))
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
        if (of_launch && launch >= rule->from && tsw_sim_rule_fits(rule, subject))
            return rule->fault;
    }
    return TSW_FAULT_NONE;
}

static double factor_of(const tsw_sim_scenario_t *scenario, tsw_fault_t fault,
                        const tsw_sim_subject_t *subject)
{
    for (size_t i = 0; i < scenario->count; i++)
        if (scenario->rules[i].fault == fault && tsw_sim_rule_fits(&scenario->rules[i], subject))
            return scenario->rules[i].value;
    return 1.0;
}

double tsw_sim_slowness(const tsw_sim_scenario_t *scenario, const tsw_sim_subject_t *subject)
{
    return factor_of(scenario, TSW_FAULT_SLOW, subject);
}

double tsw_sim_power(const tsw_sim_scenario_t *scenario, const tsw_sim_subject_t *subject)
{
    return factor_of(scenario, TSW_FAULT_POWER, subject);
}

const tsw_sim_rule_t *tsw_sim_gpu_rule(const tsw_sim_scenario_t *scenario, tsw_fault_t fault)
{
    for (size_t i = 0; i < scenario->count; i++)
        if (scenario->rules[i].fault == fault)
            return &scenario->rules[i];
    return NULL;
}

const tsw_sim_rule_t *tsw_sim_throttle(const tsw_sim_scenario_t *scenario, uint32_t round)
{
    for (size_t i = 0; i < scenario->count; i++) {
        const tsw_sim_rule_t *rule = &scenario->rules[i];
        if (rule->fault == TSW_FAULT_THROTTLE && round >= rule->from && round <= rule->to)
            return rule;
    }
    return NULL;
}

bool tsw_sim_rank_event(const tsw_sim_scenario_t *scenario, tsw_fault_t fault, uint32_t attempt,
                        uint64_t number)
{
    for (size_t i = 0; i < scenario->count; i++) {
        const tsw_sim_rule_t *rule = &scenario->rules[i];
        if (rule->fault == fault && rule->from == number &&
            attempt == (rule->attempt >= 0 ? rule->attempt : 1))
            return true;
    }
    return false;
}
