/* Rules over the text of the tunable source. */
#include "lint_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind the '(' of the kernel's parameters; NULL: not found. */
static const char *find_parameters(const tsw_pack_t *pack)
{
    const char *entry = pack->kernel.entry;
    const char *source = tsw_lint_source(pack);
    for (const char *at = source; (at = strstr(at, entry)) != NULL;) {
        bool starts = at == source || !is_name_char(at[-1]);
        at += strlen(entry);
        const char *next = at + strspn(at, " \t\n");
        if (starts && *next == '(')
            return next + 1;
    }
    return NULL;
}

/* The end of a parameter: its comma, or what closes the list. */
static const char *parameter_end(const char *at)
{
    int depth = 0;
    for (; *at != '\0'; at++) {
        if (strchr("(<[", *at) != NULL)
            depth++;
        else if (depth > 0 && strchr(")>]", *at) != NULL)
            depth--;
        else if (depth == 0 && (*at == ',' || *at == ')'))
            break;
    }
    return at;
}

static bool has_word(const char *at, const char *end, const char *word)
{
    const char *found = strstr(at, word);
    return found != NULL && found < end;
}

void tsw_rule_split_buffers(tsw_lint_ctx_t *c)
{
    const char *at = find_parameters(c->pack);
    for (size_t i = 0; at != NULL && i < c->pack->arg_count; i++) {
        const tsw_arg_t *arg = &c->pack->args[i];
        int parameters = arg->role == TSW_ROLE_INOUT ? 2 : 1;
        bool restricted = false;
        for (int k = 0; k < parameters && *at != '\0'; k++) {
            const char *end = parameter_end(at);
            restricted = restricted || has_word(at, end, "__restrict__");
            at = *end == ',' ? end + 1 : "";
        }
        if (arg->role != TSW_ROLE_INOUT || !restricted)
            continue;
        tsw_lint_find(c, arg->place,
                      "%s is read and written in place, but the source says __restrict__: the two "
                      "pointers are equal in the final form",
                      arg->name);
        tsw_lint_fix(c, "take __restrict__ from both pointers of %s in %s", arg->name,
                     c->pack->kernel.source);
    }
}

void tsw_rule_hints_in_source(tsw_lint_ctx_t *c)
{
    const char *source = tsw_lint_source(c->pack);
    for (size_t i = 0; i < c->pack->knob_count; i++) {
        const tsw_knob_t *knob = &c->pack->knobs[i];
        if (!knob->is_hint || strstr(source, knob->macro) != NULL)
            continue;
        tsw_lint_find(c, knob->place, "%s is searched, but %s does not use the macro %s",
                      knob->name, c->pack->kernel.source, knob->macro);
        tsw_lint_fix(c, "write it into the kernel's hint; a hint that is set at a launch compiles "
                        "again each time");
    }
}

/* The end of what stands in parentheses. */
static const char *closing(const char *at)
{
    for (int depth = 1; *at != '\0' && depth > 0; at++)
        depth += (*at == '(') - (*at == ')');
    return at;
}

/* Where a macro stands in hints: for all archs, for one, or nowhere. */
static void find_hint(const char *source, const char *macro, bool *for_all_p, long *arch_p)
{
    for (const char *at = source; (at = strstr(at, "hint(")) != NULL;) {
        at += strlen("hint(");
        const char *end = closing(at);
        long arch = strtol(at, NULL, 10);
        if (!has_word(at, end, macro))
            continue;
        *for_all_p = *for_all_p || arch == 0;
        *arch_p = arch != 0 ? arch : *arch_p;
    }
}

/* hint(0, ...) holds everywhere, hint(900, ...) on sm_90 only. */
void tsw_rule_hint_for_arch(tsw_lint_ctx_t *c)
{
    for (size_t i = 0; c->pack->language == TSW_LANGUAGE_TILE && i < c->pack->knob_count; i++) {
        const tsw_knob_t *knob = &c->pack->knobs[i];
        bool for_all = false;
        long arch = 0;
        find_hint(tsw_lint_source(c->pack), knob->macro, &for_all, &arch);
        if (!knob->is_hint || for_all || arch == 0)
            continue;
        tsw_lint_find(c, knob->place, "%s has %s in hint(%ld, ...) alone, which other archs ignore",
                      c->pack->kernel.source, knob->macro, arch);
        tsw_lint_fix(c, "write hint(0, ...)");
    }
}
