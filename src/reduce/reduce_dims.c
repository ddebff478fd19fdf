#include "reduce/reduce.h"

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
