#include "base/mem.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_grid.h"
#include "cli/cli_input.h"
#include "cli/cli_once.h"
#include "space/kind.h"
#include "rules/suggest.h"
#include "space/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *job;
    const char *kernels;
} classify_args_t;

/* A shape of one variant, with its floating-point operations per byte. */
typedef struct {
    char *shape;
    char *variant;
    double intensity; /* 0: it moves nothing */
} row_t;

typedef struct {
    row_t *rows;
    size_t count;
    size_t capacity;
} rows_t;

static void rows_fini(rows_t *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        tsw_free(rows->rows[i].shape);
        tsw_free(rows->rows[i].variant);
    }
    tsw_free(rows->rows);
}

static tsw_status_t add_row(rows_t *rows, const tsw_variant_t *variant, const int64_t *dims,
                            tsw_eval_t *eval, tsw_err_t *err)
{
    double flops = 0, bytes = 0;
    tsw_buf_t shape = TSW_BUF_INIT, name = TSW_BUF_INIT;
    if (!TSW_GROW(rows->rows, rows->capacity, rows->count))
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_variant_bind(variant, dims, NULL, 1, eval, err);
    if (status == TSW_OK)
        status = tsw_eval_f64(eval, &variant->pack->flops, &flops, err);
    if (status == TSW_OK)
        status = tsw_eval_f64(eval, &variant->pack->bytes, &bytes, err);
    if (status != TSW_OK)
        return status;
    tsw_shape_format(variant->pack, dims, &shape);
    tsw_variant_format(variant, &name);
    row_t row = {.shape = tsw_buf_take_text(&shape),
                 .variant = tsw_buf_take_text(&name),
                 .intensity = bytes > 0 ? flops / bytes : 0};
    rows->rows[rows->count++] = row;
    return row.shape != NULL && row.variant != NULL ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t add_variant(rows_t *rows, const tsw_job_entry_t *entry, tsw_variant_t *variant,
                                tsw_eval_t *eval, tsw_err_t *err)
{
    const tsw_pack_t *pack = entry->pack;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < entry->shape_count; i++) {
        for (size_t d = 0; d < pack->dim_count; d++)
            variant->static_dims[d] = pack->dim_is_static[d] ? entry->shapes[i].dims[d] : 0;
        status = add_row(rows, variant, entry->shapes[i].dims, eval, err);
    }
    return status;
}

static tsw_status_t add_entry(rows_t *rows, const tsw_job_entry_t *entry, tsw_eval_t *eval,
                              tsw_err_t *err)
{
    tsw_variant_t variant = {.pack = entry->pack};
    tsw_status_t status = TSW_OK;
    for (int d = 0; d < TSW_DTYPE_COUNT; d++) {
        variant.dtype = (tsw_dtype_t)d;
        for (size_t f = 0; status == TSW_OK && entry->dtypes[d] && f < entry->flag_set_count; f++) {
            memcpy(variant.flags, entry->flag_sets[f], sizeof(variant.flags));
            status = add_variant(rows, entry, &variant, eval, err);
        }
    }
    return status;
}

/* The most arithmetic first: there tuning pays most. */
static int compare_rows(const void *a, const void *b)
{
    const row_t *x = a;
    const row_t *y = b;
    int order = (x->intensity < y->intensity) - (x->intensity > y->intensity);
    if (order == 0)
        order = strcmp(x->variant, y->variant);
    return order != 0 ? order : strcmp(x->shape, y->shape);
}

static tsw_status_t print_rows(const rows_t *rows, tsw_err_t *err)
{
    static const tsw_column_t columns[] = {{"shape", false, 0, false},
                                           {"variant", false, 0, false},
                                           {"flop/byte", true, 2, false},
                                           {"bound", false, 0, false}};
    tsw_grid_t grid = tsw_grid(columns, sizeof(columns) / sizeof(columns[0]));
    tsw_buf_t out = TSW_BUF_INIT;
    for (size_t i = 0; i < rows->count; i++) {
        tsw_grid_text(&grid, rows->rows[i].shape);
        tsw_grid_text(&grid, rows->rows[i].variant);
        tsw_grid_number(&grid, rows->rows[i].intensity);
        tsw_grid_text(&grid, tsw_class_name(tsw_class_of_intensity(rows->rows[i].intensity)));
    }
    tsw_status_t status = tsw_grid_render(&grid, TSW_FORMAT_TEXT, &out, err);
    if (status == TSW_OK)
        printf("shapes, the most arithmetic first; the bound orders work and chooses nothing:\n%s",
               tsw_buf_text(&out));
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
    return status;
}

static tsw_status_t print_shapes(const char *pack, const classify_args_t *args, tsw_err_t *err)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_job_t *job = NULL;
    tsw_eval_t *eval = NULL;
    rows_t rows = {0};
    tsw_status_t status = tsw_cli_snapshot(args->job, args->kernels, &snapshot, err);
    if (status == TSW_OK)
        status = tsw_job_read(&snapshot, &job, err);
    if (status == TSW_OK)
        status = tsw_eval_new(&eval, err);
    for (size_t i = 0; status == TSW_OK && i < job->entry_count; i++) {
        if (strcmp(job->entries[i].pack->name, pack) == 0)
            status = add_entry(&rows, &job->entries[i], eval, err);
    }
    if (status == TSW_OK && rows.count == 0)
        status =
            tsw_err_set(err, TSW_ERR_ARG, "the job %s has no shape of pack %s", args->job, pack);
    if (status == TSW_OK) {
        qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_rows);
        status = print_rows(&rows, err);
    }
    rows_fini(&rows);
    tsw_eval_free(eval);
    tsw_job_free(job);
    tsw_fileset_fini(&snapshot);
    return status;
}

/* Tunables and hints that the kind searches, or does not. */
static void print_knobs(const tsw_pack_t *pack, const tsw_kind_t *kind, bool searched)
{
    const char *between = "";
    for (size_t i = 0; i < pack->knob_count; i++) {
        const tsw_knob_t *knob = &pack->knobs[i];
        bool is_ctas = knob->is_hint && strcmp(knob->name, "num_ctas") == 0;
        bool is_searched =
            is_ctas ? kind->num_ctas : knob->is_hint || (kind->tiles && knob->is_tile);
        if (is_searched != searched)
            continue;
        printf("%s%s", between, knob->name);
        between = ", ";
    }
    if (*between == '\0')
        printf("nothing");
    printf("\n");
}

static void print_kind(const tsw_pack_t *pack)
{
    const tsw_kind_t *kind = tsw_kind_of(pack);
    const tsw_occupancy_range_t *range = tsw_kind_occupancies(pack);
    tsw_kind_gain_t gain = tsw_kind_gain(pack);
    printf("%s: template %s, class %s\n", pack->name, tsw_template_name(pack->template_id),
           tsw_class_name(pack->class_id));
    printf("  kind       %s\n  because    %s\n  searched   ", kind->name, kind->path);
    print_knobs(pack, kind, true);
    printf("  not        ");
    print_knobs(pack, kind, false);
    printf("  why        %s\n", kind->why);
    if (kind->tiles)
        printf("  occupancy  %lld to %lld to begin with: %s\n", (long long)range->low,
               (long long)(range->high < kind->occupancy_max ? range->high : kind->occupancy_max),
               range->use);
    else
        printf("  occupancy  1, 2, 4, 8; %lld to %lld is the range of %s\n", (long long)range->low,
               (long long)range->high, range->use);
    tsw_math_t math = tsw_suggest_math(pack);
    printf("  math       %s, subnormals %s, by the words of %s\n",
           math.approximates ? "approximate in places" : "rounded to nearest",
           math.flushes ? "flushed to zero" : "kept", pack->kernel.source);
    printf("  gain       %.0f to %.0f %% over the fixed config is what such kernels had\n",
           gain.low, gain.high);
}

static tsw_status_t classify(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const classify_args_t *args = user;
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    (void)exit_p;
    tsw_status_t status = tsw_once_pack_files(words->items[0], args->kernels, &files, err);
    if (status == TSW_OK) {
        status = tsw_pack_read(&files, &pack, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "%s", words->items[0]);
    }
    if (status == TSW_OK)
        print_kind(pack);
    if (status == TSW_OK && args->job != NULL)
        status = print_shapes(pack->name, args, err);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    return status;
}

int tsw_cli_classify(int argc, char **argv)
{
    classify_args_t args = {0};
    const tsw_option_t options[] = {
        {"job", 'j', "JOB", TSW_OPTION_TEXT, &args.job,
         "Print the arithmetic intensity of this job's shapes, in FLOP per byte: below 10 memory "
         "bounds, up to 50 neither, above arithmetic (default: none)",
         NULL},
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &args.kernels,
         "Where packs named by a bare word are (default: the shipped ones)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "classify",
        .usage = "PACK",
        .summary =
            "What kind of kernel a pack is, what is searched for it, and why. The kind alone "
            "decides; shapes only order work.",
        .notes = "docs/rules.md has the decision tree. Needs no GPU and no toolchain.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = 1,
    };
    return tsw_cli_main(&spec, argc, argv, classify, &args);
}
