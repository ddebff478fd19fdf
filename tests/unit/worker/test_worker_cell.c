/* From a message to a cell that can be measured. */
#include "worker/worker_cell.h"

#include "base/mem.h"
#include "measure_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char args[] =
    "  - {name: X, role: in, type: cell, size: M * N, fill: {normal: [0, 1]}}\n"
    "  - {name: Y, role: out, type: i8, size: M * N}\n";

typedef struct {
    bench_t bench;
    tsw_job_t job;
    tsw_pack_t *packs[1];
    tsw_worker_cell_t cell;
} fixture_t;

static int setup(void **state)
{
    static fixture_t f;
    f = (fixture_t){.job = {.pack_count = 1, .policy = {.rounds = 7}}};
    bench_init(&f.bench, args, "fake_write");
    f.packs[0] = f.bench.pack;
    memcpy(&f.job.packs, &(tsw_pack_t **){f.packs}, sizeof(f.job.packs));
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    tsw_worker_cell_fini(&f->cell);
    tsw_pack_free(f->bench.pack);
    return 0;
}

static tsw_msg_begin_t message(void)
{
    return (tsw_msg_begin_t){.dtype = TSW_DTYPE_F16,
                             .arch = 90,
                             .cell_key = tsw_key_of_text("cell"),
                             .dims = {64, 100},
                             .flops = 3,
                             .bytes = 4,
                             .max_tile = 5,
                             .reference = "fake",
                             .reference_size = 5};
}

static void test_a_cell_is_what_its_message_and_the_job_say(void **state)
{
    fixture_t *f = *state;
    tsw_err_t err = TSW_ERR_INIT;
    const tsw_msg_begin_t msg = message();
    assert_int_equal(tsw_worker_cell_describe(&f->cell, &f->job, &msg, &err), TSW_OK);
    const tsw_measure_cell_t *about = &f->cell.about;
    assert_ptr_equal(about->variant, &f->cell.variant);
    assert_ptr_equal(about->variant->pack, f->bench.pack);
    assert_int_equal(about->variant->dtype, TSW_DTYPE_F16);
    assert_int_equal(about->policy.rounds, 7);
    assert_int_equal(about->dims[1], 100);
    assert_int_equal(about->max_tile, 5);
    assert_ptr_equal(about->reference_cubin, msg.reference);
    assert_null(about->fill_data[0]);
    tsw_eval_t *eval = f->cell.eval;
    assert_non_null(eval);
    assert_int_equal(tsw_worker_cell_describe(&f->cell, &f->job, &msg, &err), TSW_OK);
    assert_ptr_equal(f->cell.about.eval, eval); /* it knows the expressions already */
}

static void test_a_message_of_another_job_is_corrupt(void **state)
{
    fixture_t *f = *state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_msg_begin_t msg = message();
    msg.pack = 1;
    assert_int_equal(tsw_worker_cell_describe(&f->cell, &f->job, &msg, &err), TSW_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "no pack 1"));
    msg.pack = 0;
    msg.dtype = TSW_DTYPE_COUNT;
    assert_int_equal(tsw_worker_cell_describe(&f->cell, &f->job, &msg, &err), TSW_ERR_CORRUPT);
}

static void test_without_memory_there_is_no_cell(void **state)
{
    fixture_t *f = *state;
    const tsw_msg_begin_t msg = message();
    tsw_status_t status = TSW_ERR_NOMEM;
    for (int n = 1; status == TSW_ERR_NOMEM; n++) {
        assert_true(n < 1000);
        tsw_mem_fail_at(n);
        status = tsw_worker_cell_describe(&f->cell, &f->job, &msg, NULL);
        tsw_mem_fail_at(0);
    }
    assert_int_equal(status, TSW_OK);
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cell_is_what_its_message_and_the_job_say),
        TEST(test_a_message_of_another_job_is_corrupt),
        TEST(test_without_memory_there_is_no_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
