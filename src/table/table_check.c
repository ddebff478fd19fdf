#include "table/table.h"

#include "table/table_fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONFIGS_MAX = 8, FAULT_MAX = 512 };

typedef struct {
    tsw_buf_t *report;
    size_t faults;
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

static void check_row(check_t *c, size_t index)
{
    const tsw_table_row_t *row = &c->pack->rows[index];
    const char *const v = row->variant;
    const char *const s = row->shape;
    if (row->config >= c->pack->config_count)
        fault(c, "%s %s: config %u of %zu", v, s, row->config, c->pack->config_count);
    if (!(row->time_ns > 0.0))
        fault(c, "%s %s: time %g ns", v, s, row->time_ns);
    if (isnan(row->ci_low_ns) != isnan(row->ci_high_ns))
        fault(c, "%s %s: half an interval", v, s);
    else if (!isnan(row->ci_low_ns) &&
             !(row->ci_low_ns <= row->time_ns && row->time_ns <= row->ci_high_ns))
        fault(c, "%s %s: time %g ns outside its interval %g .. %g", v, s, row->time_ns,
              row->ci_low_ns, row->ci_high_ns);
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
    check_t c = {.report = report};
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
