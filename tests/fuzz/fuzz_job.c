/* The text of a job over the shipped packs, up to its plan. */
#include "fuzz.h"

#include "base/mem.h"
#include "plan/plan.h"

#include <string.h>

/* Only the packs that the text may name, as each of them is read. */
static void add_packs(tsw_fileset_t *snapshot, const char *text)
{
    const tsw_fileset_t *packs = fuzz_packs();
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < packs->count; i++) {
        const tsw_fileset_item_t *item = &packs->items[i];
        char name[64] = "";
        const char *start = item->name + strlen("packs/");
        memcpy(name, start, strcspn(start, "/"));
        if (strstr(text, name) != NULL)
            fuzz_must(tsw_fileset_add(snapshot, item->name, item->bytes, item->size, &err), &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_job_t *job = NULL;
    tsw_plan_t *plan = NULL;
    char *text = fuzz_text(data, size);
    fuzz_must(tsw_fileset_add(&snapshot, "job.yaml", data, size, &err), &err);
    add_packs(&snapshot, text);
    if (tsw_job_read(&snapshot, &job, &err) == TSW_OK &&
        tsw_plan_make(job, &plan, &err) == TSW_OK) {
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_plan_print(plan, &out);
        tsw_plan_json(plan, &out);
        tsw_buf_fini(&out);
    }
    tsw_plan_free(plan);
    tsw_job_free(job);
    tsw_fileset_fini(&snapshot);
    tsw_free(text);
    return 0;
}
