#include "base/file.h"
#include "base/mem.h"
#include "build/build.h"
#include "temp_dir.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#define FAKE_ROOT TSW_BINARY_DIR "/fake-toolchain"

static const char kernel[] = "extern \"C\" __tile_global__ void work(float *x) {}\n";

/* A request for the kernel with one more line of source, on sm_90 and sm_80. Static texts: its
 * parts are not freed one by one. */
typedef struct {
    tsw_build_request_t request;
    char *defines[2];
} ask_t;

static void ask_init(ask_t *ask, tsw_language_t language, const char *line)
{
    static char source[] = "work.cu", entry[] = "work", tile_m[] = "TILE_M=128",
                num_ctas[] = "NUM_CTAS=2";
    char text[4096];
    *ask = (ask_t){.defines = {tile_m, num_ctas}};
    ask->request = (tsw_build_request_t){
        .language = language,
        .source = source,
        .entry = entry,
        .defines = ask->defines,
        .define_count = 2,
        .archs = {90, 80},
        .arch_count = 2,
        .cpu_limit_s = 1,
    };
    snprintf(text, sizeof(text), "%s%s\n", kernel, line);
    assert_int_equal(tsw_fileset_add(&ask->request.files, source, text, strlen(text), NULL),
                     TSW_OK);
    assert_int_equal(tsw_fileset_add(&ask->request.files, "sub/part.h", "1", 1, NULL), TSW_OK);
}

static tsw_toolchain_t fake_toolchain(void)
{
    static char root[] = FAKE_ROOT, nvrtc[] = FAKE_ROOT "/lib/libnvrtc.so.13",
                tileiras[] = FAKE_ROOT "/bin/tileiras", text[] = "fake";
    return (tsw_toolchain_t){
        .found = true, .root = root, .nvrtc = nvrtc, .tileiras = tileiras, .text = text};
}

static tsw_build_result_t build(tsw_language_t language, const char *line)
{
    ask_t ask;
    tsw_toolchain_t toolchain = fake_toolchain();
    tsw_build_result_t result = {.arch_count = 0};
    tsw_err_t err = TSW_ERR_INIT;
    ask_init(&ask, language, line);
    tsw_status_t status =
        tsw_build_run(&toolchain, &ask.request, tsw_temp_path("work"), &result, &err);
    if (status != TSW_OK)
        fail_msg("%s", err.text);
    assert_int_equal(result.arch_count, 2);
    tsw_fileset_fini(&ask.request.files);
    return result;
}

static void test_tile_source_becomes_a_cubin_per_arch(void **state)
{
    (void)state;
    tsw_build_result_t result = build(TSW_LANGUAGE_TILE, "");
    const tsw_artifact_t *hopper = &result.artifacts[0], *ampere = &result.artifacts[1];
    tsw_arch_t arch = 0;
    assert_int_equal(hopper->outcome, TSW_OUTCOME_OK);
    assert_int_equal(ampere->outcome, TSW_OUTCOME_OK);
    assert_int_equal(tsw_cubin_arch(ampere->cubin.data, ampere->cubin.size, &arch, NULL), TSW_OK);
    assert_int_equal(arch, 80);
    assert_int_equal(hopper->facts.threads, 256);
    assert_int_equal(hopper->facts.cluster, 2);
    assert_int_equal(ampere->facts.threads, 128);
    assert_int_equal(ampere->facts.cluster, 1);
    assert_int_equal(ampere->facts.cubin_bytes, ampere->cubin.size);
    assert_int_equal(ampere->facts.from_cache, 0);
    assert_true(ampere->facts.compile_wall_ns > 0);
    tsw_build_result_fini(&result);
}

static void test_pack_files_lie_beside_the_source(void **state)
{
    (void)state;
    tsw_build_result_t result = build(TSW_LANGUAGE_TILE, "");
    assert_true(tsw_path_exists(tsw_temp_path("work/src/sub/part.h")));
    assert_true(tsw_path_exists(tsw_temp_path("work/src/work.cu")));
    tsw_build_result_fini(&result);
}

static void test_plain_cuda_needs_no_tileiras(void **state)
{
    (void)state;
    ask_t ask;
    tsw_toolchain_t toolchain = fake_toolchain();
    tsw_build_result_t result = {.arch_count = 0};
    toolchain.tileiras = NULL;
    ask_init(&ask, TSW_LANGUAGE_CUDA, "");
    assert_int_equal(tsw_build_run(&toolchain, &ask.request, tsw_temp_path("work"), &result, NULL),
                     TSW_OK);
    assert_int_equal(result.artifacts[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(result.artifacts[1].outcome, TSW_OUTCOME_OK);
    assert_int_equal(result.artifacts[1].facts.threads, 0);
    tsw_build_result_fini(&result);
    tsw_fileset_fini(&ask.request.files);
}

static void test_equal_sources_give_equal_bytes_in_any_folder(void **state)
{
    (void)state;
    tsw_build_result_t one = build(TSW_LANGUAGE_TILE, "");
    assert_int_equal(tsw_dir_remove(tsw_temp_path("work"), NULL), TSW_OK);
    tsw_build_result_t two = build(TSW_LANGUAGE_TILE, "");
    assert_true(tsw_key_equal(one.artifacts[0].facts.cubin_key, two.artifacts[0].facts.cubin_key));
    assert_false(tsw_key_equal(one.artifacts[0].facts.cubin_key, one.artifacts[1].facts.cubin_key));
    tsw_build_result_fini(&one);
    tsw_build_result_fini(&two);
}

typedef struct {
    const char *line;
    tsw_outcome_t outcomes[2]; /* sm_90, sm_80 */
    const char *detail;        /* part of that of sm_90 */
} trouble_t;

static void assert_trouble(tsw_language_t language, const trouble_t *trouble)
{
    tsw_build_result_t result = build(language, trouble->line);
    for (size_t i = 0; i < 2; i++) {
        const tsw_artifact_t *artifact = &result.artifacts[i];
        if (artifact->outcome != trouble->outcomes[i])
            fail_msg("%s, arch %zu: %s (%s)", trouble->line, i, tsw_outcome_name(artifact->outcome),
                     artifact->detail);
        if (artifact->outcome != TSW_OUTCOME_OK)
            assert_int_equal(artifact->cubin.size, 0);
    }
    if (strstr(result.artifacts[0].detail, trouble->detail) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", trouble->line, result.artifacts[0].detail,
                 trouble->detail);
    assert_null(strstr(result.artifacts[0].detail, tsw_temp_path("")));
    tsw_build_result_fini(&result);
}

static void test_trouble_in_nvrtc_is_an_outcome_of_every_arch(void **state)
{
    (void)state;
    static const trouble_t troubles[] = {
        {"#error", {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_COMPILE_FAILED}, "work.cu(1): error"},
        {"// FAKE: hint_dropped",
         {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_COMPILE_FAILED},
         "hint \"occupancy\" ignored"},
        {"// FAKE: nvrtc_oom", {TSW_OUTCOME_OUT_OF_MEMORY, TSW_OUTCOME_OUT_OF_MEMORY}, "memory"},
    };
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        assert_trouble(TSW_LANGUAGE_TILE, &troubles[i]);
        assert_trouble(TSW_LANGUAGE_CUDA, &troubles[i]);
    }
}

static void test_trouble_in_tileiras_costs_one_arch(void **state)
{
    (void)state;
    static const trouble_t troubles[] = {
        {"// FAKE: fail on sm_90",
         {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_OK},
         "exit 5: error: failed to compile Tile IR program"},
        {"// FAKE: crash on sm_90", {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_OK}, "signal 11"},
        {"// FAKE: killed on sm_90", {TSW_OUTCOME_OUT_OF_MEMORY, TSW_OUTCOME_OK}, "memory"},
        {"// FAKE: garbage on sm_90", {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_OK}, "cubin"},
        {"// FAKE: no_cubin on sm_90", {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_OK}, "no cubin"},
        {"// FAKE: no_entry on sm_90",
         {TSW_OUTCOME_COMPILE_FAILED, TSW_OUTCOME_OK},
         "no kernel named work"},
        {"// FAKE: fail when TILE_M=64", {TSW_OUTCOME_OK, TSW_OUTCOME_OK}, ""},
    };
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
        assert_trouble(TSW_LANGUAGE_TILE, &troubles[i]);
}

static void test_endless_compilers_end_at_the_limit_of_cpu_time(void **state)
{
    (void)state;
    static const trouble_t troubles[] = {
        {"// FAKE: spin on sm_90", {TSW_OUTCOME_COMPILE_TIMEOUT, TSW_OUTCOME_OK}, "limit 1 s"},
        {"// FAKE: ptxas_spin on sm_90",
         {TSW_OUTCOME_COMPILE_TIMEOUT, TSW_OUTCOME_OK},
         "limit 1 s"},
    };
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
        assert_trouble(TSW_LANGUAGE_TILE, &troubles[i]);
    /* all that was started was waited for, and nothing is left of it */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_log_is_there_on_success_and_failure(void **state)
{
    (void)state;
    tsw_build_result_t result = build(TSW_LANGUAGE_TILE, "// FAKE: hint_dropped");
    assert_non_null(strstr(tsw_buf_text(&result.log), "#20369-D"));
    tsw_build_result_fini(&result);
    result = build(TSW_LANGUAGE_TILE, "// FAKE: fail on sm_80");
    assert_int_equal(result.artifacts[0].outcome, TSW_OUTCOME_OK);
    assert_non_null(strstr(tsw_buf_text(&result.log), "failed to compile"));
    tsw_build_result_fini(&result);
}

static void test_log_of_a_compiler_run_wild_is_cut_short(void **state)
{
    (void)state;
    tsw_build_result_t result = build(TSW_LANGUAGE_TILE, "// FAKE: chatty on sm_80");
    assert_int_equal(result.artifacts[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(result.artifacts[1].outcome, TSW_OUTCOME_COMPILE_FAILED);
    assert_string_equal(result.artifacts[1].detail, "tileiras: exit 5: note: again");
    assert_in_range(result.log.size, 1 << 20, (1 << 20) + 4096);
    tsw_build_result_fini(&result);
}

/* As tileiras does when its ptxas is killed for want of memory. */
static void test_what_fails_once_is_tried_again(void **state)
{
    (void)state;
    tsw_build_result_t result = build(TSW_LANGUAGE_TILE, "// FAKE: fail_once");
    for (size_t i = 0; i < result.arch_count; i++)
        assert_int_equal(result.artifacts[i].outcome, TSW_OUTCOME_OK);
    tsw_build_result_fini(&result);
}

static void test_arch_dependent_source_is_read_once_per_arch(void **state)
{
    (void)state;
    ask_t ask;
    tsw_toolchain_t toolchain = fake_toolchain();
    tsw_build_result_t result = {.arch_count = 0};
    ask_init(&ask, TSW_LANGUAGE_TILE, "// FAKE: error on sm_80");
    ask.request.arch_dependent = true;
    assert_int_equal(tsw_build_run(&toolchain, &ask.request, tsw_temp_path("work"), &result, NULL),
                     TSW_OK);
    assert_int_equal(result.artifacts[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(result.artifacts[1].outcome, TSW_OUTCOME_COMPILE_FAILED);
    tsw_build_result_fini(&result);
    tsw_fileset_fini(&ask.request.files);
}

static void assert_env_error(tsw_toolchain_t toolchain, const char *line, const char *said)
{
    ask_t ask;
    tsw_build_result_t result = {.arch_count = 77};
    tsw_err_t err = TSW_ERR_INIT;
    ask_init(&ask, TSW_LANGUAGE_TILE, line);
    assert_int_equal(tsw_build_run(&toolchain, &ask.request, tsw_temp_path("work"), &result, &err),
                     TSW_ERR_ENV);
    if (strstr(err.text, said) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.text, said);
    assert_int_equal(result.arch_count, 77); /* untouched */
    tsw_fileset_fini(&ask.request.files);
}

static void test_tools_that_cannot_work_are_errors_not_outcomes(void **state)
{
    (void)state;
    static char not_there[] = "/nowhere/tileiras", no_program[] = "/etc/passwd",
                nowhere[] = "/nowhere";
    tsw_toolchain_t toolchain = fake_toolchain();
    toolchain.tileiras = not_there;
    assert_env_error(toolchain, "", "/nowhere/tileiras");
    toolchain.tileiras = no_program;
    assert_env_error(toolchain, "", "/etc/passwd");
    toolchain.tileiras = NULL;
    assert_env_error(toolchain, "", "needs tileiras");
    toolchain = fake_toolchain();
    toolchain.root = nowhere;
    assert_env_error(toolchain, "", "needs ptxas");
    toolchain = fake_toolchain();
    toolchain.nvrtc = not_there;
    assert_env_error(toolchain, "", "cannot load NVRTC");
    toolchain.nvrtc = NULL;
    assert_env_error(toolchain, "", "no NVRTC");
    assert_env_error(fake_toolchain(), "// FAKE: nvrtc_builtins", "builtins");
}

static void test_work_folder_that_is_a_file_is_an_error(void **state)
{
    (void)state;
    tsw_build_result_t result = {.arch_count = 0};
    ask_t ask;
    tsw_toolchain_t toolchain = fake_toolchain();
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("work"), "x", 1, NULL), TSW_OK);
    ask_init(&ask, TSW_LANGUAGE_TILE, "");
    assert_int_not_equal(
        tsw_build_run(&toolchain, &ask.request, tsw_temp_path("work"), &result, &err), TSW_OK);
    assert_int_equal(err.code, TSW_ERR_NOT_FOUND); /* below a file there is nothing */
    tsw_fileset_fini(&ask.request.files);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    ask_t ask;
    tsw_toolchain_t toolchain = fake_toolchain();
    ask_init(&ask, TSW_LANGUAGE_TILE, "");
    tsw_status_t status = TSW_ERR_NOMEM;
    for (long n = 1; status != TSW_OK; n++) {
        assert_true(n < 500);
        tsw_build_result_t result = {.arch_count = 0};
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        status = tsw_build_run(&toolchain, &ask.request, tsw_temp_path("work"), &result, &err);
        tsw_mem_fail_at(0);
        if (status == TSW_OK && result.artifacts[0].outcome != TSW_OUTCOME_OK)
            fail_msg("allocation %ld: %s", n, result.artifacts[0].detail);
        if (status == TSW_OK)
            tsw_build_result_fini(&result);
        else if (status != TSW_ERR_NOMEM)
            fail_msg("allocation %ld: %s", n, err.text);
    }
    tsw_fileset_fini(&ask.request.files);
}

#define TEMP_TEST(_f) cmocka_unit_test_setup_teardown(_f, tsw_temp_dir_make, tsw_temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEMP_TEST(test_tile_source_becomes_a_cubin_per_arch),
        TEMP_TEST(test_pack_files_lie_beside_the_source),
        TEMP_TEST(test_plain_cuda_needs_no_tileiras),
        TEMP_TEST(test_equal_sources_give_equal_bytes_in_any_folder),
        TEMP_TEST(test_trouble_in_nvrtc_is_an_outcome_of_every_arch),
        TEMP_TEST(test_trouble_in_tileiras_costs_one_arch),
        TEMP_TEST(test_endless_compilers_end_at_the_limit_of_cpu_time),
        TEMP_TEST(test_log_is_there_on_success_and_failure),
        TEMP_TEST(test_log_of_a_compiler_run_wild_is_cut_short),
        TEMP_TEST(test_what_fails_once_is_tried_again),
        TEMP_TEST(test_arch_dependent_source_is_read_once_per_arch),
        TEMP_TEST(test_tools_that_cannot_work_are_errors_not_outcomes),
        TEMP_TEST(test_work_folder_that_is_a_file_is_an_error),
        TEMP_TEST(test_every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
