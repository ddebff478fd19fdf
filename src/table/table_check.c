#include "table/table.h"

#include "record/stability.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONFIGS_MAX = 8, FAULT_MAX = 512 };

typedef struct {
    tsw_buf_t *report;
    size_t faults;
    const tsw_table_t *table;
    const tsw_table_pack_t *pack; /* being checked, or NULL */
} check_t;

__attribute__((format(printf, 2, 3))) static void fault(check_t *c, const char *format, ...)
{
    char text[FAULT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (c->pack != NULL)
        tsw_buf_printf(c->report, "pack %s: ", c->pack->name);
    tsw_buf_printf(c->report, "%s\n", text);
    c->faults++;
}

static void check_configs(check_t *c)
{
    const tsw_table_pack_t *pack = c->pack;
    if (pack->config_count == 0)
        fault(c, "no config, not even the baseline");
    if (pack->config_count > CONFIGS_MAX)
        fault(c, "%zu configs, at most %d are allowed", pack->config_count, CONFIGS_MAX);
    if (pack->candidate_count < pack->config_count)
        fault(c, "%zu configs out of %zu candidates", pack->config_count, pack->candidate_count);
    for (size_t i = 0; i < pack->config_count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(pack->configs[i], pack->configs[j]) == 0)
                fault(c, "configs %zu and %zu are the same: %s", j, i, pack->configs[i]);
        }
    }
}

/* order: of the one before against this one. */
static void report_order(check_t *c, int order, const char *name, const char *more)
{
    if (order >= 0)
        fault(c, "%s %s: %s", name, more, order == 0 ? "there twice" : "out of order");
}

/* unit: behind the numbers, such as " ns". */
static void check_interval(check_t *c, const tsw_table_row_t *row, const char *what, double low,
                           double value, double high, const char *unit)
{
    if (isnan(low) != isnan(high))
        fault(c, "%s %s: half an interval of the %s", row->variant, row->shape, what);
    else if (!isnan(low) && !(low <= value && value <= high))
        fault(c, "%s %s: %s %g%s outside its interval %g .. %g", row->variant, row->shape, what,
              value, unit, low, high);
}

static void check_energy(check_t *c, const tsw_table_row_t *row)
{
    const double energy = row->energy_mj;
    const bool has_none = isnan(energy);
    if (!has_none && strcmp(c->table->objective, "energy") != 0)
        fault(c, "%s %s: an energy, though the objective is %s", row->variant, row->shape,
              c->table->objective);
    if (!has_none && !(energy > 0.0 && row->power_w > 0.0))
        fault(c, "%s %s: energy %g mJ, power %g W", row->variant, row->shape, energy, row->power_w);
    if (has_none && (!isnan(row->energy_low_mj) || !isnan(row->power_w)))
        fault(c, "%s %s: an interval or power without an energy", row->variant, row->shape);
    check_interval(c, row, "energy", row->energy_low_mj, energy, row->energy_high_mj, " mJ");
}

static bool is_mark(const char *text)
{
    char known[TSW_UNSTABLE_TEXT_SIZE];
    for (unsigned mask = 1; mask <= UINT8_MAX; mask++) {
        if (strcmp(text, tsw_unstable_format((uint8_t)mask, known)) == 0)
            return text[0] != '\0';
    }
    return false;
}

static void check_row(check_t *c, size_t index)
{
    const tsw_table_row_t *row = &c->pack->rows[index];
    const char *const v = row->variant;
    const char *const s = row->shape;
    if (row->config >= c->pack->config_count)
        fault(c, "%s %s: config %u of %zu", v, s, row->config, c->pack->config_count);
    if (!(row->time_ns > 0.0))
        fault(c, "%s %s: time %g ns", v, s, row->time_ns);
    check_interval(c, row, "time", row->ci_low_ns, row->time_ns, row->ci_high_ns, " ns");
    check_energy(c, row);
    if (row->unstable != NULL && !is_mark(row->unstable))
        fault(c, "%s %s: unstable by %s, which is not known", v, s, row->unstable);
    if (!(row->regret >= 0.0))
        fault(c, "%s %s: regret %g", v, s, row->regret);
    if (!(row->speedup >= 0.0))
        fault(c, "%s %s: speedup %g", v, s, row->speedup);
    if (c->pack->variant != NULL && strcmp(c->pack->variant, v) != 0)
        fault(c, "%s %s: a row of another variant than %s", v, s, c->pack->variant);
    if (index > 0) {
        const tsw_table_row_t *before = &c->pack->rows[index - 1];
        int order = tsw_table_compare(before->variant, v);
        report_order(c, order != 0 ? order : tsw_table_compare(before->shape, s), v, s);
    }
}

/* A mean of equal numbers may exceed them by a rounding error. */
static void check_regret(check_t *c, const char *of, double mean, double worst)
{
    if (!(mean >= 0.0) || !(worst * (1.0 + 1e-9) >= mean))
        fault(c, "regret of %s: mean %g, worst %g", of, mean, worst);
}

static bool is_objective(const char *name)
{
    static const char *const names[] = {"median", "mean", "p90", "p99", "energy"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static void check_top(check_t *c, const tsw_table_t *table)
{
    const char *const mode = table->mode;
    const char *const purpose = table->purpose;
    if (table->schema != TSW_TABLE_SCHEMA)
        fault(c, "schema %u", table->schema);
    if (strcmp(mode, "cuda") != 0 && strcmp(mode, "sim") != 0 && strcmp(mode, "replay") != 0)
        fault(c, "mode %s is none of cuda, sim, replay", mode);
    if (strcmp(purpose, "release") != 0 && strcmp(purpose, "probe") != 0 &&
        strcmp(purpose, "research") != 0)
        fault(c, "purpose %s is none of release, probe, research", purpose);
    if (!is_objective(table->objective))
        fault(c, "objective %s is none of median, mean, p90, p99, energy", table->objective);
}

static void check_order(check_t *c, const tsw_table_t *table, size_t index)
{
    if (index == 0)
        return;
    const tsw_table_pack_t *before = &table->packs[index - 1];
    const char *variant = c->pack->variant;
    int order = tsw_table_compare(before->name, c->pack->name);
    report_order(c, order != 0 ? order : tsw_table_compare(before->variant, variant), "table of",
                 variant != NULL ? variant : "all variants");
}

void tsw_table_check(const tsw_table_t *table, tsw_buf_t *report, size_t *faults_p)
{
    check_t c = {.report = report, .table = table};
    check_top(&c, table);
    for (size_t i = 0; i < table->pack_count; i++) {
        c.pack = &table->packs[i];
        check_order(&c, table, i);
        check_configs(&c);
        check_regret(&c, "the configs", c.pack->mean_regret, c.pack->worst_regret);
        check_regret(&c, "the baseline", c.pack->baseline_mean_regret,
                     c.pack->baseline_worst_regret);
        for (size_t row = 0; row < c.pack->row_count; row++)
            check_row(&c, row);
    }
    *faults_p = c.faults;
}
