#include "table/table_import.h"

#include "base/buf.h"
#include "base/mem.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Times beyond are kept as this one, which no launch reaches. */
#define TIME_MAX_NS 1e18

typedef struct {
    const char *label;
    tsw_import_t import;
    double unit_ns; /* of the file's times */
} work_t;

static const struct {
    const char *word;
    tsw_outcome_t outcome;
} words[] = {
    {"correct", TSW_OUTCOME_OK},
    {"InvalidConfig", TSW_OUTCOME_INVALID},
    {"constraints", TSW_OUTCOME_INVALID},
    {"CompilationFailedConfig", TSW_OUTCOME_COMPILE_FAILED},
    {"compile", TSW_OUTCOME_COMPILE_FAILED},
    {"RuntimeFailedConfig", TSW_OUTCOME_LAUNCH_FAILED},
    {"runtime", TSW_OUTCOME_LAUNCH_FAILED},
    {"timeout", TSW_OUTCOME_RUN_TIMEOUT},
    {"correctness", TSW_OUTCOME_WRONG_RESULT},
};

static const struct {
    const char *word;
    double ns;
} units[] = {
    {"milliseconds", 1e6}, {"miliseconds", 1e6}, /* as some write it */
    {"seconds", 1e9},      {"microseconds", 1e3}, {"nanoseconds", 1.0}, {"ms", 1e6}, {"s", 1e9},
    {"us", 1e3},           {"ns", 1.0},
};

static bool find_outcome(const json_t *value, tsw_outcome_t *outcome_p)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; text != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].word, text) == 0) {
            *outcome_p = words[i].outcome;
            return true;
        }
    }
    return false;
}

/* ---- configs ---- */

static bool is_value(const json_t *value)
{
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

static void format_value(const json_t *value, tsw_buf_t *out)
{
    if (json_is_string(value))
        tsw_buf_append_text(out, json_string_value(value));
    else if (json_is_integer(value))
        tsw_buf_printf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        tsw_buf_printf(out, "%.17g", json_real_value(value));
    else
        tsw_buf_append_text(out, json_is_true(value) ? "true" : "false");
}

static tsw_status_t add_value(const work_t *work, tsw_import_config_t *config, const char *key,
                              const json_t *value, tsw_buf_t *text, tsw_err_t *err)
{
    tsw_buf_t one = TSW_BUF_INIT;
    if (!is_value(value))
        return tsw_err_set(err, TSW_ERR_INPUT, "%s: config %zu %s '%.60s'", work->label,
                           (size_t)(config - work->import.configs),
                           value == NULL ? "has no" : "has neither a number nor a word as", key);
    tsw_import_value_t *entry = &config->values[config->value_count++];
    format_value(value, &one);
    tsw_buf_printf(text, "%s%s=%s", text->size > 0 ? " " : "", key, tsw_buf_text(&one));
    entry->name = tsw_strdup(key);
    entry->value = tsw_buf_take_text(&one);
    return entry->name != NULL && entry->value != NULL ? TSW_OK : tsw_err_nomem(err);
}

/* keys NULL: all of the object's. */
static tsw_status_t take_config(const work_t *work, const json_t *object, const json_t *keys,
                                tsw_import_config_t *config, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    const char *key;
    json_t *value;
    size_t i;
    size_t count = keys != NULL ? json_array_size(keys) : json_object_size(object);
    config->values = tsw_calloc(count + 1, sizeof(*config->values));
    tsw_status_t status = config->values != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK && keys != NULL) {
        json_array_foreach(keys, i, value)
        {
            key = json_string_value(value);
            if (status == TSW_OK)
                status = add_value(work, config, key, json_object_get(object, key), &text, err);
        }
    } else if (status == TSW_OK) {
        json_object_foreach((json_t *)(uintptr_t)object, key, value)
        {
            if (status == TSW_OK)
                status = add_value(work, config, key, value, &text, err);
        }
    }
    config->config = tsw_buf_take_text(&text);
    return status == TSW_OK && config->config == NULL ? tsw_err_nomem(err) : status;
}

/* The config's times: a list, or else one number. What is no time is left out. */
static tsw_status_t take_times(const work_t *work, const json_t *list, const json_t *one,
                               tsw_import_config_t *config, tsw_err_t *err)
{
    size_t count = json_is_array(list) ? json_array_size(list) : 1;
    config->times_ns = tsw_calloc(count, sizeof(*config->times_ns));
    if (config->times_ns == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_is_array(list) ? json_array_get(list, i) : one;
        double time_ns = json_number_value(value) * work->unit_ns;
        if (json_is_number(value) && time_ns > 0.0)
            config->times_ns[config->count++] = fmin(time_ns, TIME_MAX_NS);
    }
    if (config->count == 0)
        config->outcome = TSW_OUTCOME_SKIPPED; /* ok, they say, without a time */
    return TSW_OK;
}

static tsw_status_t make_room(work_t *work, size_t count, tsw_err_t *err)
{
    work->import.configs = tsw_calloc(count, sizeof(*work->import.configs));
    return work->import.configs != NULL ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t fault(const work_t *work, size_t index, const char *what, tsw_err_t *err)
{
    return tsw_err_set(err, TSW_ERR_INPUT, "%s: config %zu: %s", work->label, index, what);
}

/* ---- Kernel Tuner ---- */

static tsw_status_t take_cached(work_t *work, const json_t *root, const json_t *entry,
                                tsw_err_t *err)
{
    tsw_import_config_t *config = &work->import.configs[work->import.count];
    const char *objective = json_string_value(json_object_get(root, "objective"));
    const json_t *value = json_object_get(entry, objective != NULL ? objective : "time");
    if (value == NULL)
        value = json_object_get(entry, "time");
    const json_t *error = json_object_get(entry, "__error__");
    if (!json_is_object(entry))
        return fault(work, work->import.count, "no object", err);
    work->import.count++;
    tsw_status_t status =
        take_config(work, entry, json_object_get(root, "tune_params_keys"), config, err);
    if (status != TSW_OK || find_outcome(error != NULL ? error : value, &config->outcome))
        return status;
    if (error != NULL || json_is_string(value))
        return fault(work, work->import.count - 1, "an error of an unknown kind", err);
    return take_times(work, json_object_get(entry, "times"), json_object_get(entry, "time"), config,
                      err);
}

static bool are_names(const json_t *list)
{
    const json_t *name;
    size_t i;
    bool good = json_is_array(list);
    json_array_foreach(list, i, name)
    {
        good = good && json_is_string(name);
    }
    return good;
}

static tsw_status_t take_cache(work_t *work, const json_t *root, tsw_err_t *err)
{
    json_t *cache = json_object_get(root, "cache");
    const char *key;
    json_t *entry;
    if (!json_is_object(cache) || !are_names(json_object_get(root, "tune_params_keys")))
        return tsw_err_set(
            err, TSW_ERR_INPUT,
            "%s: a cache file needs a map 'cache' and a list of names 'tune_params_keys'",
            work->label);
    work->unit_ns = 1e6;
    tsw_status_t status = make_room(work, json_object_size(cache), err);
    if (status != TSW_OK)
        return status;
    json_object_foreach(cache, key, entry)
    {
        status = take_cached(work, root, entry, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

/* ---- T4 ---- */

static tsw_status_t take_unit(work_t *work, const json_t *root, tsw_err_t *err)
{
    const char *unit =
        json_string_value(json_object_get(json_object_get(root, "metadata"), "timeunit"));
    if (unit == NULL || unit[0] == '\0')
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "%s: no unit of time: 'metadata' needs \"timeunit\": \"milliseconds\", "
                           "or another",
                           work->label);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcasecmp(unit, units[i].word) == 0) {
            work->unit_ns = units[i].ns;
            return TSW_OK;
        }
    }
    return tsw_err_set(err, TSW_ERR_INPUT,
                       "%s: the time unit '%.40s' is unknown, wanted one of seconds, milliseconds, "
                       "microseconds, nanoseconds, s, ms, us, ns",
                       work->label, unit);
}

static tsw_status_t take_result(work_t *work, const json_t *result, tsw_err_t *err)
{
    tsw_import_config_t *config = &work->import.configs[work->import.count];
    const json_t *configuration = json_object_get(result, "configuration");
    const json_t *invalidity = json_object_get(result, "invalidity");
    const json_t *correctness = json_object_get(result, "correctness");
    if (!json_is_object(configuration))
        return fault(work, work->import.count, "no 'configuration'", err);
    if (invalidity != NULL && !find_outcome(invalidity, &config->outcome))
        return fault(work, work->import.count, "an 'invalidity' of an unknown kind", err);
    work->import.count++;
    tsw_status_t status = take_config(work, configuration, NULL, config, err);
    bool wrong = json_is_number(correctness) && json_number_value(correctness) <= 0.0;
    if (wrong && config->outcome == TSW_OUTCOME_OK)
        config->outcome = TSW_OUTCOME_WRONG_RESULT;
    if (status != TSW_OK || config->outcome != TSW_OUTCOME_OK)
        return status;
    const json_t *runtimes = json_object_get(json_object_get(result, "times"), "runtimes");
    return take_times(work, runtimes, NULL, config, err);
}

static tsw_status_t take_results(work_t *work, const json_t *root, tsw_err_t *err)
{
    const json_t *results = json_object_get(root, "results");
    const json_t *result;
    size_t i;
    if (!json_is_array(results))
        return tsw_err_set(err, TSW_ERR_INPUT, "%s: 'results' is no list", work->label);
    tsw_status_t status = take_unit(work, root, err);
    if (status == TSW_OK)
        status = make_room(work, json_array_size(results), err);
    if (status != TSW_OK)
        return status;
    json_array_foreach(results, i, result)
    {
        status = take_result(work, result, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

/* ---- the file ---- */

static json_t *parse(const char *text, size_t size, json_error_t *why)
{
    return json_loadb(text, size, JSON_REJECT_DUPLICATES, why);
}

/* A cache file whose tuner has not closed it: what is missing is put behind it. NULL: that is not
 * what is wrong with it. */
static json_t *parse_open(const char *text, size_t size)
{
    json_error_t why;
    tsw_buf_t closed = TSW_BUF_INIT;
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
        size--;
    if (size > 0 && text[size - 1] == ',')
        size--;
    tsw_buf_append(&closed, text, size);
    tsw_buf_append_text(&closed, "}}");
    json_t *root = tsw_buf_ok(&closed) ? parse(tsw_buf_text(&closed), closed.size, &why) : NULL;
    tsw_buf_fini(&closed);
    return root;
}

static tsw_status_t take_names(work_t *work, const json_t *root, tsw_err_t *err)
{
    const char *device = json_string_value(json_object_get(root, "device_name"));
    const char *kernel = json_string_value(json_object_get(root, "kernel_name"));
    work->import.device = tsw_strdup(device != NULL ? device : "");
    work->import.kernel = tsw_strdup(kernel != NULL ? kernel : "");
    return work->import.device != NULL && work->import.kernel != NULL ? TSW_OK : tsw_err_nomem(err);
}

tsw_status_t tsw_import_read(const char *label, const char *text, size_t size,
                             tsw_import_t *import_p, tsw_err_t *err)
{
    work_t work = {.label = label};
    json_error_t why;
    if (size == 0)
        return tsw_err_set(err, TSW_ERR_INPUT, "%s:1:0: the file is empty", label);
    json_t *root = parse(text, size, &why);
    if (root == NULL)
        root = parse_open(text, size);
    if (root == NULL)
        return tsw_err_set(err, TSW_ERR_INPUT, "%s:%d:%d: %s", label, why.line, why.column,
                           why.text);
    tsw_status_t status = take_names(&work, root, err);
    if (status == TSW_OK && json_object_get(root, "cache") != NULL)
        status = take_cache(&work, root, err);
    else if (status == TSW_OK && json_object_get(root, "results") != NULL)
        status = take_results(&work, root, err);
    else if (status == TSW_OK)
        status = tsw_err_set(err, TSW_ERR_INPUT,
                             "%s: neither a cache file of Kernel Tuner nor T4 results", label);
    json_decref(root);
    if (status == TSW_OK)
        *import_p = work.import;
    else
        tsw_import_fini(&work.import);
    return status;
}

void tsw_import_fini(tsw_import_t *import)
{
    for (size_t i = 0; i < import->count; i++) {
        tsw_import_config_t *config = &import->configs[i];
        for (size_t k = 0; k < config->value_count; k++) {
            tsw_free(config->values[k].name);
            tsw_free(config->values[k].value);
        }
        tsw_free(config->values);
        tsw_free(config->config);
        tsw_free(import->configs[i].times_ns);
    }
    tsw_free(import->configs);
    tsw_free(import->device);
    tsw_free(import->kernel);
    *import = (tsw_import_t){0};
}
