/* Messages between ranks and children: each survives the round trip, none survives a cut. */
#include "base/mem.h"
#include "wire/child_msg.h"
#include "wire/keeper_msg.h"
#include "wire/worker_msg.h"
#include "wire/rank_msg.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* One message: fill packs a full one, check reads it, compares when it reads well, and frees. */
typedef struct {
    const char *name;
    void (*fill)(tsw_buf_t *out);
    tsw_status_t (*check)(const void *body, size_t size, tsw_err_t *err);
} case_t;

static const char cubin[] = "\x7f"
                            "ELF cubin";

static tsw_msg_artifact_t artifact(void)
{
    return (tsw_msg_artifact_t){.outcome = TSW_OUTCOME_COMPILE_FAILED,
                                .detail = "line 3: no",
                                .facts = {.registers = 77, .cubin_key = {.hi = 5, .lo = 6}},
                                .cubin = cubin,
                                .cubin_size = sizeof(cubin)};
}

static void assert_artifact(const tsw_msg_artifact_t *got)
{
    tsw_msg_artifact_t want = artifact();
    assert_int_equal(got->outcome, want.outcome);
    assert_string_equal(got->detail, want.detail);
    assert_int_equal(got->facts.registers, 77);
    assert_true(tsw_key_equal(got->facts.cubin_key, want.facts.cubin_key));
    assert_int_equal(got->cubin_size, want.cubin_size);
    assert_memory_equal(got->cubin, want.cubin, want.cubin_size);
}

static char *dup_text(const char *text)
{
    char *copy = tsw_strdup(text);
    assert_non_null(copy);
    return copy;
}

static void fill_build(tsw_buf_t *out)
{
    char *defines[] = {dup_text("A=1"), dup_text("B=2")};
    tsw_msg_build_t msg = {.root = dup_text("/root"),
                           .nvrtc = dup_text("lib.so"),
                           .tileiras = dup_text(""),
                           .toolchain = dup_text("nvrtc 13"),
                           .toolchain_key = {.hi = 1, .lo = 2},
                           .work_dir = dup_text("/tmp/x"),
                           .language = 1,
                           .source = dup_text("a.cu"),
                           .entry = dup_text("a"),
                           .defines = {.items = defines, .count = 2},
                           .archs = {80, 90},
                           .arch_count = 2,
                           .arch_dependent = true,
                           .cpu_limit_s = 60};
    assert_int_equal(tsw_fileset_add(&msg.files, "a.cu", "code", 4, NULL), TSW_OK);
    tsw_put_msg_build(out, &msg);
    tsw_free(defines[0]);
    tsw_free(defines[1]);
    msg.defines = (tsw_msg_texts_t){0};
    tsw_msg_build_fini(&msg);
}

static tsw_status_t check_build(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_build_t msg = {0};
    tsw_status_t status = tsw_get_msg_build(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_string_equal(msg.root, "/root");
        assert_string_equal(msg.work_dir, "/tmp/x");
        assert_int_equal(msg.defines.count, 2);
        assert_string_equal(msg.defines.items[1], "B=2");
        assert_int_equal(msg.options.count, 0);
        assert_int_equal(msg.archs[1], 90);
        assert_true(msg.arch_dependent);
        assert_int_equal(msg.files.count, 1);
    } else {
        assert_null(msg.root);
    }
    tsw_msg_build_fini(&msg);
    return status;
}

static void fill_built(tsw_buf_t *out)
{
    tsw_msg_built_t msg = {
        .artifacts = {artifact(), artifact()}, .count = 2, .log = "l", .log_size = 1};
    tsw_put_msg_built(out, &msg);
}

static tsw_status_t check_built(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_built_t msg;
    tsw_status_t status = tsw_get_msg_built(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.count, 2);
        assert_artifact(&msg.artifacts[1]);
        assert_int_equal(msg.log_size, 1);
    }
    return status;
}

static void fill_failed(tsw_buf_t *out)
{
    tsw_put_msg_failed(out, TSW_ERR_ENV, "no driver");
}

static tsw_status_t check_failed(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_failed_t msg;
    tsw_status_t status = tsw_get_msg_failed(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.status, TSW_ERR_ENV);
        assert_string_equal(msg.text, "no driver");
    }
    return status;
}

static void fill_init(tsw_buf_t *out)
{
    tsw_msg_init_t msg = {.kind = "sim", .place = -1, .model = "h200", .seed = 9, .arch = 90};
    msg.scenario = dup_text("hang");
    assert_int_equal(tsw_fileset_add(&msg.snapshot, "job.yaml", "x", 1, NULL), TSW_OK);
    tsw_put_msg_init(out, &msg);
    tsw_msg_init_fini(&msg);
}

static tsw_status_t check_init(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_init_t msg = {0};
    tsw_status_t status = tsw_get_msg_init(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_string_equal(msg.kind, "sim");
        assert_int_equal(msg.place, -1);
        assert_string_equal(msg.scenario, "hang");
        assert_int_equal(msg.snapshot.count, 1);
    }
    tsw_msg_init_fini(&msg);
    return status;
}

static void fill_begin(tsw_buf_t *out)
{
    tsw_msg_begin_t msg = {.pack = 3,
                           .flags = {0, 1},
                           .dims = {8192, -5},
                           .flops = 1e12,
                           .reference = cubin,
                           .reference_size = sizeof(cubin)};
    tsw_put_msg_begin(out, &msg);
}

static tsw_status_t check_begin(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_begin_t msg;
    tsw_status_t status = tsw_get_msg_begin(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.pack, 3);
        assert_int_equal(msg.flags[1], 1);
        assert_int_equal(msg.dims[1], -5);
        assert_true(msg.flops == 1e12);
        assert_memory_equal(msg.reference, cubin, sizeof(cubin));
    }
    return status;
}

static void fill_add(tsw_buf_t *out)
{
    uint64_t recorded[] = {100, 200};
    tsw_msg_add_t msg = {.index = 4,
                         .values = {128, -1},
                         .facts = {.spill_bytes = 8},
                         .verified = true,
                         .cubin = cubin,
                         .cubin_size = sizeof(cubin),
                         .recorded_ns = recorded,
                         .recorded_count = 2};
    tsw_put_msg_add(out, &msg);
}

static tsw_status_t check_add(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_add_t msg = {0};
    tsw_status_t status = tsw_get_msg_add(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.index, 4);
        assert_int_equal(msg.values[1], -1);
        assert_int_equal(msg.facts.spill_bytes, 8);
        assert_true(msg.verified);
        assert_int_equal(msg.recorded_count, 2);
        assert_int_equal(msg.recorded_ns[1], 200);
    }
    tsw_msg_add_fini(&msg);
    return status;
}

static void fill_state(tsw_buf_t *out)
{
    tsw_msg_state_t msg = {.index = 2,
                           .outcome = TSW_OUTCOME_WRONG_RESULT,
                           .detail = "off",
                           .has_verify = true,
                           .verify = {.mismatches = 17, .max_abs = 0.5}};
    tsw_put_msg_state(out, &msg);
}

static tsw_status_t check_state(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_state_t msg;
    tsw_status_t status = tsw_get_msg_state(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.outcome, TSW_OUTCOME_WRONG_RESULT);
        assert_true(msg.has_verify);
        assert_int_equal(msg.verify.mismatches, 17);
    }
    return status;
}

static void fill_round(tsw_buf_t *out)
{
    uint32_t indices[] = {7, 8};
    tsw_sample_t samples[] = {
        {.interval_ns = 10, .round = 3, .launches = 5, .slot = 0},
        {.interval_ns = 11, .round = 3, .stage = 1, .slot = 1, .energy_mj = 9}};
    tsw_msg_round_t msg = {
        .round = {.round = 3, .stage = 1}, .indices = indices, .samples = samples, .count = 2};
    tsw_put_msg_round(out, &msg);
}

static tsw_status_t check_round(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_round_t msg = {0};
    tsw_status_t status = tsw_get_msg_round(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.round.round, 3);
        assert_int_equal(msg.samples[0].launches, 5);
        assert_int_equal(msg.count, 2);
        assert_int_equal(msg.indices[1], 8);
        assert_int_equal(msg.samples[1].interval_ns, 11);
        assert_int_equal(msg.samples[1].slot, 1);
        assert_int_equal(msg.samples[1].energy_mj, 9);
    }
    tsw_msg_round_fini(&msg);
    return status;
}

static void fill_timed(tsw_buf_t *out)
{
    uint32_t indices[] = {4, 9};
    uint8_t fates[] = {TSW_FATE_WINNER, TSW_FATE_HOPELESS};
    tsw_put_msg_timed(out, &(tsw_msg_timed_t){.peak_bytes = 1,
                                              .usage = {{[TSW_USE_OTHER] = 2}},
                                              .pick = 4,
                                              .indices = indices,
                                              .fates = fates,
                                              .count = 2});
}

static tsw_status_t check_timed(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_timed_t msg = {0};
    tsw_status_t status = tsw_get_msg_timed(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.usage.ns[TSW_USE_OTHER], 2);
        assert_int_equal(msg.pick, 4);
        assert_int_equal(msg.count, 2);
        assert_int_equal(msg.indices[1], 9);
        assert_int_equal(msg.fates[1], TSW_FATE_HOPELESS);
    }
    tsw_msg_timed_fini(&msg);
    return status;
}

static void fill_hello(tsw_buf_t *out)
{
    tsw_msg_hello_t msg = {.node = "n1",
                           .cpus = {.words = {3}},
                           .toolchain_found = true,
                           .toolchain_key = {.hi = 1, .lo = 9},
                           .toolchain = "nvrtc",
                           .has_gpu = true,
                           .gpu = {.uuid = "GPU-1", .arch = 90}};
    tsw_put_msg_hello(out, &msg);
}

static tsw_status_t check_hello(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_hello_t msg;
    tsw_status_t status = tsw_get_msg_hello(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_string_equal(msg.node, "n1");
        assert_int_equal(tsw_cpus_count(&msg.cpus), 2);
        assert_true(msg.toolchain_found && msg.has_gpu);
        assert_int_equal(msg.toolchain_key.lo, 9);
        assert_string_equal(msg.gpu.uuid, "GPU-1");
    }
    return status;
}

static void fill_piece(tsw_buf_t *out)
{
    tsw_put_msg_piece(out, &(tsw_msg_piece_t){.name = "a0001-r0002/000003.h5",
                                              .size = 9,
                                              .offset = 4,
                                              .key = {1, 2},
                                              .bytes = "abc",
                                              .count = 3});
}

static tsw_status_t check_piece(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_piece_t msg;
    tsw_status_t status = tsw_get_msg_piece(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    assert_string_equal(msg.name, "a0001-r0002/000003.h5");
    assert_int_equal(msg.size, 9);
    assert_int_equal(msg.offset, 4);
    assert_int_equal(msg.key.lo, 2);
    assert_int_equal(msg.count, 3);
    assert_memory_equal(msg.bytes, "abc", 3);
    return TSW_OK;
}

static void fill_receipt(tsw_buf_t *out)
{
    tsw_put_msg_receipt(
        out, &(tsw_msg_receipt_t){.name = "a0001-r0002/000003.h5", .next = 5, .refused = true});
}

static tsw_status_t check_receipt(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_receipt_t msg;
    tsw_status_t status = tsw_get_msg_receipt(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    assert_string_equal(msg.name, "a0001-r0002/000003.h5");
    assert_int_equal(msg.next, 5);
    assert_true(msg.refused);
    return TSW_OK;
}

static void fill_lease(tsw_buf_t *out)
{
    tsw_put_msg_lease(out, &(tsw_msg_lease_t){.cell = 12, .attempt = 2});
}

static tsw_status_t check_lease(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_lease_t msg;
    tsw_status_t status = tsw_get_msg_lease(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.cell, 12);
        assert_int_equal(msg.attempt, 2);
    }
    return status;
}

static void fill_artifacts(tsw_buf_t *out)
{
    tsw_msg_artifacts_t msg = {
        .build = 6, .count = 1, .arch_index = {3}, .artifacts = {artifact()}};
    tsw_put_msg_artifacts(out, &msg);
}

static tsw_status_t check_artifacts(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_artifacts_t msg;
    tsw_status_t status = tsw_get_msg_artifacts(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.build, 6);
        assert_int_equal(msg.arch_index[0], 3);
        assert_artifact(&msg.artifacts[0]);
    }
    return status;
}

static void fill_cell_done(tsw_buf_t *out)
{
    tsw_msg_cell_done_t msg = {
        .cell = 5, .attempt = 1, .usable = true, .configs_failed = 7, .busy_ns = 8, .wall_ns = 9};
    tsw_put_msg_cell_done(out, &msg);
}

static tsw_status_t check_cell_done(const void *body, size_t size, tsw_err_t *err)
{
    tsw_msg_cell_done_t msg;
    tsw_status_t status = tsw_get_msg_cell_done(body, size, &msg, err);
    if (status == TSW_OK) {
        assert_int_equal(msg.cell, 5);
        assert_true(msg.usable);
        assert_int_equal(msg.configs_failed, 7);
        assert_int_equal(msg.wall_ns, 9);
    }
    return status;
}

static const case_t cases[] = {
    {"build", fill_build, check_build},
    {"built", fill_built, check_built},
    {"failed", fill_failed, check_failed},
    {"init", fill_init, check_init},
    {"begin", fill_begin, check_begin},
    {"add", fill_add, check_add},
    {"state", fill_state, check_state},
    {"round", fill_round, check_round},
    {"timed", fill_timed, check_timed},
    {"hello", fill_hello, check_hello},
    {"lease", fill_lease, check_lease},
    {"piece", fill_piece, check_piece},
    {"receipt", fill_receipt, check_receipt},
    {"artifacts", fill_artifacts, check_artifacts},
    {"cell done", fill_cell_done, check_cell_done},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static void test_message_when_whole_then_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_buf_t body = TSW_BUF_INIT;
        cases[i].fill(&body);
        assert_true(tsw_buf_ok(&body));
        assert_int_equal(cases[i].check(body.data, body.size, NULL), TSW_OK);
        tsw_buf_fini(&body);
    }
}

static void test_message_when_cut_or_long_then_corrupt(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_buf_t body = TSW_BUF_INIT;
        cases[i].fill(&body);
        for (size_t size = 0; size < body.size; size++) {
            /* An exact heap copy, so that a sanitizer sees any read beyond it. */
            void *part = tsw_memdup(body.data, size > 0 ? size : 1);
            assert_non_null(part);
            tsw_err_t err = TSW_ERR_INIT;
            assert_int_equal(cases[i].check(part, size, &err), TSW_ERR_CORRUPT);
            assert_true(err.text[0] != '\0');
            tsw_free(part);
        }
        tsw_buf_append(&body, "", 1);
        assert_int_equal(cases[i].check(body.data, body.size, NULL), TSW_ERR_CORRUPT);
        tsw_buf_fini(&body);
    }
}

static void test_message_when_out_of_memory_then_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_buf_t body = TSW_BUF_INIT;
        cases[i].fill(&body);
        tsw_status_t status = TSW_ERR_NOMEM;
        for (long n = 1; status != TSW_OK; n++) {
            tsw_mem_fail_at(n);
            status = cases[i].check(body.data, body.size, NULL);
            tsw_mem_fail_at(0);
            assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        }
        tsw_buf_fini(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_when_whole_then_read_back),
        cmocka_unit_test(test_message_when_cut_or_long_then_corrupt),
        cmocka_unit_test(test_message_when_out_of_memory_then_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
