/* Frames that wait, and a driver that is fake. */
#include "wire/wire.h"
#include "worker/worker_ahead.h"

#include "fake_libcuda.h"
#include "measure_bench.h"
#include "proc/proc.h"
#include "wire/child_msg.h"
#include "wire/worker_msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    bench_t bench;
    int fds[2];
    tsw_job_t job;
    tsw_pack_t *packs[1];
    tsw_inbox_t in;
    tsw_ahead_t ahead;
} fixture_t;

static const char args[] = "  - {name: Y, role: out, type: i8, size: M * N}\n"
                           "  - {name: n, role: scalar, type: i64, value: M * N}\n";

static int setup(void **state)
{
    static fixture_t f;
    f = (fixture_t){.fds = {-1, -1}};
    fake_cuda_reset();
    bench_init(&f.bench, args, "fake_write");
    bench_open(&f.bench, "cuda", "");
    f.packs[0] = f.bench.pack;
    memcpy(&f.job.packs, &(tsw_pack_t **){f.packs}, sizeof(f.job.packs));
    f.job.pack_count = 1;
    *state = &f;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, f.fds);
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    close(f->fds[0]);
    close(f->fds[1]);
    tsw_inbox_fini(&f->in);
    bench_fini(&f->bench);
    return 0;
}

static int modules(void)
{
    fake_cuda_counts_t counts;
    fake_cuda_counts(&counts);
    return counts.modules;
}

static void put_begin(const fixture_t *f, uint32_t pack)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_begin(&body, &(tsw_msg_begin_t){.pack = pack,
                                                .dtype = TSW_DTYPE_F16,
                                                .arch = 90,
                                                .reference = "fake",
                                                .reference_size = 5});
    assert_int_equal(tsw_channel_write(f->fds[1], TSW_CHILD_BEGIN, &body, NULL), TSW_OK);
    tsw_buf_fini(&body);
}

static void put_add(const fixture_t *f, const char *cubin)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_add(&body, &(tsw_msg_add_t){.cubin = cubin, .cubin_size = strlen(cubin) + 1});
    assert_int_equal(tsw_channel_write(f->fds[1], TSW_CHILD_ADD, &body, NULL), TSW_OK);
    tsw_buf_fini(&body);
}

static bool work(fixture_t *f)
{
    return tsw_ahead_work(&f->ahead, f->fds[0], &f->in, &f->job, f->bench.dev);
}

static void test_modules_of_waiting_frames_are_loaded_one_by_one(void **state)
{
    fixture_t *f = *state;
    int before = modules();
    assert_false(work(f));
    put_begin(f, 0);
    put_add(f, "fake:fake_write");
    put_add(f, "junk");
    put_add(f, "fake:fake_half");
    assert_true(work(f));
    assert_int_equal(modules(), before + 1);
    assert_true(work(f));
    assert_int_equal(modules(), before + 2);
    assert_true(work(f)); /* the cell itself will say that it does not load */
    assert_int_equal(modules(), before + 2);
    assert_true(work(f));
    assert_int_equal(modules(), before + 3);
    assert_false(work(f));
}

static void test_frames_are_still_there_and_looked_at_once(void **state)
{
    fixture_t *f = *state;
    tsw_buf_t body = TSW_BUF_INIT;
    uint32_t type = 0;
    put_begin(f, 0);
    put_add(f, "fake:fake_write");
    assert_true(work(f));
    assert_int_equal(tsw_channel_read(f->fds[0], &f->in, &type, &body, NULL), TSW_OK);
    assert_int_equal(type, TSW_CHILD_BEGIN);
    tsw_ahead_taken(&f->ahead, TSW_FRAME_HEADER_SIZE + body.size);
    assert_int_equal(f->ahead.at, 0);
    assert_true(work(f));
    assert_false(work(f));
    assert_int_equal(tsw_channel_read(f->fds[0], &f->in, &type, &body, NULL), TSW_OK);
    assert_int_equal(type, TSW_CHILD_ADD);
    tsw_ahead_taken(&f->ahead, TSW_FRAME_HEADER_SIZE + body.size);
    put_add(f, "fake:fake_half"); /* taken before anybody looked */
    assert_int_equal(tsw_channel_read(f->fds[0], &f->in, &type, &body, NULL), TSW_OK);
    tsw_ahead_taken(&f->ahead, TSW_FRAME_HEADER_SIZE + body.size);
    assert_int_equal(f->ahead.at, 0);
    tsw_buf_fini(&body);
}

static void test_frames_that_make_no_sense_are_passed_over(void **state)
{
    fixture_t *f = *state;
    tsw_buf_t body = TSW_BUF_INIT;
    int before = modules();
    put_add(f, "fake:fake_write"); /* of no cell */
    put_begin(f, 77);
    put_add(f, "fake:fake_half");
    tsw_buf_append_text(&body, "short");
    assert_int_equal(tsw_channel_write(f->fds[1], TSW_CHILD_BEGIN, &body, NULL), TSW_OK);
    assert_int_equal(tsw_channel_write(f->fds[1], TSW_CHILD_TIME, &body, NULL), TSW_OK);
    for (int i = 0; i < 5; i++)
        assert_true(work(f));
    assert_false(work(f));
    assert_int_equal(modules(), before);
    tsw_buf_fini(&body);
}

static void note_begin(void *user, const tsw_msg_begin_t *msg)
{
    uint32_t *packs = user; /* bits */
    assert_int_equal(msg->dtype, TSW_DTYPE_F16);
    assert_false(*packs >> msg->pack & 1);
    *packs |= 1u << msg->pack;
}

static void test_a_cell_that_begins_is_to_be_prepared_once(void **state)
{
    fixture_t *f = *state;
    uint32_t packs = 0;
    f->ahead.prepare = note_begin;
    f->ahead.user = &packs;
    put_begin(f, 0);
    put_add(f, "fake:fake_write");
    put_begin(f, 77); /* there is no such pack */
    for (int i = 0; i < 3; i++)
        assert_true(work(f));
    assert_false(work(f));
    assert_int_equal(packs, 1);
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_modules_of_waiting_frames_are_loaded_one_by_one),
        TEST(test_frames_are_still_there_and_looked_at_once),
        TEST(test_frames_that_make_no_sense_are_passed_over),
        TEST(test_a_cell_that_begins_is_to_be_prepared_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
