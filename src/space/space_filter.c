#include "base/mem.h"
#include "space/space.h"

tsw_status_t tsw_filter_report_add(tsw_filter_report_t *report, const char *name,
                                   const char *reason, size_t in, size_t removed, tsw_err_t *err)
{
    tsw_filter_t filter = {.in = in, .removed = removed};
    filter.name = tsw_strdup(name);
    filter.reason = tsw_strdup(reason != NULL ? reason : "");
    if (filter.name == NULL || filter.reason == NULL ||
        !TSW_GROW(report->filters, report->capacity, report->count)) {
        tsw_free(filter.name);
        tsw_free(filter.reason);
        return tsw_err_nomem(err);
    }
    report->filters[report->count++] = filter;
    return TSW_OK;
}

void tsw_filter_report_fini(tsw_filter_report_t *report)
{
    for (size_t i = 0; i < report->count; i++) {
        tsw_free(report->filters[i].name);
        tsw_free(report->filters[i].reason);
    }
    tsw_free(report->filters);
    *report = (tsw_filter_report_t){0};
}

void tsw_filter_report_print(const tsw_filter_report_t *report, const char *indent, tsw_buf_t *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const tsw_filter_t *filter = &report->filters[i];
        tsw_buf_printf(out, "%sfilter %s: %zu in, %zu removed (%s)\n", indent, filter->name,
                       filter->in, filter->removed, filter->reason);
    }
}
