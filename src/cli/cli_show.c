#include "cli/cli_args.h"
#include "cli/cli_choice.h"
#include "cli/cli_commands.h"
#include "cli/cli_grid.h"
#include "cli/cli_input.h"
#include "cli/cli_usage.h"
#include "pack/arch.h"
#include "record/coverage.h"
#include "record/stability.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *pack, *arch, *shape, *variant, *outcome;
    const char *format;
} show_args_t;

/* Every word of the filter stands in the text: "M=128 N=64" finds "M=128 N=64 K=32". */
static bool has_words(const char *text, const char *filter)
{
    while (*filter != '\0') {
        const size_t length = strcspn(filter, " ");
        const char *at = text;
        bool found = false;
        while (!found && *at != '\0') {
            const size_t word = strcspn(at, " ");
            found = word == length && memcmp(at, filter, length) == 0;
            at += word;
            at += *at == ' ' ? 1 : 0;
        }
        if (length > 0 && !found)
            return false;
        filter += length;
        filter += *filter == ' ' ? 1 : 0;
    }
    return true;
}

static bool wants_cell(const show_args_t *args, const tsw_cell_result_t *cell)
{
    char arch[16];
    return (args->pack == NULL || strcmp(args->pack, cell->pack) == 0) &&
           (args->arch == NULL || strcmp(args->arch, tsw_arch_format(cell->arch, arch)) == 0) &&
           (args->shape == NULL || has_words(cell->shape, args->shape)) &&
           (args->variant == NULL || has_words(cell->variant, args->variant));
}

static bool is_timed(const tsw_config_result_t *config)
{
    return config->usable;
}

static double or_nan(bool known, double value)
{
    return known ? value : (double)NAN;
}

static const tsw_column_t columns[] = {
    {"pack", false, 0, false},         {"arch", false, 0, false},
    {"variant", false, 0, false},      {"shape", false, 0, false},
    {"config", false, 0, false},       {"outcome", false, 0, false},
    {"fate", false, 0, false},         {"mode", false, 0, true},
    {"samples", true, 0, false},       {"median_ns", true, 0, false},
    {"low_ns", true, 0, false},        {"high_ns", true, 0, false},
    {"mean_ns", true, 0, true},        {"std_ns", true, 0, true},
    {"x_baseline", true, 3, false},    {"x_roof", true, 3, false},
    {"regret", true, 4, false},        {"tie", true, 0, true},
    {"estimate", true, 0, true},       {"registers", true, 0, false},
    {"spill_bytes", true, 0, false},   {"shared_bytes", true, 0, true},
    {"cluster", true, 0, true},        {"compile_ms", true, 0, true},
    {"gpu", false, 0, true},           {"node", false, 0, true},
    {"rank", true, 0, true},           {"unstable", false, 0, true},
    {"energy_mj", true, 4, false},     {"energy_low_mj", true, 4, true},
    {"energy_high_mj", true, 4, true}, {"power_w", true, 1, false},
    {"detail", false, 0, false},
};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };
enum { ENERGY_FIRST = COLUMN_COUNT - 5, ENERGY_END = COLUMN_COUNT - 1 };

/* In text those of energy only where there is any. */
static void choose_columns(const tsw_reduction_t *reduction, tsw_column_t chosen[COLUMN_COUNT])
{
    bool has_energy = false;
    for (size_t c = 0; c < reduction->cell_count; c++)
        for (size_t i = 0; i < reduction->cells[c].config_count; i++)
            has_energy = has_energy || !isnan(reduction->cells[c].configs[i].joules);
    memcpy(chosen, columns, sizeof(columns));
    for (size_t i = ENERGY_FIRST; !has_energy && i < ENERGY_END; i++)
        chosen[i].files_only = true;
}

static void add_times(tsw_grid_t *grid, const tsw_cell_summary_t *cell,
                      const tsw_config_result_t *config)
{
    const bool timed = is_timed(config);
    const tsw_summary_t *time = &config->time_ns;
    tsw_grid_number(grid, (double)config->record->sample_count);
    tsw_grid_measure(grid, or_nan(timed, time->median), config->is_estimate);
    tsw_grid_number(grid, or_nan(timed, config->ci_low_ns));
    tsw_grid_number(grid, or_nan(timed, config->ci_high_ns));
    tsw_grid_number(grid, or_nan(timed, time->mean));
    tsw_grid_number(grid, or_nan(timed, time->std));
    tsw_grid_measure(grid, tsw_cli_speedup(config), isnan(config->vs_baseline.low));
    tsw_grid_number(grid, or_nan(timed && cell->roof_ns > 0, cell->roof_ns / time->median));
    tsw_grid_number(grid, or_nan(timed, config->regret));
    tsw_grid_number(grid, or_nan(timed, config->in_tie_set ? 1 : 0));
    tsw_grid_number(grid, or_nan(timed, config->is_estimate ? 1 : 0));
}

/* Why the protocol left the config; "": it never had it. */
static const char *fate_of(const tsw_config_result_t *config)
{
    const tsw_fate_t fate = config->record->fate;
    return fate == TSW_FATE_NONE ? "" : tsw_fate_name(fate);
}

/* The first config of the cell with the cubin of this one, where both were only compiled; else
 * NULL. */
static const tsw_config_result_t *same_code(const tsw_cell_summary_t *cell,
                                            const tsw_config_result_t *config)
{
    for (const tsw_config_result_t *other = cell->configs; other < config; other++) {
        if (config->outcome == TSW_OUTCOME_COMPILED && other->outcome == TSW_OUTCOME_COMPILED &&
            tsw_key_equal(other->record->build.cubin_key, config->record->build.cubin_key))
            return other;
    }
    return NULL;
}

/* What is rare has no column of its own in text. */
static void add_detail(tsw_grid_t *grid, const tsw_cell_summary_t *cell,
                       const tsw_config_result_t *config)
{
    const tsw_config_result_t *other = same_code(cell, config);
    char unstable[TSW_UNSTABLE_TEXT_SIZE];
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_unstable_format(config->unstable, unstable);
    tsw_grid_text(grid, unstable);
    tsw_grid_number(grid, 1e3 * config->joules);
    tsw_grid_number(grid, 1e3 * config->joules_low);
    tsw_grid_number(grid, 1e3 * config->joules_high);
    tsw_grid_number(grid, config->watts);
    if (other != NULL)
        tsw_buf_printf(&text, "the code of %s", other->config);
    else if (config->detail[0] == '\0' && unstable[0] != '\0')
        tsw_buf_printf(&text, "unstable: %s", unstable);
    else
        tsw_buf_append_text(&text, config->detail);
    tsw_grid_text(grid, tsw_buf_text(&text));
    tsw_buf_fini(&text);
}

static void add_row(tsw_grid_t *grid, const tsw_cell_summary_t *summary,
                    const tsw_config_result_t *config)
{
    const tsw_cell_result_t *cell = summary->cell;
    char arch[16];
    const tsw_build_facts_t *build = &config->record->build;
    const bool built = build->cubin_bytes > 0;
    tsw_grid_text(grid, cell->pack);
    tsw_grid_text(grid, tsw_arch_format(cell->arch, arch));
    tsw_grid_text(grid, cell->variant);
    tsw_grid_text(grid, cell->shape);
    tsw_grid_text(grid, config->config);
    tsw_grid_text(grid, tsw_outcome_name(config->outcome));
    tsw_grid_text(grid, fate_of(config));
    tsw_grid_text(grid, cell->gpu.mode);
    add_times(grid, summary, config);
    tsw_grid_number(grid, or_nan(built, build->registers));
    tsw_grid_number(grid, or_nan(built, build->spill_bytes));
    tsw_grid_number(grid, or_nan(built, build->shared_bytes));
    tsw_grid_number(grid, or_nan(built, build->cluster));
    tsw_grid_number(grid, or_nan(built && !build->from_cache, (double)build->compile_cpu_ns / 1e6));
    tsw_grid_text(grid, cell->gpu.name);
    tsw_grid_text(grid, cell->node);
    tsw_grid_number(grid, cell->rank);
    add_detail(grid, summary, config);
}

static uint32_t spills(const tsw_config_result_t *config)
{
    return config->outcome == TSW_OUTCOME_COMPILED ? config->record->build.spill_bytes : 0;
}

/* The rows of a cell that was only compiled have no better order than by what spills. */
static void add_rows(tsw_grid_t *grid, const tsw_cell_summary_t *cell, const char *outcome)
{
    uint32_t least = 0;
    for (bool more = true; more;) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < cell->config_count; i++) {
            const tsw_config_result_t *config = &cell->configs[i];
            const uint32_t bytes = spills(config);
            if (bytes > least && bytes < next)
                next = bytes;
            if (bytes == least &&
                (outcome == NULL || strcmp(outcome, tsw_outcome_name(config->outcome)) == 0))
                add_row(grid, cell, config);
        }
        more = next < UINT32_MAX;
        least = next;
    }
}

static tsw_status_t print_rows(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                               const show_args_t *args, tsw_err_t *err)
{
    tsw_column_t chosen[COLUMN_COUNT];
    choose_columns(reduction, chosen);
    tsw_grid_t grid = tsw_grid(chosen, COLUMN_COUNT);
    tsw_buf_t out = TSW_BUF_INIT;
    const tsw_format_t format = tsw_format_parse(args->format);
    for (size_t i = 0; i < reduction->cell_count; i++) {
        const tsw_cell_summary_t *cell = &reduction->cells[i];
        if (wants_cell(args, cell->cell))
            add_rows(&grid, cell, args->outcome);
    }
    if (format == TSW_FORMAT_TEXT) /* files carry the mode in a column */
        tsw_buf_append_text(&out, tsw_cli_mark(dataset->meta.mode));
    tsw_status_t status =
        format == TSW_FORMAT_TEXT ? tsw_coverage_print(dataset, &out, err) : TSW_OK;
    if (status == TSW_OK)
        status = tsw_grid_render(&grid, format, &out, err);
    if (status == TSW_OK && format == TSW_FORMAT_TEXT)
        tsw_cli_usage_print(dataset, &out);
    if (status == TSW_OK)
        fputs(tsw_buf_text(&out), stdout);
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
    return status;
}

/* Below the rows, as it is of a pack and arch, not of a config. */
static tsw_status_t print_verdicts(const tsw_words_t *words, const char *purpose,
                                   const tsw_reduction_t *reduction, const show_args_t *args,
                                   tsw_err_t *err)
{
    tsw_cli_verdicts_t verdicts = {0};
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_status_t status =
        tsw_cli_verdicts_make(reduction, words->items, words->count, &verdicts, err);
    for (size_t i = 0; status == TSW_OK && i < reduction->group_count; i++) {
        const tsw_group_t *group = &reduction->groups[i];
        char arch[16];
        bool wanted = false;
        for (size_t k = 0; k < group->cell_count; k++)
            wanted = wanted || wants_cell(args, group->cells[k]->cell);
        if (!wanted)
            continue;
        tsw_buf_printf(&out, "%s%s%s on %s\n", group->pack, group->variant != NULL ? " " : "",
                       group->variant != NULL ? group->variant : "",
                       tsw_arch_format(group->arch, arch));
        tsw_cli_verdict_print(purpose, group, &verdicts.items[i], &out);
    }
    if (status == TSW_OK && !tsw_buf_ok(&out))
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        fputs(tsw_buf_text(&out), stdout);
    tsw_buf_fini(&out);
    tsw_cli_verdicts_fini(&verdicts);
    return status;
}

static tsw_status_t check_filters(const show_args_t *args, tsw_err_t *err)
{
    const char *known[TSW_OUTCOME_COUNT];
    char text[TSW_ERR_TEXT_MAX];
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_arch_t arch = 0;
    if (args->arch != NULL && !tsw_arch_parse(args->arch, &arch))
        return tsw_err_set(err, TSW_ERR_ARG, "--arch: '%s' is no architecture like sm_90",
                           args->arch);
    if (args->outcome == NULL || tsw_outcome_parse(args->outcome, &outcome))
        return TSW_OK;
    for (int i = 0; i < TSW_OUTCOME_COUNT; i++)
        known[i] = tsw_outcome_name((tsw_outcome_t)i);
    tsw_cli_unknown(text, sizeof(text), "outcome", args->outcome, known, TSW_OUTCOME_COUNT);
    return tsw_err_set(err, TSW_ERR_ARG, "--outcome: %s", text);
}

/* The packs that there are, each once. */
static void list_packs(const tsw_dataset_t *dataset, tsw_buf_t *out)
{
    for (size_t i = 0; i < dataset->cell_count; i++) {
        const char *pack = dataset->cells[i].pack;
        bool listed = false;
        for (size_t k = 0; k < i && !listed; k++)
            listed = strcmp(pack, dataset->cells[k].pack) == 0;
        if (!listed)
            tsw_buf_printf(out, "%s%s", i > 0 ? ", " : "", pack);
    }
}

/* Filters that fit no cell are a mistake, unless there is no cell at all; programs that read CSV or
 * JSON get no rows. The message has words that would fit. */
static tsw_status_t check_found(const show_args_t *args, const tsw_dataset_t *dataset,
                                tsw_err_t *err)
{
    const show_args_t pack_only = {.pack = args->pack};
    const tsw_cell_result_t *of_pack = NULL;
    for (size_t i = 0; i < dataset->cell_count; i++) {
        if (wants_cell(args, &dataset->cells[i]))
            return TSW_OK;
        if (of_pack == NULL && wants_cell(&pack_only, &dataset->cells[i]))
            of_pack = &dataset->cells[i];
    }
    if (dataset->cell_count == 0 || tsw_format_parse(args->format) != TSW_FORMAT_TEXT)
        return TSW_OK;
    if (of_pack != NULL) {
        char arch[16];
        return tsw_err_set(
            err, TSW_ERR_ARG, "no result fits; there is %s: --arch %s --variant '%s' --shape '%s'",
            of_pack->pack, tsw_arch_format(of_pack->arch, arch), of_pack->variant, of_pack->shape);
    }
    tsw_buf_t packs = TSW_BUF_INIT;
    list_packs(dataset, &packs);
    const tsw_status_t status = tsw_err_set(err, TSW_ERR_ARG, "--pack: no result of '%s'; of: %s",
                                            args->pack, tsw_buf_text(&packs));
    tsw_buf_fini(&packs);
    return status;
}

static tsw_status_t show(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const show_args_t *args = user;
    tsw_dataset_t dataset = {0};
    tsw_reduction_t *reduction = NULL;
    (void)exit_p;
    tsw_status_t status = check_filters(args, err);
    if (status == TSW_OK)
        status = tsw_cli_read(words->items, words->count, &dataset, err);
    if (status == TSW_OK)
        status = check_found(args, &dataset, err);
    if (status == TSW_OK)
        status = tsw_cli_reduce_with_roofs(&dataset, 8, &reduction, err);
    if (status == TSW_OK)
        status = print_rows(&dataset, reduction, args, err);
    if (status == TSW_OK && tsw_format_parse(args->format) == TSW_FORMAT_TEXT &&
        strcmp(dataset.meta.purpose, "fixed") != 0)
        status = print_verdicts(words, dataset.meta.purpose, reduction, args, err);
    tsw_reduction_free(reduction);
    tsw_dataset_fini(&dataset);
    return status;
}

int tsw_cli_show(int argc, char **argv)
{
    show_args_t args = {.format = "text"};
    const tsw_option_t options[] = {
        {"pack", 'p', "NAME", TSW_OPTION_TEXT, &args.pack, "Only this pack (default: all)", NULL},
        {"arch", 'a', "A", TSW_OPTION_TEXT, &args.arch, "Only this one, e.g. sm_90 (default: all)",
         NULL},
        {"shape", 's', "DIMS", TSW_OPTION_TEXT, &args.shape,
         "Only shapes with these dims, e.g. 'M=128 N=4096' (default: all)", NULL},
        {"variant", 'V', "WORDS", TSW_OPTION_TEXT, &args.variant,
         "Only these, e.g. 'dtype=f16 causal=1' (default: all)", NULL},
        {"outcome", 'O', "NAME", TSW_OPTION_TEXT, &args.outcome,
         "Only configs that ended so, e.g. ok, wrong_result (default: all)", NULL},
        {"format", 'f', "F", TSW_OPTION_TEXT, &args.format, "text, csv or json (default: text)",
         tsw_format_names},
    };
    const tsw_cli_spec_t spec = {
        .command = "show",
        .usage = "RUN|SWEEP.h5...",
        .summary =
            "A row per config of every cell: outcome, median with its 95 % interval, mean "
            "and standard deviation in ns per launch, speed against the baseline and against what "
            "the device was calibrated to achieve, regret against the best as a ratio (speed and "
            "regret are of the energy where that is the objective), why the "
            "protocol stopped measuring it, and what the compiler made. The time of a config that "
            "was dropped early is an estimate: '~' stands before it, and it has no interval. "
            "Configs that were only compiled stand in the order of what they spill.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, show, &args);
}
