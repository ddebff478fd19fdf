#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "cli/cli_once.h"
#include "rules/lint.h"
#include "rules/patch.h"
#include "rules/widen.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *kernels;
    bool patch;
    size_t inputs, findings, exceptions;
} lint_args_t;

static void print_finding(const char *input, const tsw_finding_t *finding)
{
    printf("%s", input);
    if (finding->place.file != NULL)
        printf("/%s:%d:%d", finding->place.file, finding->place.line, finding->place.column);
    printf(": %s%s %s%s%s: %s\n", finding->reason != NULL ? "exception from " : "", finding->number,
           finding->rule, finding->archs[0] != '\0' ? " on " : "", finding->archs, finding->text);
    if (finding->reason != NULL) {
        printf("  because %s\n", finding->reason);
        return;
    }
    printf("  fix: %s (%s)\n", finding->fix != NULL ? finding->fix : "",
           tsw_entry_anchor(finding->entry));
    if (finding->row != NULL)
        printf("  such as: - %s\n", finding->row);
}

static void print_lint(const char *input, const tsw_lint_t *lint, lint_args_t *args)
{
    for (size_t i = 0; i < lint->count; i++)
        print_finding(input, &lint->findings[i]);
    args->inputs++;
    args->findings += lint->open;
    args->exceptions += lint->count - lint->open;
}

static tsw_status_t read_pack(const char *word, const char *kernels, tsw_pack_t **pack_p,
                              tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_status_t status = tsw_once_pack_files(word, kernels, &files, err);
    if (status == TSW_OK) {
        status = tsw_pack_read(&files, pack_p, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "%s", word);
    }
    tsw_fileset_fini(&files);
    return status;
}

/* "c/kernel.yaml" of the pack "../c/": patch looks for it below the folder of the packs. */
static void put_file_name(const char *word, const tsw_pack_t *pack, tsw_buf_t *out)
{
    size_t end = strlen(word);
    while (end > 1 && word[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && word[start - 1] != '/')
        start--;
    if (end - start == strspn(word + start, "./"))
        tsw_buf_append_text(out, pack->name);
    else
        tsw_buf_append(out, word + start, end - start);
    tsw_buf_append_text(out, "/kernel.yaml");
}

static tsw_status_t print_patch(const char *word, const tsw_pack_t *pack, tsw_err_t *err)
{
    const tsw_fileset_item_t *before = tsw_fileset_find(&pack->files, "kernel.yaml");
    tsw_pack_t *wider = NULL;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_buf_t name = TSW_BUF_INIT;
    size_t left = 0;
    tsw_status_t status = tsw_widen(pack, NULL, 0, &wider, &left, err);
    put_file_name(word, pack, &name);
    if (status == TSW_OK) {
        const tsw_fileset_item_t *after = tsw_fileset_find(&wider->files, "kernel.yaml");
        status = tsw_patch_diff((const char *)before->bytes, (const char *)after->bytes,
                                tsw_buf_text(&name), &out, err);
    }
    if (status == TSW_OK)
        fputs(tsw_buf_text(&out), stdout);
    else
        tsw_err_wrap(err, "%s", word);
    if (status == TSW_OK && left > 0)
        tsw_log(TSW_LOG_WARN, "%s: %zu finding%s that no row can mend: 'tilesweep lint' has them",
                word, left, left == 1 ? "" : "s");
    tsw_buf_fini(&out);
    tsw_buf_fini(&name);
    tsw_pack_free(wider);
    return status;
}

static tsw_status_t lint_pack(const char *word, lint_args_t *args, tsw_err_t *err)
{
    tsw_pack_t *pack = NULL;
    tsw_lint_t lint = {0};
    tsw_status_t status = read_pack(word, args->kernels, &pack, err);
    if (status == TSW_OK) {
        status = tsw_lint_pack(pack, &lint, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "%s", word);
    }
    if (status == TSW_OK && args->patch)
        status = print_patch(word, pack, err);
    else if (status == TSW_OK)
        print_lint(word, &lint, args);
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
    return status;
}

/* The packs of a table that can be found, NULL for others. */
static tsw_status_t find_packs(const tsw_table_t *table, const char *kernels, tsw_pack_t ***packs_p,
                               tsw_err_t *err)
{
    tsw_pack_t **packs = tsw_calloc(table->pack_count, sizeof(*packs));
    if (packs == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < table->pack_count; i++) {
        tsw_err_t why = TSW_ERR_INIT;
        if (read_pack(table->packs[i].name, kernels, &packs[i], &why) != TSW_OK)
            printf("pack %s of the table is not compared: %s\n", table->packs[i].name, why.text);
    }
    *packs_p = packs;
    return TSW_OK;
}

static tsw_status_t lint_table(const char *path, lint_args_t *args, tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_table_t table = {0};
    tsw_pack_t **packs = NULL;
    tsw_lint_t lint = {0};
    tsw_status_t status = tsw_file_read(path, &bytes, err);
    if (status == TSW_OK) {
        status = tsw_table_read(bytes.data, bytes.size, &table, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "%s", path);
    }
    if (status == TSW_OK)
        status = find_packs(&table, args->kernels, &packs, err);
    if (status == TSW_OK)
        status =
            tsw_lint_table(&table, (const tsw_pack_t *const *)packs, table.pack_count, &lint, err);
    if (status == TSW_OK)
        print_lint(path, &lint, args);
    tsw_lint_fini(&lint);
    for (size_t i = 0; packs != NULL && i < table.pack_count; i++)
        tsw_pack_free(packs[i]);
    tsw_free(packs);
    tsw_table_fini(&table);
    tsw_buf_fini(&bytes);
    return status;
}

static tsw_status_t lint_shipped(lint_args_t *args, tsw_err_t *err)
{
    char *dir = NULL;
    tsw_names_t names = {0};
    tsw_status_t status = tsw_cli_kernels_dir(args->kernels, &dir, err);
    if (status == TSW_OK)
        status = tsw_cli_list_packs(dir, &names, err);
    if (status == TSW_OK && names.count == 0)
        status = tsw_err_set(err, TSW_ERR_NOT_FOUND, "%s has no packs", dir);
    for (size_t i = 0; status == TSW_OK && i < names.count; i++)
        status = lint_pack(names.names[i], args, err);
    tsw_names_fini(&names);
    tsw_free(dir);
    return status;
}

static tsw_status_t lint(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    lint_args_t *args = user;
    tsw_status_t status = words->count == 0 ? lint_shipped(args, err) : TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < words->count; i++)
        status = tsw_text_ends_with(words->items[i], ".json")
                     ? lint_table(words->items[i], args, err)
                     : lint_pack(words->items[i], args, err);
    if (status == TSW_OK && !args->patch)
        printf("%zu linted: %zu finding%s, %zu exception%s\n", args->inputs, args->findings,
               args->findings == 1 ? "" : "s", args->exceptions, args->exceptions == 1 ? "" : "s");
    *exit_p = args->findings > 0 ? TSW_EXIT_UNUSABLE : TSW_EXIT_DONE;
    return status;
}

int tsw_cli_lint(int argc, char **argv)
{
    lint_args_t args = {0};
    const tsw_option_t options[] = {
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &args.kernels,
         "Where packs named by a bare word are (default: the shipped ones)", NULL},
        {"patch", 'p', NULL, TSW_OPTION_FLAG, &args.patch,
         "Print a patch that adds the rows that the findings propose, in place of the findings; "
         "apply it with patch -p1 -d kernels (default: off)",
         NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "lint",
        .usage = "[PACK|TABLE.json...]",
        .summary = "Holds packs and tables against the rules of tuning: place, rule and fix of "
                   "each finding, and what a pack says why it is an exception. Without a word: all "
                   "shipped packs. Exit code 1 when there is a finding.",
        .notes = "docs/rules.md has the rules. Needs no GPU and no toolchain.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 0,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, lint, &args);
}
