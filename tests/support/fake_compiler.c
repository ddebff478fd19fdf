#include "fake_compiler.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy(char *out, const char *text, size_t length)
{
    if (length >= FAKE_TEXT_MAX)
        length = FAKE_TEXT_MAX - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}

static void add(char list[][FAKE_TEXT_MAX], size_t *count, const char *text, size_t length)
{
    if (*count < FAKE_MAX)
        copy(list[(*count)++], text, length);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static const char *skip_parens(const char *at)
{
    int depth = 0;
    for (; *at != '\0'; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0)
            return at + 1;
    }
    return at;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The function's name behind __global__: the identifier before its parameters. */
static void read_entry(fake_unit_t *unit, const char *at)
{
    const char *word = NULL;
    size_t length = 0;
    while (*at != '\0' && *at != ';' && *at != '{') {
        if (is_word(*at)) {
            word = at;
            while (is_word(*at))
                at++;
            length = (size_t)(at - word);
        } else if (*at == '(' && word != NULL && strncmp(word, "__", 2) == 0) {
            at = skip_parens(at); /* __launch_bounds__(..) */
        } else if (*at == '(') {
            if (word != NULL)
                add(unit->entries, &unit->entry_count, word, length);
            return;
        } else {
            at++;
        }
    }
}

static void read_entries(fake_unit_t *unit, const char *source)
{
    static const char mark[] = "global__"; /* __global__ and __tile_global__ */
    for (const char *at = strstr(source, mark); at != NULL; at = strstr(at, mark)) {
        at += sizeof(mark) - 1;
        if (isspace((unsigned char)*at))
            read_entry(unit, at);
    }
}

static bool has_define(const fake_unit_t *unit, const char *text, size_t length)
{
    for (size_t i = 0; i < unit->define_count; i++) {
        if (strlen(unit->defines[i]) == length && strncmp(unit->defines[i], text, length) == 0)
            return true;
    }
    return false;
}

/* Keeps "action [on sm_N]" when its condition on a macro holds. */
static void read_directive(fake_unit_t *unit, const char *line)
{
    char text[FAKE_TEXT_MAX];
    copy(text, line, strcspn(line, "\r\n"));
    char *when = strstr(text, " when ");
    if (when != NULL) {
        const char *condition = when + strlen(" when ");
        size_t length = strcspn(condition, " ");
        if (!has_define(unit, condition, length))
            return;
        memmove(when, condition + length, strlen(condition + length) + 1);
    }
    add(unit->directives, &unit->directive_count, text, strlen(text));
}

void fake_unit_read(fake_unit_t *unit, const char *source, int option_count,
                    const char *const *options)
{
    *unit = (fake_unit_t){.hash = hash_text(14695981039346656037u, source)};
    for (int i = 0; i < option_count; i++) {
        if (strncmp(options[i], "-D", 2) == 0)
            add(unit->defines, &unit->define_count, options[i] + 2, strlen(options[i] + 2));
        if (strcmp(options[i], "-tile-only") == 0)
            unit->tile = true;
    }
    read_entries(unit, source);
    static const char mark[] = "// FAKE: ";
    for (const char *at = strstr(source, mark); at != NULL; at = strstr(at, mark)) {
        at += sizeof(mark) - 1;
        read_directive(unit, at);
    }
    if (strstr(source, "\n#error") != NULL || strncmp(source, "#error", 6) == 0)
        add(unit->directives, &unit->directive_count, "error", 5);
}

bool fake_unit_does(const fake_unit_t *unit, const char *action, unsigned arch)
{
    size_t n = strlen(action);
    for (size_t i = 0; i < unit->directive_count; i++) {
        const char *text = unit->directives[i];
        if (strncmp(text, action, n) != 0 || is_word(text[n]))
            continue;
        const char *on = strstr(text, " on sm_");
        if (on == NULL || strtoul(on + 7, NULL, 10) == arch)
            return true;
    }
    return false;
}

size_t fake_unit_write_ir(const fake_unit_t *unit, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "FAKETILEIR %llx\n", (unsigned long long)unit->hash);
    for (size_t i = 0; i < unit->define_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "D %s\n", unit->defines[i]);
    for (size_t i = 0; i < unit->entry_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "E %s\n", unit->entries[i]);
    for (size_t i = 0; i < unit->directive_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "F %s\n", unit->directives[i]);
    return at;
}

bool fake_unit_read_ir(fake_unit_t *unit, const char *ir)
{
    static const char magic[] = "FAKETILEIR ";
    *unit = (fake_unit_t){.tile = true};
    if (strncmp(ir, magic, sizeof(magic) - 1) != 0)
        return false;
    unit->hash = strtoull(ir + sizeof(magic) - 1, NULL, 16);
    for (const char *line = strchr(ir, '\n'); line != NULL; line = strchr(line, '\n')) {
        line++;
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "D ", 2) == 0)
            add(unit->defines, &unit->define_count, line + 2, length - 2);
        else if (strncmp(line, "E ", 2) == 0)
            add(unit->entries, &unit->entry_count, line + 2, length - 2);
        else if (strncmp(line, "F ", 2) == 0)
            add(unit->directives, &unit->directive_count, line + 2, length - 2);
    }
    return true;
}

/* The value of a macro, or of a directive "name=N", or fallback. */
static uint32_t value_of(char list[][FAKE_TEXT_MAX], size_t count, const char *name,
                         uint32_t fallback)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(list[i], name, n) == 0 && list[i][n] == '=')
            return (uint32_t)strtoul(list[i] + n + 1, NULL, 10);
    }
    return fallback;
}

/* Facts that move with the tile sizes as real ones do. */
static fake_cubin_t guess(fake_unit_t *unit, unsigned arch)
{
    uint32_t m = value_of(unit->defines, unit->define_count, "TILE_M", 16);
    uint32_t n = value_of(unit->defines, unit->define_count, "TILE_N", 16);
    uint32_t k = value_of(unit->defines, unit->define_count, "TILE_K", 0);
    uint32_t ctas = value_of(unit->defines, unit->define_count, "NUM_CTAS", 1);
    uint32_t threads = arch < 90 ? 128 : 256;
    uint32_t wanted = 24 + m * n / threads * 3 / 2;
    fake_cubin_t cubin = {
        .arch = arch,
        .registers = wanted > 255 ? 255 : wanted,
        .frame = wanted > 255 ? (wanted - 255) * 4 : 0,
        .shared = (m + n) * k * 2,
        .threads = unit->tile ? threads : 0,
        .cluster = ctas > 1 && arch >= 90 ? ctas : 0,
        .code = unit->hash,
    };
    char(*list)[FAKE_TEXT_MAX] = unit->directives;
    cubin.registers = value_of(list, unit->directive_count, "regs", cubin.registers);
    cubin.shared = value_of(list, unit->directive_count, "shared", cubin.shared);
    cubin.frame = value_of(list, unit->directive_count, "spill", cubin.frame);
    if (!fake_unit_does(unit, "same_code", arch)) {
        for (size_t i = 0; i < unit->define_count; i++)
            cubin.code = hash_text(cubin.code, unit->defines[i]);
    }
    return cubin;
}

size_t fake_unit_write_cubin(const fake_unit_t *unit, unsigned arch, uint8_t *out, size_t size)
{
    static const char garbage[] = "this is no cubin";
    static const char *const stranger[] = {"somebody_else"};
    static fake_unit_t work;
    const char *entries[FAKE_MAX];
    work = *unit;
    if (fake_unit_does(unit, "garbage", arch)) {
        memcpy(out, garbage, sizeof(garbage));
        return sizeof(garbage);
    }
    fake_cubin_t cubin = guess(&work, arch);
    if (fake_unit_does(unit, "no_entry", arch))
        return fake_cubin_write(&cubin, stranger, 1, out, size);
    for (size_t i = 0; i < unit->entry_count; i++)
        entries[i] = unit->entries[i];
    return fake_cubin_write(&cubin, entries, unit->entry_count, out, size);
}

_Noreturn void fake_spin(void)
{
    for (volatile unsigned i = 0;; i++) {
    }
}
