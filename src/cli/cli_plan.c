#include "base/mem.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_input.h"
#include "plan/plan.h"
#include "rules/lint.h"

#include <stdio.h>
#include <string.h>

/* More for one kernel and one shape is a defect of its list. */
#define SLOW_NS 300e9

typedef struct {
    const char *archs;
    const char *kernels;
    bool json;
} plan_args_t;

static tsw_status_t parse_arch(const char *name, tsw_arch_t *arch_p, tsw_err_t *err)
{
    char names[64][16];
    const char *known[64];
    char text[TSW_ERR_TEXT_MAX];
    size_t count = 0;
    if (tsw_arch_parse(name, arch_p))
        return TSW_OK;
    const tsw_arch_traits_t *all = tsw_arch_all(&count);
    for (size_t i = 0; i < count && i < 64; i++)
        known[i] = tsw_arch_format(all[i].arch, names[i]);
    tsw_cli_unknown(text, sizeof(text), "architecture", name, known, count);
    return tsw_err_set(err, TSW_ERR_ARG, "--arch: %s", text);
}

static bool is_compile_only(const tsw_job_t *job, tsw_arch_t arch)
{
    for (size_t i = 0; i < job->arch_count; i++)
        if (job->archs[i] == arch)
            return job->compile_only[i];
    return false;
}

/* "sm_90,sm_80" in place of the job's own archs. */
static tsw_status_t replace_archs(tsw_job_t *job, const char *list, tsw_err_t *err)
{
    char *copy = tsw_strdup(list);
    tsw_arch_t *archs = tsw_calloc(TSW_PLAN_ARCH_MAX, sizeof(*archs));
    bool *compile_only = tsw_calloc(TSW_PLAN_ARCH_MAX, sizeof(*compile_only));
    size_t count = 0;
    char *rest = NULL;
    tsw_status_t status = TSW_OK;
    if (copy == NULL || archs == NULL || compile_only == NULL)
        status = tsw_err_nomem(err);
    char *name = status == TSW_OK ? strtok_r(copy, ",", &rest) : NULL;
    for (; status == TSW_OK && name != NULL; name = strtok_r(NULL, ",", &rest)) {
        if (count == TSW_PLAN_ARCH_MAX) {
            status = tsw_err_set(err, TSW_ERR_ARG, "--arch: more than %d", TSW_PLAN_ARCH_MAX);
            break;
        }
        status = parse_arch(name, &archs[count], err);
        for (size_t i = 0; status == TSW_OK && i < count; i++)
            if (archs[i] == archs[count])
                status = tsw_err_set(err, TSW_ERR_ARG, "--arch: %s is named twice", name);
        if (status == TSW_OK) {
            compile_only[count] = is_compile_only(job, archs[count]);
            count++;
        }
    }
    if (status == TSW_OK && count == 0)
        status = tsw_err_set(err, TSW_ERR_ARG, "--arch: no architecture named");
    if (status == TSW_OK) {
        tsw_free(job->archs);
        tsw_free(job->compile_only);
        job->archs = archs;
        job->compile_only = compile_only;
        job->arch_count = count;
        archs = NULL;
        compile_only = NULL;
    }
    tsw_free(copy);
    tsw_free(archs);
    tsw_free(compile_only);
    return status;
}

static size_t count_empty(const tsw_plan_t *plan)
{
    size_t count = 0;
    for (size_t v = 0; v < plan->variant_count; v++)
        for (size_t a = 0; a < plan->job->arch_count; a++)
            count += tsw_space_only_baseline(&plan->variants[v].spaces[a]);
    return count;
}

/* Cells that take longer than a kernel should. Research may. */
static size_t count_slow(const tsw_plan_t *plan)
{
    size_t count = 0;
    for (size_t i = 0; plan->job->purpose != TSW_PURPOSE_RESEARCH && i < plan->cell_count; i++)
        count += tsw_plan_cell_alone_ns(plan, &plan->cells[i]) > SLOW_NS;
    return count;
}

static bool concerns(const tsw_finding_t *finding, const tsw_job_t *job)
{
    bool is_on = false;
    for (size_t a = 0; a < job->arch_count; a++)
        is_on = is_on || tsw_finding_is_on(finding, job->archs[a]);
    return is_on && finding->reason == NULL;
}

static void print_lint(const tsw_job_t *job, const char *pack, const tsw_lint_t *lint)
{
    const tsw_finding_t *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < lint->count; i++) {
        if (concerns(&lint->findings[i], job))
            first = count++ == 0 ? &lint->findings[i] : first;
    }
    if (count > 0)
        printf("\npack %s: %zu finding%s of 'tilesweep lint', the first: %s %s: %s\n", pack, count,
               count == 1 ? "" : "s", first->number, first->rule, first->text);
}

static bool is_first_of_pack(const tsw_job_t *job, size_t entry)
{
    for (size_t i = 0; i < entry; i++) {
        if (tsw_key_equal(job->entries[i].pack->key, job->entries[entry].pack->key))
            return false;
    }
    return true;
}

/* Before a release costs hours: which packs lack coverage, or break another rule. What the lint
 * cannot read is no matter here. */
static tsw_status_t print_findings(const tsw_job_t *job, tsw_err_t *err)
{
    for (size_t i = 0; job->purpose == TSW_PURPOSE_RELEASE && i < job->entry_count; i++) {
        tsw_lint_t lint = {0};
        if (!is_first_of_pack(job, i))
            continue;
        tsw_status_t status = tsw_lint_pack(job->entries[i].pack, &lint, NULL);
        if (status == TSW_ERR_NOMEM)
            return tsw_err_nomem(err);
        print_lint(job, job->entries[i].pack->name, &lint);
        tsw_lint_fini(&lint);
    }
    return TSW_OK;
}

/* Where docs/rules.md goes on. */
static void print_hints(const tsw_plan_t *plan)
{
    const size_t empty = count_empty(plan), slow = count_slow(plan);
    if (empty > 0)
        printf("\n%zu space%s of the baseline alone: %s\n", empty, empty == 1 ? "" : "s",
               tsw_entry_anchor(TSW_ENTRY_EMPTY_SPACE));
    if (slow > 0)
        printf("\n%zu cell%s of more than five minutes, alone, on one core and without a cache: "
               "%s\n",
               slow, slow == 1 ? "" : "s", tsw_entry_anchor(TSW_ENTRY_SLOW_TUNING));
}

static tsw_status_t print_plan(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const plan_args_t *args = user;
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_job_t *job = NULL;
    tsw_plan_t *plan = NULL;
    tsw_buf_t out = TSW_BUF_INIT;
    (void)exit_p;
    tsw_status_t status = tsw_cli_snapshot(words->items[0], args->kernels, &snapshot, err);
    if (status == TSW_OK)
        status = tsw_job_read(&snapshot, &job, err);
    if (status == TSW_OK && args->archs != NULL)
        status = replace_archs(job, args->archs, err);
    if (status == TSW_OK)
        status = tsw_cli_name_job(err, tsw_plan_make(job, &plan, err), words->items[0]);
    if (status == TSW_OK) {
        if (args->json)
            tsw_plan_json(plan, &out);
        else
            tsw_plan_print(plan, &out);
        if (!tsw_buf_ok(&out))
            status = tsw_err_nomem(err);
        else
            fputs(tsw_buf_text(&out), stdout);
        if (status == TSW_OK && !args->json) {
            print_hints(plan);
            status = print_findings(job, err);
        }
    }
    tsw_buf_fini(&out);
    tsw_plan_free(plan);
    tsw_job_free(job);
    tsw_fileset_fini(&snapshot);
    return status;
}

int tsw_cli_plan(int argc, char **argv)
{
    plan_args_t args = {0};
    const tsw_option_t options[] = {
        {"arch", 'a', "A,..", TSW_OPTION_TEXT, &args.archs,
         "Plan for these, e.g. sm_90,sm_80 (default: the job's)", NULL},
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &args.kernels,
         "Where packs named by a bare word are (default: the shipped ones)", NULL},
        {"json", 0, NULL, TSW_OPTION_FLAG, &args.json, "Print JSON (default: text)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "plan",
        .usage = "JOB",
        .summary = "Prints what a job would run: cells, configs with the filters that removed some "
                   "and why, and what it costs. Needs no GPU and no toolchain.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = 1,
    };
    return tsw_cli_main(&spec, argc, argv, print_plan, &args);
}
