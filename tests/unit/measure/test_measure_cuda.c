/* measure over the real cuda body and the fake driver, whose kernels really write memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "fake_libcuda.h"
#include "measure/measure_cell.h"
#include "measure_bench.h"

#include <string.h>

/* What fake_write and its kind take, and fake_add and its kind. */
static const char *const writer_args =
    "  - {name: C, role: out, type: cell, size: M * N, row: N}\n"
    "  - {name: bytes, role: scalar, type: i64, value: M * N * ELEM_BYTES}\n";
static const char *const mapper_args =
    "  - {name: X, role: inout, type: i8, size: M * N, row: N, fill: {index: [-100, 100]}}\n"
    "  - {name: bytes, role: scalar, type: i64, value: M * N}\n";

static bench_t bench;

static int setup(void **state)
{
    (void)state;
    fake_cuda_reset();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bench_fini(&bench);
    return 0;
}

static void begin(const char *args, const char *entry)
{
    tsw_err_t err = TSW_ERR_INIT;
    bench_init(&bench, args, entry);
    bench_open(&bench, "cuda", "");
    tsw_status_t status = bench_begin(&bench, &err);
    if (status != TSW_OK)
        fail_msg("%s", err.text);
}

static void add(uint32_t index, const char *cubin)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(bench_add(&bench, index, cubin, false, &err), TSW_OK);
}

static void finish(void)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_measure_time(bench.measure, 0, &err), TSW_OK);
}

static void check(uint32_t index, tsw_outcome_t outcome, const char *detail)
{
    assert_int_equal(bench.configs[index].outcome, outcome);
    if (strstr(bench.configs[index].detail, detail) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", detail, bench.configs[index].detail);
}

static void test_results_are_judged_by_what_is_in_memory(void **state)
{
    (void)state;
    begin(writer_args, "fake_write");
    add(0, "fake");
    add(1, "fake:fake_half");
    add(2, "fake:fake_overrun");
    add(3, "fake:fake_nan");
    add(4, "fake:fake_refused");
    add(5, "junk");
    add(6, "fake");
    check(0, TSW_OUTCOME_OK, "");
    check(1, TSW_OUTCOME_WRONG_RESULT, "C: 3200 of 6400 elements never written, the first at 3200");
    check(2, TSW_OUTCOME_WRONG_RESULT,
          "writes outside C: 1 bytes changed, the first 0 bytes behind its end");
    check(3, TSW_OUTCOME_NAN_RESULT,
          "C: 1 of 6400 elements are NaN where the reference's are not, "
          "the first at 6399");
    check(4, TSW_OUTCOME_LAUNCH_FAILED, "CUDA_ERROR_SCRIPTED (701)");
    check(5, TSW_OUTCOME_LOAD_FAILED, "cuModuleLoadData");
    check(6, TSW_OUTCOME_OK, "");
    finish();
    check(6, TSW_OUTCOME_OK, "");
    assert_int_equal(bench.configs[6].sample_count, 6);
    assert_int_equal(bench.configs[2].sample_count, 0);
}

/* Of one element that is off, its outcome. */
static tsw_outcome_t near_miss(tsw_dtype_t dtype, const char *args, double atol, double rtol)
{
    bench_fini(&bench);
    bench_init(&bench, args, "fake_write");
    bench.variant.dtype = dtype;
    for (size_t i = 0; i < bench.pack->tolerance_count; i++)
        if (bench.pack->tolerances[i].dtype == dtype) {
            bench.pack->tolerances[i].atol = atol;
            bench.pack->tolerances[i].rtol = rtol;
        }
    tsw_err_t err = TSW_ERR_INIT;
    bench_open(&bench, "cuda", "");
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    add(0, "fake:fake_near");
    return bench.configs[0].outcome;
}

/* f16 0x0102 for 0x0101: 6e-8 more, 0.4 %. */
static void test_either_tolerance_excuses_an_element(void **state)
{
    (void)state;
    const tsw_dtype_t f16 = TSW_DTYPE_F16;
    assert_int_equal(near_miss(f16, writer_args, 0.0, 0.0), TSW_OUTCOME_WRONG_RESULT);
    check(0, TSW_OUTCOME_WRONG_RESULT, "C: 1 of 6400 elements differ, the first at 6399");
    assert_int_equal(near_miss(f16, writer_args, 1e-7, 0.0), TSW_OUTCOME_OK);
    assert_int_equal(near_miss(f16, writer_args, 5e-8, 0.0), TSW_OUTCOME_WRONG_RESULT);
    assert_int_equal(near_miss(f16, writer_args, 0.0, 0.005), TSW_OUTCOME_OK);
    assert_int_equal(near_miss(f16, writer_args, 0.0, 0.003), TSW_OUTCOME_WRONG_RESULT);
    assert_int_equal(near_miss(TSW_DTYPE_I8, writer_args, 0.0, 0.0), TSW_OUTCOME_WRONG_RESULT);
    check(0, TSW_OUTCOME_WRONG_RESULT, "C: 1 of 6400 elements differ, the first at 6398");
    assert_int_equal(near_miss(TSW_DTYPE_I8, writer_args, 1.0, 0.0), TSW_OUTCOME_OK);
}

/* A type that the pack has no tolerance of: that of the cell's, where it is a real one too. */
static void test_outputs_of_another_type_have_the_cell_s_tolerance(void **state)
{
    (void)state;
    static const char *const real = "  - {name: C, role: out, type: f32, size: M * N, row: N}\n"
                                    "  - {name: n, role: scalar, type: i64, value: 4 * M * N}\n";
    static const char *const whole = "  - {name: C, role: out, type: i32, size: M * N, row: N}\n"
                                     "  - {name: n, role: scalar, type: i64, value: 4 * M * N}\n";
    const tsw_dtype_t f16 = TSW_DTYPE_F16;
    assert_int_equal(near_miss(f16, real, 0.0, 0.01), TSW_OUTCOME_OK);
    assert_int_equal(near_miss(f16, real, 0.0, 0.0), TSW_OUTCOME_WRONG_RESULT);
    assert_int_equal(near_miss(f16, whole, 1e9, 1.0), TSW_OUTCOME_WRONG_RESULT);
}

static void test_a_kernel_that_builds_on_its_output_is_found(void **state)
{
    (void)state;
    begin(writer_args, "fake_write");
    add(0, "fake");
    add(1, "fake:fake_grow"); /* right over poison, and wrong over its own result */
    check(1, TSW_OUTCOME_OK, "");
    finish();
    check(0, TSW_OUTCOME_OK, "");
    check(1, TSW_OUTCOME_WRONG_RESULT, "right at the first launch, wrong at the last");
}

static void test_a_changed_input_is_found_and_mended(void **state)
{
    (void)state;
    begin(mapper_args, "fake_add");
    const tsw_measure_arg_t *x = &bench.measure->args[0];
    const uint64_t input_sum = x->input_sum, reference_sum = x->reference_sum;
    add(0, "fake");
    add(1, "fake:fake_dirty");
    add(2, "fake");
    check(0, TSW_OUTCOME_OK, "");
    check(1, TSW_OUTCOME_WRONG_RESULT, "changes the input X, which it must only read");
    check(2, TSW_OUTCOME_OK, "");
    assert_int_equal(x->input_sum, input_sum); /* taken anew: it is as it was */
    assert_int_equal(x->reference_sum, reference_sum);
    finish();
    check(0, TSW_OUTCOME_OK, "");
    check(2, TSW_OUTCOME_OK, "");
}

/* The fake's device memory is the host's. */
static void test_a_changed_reference_is_found_and_mended(void **state)
{
    (void)state;
    begin(mapper_args, "fake_add");
    add(0, "fake");
    *(uint8_t *)(uintptr_t)bench.measure->args[0].reference.address ^= 1;
    add(1, "fake");
    add(2, "fake");
    check(1, TSW_OUTCOME_WRONG_RESULT, "changes the reference's copy of X");
    check(2, TSW_OUTCOME_OK, "");
}

static void test_in_place_is_tried_for_real(void **state)
{
    (void)state;
    begin(mapper_args, "fake_reverse");
    add(0, "fake");
    add(1, "fake:fake_symmetric");
    add(2, "fake:fake_add");
    check(0, TSW_OUTCOME_OK, "");
    check(1, TSW_OUTCOME_OK, "");
    check(2, TSW_OUTCOME_WRONG_RESULT, "X: ");
    finish();
    check(0, TSW_OUTCOME_WRONG_RESULT, "right with split buffers, wrong in place");
    check(1, TSW_OUTCOME_OK, "");
}

/* All launches write the same, each where its set is. */
static void test_launches_of_a_set_have_its_buffers(void **state)
{
    (void)state;
    begin(writer_args, "fake_write");
    add(0, "fake");
    const tsw_measure_arg_t *c = &bench.measure->args[0];
    const uint8_t *second = (const uint8_t *)(uintptr_t)tsw_measure_ring_address(
        bench.measure, &c->output, c->output_offset, 1);
    assert_int_equal(bench.measure->ring.sets, 2);
    assert_int_equal(second[0], 0xff);
    finish();
    assert_int_equal(second[0], 1);
    assert_int_equal(second[c->output.bytes - 1], 1);
}

static void test_a_graph_of_another_length_takes_the_place_of_the_first(void **state)
{
    (void)state;
    fake_cuda_counts_t first, second;
    tsw_shot_t shot;
    tsw_err_t err = TSW_ERR_INIT;
    begin(writer_args, "fake_write");
    add(0, "fake");
    for (uint32_t launches = 30; launches <= 31; launches++) {
        const tsw_measure_interval_t interval = {launches, true};
        assert_int_equal(tsw_measure_shot(bench.measure, &bench.measure->entries[0],
                                          TSW_WAVE_KIND_CELL, interval, &shot, &err),
                         TSW_OK);
        assert_int_equal(shot.repeat, launches);
        fake_cuda_counts(launches == 30 ? &first : &second);
    }
    assert_int_equal(first.graphs, 2);
    assert_int_equal(second.graphs, 2);
    fake_cuda_fail("cuGraphCreate", 1, 1); /* and nothing of the old one is left to be freed */
    assert_int_equal(tsw_measure_shot(bench.measure, &bench.measure->entries[0], TSW_WAVE_KIND_CELL,
                                      (tsw_measure_interval_t){5, true}, &shot, &err),
                     TSW_ERR_DEVICE);
    fake_cuda_counts(&second);
    assert_int_equal(second.graphs, 0);
}

static void test_endless_shots_flush_nothing(void **state)
{
    (void)state;
    tsw_shot_t shot;
    tsw_err_t err = TSW_ERR_INIT;
    bench_init(&bench, writer_args, "fake_write");
    bench_open(&bench, "cuda", "");
    fake_cuda_fail("cuMemAlloc", 4, 2); /* no memory for sets */
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    add(0, "fake");
    assert_int_equal(bench.measure->ring.state, TSW_CACHE_STATE_COLD_FLUSH);
    assert_int_equal(
        tsw_measure_shot_endless(bench.measure, &bench.measure->entries[0], &shot, &err), TSW_OK);
    assert_false(shot.flush);
}

/* Two sets of 12.5 KiB for an L2 of 4 KiB, launches of 10.24 us. */
static void test_short_kernels_go_round_the_ring_in_graphs(void **state)
{
    (void)state;
    fake_cuda_counts_t before, after;
    begin(writer_args, "fake_write");
    add(0, "fake");
    add(1, "fake");
    fake_cuda_counts(&before);
    finish();
    fake_cuda_counts(&after);
    for (uint32_t r = 0; r < bench.round_count; r++)
        assert_int_equal(bench.rounds[r].cache_state, TSW_CACHE_STATE_COLD_ROTATION);
    for (uint32_t i = 0; i < bench.configs[0].sample_count; i++) {
        uint32_t launches = i < 2 ? 1 : 31;
        assert_int_equal(bench.configs[0].launches[i], launches);
        assert_in_range(bench.configs[0].samples[i], launches * 10239, launches * 10241);
    }
    assert_int_equal(after.graph_launches - before.graph_launches, 4 * 2); /* no lead is one */
    /* Each begins where the one before it ended, the next time at the other set at least once. */
    assert_in_range(after.graph_moves - before.graph_moves, 2 * 31, 6 * 31);
    assert_int_equal(after.flushes - before.flushes, 0);
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_OK);
}

static void test_without_warmup_singles_are_tried_first(void **state)
{
    (void)state;
    fake_cuda_counts_t before, after;
    bench_init(&bench, writer_args, "fake_write");
    bench.cell.policy.warmup_rounds = 0;
    tsw_err_t err = TSW_ERR_INIT;
    bench_open(&bench, "cuda", "");
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    add(0, "fake");
    fake_cuda_counts(&before);
    finish();
    fake_cuda_counts(&after);
    assert_int_equal(bench.configs[0].sample_count, 4);
    assert_int_equal(bench.configs[0].launches[0], 31);
    assert_int_equal(after.graph_launches - before.graph_launches, 4);
}

static void test_a_flush_that_does_nothing_is_refused(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    bench_init(&bench, writer_args, "fake_write");
    bench_open(&bench, "cuda", "");
    fake_cuda_never_flush();
    assert_int_equal(bench_begin(&bench, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "overwriting twice the L2 does not empty it"));
    bench.cell.policy.cache = TSW_CACHE_HOT;
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
}

static void test_hot_cells_neither_rotate_nor_flush(void **state)
{
    (void)state;
    fake_cuda_counts_t counts;
    bench_init(&bench, writer_args, "fake_write");
    bench.cell.policy.cache = TSW_CACHE_HOT;
    tsw_err_t err = TSW_ERR_INIT;
    bench_open(&bench, "cuda", "");
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    add(0, "fake");
    finish();
    fake_cuda_counts(&counts);
    assert_int_equal(counts.flushes, 0);
    assert_int_equal(bench.rounds[3].cache_state, TSW_CACHE_STATE_HOT);
    assert_int_equal(bench.configs[0].launches[3], 31);
}

/* An arena that does not fit is done without. */
static void test_without_memory_for_sets_the_l2_is_flushed(void **state)
{
    (void)state;
    fake_cuda_counts_t before, after;
    tsw_err_t err = TSW_ERR_INIT;
    bench_init(&bench, writer_args, "fake_write");
    bench_open(&bench, "cuda", "");
    fake_cuda_fail("cuMemAlloc", 4, 2); /* proof, output, reference, arena */
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    add(0, "fake");
    fake_cuda_counts(&before);
    finish();
    fake_cuda_counts(&after);
    assert_int_equal(bench.rounds[3].cache_state, TSW_CACHE_STATE_COLD_FLUSH);
    assert_int_equal(bench.configs[0].launches[3], 1);
    assert_int_equal(after.flushes - before.flushes, 6 * 2);
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_OK);
}

static void test_a_graph_that_cannot_be_made_costs_its_config(void **state)
{
    (void)state;
    begin(writer_args, "fake_write");
    add(0, "fake");
    add(1, "fake");
    fake_cuda_fail("cuGraphInstantiate", 1, 1);
    finish();
    uint32_t bad = bench.configs[0].outcome == TSW_OUTCOME_OK ? 1 : 0;
    check(bad, TSW_OUTCOME_LAUNCH_FAILED, "a graph of 31 launches: cuGraphInstantiate");
    assert_int_equal(bench.configs[bad].sample_count, 2);
    assert_int_equal(bench.configs[1 - bad].sample_count, 6);
}

/* Configs in the order of the first round in graphs. */
static void run_three(uint32_t order[3])
{
    begin(writer_args, "fake_write");
    for (uint32_t i = 0; i < 3; i++)
        add(i, "fake");
    finish();
    memcpy(order, bench.order[2], 3 * sizeof(order[0]));
}

static void test_a_graph_that_cannot_be_made_names_its_own_config(void **state)
{
    (void)state;
    uint32_t order[3], others[3];
    run_three(order);
    bench_fini(&bench);
    fake_cuda_fail("cuGraphInstantiate", 2, 1);
    run_three(others);
    for (uint32_t i = 0; i < 3; i++)
        check(order[i], i == 1 ? TSW_OUTCOME_LAUNCH_FAILED : TSW_OUTCOME_OK, "");
}

static void test_first_launches_that_tell_nothing_are_not_kept(void **state)
{
    (void)state;
    static const uint32_t first[] = {1, 2};
    bench_init(&bench, writer_args, "fake_write");
    bench.cell.policy.protocol = TSW_PROTOCOL_RACE;
    tsw_err_t err = TSW_ERR_INIT;
    bench_open(&bench, "cuda", "");
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    for (uint32_t i = 0; i < 3; i++)
        add(i, "fake");
    bench.measure->entries[0].first_ns = 0; /* as where the driver made room */
    finish();
    assert_int_equal(bench.rounds[0].stage, TSW_STAGE_VERIFY);
    assert_int_equal(bench.counts[0], 2);
    assert_memory_equal(bench.order[0], first, sizeof(first));
    assert_in_range(bench.rounds[0].duration_ns, 2 * 10239, 2 * 10241);
}

static void test_time_after_the_rounds_is_not_theirs(void **state)
{
    (void)state;
    begin(writer_args, "fake_write");
    add(0, "fake");
    const tsw_use_t use = bench.measure->watch->use;
    finish();
    assert_int_equal(bench.measure->watch->use, use);
}

static void test_fixed_launches_exactly_as_often_as_asked(void **state)
{
    (void)state;
    fake_cuda_counts_t counts;
    tsw_err_t err = TSW_ERR_INIT;
    bench_init(&bench, writer_args, "fake_write");
    bench.cell.policy.protocol = TSW_PROTOCOL_FIXED;
    bench.cell.policy.rounds = 7;
    bench_open(&bench, "cuda", "");
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    add(0, "fake");
    finish();
    fake_cuda_counts(&counts);
    assert_int_equal(counts.launches, 7);
    assert_int_equal(counts.flushes, 0);
    assert_int_equal(counts.profilers, 0);
    assert_int_equal(bench.configs[0].sample_count, 7);
}

static int memories(void)
{
    fake_cuda_counts_t counts;
    fake_cuda_counts(&counts);
    return counts.memories;
}

static void test_the_next_cell_is_prepared_beside_the_one_in_hand(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    begin(mapper_args, "fake_add");
    const uint64_t peak = tsw_measure_peak_bytes(bench.measure);
    add(0, "fake");
    tsw_measure_t *next = tsw_measure_prepare(bench.dev, &bench.cell);
    assert_non_null(next);
    add(1, "fake:fake_dirty"); /* is mended by the fills of its own cell */
    add(2, "fake");
    finish();
    check(0, TSW_OUTCOME_OK, "");
    check(1, TSW_OUTCOME_WRONG_RESULT, "changes the input X");
    check(2, TSW_OUTCOME_OK, "");
    assert_int_equal(tsw_measure_peak_bytes(bench.measure), peak); /* the next cell's is its own */
    tsw_measure_end(bench.measure);
    bench.measure = NULL;
    bench.configs[0].told = 0;
    bench.cell.locked_mhz = 1500; /* not known until it begins */
    assert_int_equal(tsw_measure_begin_prepared(next, &bench.cell, &bench.sink, &err), TSW_OK);
    assert_int_equal(next->clock.locked_mhz, 1500);
    next->clock.locked_mhz = 0; /* nobody holds it here */
    bench.measure = next;
    assert_int_equal(tsw_measure_peak_bytes(next), peak);
    add(0, "fake");
    assert_int_equal(bench.configs[0].told, 1);
    check(0, TSW_OUTCOME_OK, "");
    finish();
    check(0, TSW_OUTCOME_OK, "");
}

static void test_what_was_prepared_goes_with_its_cell(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    begin(mapper_args, "fake_add");
    tsw_measure_t *next = tsw_measure_prepare(bench.dev, &bench.cell);
    assert_non_null(next);
    tsw_measure_end(next); /* unused */
    next = tsw_measure_prepare(bench.dev, &bench.cell);
    assert_non_null(next);
    bench.cell.reference_cubin = "junk";
    assert_int_equal(tsw_measure_begin_prepared(next, &bench.cell, &bench.sink, &err),
                     TSW_ERR_DEVICE);
    assert_non_null(strstr(err.text, "reference kernel"));
    next = tsw_measure_prepare(bench.dev, &bench.cell);
    assert_non_null(next); /* it gave back all that it had */
    tsw_measure_end(next);
    bench_fini(&bench);
    assert_int_equal(memories(), 0);
}

static void test_nothing_is_prepared_that_would_have_to_wait_or_fails(void **state)
{
    (void)state;
    tsw_measure_t *next = NULL;
    begin(mapper_args, "fake_add");
    for (int n = 1; next == NULL; n++) {
        assert_true(n < 1000);
        tsw_mem_fail_at(n);
        next = tsw_measure_prepare(bench.dev, &bench.cell);
        tsw_mem_fail_at(0);
        assert_true(n > 1 || next == NULL);
    }
    tsw_measure_end(next);
    fake_cuda_fail("cuLaunchKernel", 1, 1);
    assert_null(tsw_measure_prepare(bench.dev, &bench.cell));
    fake_cuda_fail("cuMemsetD8Async", 1, 1);
    assert_null(tsw_measure_prepare(bench.dev, &bench.cell));
    bench.cell.dims[0] = 1 << 20; /* too much to be taken ahead */
    assert_null(tsw_measure_prepare(bench.dev, &bench.cell));
    bench.cell.dims[0] = 64;
    next = tsw_measure_prepare(bench.dev, &bench.cell);
    assert_non_null(next);
    tsw_measure_end(next);
    bench.pack->args[0].fill.kind = TSW_FILL_DATASET;
    assert_null(tsw_measure_prepare(bench.dev, &bench.cell));
    bench.pack->args[0].fill.kind = TSW_FILL_INDEX;
}

static void test_nothing_of_the_driver_leaks(void **state)
{
    (void)state;
    fake_cuda_counts_t counts;
    begin(mapper_args, "fake_add");
    add(0, "fake");
    add(1, "junk");
    finish();
    bench_fini(&bench);
    fake_cuda_counts(&counts);
    assert_int_equal(counts.memories, 0);
    assert_int_equal(counts.graphs, 0);
    assert_int_equal(counts.modules, 0);
    assert_int_equal(counts.events, 0);
    assert_int_equal(counts.contexts, 0);
}

static void test_a_lost_device_names_its_config(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    begin(writer_args, "fake_write");
    add(0, "fake");
    assert_int_equal(bench_add(&bench, 1, "fake:fake_lost", false, &err), TSW_ERR_DEVICE_LOST);
    check(1, TSW_OUTCOME_DEVICE_LOST, "(719)");
    assert_int_equal(bench.busy, 1);
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_results_are_judged_by_what_is_in_memory),
        TEST(test_either_tolerance_excuses_an_element),
        TEST(test_outputs_of_another_type_have_the_cell_s_tolerance),
        TEST(test_a_kernel_that_builds_on_its_output_is_found),
        TEST(test_a_changed_input_is_found_and_mended),
        TEST(test_a_changed_reference_is_found_and_mended),
        TEST(test_in_place_is_tried_for_real),
        TEST(test_launches_of_a_set_have_its_buffers),
        TEST(test_a_graph_of_another_length_takes_the_place_of_the_first),
        TEST(test_endless_shots_flush_nothing),
        TEST(test_short_kernels_go_round_the_ring_in_graphs),
        TEST(test_without_warmup_singles_are_tried_first),
        TEST(test_a_flush_that_does_nothing_is_refused),
        TEST(test_hot_cells_neither_rotate_nor_flush),
        TEST(test_without_memory_for_sets_the_l2_is_flushed),
        TEST(test_a_graph_that_cannot_be_made_costs_its_config),
        TEST(test_a_graph_that_cannot_be_made_names_its_own_config),
        TEST(test_first_launches_that_tell_nothing_are_not_kept),
        TEST(test_time_after_the_rounds_is_not_theirs),
        TEST(test_fixed_launches_exactly_as_often_as_asked),
        TEST(test_the_next_cell_is_prepared_beside_the_one_in_hand),
        TEST(test_what_was_prepared_goes_with_its_cell),
        TEST(test_nothing_is_prepared_that_would_have_to_wait_or_fails),
        TEST(test_nothing_of_the_driver_leaks),
        TEST(test_a_lost_device_names_its_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
