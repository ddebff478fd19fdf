/* Findings: made by rules, merged at the end. */
#include "lint_internal.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

const char *tsw_entry_anchor(tsw_entry_t entry)
{
    static const char *const anchors[TSW_ENTRY_COUNT] = {
        "docs/rules.md#a-new-kernel", "docs/rules.md#results-are-corrupt",
        "docs/rules.md#tuning-is-slow", "docs/rules.md#the-space-is-empty",
        "docs/rules.md#better-configs-for-a-kernel-that-has-some"};
    return anchors[entry];
}

bool tsw_finding_is_on(const tsw_finding_t *finding, tsw_arch_t arch)
{
    char name[16];
    tsw_arch_format(arch, name);
    size_t length = strlen(name);
    for (const char *at = finding->archs; (at = strstr(at, name)) != NULL; at += length) {
        if (at[length] == '\0' || at[length] == ',')
            return true;
    }
    return finding->archs[0] == '\0';
}

bool tsw_finding_is_coverage(const tsw_finding_t *finding)
{
    static const char *const names[] = {"two_values", "both_num_ctas", "four_occupancies"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(finding->rule, names[i]) == 0)
            return finding->reason == NULL;
    }
    return false;
}

bool tsw_lint_ok(tsw_lint_ctx_t *c, tsw_status_t status)
{
    if (c->status == TSW_OK)
        c->status = status;
    return c->status == TSW_OK;
}

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format, va_list args)
{
    tsw_buf_t out = TSW_BUF_INIT;
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    tsw_buf_append_text(&out, text);
    return tsw_buf_take_text(&out);
}

/* The lint's own rules have no exceptions. */
static const char *reason_of(const tsw_lint_ctx_t *c)
{
    if (c->pack == NULL || strcmp(c->rule->number, "own") == 0)
        return NULL;
    return tsw_pack_exception(c->pack, c->rule->name, c->arch);
}

void tsw_lint_find(tsw_lint_ctx_t *c, tsw_place_t place, const char *format, ...)
{
    tsw_lint_t *lint = c->lint;
    if (c->status != TSW_OK)
        return;
    if (!TSW_GROW(lint->findings, lint->capacity, lint->count)) {
        c->status = tsw_err_nomem(c->err);
        return;
    }
    va_list args;
    va_start(args, format);
    tsw_finding_t *finding = &lint->findings[lint->count++];
    *finding = (tsw_finding_t){.number = c->rule->number,
                               .rule = c->rule->name,
                               .entry = c->rule->entry,
                               .place = place,
                               .arch = c->arch,
                               .reason = reason_of(c),
                               .text = format_text(format, args)};
    va_end(args);
    if (c->arch != 0)
        tsw_arch_format(c->arch, finding->archs);
    if (finding->text == NULL)
        c->status = tsw_err_nomem(c->err);
}

void tsw_lint_fix(tsw_lint_ctx_t *c, const char *format, ...)
{
    if (c->status != TSW_OK)
        return;
    va_list args;
    va_start(args, format);
    char *fix = format_text(format, args);
    va_end(args);
    c->lint->findings[c->lint->count - 1].fix = fix;
    if (fix == NULL)
        c->status = tsw_err_nomem(c->err);
}

/* ---- all of them ---- */

static void finding_fini(tsw_finding_t *finding)
{
    tsw_free(finding->text);
    tsw_free(finding->fix);
    tsw_free(finding->row);
}

void tsw_lint_fini(tsw_lint_t *lint)
{
    for (size_t i = 0; i < lint->count; i++)
        finding_fini(&lint->findings[i]);
    tsw_free(lint->findings);
    *lint = (tsw_lint_t){0};
}

static bool is_same(const tsw_finding_t *a, const tsw_finding_t *b)
{
    return a->rule == b->rule && a->place.line == b->place.line &&
           a->place.column == b->place.column && (a->arch != 0) == (b->arch != 0) &&
           a->reason == b->reason && strcmp(a->text, b->text) == 0;
}

static void name_arch(tsw_finding_t *finding, tsw_arch_t number)
{
    size_t used = strlen(finding->archs);
    char arch[16];
    if (used > 0 && tsw_finding_is_on(finding, number))
        return;
    tsw_arch_format(number, arch);
    snprintf(finding->archs + used, sizeof(finding->archs) - used, "%s%s", used > 0 ? ", " : "",
             arch);
}

/* The same on several archs and variants is one finding. */
static void merge_findings(tsw_lint_t *lint)
{
    size_t kept = 0;
    for (size_t i = 0; i < lint->count; i++) {
        size_t same = 0;
        while (same < kept && !is_same(&lint->findings[same], &lint->findings[i]))
            same++;
        if (same < kept) {
            if (lint->findings[i].arch != 0)
                name_arch(&lint->findings[same], lint->findings[i].arch);
            finding_fini(&lint->findings[i]);
        } else {
            lint->findings[kept++] = lint->findings[i];
        }
    }
    lint->count = kept;
    lint->open = 0;
    for (size_t i = 0; i < lint->count; i++)
        lint->open += lint->findings[i].reason == NULL;
}

tsw_status_t tsw_lint_end(tsw_lint_ctx_t *c, tsw_lint_t *lint_p)
{
    if (c->status == TSW_OK) {
        merge_findings(c->lint);
        *lint_p = *c->lint;
    } else {
        tsw_lint_fini(c->lint);
    }
    return c->status;
}
