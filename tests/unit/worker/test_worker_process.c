/* tilesweep-worker as its rank sees it: frames in, frames out, and how it ends. The toolchain is
 * the fake one, the device simulated. */
#include "base/file.h"
#include "build/build.h"
#include "proc/proc.h"
#include "wire/child_msg.h"
#include "wire/keeper_msg.h"
#include "wire/worker_msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WORKER TSW_BINARY_DIR "/bin/tilesweep-worker"
#define FAKE   TSW_BINARY_DIR "/fake-toolchain"
#define WORK   TSW_BINARY_DIR "/tests/worker_work"

/* A conversation: all that came back. */
typedef struct {
    tsw_loop_t *loop;
    tsw_child_t *child;
    size_t count[32]; /* frames by type */
    uint32_t last_of; /* kill it after that many .. */
    size_t last_count;
    tsw_msg_failed_t failed;
    tsw_msg_built_t built;
    tsw_buf_t built_body;
    tsw_gpu_t gpu;
    tsw_msg_state_t states[8];
    size_t samples;
    uint64_t peak_bytes; /* of the cell that was timed last */
    tsw_usage_t usage;   /* the same */
    int64_t busy;
    bool ended;
    tsw_child_end_t end;
} talk_t;

static void take(talk_t *talk, uint32_t type, const uint8_t *body, size_t size)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_msg_round_t round = {0};
    tsw_msg_timed_t timed = {0};
    tsw_msg_state_t state;
    switch (type) {
    case TSW_CHILD_BUILT:
        tsw_buf_append(&talk->built_body, body, size);
        assert_int_equal(tsw_get_msg_built(talk->built_body.data, size, &talk->built, NULL),
                         TSW_OK);
        break;
    case TSW_CHILD_REFUSED:
    case TSW_CHILD_FAILED:
        assert_int_equal(tsw_get_msg_failed(body, size, &talk->failed, NULL), TSW_OK);
        break;
    case TSW_CHILD_HELLO:
        tsw_get_gpu(&in, &talk->gpu);
        break;
    case TSW_CHILD_BUSY:
        talk->busy = tsw_get_i64(&in);
        break;
    case TSW_CHILD_STATE:
        assert_int_equal(tsw_get_msg_state(body, size, &state, NULL), TSW_OK);
        assert_true(state.index < 8);
        talk->states[state.index] = state;
        break;
    case TSW_CHILD_ROUND:
        assert_int_equal(tsw_get_msg_round(body, size, &round, NULL), TSW_OK);
        talk->samples += round.count;
        tsw_msg_round_fini(&round);
        break;
    case TSW_CHILD_TIMED:
        assert_int_equal(tsw_get_msg_timed(body, size, &timed, NULL), TSW_OK);
        talk->peak_bytes = timed.peak_bytes;
        talk->usage = timed.usage;
        tsw_msg_timed_fini(&timed);
        break;
    default:
        break;
    }
}

static void on_frame(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body,
                     size_t size)
{
    talk_t *talk = user;
    assert_true(type < 32);
    talk->count[type]++;
    take(talk, type, body, size);
    if (talk->last_count > 0 && talk->count[talk->last_of] == talk->last_count)
        tsw_child_kill(child);
}

static void on_line(void *user, tsw_child_t *child, const char *line)
{
    (void)user;
    print_message("worker %ld: %s\n", tsw_child_pid(child), line);
}

static void on_end(void *user, tsw_child_t *child, const tsw_child_end_t *end)
{
    (void)child;
    talk_t *talk = user;
    talk->ended = true;
    talk->end = *end;
}

static void on_deadline(void *user, tsw_child_t *child)
{
    (void)user;
    (void)child;
}

static void start(talk_t *talk, const char *mode, long parent)
{
    *talk = (talk_t){.busy = -2};
    char path[] = WORKER;
    char mode_arg[16];
    char parent_arg[24];
    snprintf(mode_arg, sizeof(mode_arg), "%s", mode);
    snprintf(parent_arg, sizeof(parent_arg), "%ld", parent);
    char *argv[] = {path, mode_arg, parent_arg, NULL};
    tsw_child_callbacks_t callbacks = {talk, on_frame, on_line, on_end, on_deadline};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_loop_new(&talk->loop, NULL), TSW_OK);
    if (tsw_child_spawn(talk->loop, path, argv, NULL, &callbacks, &talk->child, &err) != TSW_OK)
        fail_msg("%s", err.text);
}

static void say(talk_t *talk, uint32_t type, tsw_buf_t *body)
{
    assert_int_equal(tsw_child_send(talk->child, type, body, NULL), TSW_OK);
}

static uint32_t interval(void *user)
{
    (void)user;
    return 1000;
}

static bool until_ended(void *user)
{
    return !((talk_t *)user)->ended;
}

/* Runs it to its end, or until that many frames of the type came. */
static void listen(talk_t *talk, uint32_t last_of, size_t last_count)
{
    talk->last_of = last_of;
    talk->last_count = last_count;
    assert_int_equal(tsw_loop_run(talk->loop, interval, until_ended, talk, NULL), TSW_OK);
    tsw_loop_free(talk->loop);
    talk->loop = NULL;
}

static void talk_fini(talk_t *talk)
{
    tsw_buf_fini(&talk->built_body);
}

/* ---- a plan to work on ---- */

static tsw_job_t *job;
static tsw_plan_t *plan;

static int read_plan(void **state)
{
    (void)state;
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_job_snapshot(TSW_SOURCE_DIR "/tests/data/jobs/tiny.yaml",
                                           TSW_SOURCE_DIR "/kernels", &snapshot, &err);
    if (status == TSW_OK)
        status = tsw_job_read(&snapshot, &job, &err);
    if (status == TSW_OK)
        status = tsw_plan_make(job, &plan, &err);
    tsw_fileset_fini(&snapshot);
    if (status != TSW_OK)
        print_error("%s\n", err.text);
    return status == TSW_OK ? 0 : -1;
}

static int free_plan(void **state)
{
    (void)state;
    tsw_plan_free(plan);
    tsw_job_free(job);
    return 0;
}

/* The first live cell of a pack. */
static const tsw_cell_t *cell_of(const char *pack)
{
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        if (cell->skip_reason == NULL &&
            strcmp(plan->variants[cell->variant].id.pack->name, pack) == 0)
            return cell;
    }
    fail_msg("no cell of %s", pack);
    return NULL;
}

/* ---- build ---- */

static void say_build(talk_t *talk, const char *root, uint32_t build_id)
{
    tsw_toolchain_t toolchain = {0};
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_toolchain_find(FAKE, NULL, &toolchain, &err) != TSW_OK)
        fail_msg("%s", err.text);
    tsw_build_request_t request = {0};
    assert_int_equal(tsw_build_request_make(plan, &plan->builds[build_id], &request, &err), TSW_OK);
    char work[] = WORK;
    char nvrtc[600];
    char root_arg[512];
    char none[] = "";
    assert_int_equal(tsw_dir_make(work, &err), TSW_OK);
    snprintf(root_arg, sizeof(root_arg), "%s", root);
    snprintf(nvrtc, sizeof(nvrtc), "%s",
             strcmp(root, FAKE) == 0 ? toolchain.nvrtc : "/nonexistent/libnvrtc.so");
    tsw_msg_build_t msg = {
        .root = root_arg,
        .nvrtc = nvrtc,
        .tileiras = toolchain.tileiras != NULL ? toolchain.tileiras : none,
        .toolchain = toolchain.text,
        .work_dir = work,
        .language = (uint32_t)request.language,
        .files = request.files,
        .source = request.source,
        .entry = request.entry,
        .defines = {.items = request.defines, .count = request.define_count},
        .options = {.items = request.options, .count = request.option_count},
        .archs = {90},
        .arch_count = 1,
        .cpu_limit_s = 10,
    };
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_build(&body, &msg);
    say(talk, TSW_CHILD_BUILD, &body);
    tsw_build_request_fini(&request);
    tsw_toolchain_fini(&toolchain);
}

static void test_build_when_good_then_a_cubin(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "build", getpid());
    say_build(&talk, FAKE, plan->variants[0].config_builds[0]);
    listen(&talk, 0, 0);
    assert_int_equal(talk.count[TSW_CHILD_BUILT], 1);
    assert_int_equal(talk.built.count, 1);
    assert_int_equal(talk.built.artifacts[0].outcome, TSW_OUTCOME_OK);
    assert_true(talk.built.artifacts[0].cubin_size > 0);
    assert_true(talk.end.exited);
    assert_int_equal(talk.end.exit_code, 0);
    talk_fini(&talk);
}

static void test_build_when_no_toolchain_then_failed(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "build", getpid());
    say_build(&talk, "/nonexistent", plan->variants[0].config_builds[0]);
    listen(&talk, 0, 0);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 1);
    assert_int_equal(talk.failed.status, TSW_ERR_ENV);
    assert_int_equal(talk.end.exit_code, 1);
    talk_fini(&talk);
}

static void test_build_when_message_is_damaged_then_failed(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "build", getpid());
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append(&body, "abc", 3);
    say(&talk, TSW_CHILD_BUILD, &body);
    listen(&talk, 0, 0);
    assert_int_equal(talk.failed.status, TSW_ERR_CORRUPT);
    talk_fini(&talk);
}

/* ---- measure ---- */

static void say_init(talk_t *talk, const char *kind, const char *model, const char *scenario)
{
    tsw_msg_init_t msg = {.seed = 1, .snapshot = job->snapshot};
    char text[128];
    snprintf(text, sizeof(text), "%s", scenario);
    snprintf(msg.kind, sizeof(msg.kind), "%s", kind);
    snprintf(msg.model, sizeof(msg.model), "%s", model);
    msg.scenario = text;
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_init(&body, &msg);
    say(talk, TSW_CHILD_INIT, &body);
}

static void say_tool(talk_t *talk)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append(&body, "tool", 4);
    say(talk, TSW_CHILD_TOOL, &body);
}

static void say_begin(talk_t *talk, const tsw_cell_t *cell, uint32_t pack)
{
    const tsw_variant_t *variant = &plan->variants[cell->variant].id;
    tsw_msg_begin_t msg = {.pack = pack,
                           .dtype = (uint32_t)variant->dtype,
                           .arch = 90,
                           .cell_key = cell->key,
                           .flops = cell->flops,
                           .bytes = cell->bytes,
                           .max_tile = 512,
                           .reference = "reference",
                           .reference_size = 9};
    memcpy(msg.dims, cell->dims, sizeof(msg.dims));
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_begin(&body, &msg);
    say(talk, TSW_CHILD_BEGIN, &body);
}

static uint32_t pack_index(const tsw_cell_t *cell)
{
    uint32_t index = 0;
    while (job->packs[index] != plan->variants[cell->variant].id.pack)
        index++;
    return index;
}

static void say_add(talk_t *talk, const tsw_cell_t *cell, uint32_t index)
{
    const tsw_config_t *config = &plan->variants[cell->variant].configs[cell->configs[index]];
    tsw_msg_add_t msg = {.index = index,
                         .config_key = config->key,
                         .facts = {.registers = 32, .threads = 128, .cluster = 1},
                         .cubin = "cubin",
                         .cubin_size = 5};
    memcpy(msg.values, config->values, sizeof(msg.values));
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_add(&body, &msg);
    say(talk, TSW_CHILD_ADD, &body);
}

static void say_time(talk_t *talk)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_u32(&body, 0);
    say(talk, TSW_CHILD_TIME, &body);
}

static void say_cell(talk_t *talk, const tsw_cell_t *cell, uint32_t configs)
{
    say_begin(talk, cell, pack_index(cell));
    for (uint32_t i = 0; i < configs; i++)
        say_add(talk, cell, i);
    say_time(talk);
}

static void test_measure_when_two_cells_then_both_timed(void **state)
{
    (void)state;
    talk_t talk;
    const tsw_cell_t *cell = cell_of("tiny_cuda");
    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "");
    say_tool(&talk);
    say_cell(&talk, cell, 3);
    say_cell(&talk, cell, 2);
    listen(&talk, TSW_CHILD_TIMED, 2);
    assert_int_equal(talk.count[TSW_CHILD_HELLO], 1);
    assert_int_equal(talk.gpu.arch, 90);
    assert_string_equal(talk.gpu.mode, "sim");
    assert_int_equal(talk.count[TSW_CHILD_READY], 1);
    assert_int_equal(talk.states[2].outcome, TSW_OUTCOME_OK);
    assert_true(talk.states[2].has_verify);
    assert_int_equal(talk.samples, (3 + 2) * (5 + 1)); /* rounds and warm-up of the job */
    assert_true(talk.peak_bytes > 0);
    assert_true(tsw_usage_measuring(&talk.usage) > 0);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 0);
    talk_fini(&talk);
}

static void test_measure_when_no_such_device_then_failed(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h20", "");
    listen(&talk, 0, 0);
    assert_int_equal(talk.count[TSW_CHILD_HELLO], 0);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 1);
    assert_true(talk.failed.text[0] != '\0');
    assert_true(talk.end.exited);
    talk_fini(&talk);
}

static void test_measure_when_canary_fails_then_failed(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "canary\n");
    say_tool(&talk);
    listen(&talk, 0, 0);
    assert_int_equal(talk.count[TSW_CHILD_HELLO], 1);
    assert_int_equal(talk.count[TSW_CHILD_READY], 0);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 1);
    talk_fini(&talk);
}

static void test_measure_when_a_config_hangs_then_gone_and_blamed(void **state)
{
    (void)state;
    talk_t talk;
    const tsw_cell_t *cell = cell_of("tiny_cuda");
    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "hang THREADS=64\n"); /* config 1: 0 is the baseline, 128 */
    say_tool(&talk);
    say_cell(&talk, cell, 3);
    listen(&talk, 0, 0);
    assert_int_equal(talk.states[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 1);
    assert_int_equal(talk.failed.status, TSW_ERR_TIMEOUT);
    assert_int_equal(talk.count[TSW_CHILD_TIMED], 0);
    assert_int_equal(talk.busy, 1);
    talk_fini(&talk);
}

static void test_measure_when_a_config_crashes_then_busy_tells_which(void **state)
{
    (void)state;
    talk_t talk;
    const tsw_cell_t *cell = cell_of("tiny_cuda");
    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "crash THREADS=256\n");
    say_tool(&talk);
    say_cell(&talk, cell, 4);
    listen(&talk, 0, 0);
    assert_false(talk.end.exited);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 0);
    assert_int_equal(talk.busy, 2);
    talk_fini(&talk);
}

static void test_measure_when_memory_is_short_then_refused_and_alive(void **state)
{
    (void)state;
    talk_t talk;
    const tsw_cell_t *cell = cell_of("tiny_cuda");
    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "capacity 1000\n");
    say_tool(&talk);
    say_cell(&talk, cell, 2);
    say_cell(&talk, cell, 2);
    listen(&talk, TSW_CHILD_REFUSED, 2);
    assert_int_equal(talk.failed.status, TSW_ERR_DEVICE_MEMORY);
    assert_int_equal(talk.count[TSW_CHILD_STATE], 0);
    assert_int_equal(talk.count[TSW_CHILD_FAILED], 0);
    talk_fini(&talk);
}

static void test_measure_when_messages_are_wrong_then_failed(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "measure", getpid());
    say_tool(&talk);
    listen(&talk, 0, 0);
    assert_int_equal(talk.failed.status, TSW_ERR_BUG); /* before a device */
    talk_fini(&talk);

    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "");
    say_begin(&talk, cell_of("tiny_cuda"), 99);
    listen(&talk, 0, 0);
    assert_int_equal(talk.failed.status, TSW_ERR_CORRUPT); /* no such pack */
    talk_fini(&talk);

    start(&talk, "measure", getpid());
    say_init(&talk, "sim", "h200", "");
    tsw_buf_t none = TSW_BUF_INIT;
    say(&talk, 77, &none);
    listen(&talk, 0, 0);
    assert_int_equal(talk.failed.status, TSW_ERR_CORRUPT); /* no such message */
    talk_fini(&talk);
}

/* ---- both ---- */

static void test_worker_when_parent_is_gone_then_exits(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "measure", 1);
    listen(&talk, 0, 0);
    assert_true(talk.end.exited);
    assert_int_equal(talk.end.exit_code, 3);
    talk_fini(&talk);
}

static void test_worker_when_mode_is_unknown_then_usage(void **state)
{
    (void)state;
    talk_t talk;
    start(&talk, "cook", getpid());
    listen(&talk, 0, 0);
    assert_int_equal(talk.end.exit_code, 2);
    talk_fini(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_when_good_then_a_cubin),
        cmocka_unit_test(test_build_when_no_toolchain_then_failed),
        cmocka_unit_test(test_build_when_message_is_damaged_then_failed),
        cmocka_unit_test(test_measure_when_two_cells_then_both_timed),
        cmocka_unit_test(test_measure_when_no_such_device_then_failed),
        cmocka_unit_test(test_measure_when_canary_fails_then_failed),
        cmocka_unit_test(test_measure_when_a_config_hangs_then_gone_and_blamed),
        cmocka_unit_test(test_measure_when_a_config_crashes_then_busy_tells_which),
        cmocka_unit_test(test_measure_when_memory_is_short_then_refused_and_alive),
        cmocka_unit_test(test_measure_when_messages_are_wrong_then_failed),
        cmocka_unit_test(test_worker_when_parent_is_gone_then_exits),
        cmocka_unit_test(test_worker_when_mode_is_unknown_then_usage),
    };
    return cmocka_run_group_tests(tests, read_plan, free_plan);
}
