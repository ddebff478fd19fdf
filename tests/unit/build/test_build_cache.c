#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "build/cache.h"
#include "build_plan_maker.h"
#include "temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define PROCESSES 16
#define KEYS      24
#define ROUNDS    12

static tsw_toolchain_t some_toolchain(uint64_t number)
{
    static char text[32];
    snprintf(text, sizeof(text), "toolchain %d", (int)number);
    return (tsw_toolchain_t){.found = true, .text = text, .key = {.hi = number, .lo = 1}};
}

static tsw_cache_t *open_cache(const char *dir, uint64_t number)
{
    tsw_cache_t *cache = NULL;
    char *text = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_toolchain_t toolchain = some_toolchain(number);
    assert_int_equal(tsw_cache_open(dir, &toolchain, NULL, &cache, &text, &err), TSW_OK);
    assert_string_equal(text, toolchain.text);
    tsw_free(text);
    return cache;
}

/* An artifact whose bytes follow from n alone. */
static tsw_artifact_t artifact_of(uint64_t n)
{
    tsw_artifact_t artifact = {.outcome = TSW_OUTCOME_OK,
                               .facts = {.registers = (uint32_t)n, .compile_cpu_ns = 5}};
    for (uint64_t i = 0; i < 2000 + n; i++) {
        uint64_t bits = tsw_rng_u64(n, i, 0, 0, 0);
        tsw_buf_append(&artifact.cubin, &bits, sizeof(bits));
    }
    return artifact;
}

static tsw_key_t key_of(uint64_t n)
{
    return (tsw_key_t){.hi = n * 0x9e3779b97f4a7c15u, .lo = n};
}

static bool is_artifact_of(const tsw_artifact_t *artifact, uint64_t n)
{
    tsw_artifact_t wanted = artifact_of(n);
    bool same = artifact->cubin.size == wanted.cubin.size &&
                memcmp(artifact->cubin.data, wanted.cubin.data, wanted.cubin.size) == 0 &&
                artifact->facts.registers == (uint32_t)n;
    tsw_buf_fini(&wanted.cubin);
    return same;
}

static void put(tsw_cache_t *cache, uint64_t n)
{
    tsw_artifact_t artifact = artifact_of(n);
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_cache_put(cache, key_of(n), &artifact, &err) != TSW_OK)
        fail_msg("%s", err.text);
    tsw_buf_fini(&artifact.cubin);
}

static tsw_status_t get(tsw_cache_t *cache, uint64_t n)
{
    tsw_artifact_t artifact = {.cubin = TSW_BUF_INIT};
    tsw_status_t status = tsw_cache_get(cache, key_of(n), &artifact, NULL);
    if (status == TSW_OK)
        assert_true(is_artifact_of(&artifact, n));
    tsw_buf_fini(&artifact.cubin);
    return status;
}

static void test_what_was_put_comes_back_marked_as_cached(void **state)
{
    (void)state;
    tsw_cache_t *cache = open_cache(tsw_temp_path("cache"), 1);
    tsw_artifact_t artifact = {.cubin = TSW_BUF_INIT};
    assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    put(cache, 3);
    assert_int_equal(tsw_cache_get(cache, key_of(3), &artifact, NULL), TSW_OK);
    assert_int_equal(artifact.outcome, TSW_OUTCOME_OK);
    assert_int_equal(artifact.facts.from_cache, 1);
    assert_int_equal(artifact.facts.compile_cpu_ns, 0);
    assert_true(is_artifact_of(&artifact, 3));
    tsw_buf_fini(&artifact.cubin);
    assert_int_equal(get(cache, 4), TSW_ERR_NOT_FOUND);
    tsw_cache_close(cache);
}

static void test_toolchains_do_not_mix(void **state)
{
    (void)state;
    tsw_cache_t *one = open_cache(tsw_temp_path("cache"), 1);
    tsw_cache_t *two = open_cache(tsw_temp_path("cache"), 2);
    put(one, 3);
    assert_int_equal(get(one, 3), TSW_OK);
    assert_int_equal(get(two, 3), TSW_ERR_NOT_FOUND);
    tsw_cache_close(two);
    tsw_cache_close(one);
}

static void test_only_lasting_outcomes_are_kept(void **state)
{
    (void)state;
    static const struct {
        tsw_outcome_t outcome;
        tsw_status_t found;
    } cases[] = {
        {TSW_OUTCOME_COMPILE_FAILED, TSW_OK},
        {TSW_OUTCOME_COMPILE_TIMEOUT, TSW_ERR_NOT_FOUND},
        {TSW_OUTCOME_OUT_OF_MEMORY, TSW_ERR_NOT_FOUND},
        {TSW_OUTCOME_INTERRUPTED, TSW_ERR_NOT_FOUND},
    };
    tsw_cache_t *cache = open_cache(tsw_temp_path("cache"), 1);
    for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_artifact_t artifact = {.outcome = cases[i].outcome, .detail = "because"};
        tsw_artifact_t back = {.cubin = TSW_BUF_INIT};
        assert_int_equal(tsw_cache_put(cache, key_of(i + 1), &artifact, NULL), TSW_OK);
        assert_int_equal(tsw_cache_get(cache, key_of(i + 1), &back, NULL), cases[i].found);
        if (cases[i].found == TSW_OK) {
            assert_int_equal(back.outcome, cases[i].outcome);
            assert_string_equal(back.detail, "because");
            assert_int_equal(back.cubin.size, 0);
        }
        tsw_buf_fini(&back.cubin);
    }
    tsw_cache_close(cache);
}

/* The file of key n in the folder of toolchain 1. */
static void path_of(uint64_t n, char *out, size_t size)
{
    char toolchain[TSW_KEY_TEXT_SIZE], key[TSW_KEY_TEXT_SIZE];
    tsw_key_format((tsw_key_t){.hi = 1, .lo = 1}, toolchain);
    tsw_key_format(key_of(n), key);
    snprintf(out, size, "%s/%s/%.2s/%s", tsw_temp_path("cache"), toolchain, key, key);
}

static void test_damaged_entries_are_misses_and_can_be_replaced(void **state)
{
    (void)state;
    char path[2048], other[2048];
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_cache_t *cache = open_cache(tsw_temp_path("cache"), 1);
    put(cache, 3);
    put(cache, 4);
    path_of(3, path, sizeof(path));
    path_of(4, other, sizeof(other));
    assert_int_equal(tsw_file_read(path, &bytes, NULL), TSW_OK);
    static const size_t places[] = {0, 5, 12, 30, 60, 400, 15000};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        bytes.data[places[i]] ^= 0x10;
        assert_int_equal(tsw_file_write_atomic(path, bytes.data, bytes.size, NULL), TSW_OK);
        assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
        bytes.data[places[i]] ^= 0x10;
    }
    for (size_t cut = 0; cut < 200; cut += 7) {
        assert_int_equal(tsw_file_write_atomic(path, bytes.data, cut, NULL), TSW_OK);
        assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    }
    /* a whole entry, but of another key */
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    put(cache, 3);
    assert_int_equal(get(cache, 3), TSW_OK);
    /* a pipe would block for good */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    tsw_artifact_t artifact = artifact_of(3);
    assert_int_equal(tsw_cache_put(cache, key_of(3), &artifact, NULL), TSW_ERR_IO);
    tsw_buf_fini(&artifact.cubin);
    tsw_buf_fini(&bytes);
    tsw_cache_close(cache);
}

static void swallow(const char *line, void *user)
{
    (void)line;
    *(int *)user += 1;
}

static void test_folder_that_cannot_be_made_is_a_cache_without_writing(void **state)
{
    (void)state;
    int lines = 0;
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("cache"), "x", 1, NULL), TSW_OK);
    tsw_log_set_sink(swallow, &lines);
    tsw_cache_t *cache = open_cache(tsw_temp_path("cache"), 1);
    tsw_log_set_sink(NULL, NULL);
    assert_int_equal(lines, 1); /* and somebody hears of it */
    put(cache, 3);
    assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    tsw_cache_close(cache);
}

static void test_put_that_fails_says_so_and_leaves_no_half_entry(void **state)
{
    (void)state;
    char path[2048];
    tsw_artifact_t artifact = artifact_of(3);
    tsw_cache_t *cache = open_cache(tsw_temp_path("cache"), 1);
    path_of(3, path, sizeof(path));
    strrchr(path, '/')[0] = '\0'; /* its folder is a file */
    assert_int_equal(tsw_file_write_atomic(path, "x", 1, NULL), TSW_OK);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_not_equal(tsw_cache_put(cache, key_of(3), &artifact, &err), TSW_OK);
    assert_true(strlen(err.text) > 0);
    assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    tsw_buf_fini(&artifact.cubin);
    tsw_cache_close(cache);
}

static void test_failed_allocations_are_reported_or_misses(void **state)
{
    (void)state;
    tsw_artifact_t artifact = artifact_of(3);
    tsw_cache_t *cache = open_cache(tsw_temp_path("cache"), 1);
    tsw_status_t status = TSW_ERR_NOMEM;
    for (long n = 1; status != TSW_OK; n++) {
        assert_true(n < 200);
        tsw_mem_fail_at(n);
        status = tsw_cache_put(cache, key_of(3), &artifact, NULL);
        tsw_mem_fail_at(0);
    }
    status = TSW_ERR_NOMEM;
    for (long n = 1; status != TSW_OK; n++) {
        tsw_artifact_t back = {.cubin = TSW_BUF_INIT};
        assert_true(n < 200);
        tsw_mem_fail_at(n);
        status = tsw_cache_get(cache, key_of(3), &back, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM || status == TSW_ERR_NOT_FOUND);
        tsw_buf_fini(&back.cubin);
    }
    tsw_buf_fini(&artifact.cubin);
    tsw_cache_close(cache);
}

/* One of many processes: puts and reads the same few keys in its own order. Returns the number of
 * wrong artifacts that it saw, and of keys that it did not find after having put them. */
static int publish(const char *dir, uint64_t process)
{
    int wrong = 0;
    uint32_t order[KEYS];
    tsw_toolchain_t toolchain = some_toolchain(1);
    tsw_cache_t *cache = NULL;
    char *text = NULL;
    if (tsw_cache_open(dir, &toolchain, NULL, &cache, &text, NULL) != TSW_OK)
        return 100;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        tsw_rng_permutation(7, process, round, order, KEYS);
        for (size_t i = 0; i < KEYS; i++) {
            uint64_t n = order[i] + 1;
            tsw_artifact_t artifact = artifact_of(n);
            tsw_artifact_t back = {.cubin = TSW_BUF_INIT};
            bool was_put = (round + process) % 2 == 0;
            if (was_put && tsw_cache_put(cache, key_of(n), &artifact, NULL) != TSW_OK)
                wrong++;
            tsw_status_t status = tsw_cache_get(cache, key_of(n), &back, NULL);
            if (status == TSW_OK ? !is_artifact_of(&back, n) : was_put)
                wrong++;
            tsw_buf_fini(&back.cubin);
            tsw_buf_fini(&artifact.cubin);
        }
    }
    tsw_free(text);
    tsw_cache_close(cache);
    return wrong > 99 ? 99 : wrong;
}

static void test_many_processes_publish_and_read_the_same_keys(void **state)
{
    (void)state;
    const char *dir = tsw_temp_path("cache");
    for (uint64_t p = 0; p < PROCESSES; p++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(publish(dir, p));
    }
    int wrong = 0;
    for (int p = 0; p < PROCESSES; p++) {
        int end = 0;
        assert_true(wait(&end) > 0);
        assert_true(WIFEXITED(end));
        wrong += WEXITSTATUS(end);
    }
    assert_int_equal(wrong, 0);
    tsw_cache_t *cache = open_cache(dir, 1);
    for (uint64_t n = 1; n <= KEYS; n++)
        assert_int_equal(get(cache, n), TSW_OK);
    tsw_cache_close(cache);
}

/* Every artifact of the plan into the folder of one toolchain. */
static void fill(const char *dir, uint64_t toolchain, const plan_maker_t *maker, size_t builds)
{
    tsw_cache_t *cache = open_cache(dir, toolchain);
    tsw_artifact_t artifact = artifact_of(9);
    for (size_t i = 0; i < builds; i++) {
        tsw_build_request_t request;
        assert_int_equal(tsw_build_request_make(&maker->plan, &maker->builds[i], &request, NULL),
                         TSW_OK);
        for (size_t a = 0; a < request.arch_count; a++)
            assert_int_equal(
                tsw_cache_put(cache, tsw_cache_key(&request, request.archs[a]), &artifact, NULL),
                TSW_OK);
        tsw_build_request_fini(&request);
    }
    tsw_buf_fini(&artifact.cubin);
    tsw_cache_close(cache);
}

static void set_age(uint64_t toolchain, time_t seconds)
{
    char digits[TSW_KEY_TEXT_SIZE], path[2048];
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    tsw_key_format((tsw_key_t){.hi = toolchain, .lo = 1}, digits);
    snprintf(path, sizeof(path), "%s/%s/toolchain.txt", tsw_temp_path("cache"), digits);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_without_toolchain_the_newest_that_covers_the_plan_serves(void **state)
{
    (void)state;
    static char text[] = "no CUDA toolchain";
    const tsw_toolchain_t absent = {.found = false, .text = text};
    const char *dir = tsw_temp_path("cache");
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    fill(dir, 1, &maker, 4);
    fill(dir, 2, &maker, 4);
    fill(dir, 3, &maker, 2); /* the newest, but not whole */
    set_age(1, 1000);
    set_age(2, 2000);
    set_age(3, 3000);
    tsw_cache_t *cache = NULL;
    char *served = NULL;
    assert_int_equal(tsw_cache_open(dir, &absent, &maker.plan, &cache, &served, NULL), TSW_OK);
    assert_string_equal(served, "toolchain 2");
    put(cache, 3); /* read only: nobody knows whose that would be */
    assert_int_equal(get(cache, 3), TSW_ERR_NOT_FOUND);
    tsw_free(served);
    tsw_cache_close(cache);
    plan_maker_fini(&maker);
}

static void test_without_toolchain_and_cover_the_gap_is_counted(void **state)
{
    (void)state;
    static char text[] = "no CUDA toolchain";
    const tsw_toolchain_t absent = {.found = false, .text = text};
    const char *dir = tsw_temp_path("cache");
    tsw_cache_t *cache = NULL;
    char *served = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    plan_maker_t maker;
    plan_maker_init(&maker, "source");
    assert_int_equal(tsw_cache_open(dir, &absent, &maker.plan, &cache, &served, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "is empty"));
    fill(dir, 1, &maker, 2);
    assert_int_equal(tsw_cache_open(dir, &absent, &maker.plan, &cache, &served, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "lacks 3 of the 7 cubins"));
    assert_null(cache);
    assert_null(served);
    plan_maker_fini(&maker);
}

#define TEMP_TEST(_f) cmocka_unit_test_setup_teardown(_f, tsw_temp_dir_make, tsw_temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEMP_TEST(test_what_was_put_comes_back_marked_as_cached),
        TEMP_TEST(test_toolchains_do_not_mix),
        TEMP_TEST(test_only_lasting_outcomes_are_kept),
        TEMP_TEST(test_damaged_entries_are_misses_and_can_be_replaced),
        TEMP_TEST(test_folder_that_cannot_be_made_is_a_cache_without_writing),
        TEMP_TEST(test_put_that_fails_says_so_and_leaves_no_half_entry),
        TEMP_TEST(test_failed_allocations_are_reported_or_misses),
        TEMP_TEST(test_many_processes_publish_and_read_the_same_keys),
        TEMP_TEST(test_without_toolchain_the_newest_that_covers_the_plan_serves),
        TEMP_TEST(test_without_toolchain_and_cover_the_gap_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
