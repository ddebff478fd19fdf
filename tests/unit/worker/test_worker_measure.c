/* A measure worker over the fake driver, in this process: it is told all at once, and then what it
 * said is looked at. Its device takes a while, so that there is time to do something ahead. */
#include "wire/wire.h"
#include "worker/worker.h"

#include "fake_libcuda.h"
#include "pack/dtype.h"
#include "pack_text.h"
#include "proc/proc.h"
#include "wire/child_msg.h"
#include "wire/worker_msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define FRAMES 256

static const char job_text[] = "name: t\n"
                               "archs: [sm_90]\n"
                               "packs:\n"
                               "  - pack: bench\n"
                               "    dtypes: [f16]\n"
                               "    shapes: [{M: 64, N: 100}]\n"
                               "measure: {protocol: %s, rounds: 4, warmup: 1, seed: 3}\n";

static const char pack_text[] =
    "name: bench\n"
    "template: T1\n"
    "class: memory\n"
    "language: cuda\n"
    "source: demo.cu\n"
    "entry: fake_add\n"
    "dims: [M, N]\n"
    "dtypes: [f16, i8]\n"
    "args:\n"
    "  - {name: X, role: in, type: i8, size: M * N, fill: {index: [-100, 100]}}\n"
    "  - {name: Y, role: out, type: i8, size: M * N}\n"
    "  - {name: bytes, role: scalar, type: i64, value: M * N}\n"
    "grid: ['ceildiv(M, TILE)']\n"
    "block: [32]\n"
    "flops: 2 * M * N\n"
    "bytes: 2 * M * N\n"
    "tunables:\n"
    "  TILE: {}\n"
    "baseline: {TILE: 1}\n"
    "lists:\n"
    "  default:\n"
    "    source: by hand\n"
    "    configs:\n"
    "      - {TILE: [1, 2]}\n"
    "tolerances:\n"
    "  f16: {atol: 0, rtol: 0}\n"
    "  i8: {atol: 0, rtol: 0}\n"
    "reference:\n"
    "  source: ref.cu\n"
    "  entry: fake_add\n"
    "  grid: ['M']\n"
    "  block: [32]\n";

typedef struct {
    int fds[2];
    int64_t tile;           /* of cells that it is told: the width of their fences */
    uint32_t types[FRAMES]; /* of what it said */
    size_t count;
    uint64_t peaks[8]; /* of cells that were timed */
    size_t timed;
    tsw_outcome_t outcomes[16]; /* told, in order */
    size_t told;
    char refusal[256];
} fixture_t;

static int setup(void **state)
{
    static fixture_t f;
    f = (fixture_t){.fds = {-1, -1}, .tile = 2};
    fake_cuda_reset();
    *state = &f;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, f.fds);
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    close(f->fds[0]);
    close(f->fds[1]);
    return 0;
}

/* ---- what it is told ---- */

static void say(const fixture_t *f, uint32_t type, tsw_buf_t *body)
{
    assert_int_equal(tsw_channel_write(f->fds[0], type, body, NULL), TSW_OK);
    tsw_buf_fini(body);
}

static void say_init(const fixture_t *f, const char *protocol)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_msg_init_t msg = {.kind = "cuda", .seed = 1, .scenario = (char[]){""}};
    tsw_buf_t text = TSW_BUF_INIT, body = TSW_BUF_INIT;
    tsw_buf_printf(&text, job_text, protocol);
    tsw_test_pack_files(pack_text, &files);
    assert_int_equal(tsw_fileset_add(&msg.snapshot, "job.yaml", text.data, text.size, NULL),
                     TSW_OK);
    for (size_t i = 0; i < files.count; i++) {
        tsw_buf_clear(&text);
        tsw_buf_printf(&text, "packs/bench/%s", files.items[i].name);
        assert_int_equal(tsw_fileset_add(&msg.snapshot, tsw_buf_text(&text), files.items[i].bytes,
                                         files.items[i].size, NULL),
                         TSW_OK);
    }
    tsw_put_msg_init(&body, &msg);
    say(f, TSW_CHILD_INIT, &body);
    tsw_buf_append(&body, "fake", 5);
    say(f, TSW_CHILD_TOOL, &body);
    tsw_fileset_fini(&files);
    tsw_fileset_fini(&msg.snapshot);
    tsw_buf_fini(&text);
}

static void say_begin(const fixture_t *f, const char *name, int64_t rows, const char *reference)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_begin(&body, &(tsw_msg_begin_t){.dtype = TSW_DTYPE_F16,
                                                .arch = 90,
                                                .cell_key = tsw_key_of_text(name),
                                                .dims = {rows, 100},
                                                .max_tile = f->tile,
                                                .reference = reference,
                                                .reference_size = strlen(reference) + 1});
    say(f, TSW_CHILD_BEGIN, &body);
}

/* Two configs, then the word to time them. */
static void say_rest(const fixture_t *f)
{
    static const char *const cubins[] = {"fake", "fake:fake_add"};
    tsw_buf_t body = TSW_BUF_INIT;
    for (uint32_t i = 0; i < 2; i++) {
        tsw_put_msg_add(&body, &(tsw_msg_add_t){.index = i,
                                                .values = {1 + i},
                                                .cubin = cubins[i],
                                                .cubin_size = strlen(cubins[i]) + 1});
        say(f, TSW_CHILD_ADD, &body);
    }
    tsw_put_u32(&body, 0);
    say(f, TSW_CHILD_TIME, &body);
}

static void say_cell(const fixture_t *f, const char *name, int64_t rows, const char *reference)
{
    say_begin(f, name, rows, reference);
    say_rest(f);
}

/* A job and a cell whose waves last long enough for work beside them. */
static void say_first(const fixture_t *f, const char *protocol)
{
    fake_cuda_lag(12);
    say_init(f, protocol);
    say_cell(f, "a", 64, "fake");
}

/* ---- what it says ---- */

static void take(fixture_t *f, uint32_t type, const tsw_buf_t *body)
{
    tsw_msg_state_t state;
    tsw_msg_timed_t timed;
    tsw_msg_failed_t failed;
    assert_true(f->count < FRAMES);
    f->types[f->count++] = type;
    if (type == TSW_CHILD_STATE) {
        assert_int_equal(tsw_get_msg_state(body->data, body->size, &state, NULL), TSW_OK);
        f->outcomes[f->told++] = state.outcome;
    } else if (type == TSW_CHILD_TIMED) {
        assert_int_equal(tsw_get_msg_timed(body->data, body->size, &timed, NULL), TSW_OK);
        f->peaks[f->timed++] = timed.peak_bytes;
        tsw_msg_timed_fini(&timed);
    } else if (type == TSW_CHILD_REFUSED) {
        assert_int_equal(tsw_get_msg_failed(body->data, body->size, &failed, NULL), TSW_OK);
        memcpy(f->refusal, failed.text, sizeof(f->refusal) - 1);
    }
}

/* Lets it work through all that it was told, to its end. */
static void work(fixture_t *f)
{
    tsw_inbox_t in = TSW_INBOX_INIT;
    tsw_buf_t body = TSW_BUF_INIT;
    uint32_t type = 0;
    shutdown(f->fds[0], SHUT_WR);
    assert_int_equal(tsw_worker_measure(f->fds[1]), 0);
    shutdown(f->fds[1], SHUT_WR);
    while (tsw_channel_read(f->fds[0], &in, &type, &body, NULL) == TSW_OK)
        take(f, type, &body);
    tsw_inbox_fini(&in);
    tsw_buf_fini(&body);
}

/* Which of these came how often, in their order: "r" refused, "t" timed. */
static void expect_ends(const fixture_t *f, const char *expected)
{
    char ends[16] = "";
    for (size_t i = 0, n = 0; i < f->count && n + 1 < sizeof(ends); i++) {
        assert_int_not_equal(f->types[i], TSW_CHILD_FAILED);
        if (f->types[i] == TSW_CHILD_TIMED || f->types[i] == TSW_CHILD_REFUSED)
            ends[n++] = f->types[i] == TSW_CHILD_TIMED ? 't' : 'r';
    }
    assert_string_equal(ends, expected);
}

static void expect_fills(int all, int behind)
{
    fake_cuda_counts_t counts;
    fake_cuda_counts(&counts);
    assert_int_equal(counts.fills, all);
    assert_int_equal(counts.fills_behind, behind);
    assert_int_equal(counts.memories, 0);
    assert_int_equal(counts.modules, 0);
}

static void expect_all_ok(const fixture_t *f, size_t told)
{
    assert_int_equal(f->told, told);
    for (size_t i = 0; i < told; i++)
        assert_int_equal(f->outcomes[i], TSW_OUTCOME_OK);
}

/* ---- the tests ---- */

static void test_the_next_cell_is_filled_behind_a_wave_of_the_one_in_hand(void **state)
{
    fixture_t *f = *state;
    say_first(f, "rounds");
    say_cell(f, "b", 64, "fake");
    say_cell(f, "c", 32, "fake");
    work(f);
    expect_ends(f, "ttt");
    expect_all_ok(f, 6);
    expect_fills(3, 1);                         /* c came too early: there is one ahead at a time */
    assert_int_equal(f->peaks[0], f->peaks[1]); /* of the cell alone */
    assert_true(f->peaks[2] > 0);
}

static void test_a_cell_that_cannot_begin_is_refused_in_its_turn(void **state)
{
    fixture_t *f = *state;
    say_first(f, "rounds");
    say_cell(f, "b", 64, "junk");
    say_cell(f, "c", 64, "fake");
    work(f);
    expect_ends(f, "trt");
    expect_all_ok(f, 4);
    expect_fills(3, 1); /* nothing ran in b */
    assert_non_null(strstr(f->refusal, "cuModuleLoadData"));
}

static void test_protocols_of_others_find_the_gpu_as_they_left_it(void **state)
{
    fixture_t *f = *state;
    say_first(f, "cutile");
    say_cell(f, "b", 64, "fake");
    work(f);
    expect_ends(f, "tt");
    expect_fills(2, 0);
}

static void test_what_is_too_large_begins_in_its_turn(void **state)
{
    fixture_t *f = *state;
    say_first(f, "rounds");
    f->tile = 12 << 20; /* fences of 12 MiB, and a quarter of the GPU's memory is 64 */
    say_cell(f, "b", 64, "fake");
    work(f);
    expect_ends(f, "tt");
    expect_fills(2, 0);
}

static void test_a_cell_that_was_prepared_and_never_came_is_given_back(void **state)
{
    fixture_t *f = *state;
    say_first(f, "rounds");
    say_begin(f, "b", 64, "fake");
    work(f); /* it began, and there was nothing more to do */
    expect_ends(f, "t");
    expect_fills(2, 1);
}

/* A second worker got what the first one died in. */
static void test_an_heir_does_nothing_ahead(void **state)
{
    fixture_t *f = *state;
    tsw_buf_t body = TSW_BUF_INIT;
    fake_cuda_lag(12);
    say_init(f, "rounds");
    say_begin(f, "a", 64, "fake");
    tsw_put_msg_add(&body, &(tsw_msg_add_t){.index = 1,
                                            .values = {2},
                                            .verified = true,
                                            .cubin = "fake:fake_add",
                                            .cubin_size = 14});
    say(f, TSW_CHILD_ADD, &body);
    tsw_put_u32(&body, 0);
    say(f, TSW_CHILD_TIME, &body);
    say_cell(f, "b", 64, "fake");
    say_cell(f, "c", 64, "fake");
    work(f);
    expect_ends(f, "ttt");
    expect_fills(3, 1); /* only c, since b was no inheritance */
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_next_cell_is_filled_behind_a_wave_of_the_one_in_hand),
        TEST(test_a_cell_that_cannot_begin_is_refused_in_its_turn),
        TEST(test_protocols_of_others_find_the_gpu_as_they_left_it),
        TEST(test_what_is_too_large_begins_in_its_turn),
        TEST(test_a_cell_that_was_prepared_and_never_came_is_given_back),
        TEST(test_an_heir_does_nothing_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
