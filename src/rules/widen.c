#include "rules/widen.h"

#include "rules/lint.h"
#include "rules/patch.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 200 };

static tsw_status_t with_text(const tsw_pack_t *pack, const char *text, tsw_pack_t **pack_p,
                              tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < pack->files.count; i++) {
        const tsw_fileset_item_t *item = &pack->files.items[i];
        bool is_yaml = strcmp(item->name, "kernel.yaml") == 0;
        status = is_yaml ? tsw_fileset_add(&files, item->name, text, strlen(text), err)
                         : tsw_fileset_add(&files, item->name, item->bytes, item->size, err);
    }
    if (status == TSW_OK)
        status = tsw_pack_read(&files, pack_p, err);
    tsw_fileset_fini(&files);
    return status;
}

/* The first finding with a row, for any arch where arch is 0; NULL: none. */
static const tsw_finding_t *find_row(const tsw_lint_t *lint, tsw_arch_t arch)
{
    for (size_t i = 0; i < lint->count; i++) {
        const tsw_finding_t *finding = &lint->findings[i];
        if (finding->row != NULL && finding->reason == NULL && (arch == 0 || finding->arch == arch))
            return &lint->findings[i];
    }
    return NULL;
}

/* Widens by one row, *pack_p becomes the pack that has it. */
static tsw_status_t add_row(tsw_pack_t **pack_p, const tsw_finding_t *finding, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_pack_t *wider = NULL;
    char why[64];
    snprintf(why, sizeof(why), "coverage: %s", finding->rule);
    tsw_status_t status = tsw_patch_add(*pack_p, finding->arch, finding->row, why, &text, err);
    if (status == TSW_OK)
        status = with_text(*pack_p, tsw_buf_text(&text), &wider, err);
    if (status == TSW_OK) {
        tsw_pack_free(*pack_p);
        *pack_p = wider;
    }
    tsw_buf_fini(&text);
    return status;
}

/* Each row removes a finding, so that this ends. */
tsw_status_t tsw_widen(const tsw_pack_t *pack, const char *text, tsw_arch_t arch,
                       tsw_pack_t **wider_p, size_t *left_p, tsw_err_t *err)
{
    const tsw_fileset_item_t *own = tsw_fileset_find(&pack->files, "kernel.yaml");
    tsw_pack_t *wider = NULL;
    size_t left = 0;
    tsw_status_t status =
        with_text(pack, text != NULL ? text : (const char *)own->bytes, &wider, err);
    bool more = status == TSW_OK;
    for (int i = 0; more && i < ROWS_MAX; i++) {
        tsw_lint_t lint = {0};
        status = tsw_lint_pack(wider, &lint, err);
        const tsw_finding_t *finding = status == TSW_OK ? find_row(&lint, arch) : NULL;
        if (finding != NULL)
            status = add_row(&wider, finding, err);
        more = finding != NULL && status == TSW_OK;
        left = lint.open;
        tsw_lint_fini(&lint);
    }
    if (status == TSW_OK) {
        *wider_p = wider;
        *left_p = left;
    } else {
        tsw_pack_free(wider);
    }
    return status;
}
