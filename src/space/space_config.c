#include "base/text.h"
#include "space/space.h"

#include <string.h>

enum { WORD_MAX = 256 };

void tsw_config_format(const tsw_pack_t *pack, const tsw_config_t *config, tsw_buf_t *out)
{
    for (size_t i = 0; i < pack->knob_count; i++)
        tsw_buf_printf(out, "%s%s=%lld", i > 0 ? " " : "", pack->knobs[i].name,
                       (long long)config->values[i]);
}

void tsw_config_set_key(const tsw_pack_t *pack, tsw_config_t *config)
{
    /* A chain of fixed-size links: no memory is needed, so no failure is possible. */
    struct {
        tsw_key_t before;
        tsw_key_t name;
        int64_t value;
    } link = {.before = tsw_key_of_text("config")};
    for (size_t i = 0; i < pack->knob_count; i++) {
        link.name = tsw_key_of_text(pack->knobs[i].name);
        link.value = config->values[i];
        link.before = tsw_key_of(&link, sizeof(link));
    }
    config->key = link.before;
}

tsw_config_t tsw_config_baseline(const tsw_pack_t *pack, tsw_arch_t arch)
{
    tsw_config_t config = {0};
    memcpy(config.values, tsw_pack_baseline(pack, arch),
           pack->knob_count * sizeof(config.values[0]));
    tsw_config_set_key(pack, &config);
    return config;
}

static tsw_status_t refuse_name(const tsw_pack_t *pack, const char *name, tsw_err_t *err)
{
    const char *known[TSW_KNOB_MAX];
    for (size_t i = 0; i < pack->knob_count; i++)
        known[i] = pack->knobs[i].name;
    const char *nearest = tsw_text_nearest(name, known, pack->knob_count);
    return tsw_err_set(err, TSW_ERR_ARG, "config: pack %s has no \"%s\"%s%s%s", pack->name, name,
                       nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "\"?" : "");
}

/* One word "NAME=value". */
static tsw_status_t parse_word(const tsw_pack_t *pack, char *word, tsw_config_t *config, bool *seen,
                               tsw_err_t *err)
{
    char *equals = strchr(word, '=');
    if (equals == NULL)
        return tsw_err_set(err, TSW_ERR_ARG, "config: \"%s\" is not of the form NAME=VALUE", word);
    *equals = '\0';
    int knob = tsw_pack_knob_index(pack, word);
    if (knob < 0)
        return refuse_name(pack, word, err);
    if (seen[knob])
        return tsw_err_set(err, TSW_ERR_ARG, "config: %s is there twice", word);
    if (!tsw_text_parse_i64(equals + 1, &config->values[knob]))
        return tsw_err_set(err, TSW_ERR_ARG, "config: %s=%s: not a 64-bit integer", word,
                           equals + 1);
    seen[knob] = true;
    return TSW_OK;
}

/* The next word of *text, which moves on; false at the end. */
static bool next_word(const char **text, char word[WORD_MAX], tsw_err_t *err, tsw_status_t *status)
{
    *text += strspn(*text, " ");
    size_t length = strcspn(*text, " ");
    if (length == 0)
        return false;
    if (length >= WORD_MAX) {
        *status = tsw_err_set(err, TSW_ERR_ARG, "config: a word of %zu bytes", length);
        return false;
    }
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    return true;
}

tsw_status_t tsw_config_parse(const tsw_pack_t *pack, const char *text, tsw_config_t *config_p,
                              tsw_err_t *err)
{
    tsw_config_t config = {0};
    bool seen[TSW_KNOB_MAX] = {false};
    char word[WORD_MAX];
    tsw_status_t status = TSW_OK;
    while (status == TSW_OK && next_word(&text, word, err, &status))
        status = parse_word(pack, word, &config, seen, err);
    for (size_t i = 0; status == TSW_OK && i < pack->knob_count; i++) {
        if (!seen[i])
            status = tsw_err_set(err, TSW_ERR_ARG, "config: %s is missing", pack->knobs[i].name);
    }
    if (status != TSW_OK)
        return status;
    tsw_config_set_key(pack, &config);
    *config_p = config;
    return TSW_OK;
}

void tsw_variant_format_flags(const tsw_variant_t *variant, tsw_buf_t *out)
{
    const tsw_pack_t *pack = variant->pack;
    tsw_buf_printf(out, "dtype=%s", tsw_dtype_name(variant->dtype));
    for (size_t i = 0; i < pack->flag_count; i++)
        tsw_buf_printf(out, " %s=%s", pack->flags[i].name,
                       pack->flags[i].values[variant->flags[i]]);
}

void tsw_variant_format(const tsw_variant_t *variant, tsw_buf_t *out)
{
    const tsw_pack_t *pack = variant->pack;
    tsw_variant_format_flags(variant, out);
    for (size_t i = 0; i < pack->dim_count; i++) {
        if (pack->dim_is_static[i])
            tsw_buf_printf(out, " %s=%lld", pack->dims[i], (long long)variant->static_dims[i]);
    }
}

void tsw_shape_format(const tsw_pack_t *pack, const int64_t dims[TSW_DIM_MAX], tsw_buf_t *out)
{
    for (size_t i = 0; i < pack->dim_count; i++)
        tsw_buf_printf(out, "%s%s=%lld", i > 0 ? " " : "", pack->dims[i], (long long)dims[i]);
}
