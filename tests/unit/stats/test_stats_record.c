/* The race over cells that an H200 measured: what its picks are worth, and what it takes of the GPU
 * against protocol cutile, whose time was measured there. Samples are drawn from what was recorded
 * of each config and of the noise of its cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIGS = 108, CELLS = 24, NOISES = 200, RACES = 60 };

typedef struct {
    double log[NOISES];
    size_t count;
} noise_t;

typedef struct {
    double first_ns, single_ns, queued_ns, final_ns;
} config_t;

typedef struct {
    char name[64];
    double cutile_ns, best_ns, best_single_ns;
    uint32_t graph_launches;
    noise_t single, queued, final;
    config_t configs[CONFIGS];
    size_t count;
} cell_t;

static cell_t cells[CELLS];
static size_t cell_count;

static void read_noise(char *text, noise_t *noise)
{
    char *end = text;
    for (double value = strtod(text, &end); end != text; value = strtod(text, &end)) {
        assert_true(noise->count < NOISES);
        noise->log[noise->count++] = value / 1e5;
        text = end;
    }
}

static void read_config(const char *text, cell_t *cell)
{
    assert_true(cell->count < CONFIGS);
    config_t *config = &cell->configs[cell->count++];
    assert_int_equal(sscanf(text, "%lf %lf %lf %lf", &config->first_ns, &config->single_ns,
                            &config->queued_ns, &config->final_ns),
                     4);
    cell->best_ns = cell->count == 1 ? config->final_ns : fmin(cell->best_ns, config->final_ns);
    cell->best_single_ns =
        cell->count == 1 ? config->single_ns : fmin(cell->best_single_ns, config->single_ns);
}

static void read_line(char *line)
{
    cell_t *cell = &cells[cell_count > 0 ? cell_count - 1 : 0];
    char *rest = strchr(line, ' ');
    if (rest == NULL || line[0] == '#')
        return;
    if (strncmp(line, "cell ", 5) == 0) {
        assert_true(cell_count < CELLS);
        cell = &cells[cell_count++];
        assert_int_equal(
            sscanf(rest, "%63s %lf %u", cell->name, &cell->cutile_ns, &cell->graph_launches), 3);
    } else if (strncmp(line, "config ", 7) == 0) {
        read_config(rest, cell);
    } else {
        read_noise(rest, line[0] == 's'   ? &cell->single
                         : line[0] == 'q' ? &cell->queued
                                          : &cell->final);
    }
}

static int setup(void **state)
{
    (void)state;
    static char line[8192];
    FILE *file = fopen(TSW_SOURCE_DIR "/tests/data/replay/race_h200.txt", "r");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof(line), file) != NULL)
        read_line(line);
    fclose(file);
    return cell_count > 0 ? 0 : -1;
}

static double draw(const noise_t *noise, uint64_t seed, uint64_t tick)
{
    return noise->count > 0 ? exp(noise->log[tsw_rng_u64(1, seed, tick, 0, 0) % noise->count])
                            : 1.0;
}

/* Kinds of samples: one launch; several in a row; in the final graphs, of short kernels. */
static double take(const cell_t *cell, const tsw_race_wave_t *wave, uint32_t index, uint64_t seed,
                   uint64_t tick, uint32_t *launches_p, double *gpu_ns)
{
    const config_t *config = &cell->configs[index];
    const double shot_ns = 20e3, launch_ns = 3e3; /* on the host, as fitted to what races took */
    double single_ns = cell->best_single_ns, time_ns = 0.0;
    bool is_graph = wave->is_final && single_ns < 25e3;
    *launches_p = 1;
    if (is_graph)
        *launches_p = cell->graph_launches;
    else if (wave->interval_ns > 0 && single_ns < 100e3)
        *launches_p = (uint32_t)ceil((double)wave->interval_ns / (single_ns - 2e3));
    if (wave->interval_ns == 0)
        time_ns = config->single_ns * draw(&cell->single, seed, tick);
    else if (!wave->is_final)
        time_ns = config->queued_ns * draw(&cell->queued, seed, tick);
    else
        time_ns = config->final_ns * draw(&cell->final, seed, tick);
    *gpu_ns += *launches_p * time_ns + shot_ns + (is_graph ? 0.0 : launch_ns * *launches_p);
    return time_ns;
}

typedef struct {
    double regret, gpu_ns;
    uint32_t finals;
    bool off;
} outcome_t;

static outcome_t race_on(const cell_t *cell, uint64_t seed)
{
    static double time_ns[(CONFIGS + 1) * TSW_RACE_BATCH];
    static uint32_t launches[(CONFIGS + 1) * TSW_RACE_BATCH];
    const double wave_ns = 30e3, node_ns = 5e3;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    outcome_t outcome = {.regret = 0.0};
    uint64_t tick = 0;
    options.keep = 0;
    assert_int_equal(
        tsw_race_new(&options, seed, (tsw_key_t){.lo = seed}, cell->count, &race, NULL), TSW_OK);
    for (uint32_t i = 0; i < cell->count; i++)
        tsw_race_first(race, i, cell->configs[i].first_ns);
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        outcome.gpu_ns += wave_ns;
        if (wave.is_final && outcome.finals == 0 && cell->best_single_ns < 25e3) /* the graphs */
            outcome.gpu_ns +=
                node_ns * cell->graph_launches * (double)(wave.count / wave.rounds - 1);
        outcome.finals += wave.is_final ? wave.rounds : 0;
        for (size_t slot = 0; slot < wave.count; slot++)
            time_ns[slot] = take(cell, &wave, wave.configs[slot], seed, ++tick, &launches[slot],
                                 &outcome.gpu_ns);
        tsw_race_report(race, time_ns, launches);
    }
    int64_t winner = tsw_race_winner(race);
    assert_true(winner >= 0);
    outcome.regret = cell->configs[winner].final_ns / cell->best_ns - 1.0;
    outcome.off = tsw_race_is_unsettled(race);
    tsw_race_free(race);
    return outcome;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of cells whose best config takes less than 25 us, and of the others. */
typedef struct {
    double cutile_ns, gpu_ns;
} sum_t;

static void test_race_over_what_an_h200_measured(void **state)
{
    (void)state;
    static double regrets[CELLS * RACES];
    size_t count = 0;
    double off = 0.0;
    sum_t sums[2] = {{0.0, 0.0}, {0.0, 0.0}};
    for (size_t c = 0; c < cell_count; c++) {
        const cell_t *cell = &cells[c];
        outcome_t mean = {.regret = 0.0};
        double cell_off = 0.0, finals = 0.0;
        for (uint64_t seed = 0; seed < RACES; seed++) {
            outcome_t outcome = race_on(cell, seed);
            regrets[count++] = outcome.regret;
            mean.regret += outcome.regret / RACES;
            mean.gpu_ns += outcome.gpu_ns / RACES;
            finals += (double)outcome.finals / RACES;
            cell_off += (double)outcome.off / RACES;
        }
        sum_t *sum = &sums[cell->best_ns >= 25e3];
        sum->cutile_ns += cell->cutile_ns;
        sum->gpu_ns += mean.gpu_ns;
        off += cell_off / (double)cell_count;
        print_message("%-32s %3zu configs: %6.0f us, %5.2f x cutile; regret %.4f; final of %4.1f; "
                      "control off in %.2f\n",
                      cell->name, cell->count, mean.gpu_ns / 1e3, cell->cutile_ns / mean.gpu_ns,
                      mean.regret, finals, cell_off);
    }
    qsort(regrets, count, sizeof(regrets[0]), compare_doubles);
    double p95 = regrets[count * 95 / 100];
    double longer = sums[1].cutile_ns / sums[1].gpu_ns;
    double shorter = sums[0].cutile_ns / sums[0].gpu_ns;
    print_message("regret p95 %.4f max %.4f; long %.2f, short %.2f x cutile; control off in %.2f\n",
                  p95, regrets[count - 1], longer, shorter, off);
    assert_true(p95 <= 0.005);
    assert_true(longer >= 6.0 && shorter >= 1.3);
    assert_true(off <= 0.35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_race_over_what_an_h200_measured)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
