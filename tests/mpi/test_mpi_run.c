/* Whole runs on simulated devices with the fake toolchain: test_mpi_run CASE [FOLDER].
 *   plain  every cell exactly once, and the same digest for any number of ranks
 *   faults what one config does to a device costs that config alone
 *   archs  compile-only archs, ranks whose device is of no use
 *   keeper keepers that are killed from outside
 *   drain  stopped in the middle, then resumed to the same set of cells
 *   replay a recorded sweep again, without toolchain or device
 *   local  segments in folders of nodes, gathered by rank 0
 *   accept differences that a resume accepts
 *   refuse what a run refuses before work */
#include "base/file.h"
#include "base/mem.h"
#include "run/run.h"
#include "store/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#define JOBS   TSW_SOURCE_DIR "/tests/data/jobs/"
#define WORKER TSW_BINARY_DIR "/bin/tilesweep-worker"

typedef struct {
    tsw_comm_t *comm;
    char root[512]; /* folder of this case and number of ranks; made anew */
} place_t;

static place_t place;

static bool is_root(void)
{
    return tsw_comm_rank(place.comm) == 0;
}

static void path_of(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s/%s", place.root, name);
}

typedef struct {
    const char *job, *run, *cache, *device, *worker;
    const char *local; /* folder of the nodes; then only rank 0 knows where the run folder is */
    bool resume, accept;
    double patience_s; /* 0: little */
} what_t;

static tsw_status_t run(const what_t *what, tsw_run_summary_t *summary, tsw_err_t *err)
{
    char run_dir[800], cache_dir[800], job[1600];
    path_of(what->run, run_dir, sizeof(run_dir));
    path_of(what->cache != NULL ? what->cache : "cache", cache_dir, sizeof(cache_dir));
    snprintf(job, sizeof(job), "%s%s", JOBS, what->job);
    tsw_run_options_t options = {
        .run_dir = run_dir,
        .cache_dir = cache_dir,
        .device = what->device,
        .toolchain = TSW_BINARY_DIR "/fake-toolchain",
        .worker_path = what->worker != NULL ? what->worker : WORKER,
        .resume = what->resume,
        .accept = what->accept,
        .build_jobs = 2,
        .patience_s = what->patience_s > 0 ? what->patience_s : 0.3,
        .invocation = "test",
    };
    char local_dir[800];
    if (what->local != NULL) {
        path_of(what->local, local_dir, sizeof(local_dir));
        options.local_dir = local_dir;
        options.run_dir = is_root() ? run_dir : "/nonexistent/run";
    }
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_status_t status = TSW_OK;
    if (is_root())
        status = tsw_job_snapshot(job, TSW_SOURCE_DIR "/kernels", &snapshot, err);
    status = tsw_comm_agree(place.comm, status, err);
    if (status == TSW_OK)
        status = tsw_run(place.comm, &snapshot, &options, summary, err);
    return status;
}

static tsw_run_summary_t run_well(const what_t *what)
{
    tsw_run_summary_t summary = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = run(what, &summary, &err);
    if (status != TSW_OK)
        fail_msg("%s", err.text);
    return summary;
}

/* ---- what is in a folder ---- */

static tsw_dataset_t read_run(const char *name)
{
    char path[800];
    path_of(name, path, sizeof(path));
    tsw_dataset_t dataset = {0};
    char *skipped = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_store_read(path, &dataset, &skipped, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_true(skipped == NULL || skipped[0] == '\0');
    tsw_free(skipped);
    return dataset;
}

static size_t count_outcome(const tsw_dataset_t *dataset, tsw_outcome_t outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->cell_count; i++)
        for (size_t k = 0; k < dataset->cells[i].record_count; k++)
            count += dataset->cells[i].records[k].outcome == outcome;
    return count;
}

/* Complete results of each cell over all segments, before anything is merged: each exactly once. */
static void assert_once(const char *run_name, size_t cells)
{
    char parts[800];
    char name[100];
    snprintf(name, sizeof(name), "%s/parts", run_name);
    path_of(name, parts, sizeof(parts));
    tsw_dataset_t all = {0};
    tsw_names_t folders = {0};
    assert_int_equal(tsw_dir_list(parts, &folders, NULL), TSW_OK);
    for (size_t i = 0; i < folders.count; i++) {
        tsw_names_t files = {0};
        char *folder = tsw_path_join(parts, folders.names[i]);
        assert_int_equal(tsw_dir_list(folder, &files, NULL), TSW_OK);
        for (size_t k = 0; k < files.count; k++) {
            char *file = tsw_path_join(folder, files.names[k]);
            tsw_dataset_t segment = {0};
            assert_int_equal(tsw_store_read_file(file, &segment, NULL), TSW_OK);
            for (size_t c = 0; c < segment.cell_count; c++) {
                if (segment.cells[c].complete)
                    assert_int_equal(tsw_dataset_add(&all, &segment.cells[c], NULL), TSW_OK);
            }
            tsw_dataset_fini(&segment);
            tsw_free(file);
        }
        tsw_names_fini(&files);
        tsw_free(folder);
    }
    tsw_names_fini(&folders);
    assert_int_equal(all.cell_count, cells);
    for (size_t i = 0; i < all.cell_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(tsw_key_equal(all.cells[i].key, all.cells[k].key));
    tsw_dataset_fini(&all);
}

static tsw_key_t digest_of(const tsw_dataset_t *dataset)
{
    tsw_key_t key = {0};
    assert_int_equal(tsw_dataset_digest(dataset, &key, NULL), TSW_OK);
    return key;
}

/* The first number of ranks writes it down, the others compare. */
static void assert_same_digest(const char *name, tsw_key_t digest)
{
    char path[800];
    char text[TSW_KEY_TEXT_SIZE];
    snprintf(path, sizeof(path), "%s/tests/run.%s.digest", TSW_BINARY_DIR, name);
    tsw_key_format(digest, text);
    if (tsw_comm_size(place.comm) == 1) {
        assert_int_equal(tsw_file_write_atomic(path, text, strlen(text), NULL), TSW_OK);
        return;
    }
    tsw_buf_t before = TSW_BUF_INIT;
    assert_int_equal(tsw_file_read(path, &before, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&before), text);
    tsw_buf_fini(&before);
}

/* ---- cases ---- */

#define CELLS         14 /* tests/data/jobs/tiny.yaml */
#define CELLS_SKIPPED 4
#define TILE_CELLS    8 /* of tiny_tile, 8 configs each; the others have 4 */
#define CONFIGS       (TILE_CELLS * 8 + 2 * 4)

static void test_run_when_plain_then_each_cell_once(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "run", .device = "sim:h200@0"};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells, CELLS);
        assert_int_equal(summary.cells_usable, CELLS - CELLS_SKIPPED);
        assert_int_equal(summary.cells_skipped, CELLS_SKIPPED);
        assert_int_equal(summary.cells_unusable, 0);
        assert_int_equal(summary.cells_left, 0);
        assert_int_equal(summary.configs, CONFIGS);
        assert_int_equal(summary.configs_failed, TILE_CELLS * 4); /* TILE 64 and 512 */
        assert_false(summary.stopped_early);
        assert_int_equal(summary.builds_made, summary.builds);
        assert_int_equal(summary.builds_cached, 0);
        assert_once("run", CELLS);
        tsw_dataset_t dataset = read_run("run");
        assert_int_equal(dataset.cell_count, CELLS);
        assert_string_equal(dataset.meta.mode, "sim");
        assert_int_equal(count_outcome(&dataset, TSW_OUTCOME_COMPILE_FAILED), TILE_CELLS * 4);
        assert_int_equal(count_outcome(&dataset, TSW_OUTCOME_INTERRUPTED), 0);
        assert_same_digest("plain", digest_of(&dataset));
        tsw_dataset_fini(&dataset);
        dataset = read_run("run/sweep.h5");
        assert_int_equal(dataset.cell_count, CELLS);
        assert_same_digest("plain", digest_of(&dataset));
        tsw_dataset_fini(&dataset);
    }
}

static void test_run_when_cached_then_nothing_is_built(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "again", .device = "sim:h200@0"};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        /* A compiler that crashed is not remembered: TILE=512 with 2 dtypes and 2 occupancies. */
        assert_true(summary.builds_made <= 4);
        assert_int_equal(summary.builds_made + summary.builds_cached, summary.builds);
        tsw_dataset_t dataset = read_run("again");
        assert_same_digest("cached", digest_of(&dataset));
        tsw_dataset_fini(&dataset);
    }
}

static void test_run_when_two_archs_then_each_on_its_device(void **state)
{
    (void)state;
    if (tsw_comm_size(place.comm) < 2)
        return;
    what_t what = {.job = "tiny_two.yaml", .run = "two", .device = "sim:h200,a100"};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells_usable, 2 * (CELLS - CELLS_SKIPPED));
        assert_once("two", 2 * CELLS);
        tsw_dataset_t dataset = read_run("two");
        for (size_t i = 0; i < dataset.cell_count; i++) {
            const tsw_cell_result_t *cell = &dataset.cells[i];
            if (cell->gpu.uuid[0] != '\0')
                assert_int_equal(cell->gpu.arch, cell->arch);
        }
        tsw_dataset_fini(&dataset);
    }
}

/* Outcome of a config in every cell of a pack that is not skipped. */
static void assert_outcome(const tsw_dataset_t *dataset, const char *pack, const char *config,
                           tsw_outcome_t outcome)
{
    size_t seen = 0;
    for (size_t i = 0; i < dataset->cell_count; i++) {
        const tsw_cell_result_t *cell = &dataset->cells[i];
        for (size_t k = 0; k < cell->record_count; k++) {
            const tsw_record_t *record = &cell->records[k];
            if (strcmp(cell->pack, pack) != 0 || strcmp(cell->config_texts[k], config) != 0 ||
                record->outcome == TSW_OUTCOME_SKIPPED)
                continue;
            if (record->outcome != outcome)
                fail_msg("%s %s: %s (%s)", cell->shape, config, tsw_outcome_name(record->outcome),
                         record->detail);
            seen++;
        }
    }
    assert_true(seen > 0);
}

static void write_scenario(const char *text)
{
    char path[800];
    path_of("scenario", path, sizeof(path));
    if (is_root())
        assert_int_equal(tsw_file_write_atomic(path, text, strlen(text), NULL), TSW_OK);
    assert_int_equal(setenv("TSW_SIM_SCENARIO", path, 1), 0);
    tsw_comm_agree(place.comm, TSW_OK, NULL);
}

static void test_run_when_configs_misbehave_then_each_costs_itself(void **state)
{
    (void)state;
    write_scenario("crash TILE=128 occupancy=2\n"
                   "hang TILE=256 occupancy=2\n"
                   "lost THREADS=512\n"
                   "wrong THREADS=64\n");
    what_t what = {.job = "tiny.yaml", .run = "faults", .device = "sim:h200@0"};
    tsw_run_summary_t summary = run_well(&what);
    unsetenv("TSW_SIM_SCENARIO");
    if (is_root()) {
        assert_int_equal(summary.cells_usable, CELLS - CELLS_SKIPPED);
        assert_false(summary.stopped_early);
        assert_once("faults", CELLS);
        tsw_dataset_t dataset = read_run("faults");
        assert_outcome(&dataset, "tiny_tile", "TILE=128 occupancy=2", TSW_OUTCOME_DEVICE_LOST);
        assert_outcome(&dataset, "tiny_tile", "TILE=256 occupancy=2", TSW_OUTCOME_RUN_TIMEOUT);
        assert_outcome(&dataset, "tiny_tile", "TILE=256 occupancy=1", TSW_OUTCOME_OK);
        assert_outcome(&dataset, "tiny_tile", "TILE=128 occupancy=1", TSW_OUTCOME_OK);
        assert_outcome(&dataset, "tiny_cuda", "THREADS=512", TSW_OUTCOME_DEVICE_LOST);
        assert_outcome(&dataset, "tiny_cuda", "THREADS=64", TSW_OUTCOME_WRONG_RESULT);
        assert_outcome(&dataset, "tiny_cuda", "THREADS=256", TSW_OUTCOME_OK);
        tsw_dataset_fini(&dataset);
    }
}

/* A reference that ends its worker costs the cells that need it; the device stays. */
static void test_run_when_the_reference_kills_workers_then_cells_are_invalid(void **state)
{
    (void)state;
    static const char *const faults[] = {"hang reference\n", "lost reference\n",
                                         "crash reference\n"};
    static const char *const names[] = {"hanging", "losing", "crashing"};
    for (size_t i = 0; i < 3; i++) {
        write_scenario(faults[i]);
        what_t what = {.job = "tiny.yaml", .run = names[i], .device = "sim:h200@0"};
        tsw_run_summary_t summary = run_well(&what);
        unsetenv("TSW_SIM_SCENARIO");
        if (!is_root())
            continue;
        assert_false(summary.stopped_early);
        assert_int_equal(summary.cells_unusable, CELLS - CELLS_SKIPPED);
        assert_once(names[i], CELLS);
        tsw_dataset_t dataset = read_run(names[i]);
        assert_outcome(&dataset, "tiny_cuda", "THREADS=256", TSW_OUTCOME_INVALID);
        assert_int_equal(count_outcome(&dataset, TSW_OUTCOME_DEVICE_LOST), 0);
        tsw_dataset_fini(&dataset);
    }
}

/* A device whose canary fails is retired: others do its cells, or the run stops early. */
static void test_run_when_a_device_is_lost_then_others_go_on(void **state)
{
    (void)state;
    write_scenario("gpu=0 canary\n");
    what_t what = {.job = "tiny.yaml", .run = "retired", .device = "sim:h200"};
    tsw_run_summary_t summary = run_well(&what);
    unsetenv("TSW_SIM_SCENARIO");
    if (is_root()) {
        bool lone = tsw_comm_size(place.comm) == 1;
        assert_int_equal(summary.stopped_early, lone);
        assert_int_equal(summary.cells_left, lone ? CELLS - CELLS_SKIPPED : 0);
        if (!lone)
            assert_once("retired", CELLS);
    }
}

/* ---- archs ---- */

static size_t count_arch(const tsw_dataset_t *dataset, uint32_t arch, tsw_outcome_t outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->cell_count; i++)
        for (size_t k = 0; k < dataset->cells[i].record_count; k++)
            count +=
                dataset->cells[i].arch == arch && dataset->cells[i].records[k].outcome == outcome;
    return count;
}

static void test_run_when_compile_only_then_built_and_not_timed(void **state)
{
    (void)state;
    what_t what = {.job = "tiny_compile.yaml", .run = "compile", .device = "sim:h200@0"};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells_unusable, 0);
        tsw_dataset_t dataset = read_run("compile");
        assert_int_equal(count_arch(&dataset, 90, TSW_OUTCOME_OK), 4);
        assert_int_equal(count_arch(&dataset, 90, TSW_OUTCOME_COMPILED), 0);
        assert_int_equal(count_arch(&dataset, 100, TSW_OUTCOME_COMPILED), 4);
        assert_int_equal(count_arch(&dataset, 100, TSW_OUTCOME_OK), 0);
        for (size_t i = 0; i < dataset.cell_count; i++)
            for (size_t k = 0; k < dataset.cells[i].record_count; k++)
                assert_int_equal(dataset.cells[i].records[k].sample_count > 0,
                                 dataset.cells[i].arch == 90);
        tsw_dataset_fini(&dataset);
    }
}

/* Nothing to measure: no device is looked for. */
static void test_run_when_all_is_compile_only_then_no_device(void **state)
{
    (void)state;
    what_t what = {.job = "tiny_build.yaml", .run = "build", .device = "auto"};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells_usable, 2);
        assert_false(summary.stopped_early);
    }
}

static void test_run_when_a_device_is_of_no_use_then_its_rank_builds(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "no_use", .device = "sim:h200,b200"};
    run_well(&what);
    if (is_root())
        assert_once("no_use", CELLS);
}

/* ---- keepers ---- */

/* A worker in whose build mode a kill strikes: always, or only the first time. */
static void write_killer(const char *name, bool always, char *path, size_t size)
{
    path_of(name, path, size);
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_buf_printf(&text,
                   "#!/bin/sh\n"
                   "if [ \"$1\" = build ] && %s; then kill -9 $$; fi\n"
                   "exec " WORKER " \"$@\"\n",
                   always ? "true" : "mkdir \"$0.struck\" 2>/dev/null");
    if (is_root()) {
        assert_int_equal(tsw_file_write_atomic(path, text.data, text.size, NULL), TSW_OK);
        assert_int_equal(chmod(path, 0755), 0);
    }
    tsw_buf_fini(&text);
    tsw_comm_agree(place.comm, TSW_OK, NULL);
}

static void test_run_when_a_keeper_is_killed_once_then_nothing_is_lost(void **state)
{
    (void)state;
    char worker[800];
    write_killer("once", false, worker, sizeof(worker));
    what_t what = {
        .job = "tiny.yaml", .run = "killed_once", .device = "sim:h200@0", .worker = worker};
    run_well(&what);
    if (is_root()) {
        strcat(worker, ".struck");
        assert_true(tsw_path_exists(worker));
        tsw_dataset_t dataset = read_run("killed_once");
        assert_int_equal(count_outcome(&dataset, TSW_OUTCOME_OUT_OF_MEMORY), 0);
        assert_same_digest("plain", digest_of(&dataset));
        tsw_dataset_fini(&dataset);
    }
}

static void test_run_when_keepers_are_always_killed_then_it_ends(void **state)
{
    (void)state;
    char worker[800];
    write_killer("always", true, worker, sizeof(worker));
    what_t what = {.job = "tiny_build.yaml",
                   .run = "killed",
                   .cache = "cache_killed",
                   .device = "auto",
                   .worker = worker};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells_unusable, 2);
        tsw_dataset_t dataset = read_run("killed");
        assert_int_equal(count_outcome(&dataset, TSW_OUTCOME_OUT_OF_MEMORY), 8);
        tsw_dataset_fini(&dataset);
    }
}

/* ---- drain ---- */

static struct {
    char status_path[800];
    char word[64]; /* of it */
} alarm_at;

/* Not before status.json says so, however slow the machine is. */
static void on_alarm(int signo)
{
    (void)signo;
    char text[2048] = "";
    int fd = open(alarm_at.status_path, O_RDONLY);
    if (fd < 0)
        return;
    if (read(fd, text, sizeof(text) - 1) > 0 && strstr(text, alarm_at.word) != NULL)
        tsw_run_request_drain();
    close(fd);
}

static void set_alarm(const char *status, const char *word)
{
    path_of(status, alarm_at.status_path, sizeof(alarm_at.status_path));
    snprintf(alarm_at.word, sizeof(alarm_at.word), "%s", word);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    const struct itimerval timer = {.it_value = {.tv_usec = 20000},
                                    .it_interval = {.tv_usec = 20000}};
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void clear_alarm(void)
{
    signal(SIGALRM, SIG_IGN);
    assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0}}, NULL), 0);
}

static void test_run_when_drained_then_resumable(void **state)
{
    (void)state;
    /* One build never ends by itself, so the run cannot be over before it is drained. */
    what_t what = {.job = "tiny_spin.yaml", .run = "drained", .device = "sim:h200@0"};
    if (is_root())
        set_alarm("drained/status.json", "running");
    tsw_run_summary_t summary = run_well(&what);
    char path[800];
    if (is_root()) {
        clear_alarm();
        assert_true(summary.stopped_early);
        assert_true(summary.cells_left > 0);
        path_of("drained/sweep.h5", path, sizeof(path));
        assert_false(tsw_path_exists(path));
        path_of("drained/status.json", path, sizeof(path));
        tsw_buf_t json = TSW_BUF_INIT;
        assert_int_equal(tsw_file_read(path, &json, NULL), TSW_OK);
        assert_non_null(strstr(tsw_buf_text(&json), "\"state\": \"stopped\""));
        tsw_buf_fini(&json);
    }
    what.resume = true;
    summary = run_well(&what);
    if (is_root()) {
        assert_false(summary.stopped_early);
        assert_int_equal(summary.cells_left, 0);
        tsw_dataset_t dataset = read_run("drained");
        assert_int_equal(dataset.cell_count, summary.cells);
        for (size_t i = 0; i < dataset.cell_count; i++)
            assert_true(dataset.cells[i].complete);
        assert_outcome(&dataset, "tiny_spin", "THREADS=256", TSW_OUTCOME_COMPILE_TIMEOUT);
        tsw_dataset_fini(&dataset);
        assert_once("drained", summary.cells);
    }
}

/* Before there is even a plan: the folder is not touched. */
static void test_run_when_drained_at_once_then_resumed_whole(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "at_once", .device = "sim:h200@0"};
    char path[800];
    if (tsw_comm_rank(place.comm) == tsw_comm_size(place.comm) - 1)
        tsw_run_request_drain();
    tsw_run_summary_t summary = {0};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(run(&what, &summary, &err), TSW_ERR_CANCELED);
    assert_non_null(strstr(err.text, "stopped before any work"));
    path_of("at_once", path, sizeof(path));
    assert_false(tsw_path_exists(path));
    what.resume = true;
    summary = run_well(&what);
    if (is_root()) {
        assert_false(summary.stopped_early);
        assert_once("at_once", CELLS);
        tsw_dataset_t dataset = read_run("at_once");
        assert_same_digest("plain", digest_of(&dataset));
        tsw_dataset_fini(&dataset);
    }
}

/* Rank 0 may have to wait minutes for a segment that another node has sealed. It obeys meanwhile,
 * and status.json goes on. */
static void test_run_when_stopped_before_the_merge_then_resumable(void **state)
{
    (void)state;
    char all_done[64], path[800];
    if (tsw_comm_size(place.comm) == 1)
        return;
    what_t what = {.job = "tiny.yaml",
                   .run = is_root() ? "awaits" : "apart",
                   .device = "sim:h200@0",
                   .patience_s = 1000};
    snprintf(all_done, sizeof(all_done), "\"total\": %d, \"done\": %d,", CELLS,
             CELLS - CELLS_SKIPPED);
    if (is_root())
        set_alarm("awaits/status.json", all_done);
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        clear_alarm();
        assert_true(summary.stopped_early);
        path_of("awaits/sweep.h5", path, sizeof(path));
        assert_false(tsw_path_exists(path));
    }
    what.run = "awaits";
    what.resume = true;
    run_well(&what);
    if (is_root())
        assert_once("awaits", CELLS);
}

/* Segments that cannot be written: here a limit of files stands for a full disk. */
static void test_run_when_segments_cannot_be_written_then_resumable(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "unwritable", .device = "sim:h200@0"};
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    if (is_root()) {
        signal(SIGXFSZ, SIG_IGN);
        limit.rlim_cur = 24 << 10; /* enough for plan.json, too little for a segment */
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    tsw_run_summary_t summary = {0};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(run(&what, &summary, &err), TSW_ERR_FULL);
    assert_non_null(strstr(err.text, "a0001-r0000"));
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    what.resume = true;
    summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells_left, 0);
        assert_once("unwritable", CELLS);
    }
}

/* ---- replay ---- */

static void test_run_when_replayed_then_the_same_winners(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "source", .device = "sim:h200@0"};
    run_well(&what);
    char device[700];
    snprintf(device, sizeof(device), "replay:%s/source/sweep.h5", place.root);
    what = (what_t){.job = "tiny.yaml", .run = "replayed", .device = device};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.builds_made, 0);
        assert_int_equal(summary.cells_usable, CELLS - CELLS_SKIPPED);
        tsw_dataset_t source = read_run("source");
        tsw_dataset_t replayed = read_run("replayed");
        assert_string_equal(replayed.meta.mode, "replay");
        assert_int_equal(source.cell_count, replayed.cell_count);
        for (size_t i = 0; i < source.cell_count; i++) {
            assert_true(tsw_key_equal(source.cells[i].key, replayed.cells[i].key));
            for (size_t k = 0; k < source.cells[i].record_count; k++)
                assert_int_equal(source.cells[i].records[k].outcome,
                                 replayed.cells[i].records[k].outcome);
        }
        tsw_dataset_fini(&source);
        tsw_dataset_fini(&replayed);
    }
}

/* ---- folders of nodes ---- */

/* Names in a folder of the case; NULL: it is not there. */
static size_t count_names(const char *name)
{
    char path[800];
    tsw_names_t names = {0};
    path_of(name, path, sizeof(path));
    if (!tsw_path_exists(path))
        return 0;
    assert_int_equal(tsw_dir_list(path, &names, NULL), TSW_OK);
    size_t count = names.count;
    tsw_names_fini(&names);
    return count;
}

static void test_run_when_local_then_all_is_gathered(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "far", .local = "node", .device = "sim:h200@0"};
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.cells_usable, CELLS - CELLS_SKIPPED);
        assert_once("far", CELLS);
        assert_int_equal(count_names("node"), 0);
        tsw_dataset_t dataset = read_run("far");
        assert_same_digest("plain", digest_of(&dataset));
        tsw_dataset_fini(&dataset);
    }
}

/* What a dead attempt left on a node: the next one has it before it looks at what is done. */
static void test_run_when_something_is_left_over_then_it_is_gathered(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "left", .local = "node", .device = "sim:h200@0"};
    run_well(&what);
    char parts[800], moved[1000], path[800];
    if (is_root()) {
        tsw_buf_t id = TSW_BUF_INIT;
        path_of("left/id", path, sizeof(path));
        assert_int_equal(tsw_file_read(path, &id, NULL), TSW_OK);
        path_of("node", path, sizeof(path));
        snprintf(moved, sizeof(moved), "%s/tilesweep-%s", path, tsw_buf_text(&id));
        assert_int_equal(tsw_dir_make(moved, NULL), TSW_OK);
        strcat(moved, "/parts");
        path_of("left/parts", parts, sizeof(parts));
        assert_int_equal(rename(parts, moved), 0);
        strcat(moved, "/a0001-r0000/000009.h5"); /* a torn one is left alone */
        assert_int_equal(tsw_file_write_atomic(moved, "torn", 4, NULL), TSW_OK);
        tsw_buf_fini(&id);
    }
    tsw_comm_agree(place.comm, TSW_OK, NULL);
    what.resume = true;
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        assert_int_equal(summary.builds_made + summary.builds_cached, 0);
        assert_int_equal(summary.cells_left, 0);
        assert_once("left", CELLS);
        assert_true(tsw_path_exists(moved));
    }
}

/* ---- differences ---- */

static size_t count_attempt(const tsw_dataset_t *dataset, uint32_t attempt)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->cell_count; i++)
        count += dataset->cells[i].attempt == attempt;
    return count;
}

/* One shape less and one that is new: the other cells are kept. */
static void test_run_when_differences_are_accepted_then_only_those_again(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "accept", .device = "sim:h200@0"};
    run_well(&what);
    what.resume = true;
    what.accept = true;
    what.job = "tiny_other.yaml";
    tsw_run_summary_t summary = run_well(&what);
    if (is_root()) {
        tsw_dataset_t dataset = read_run("accept");
        assert_int_equal(summary.cells, CELLS);
        assert_int_equal(dataset.cell_count, CELLS);
        assert_int_equal(count_attempt(&dataset, 2), 1);
        assert_int_equal(count_attempt(&dataset, 1), CELLS - 1);
        assert_int_equal(dataset.meta.edition, 1);
        tsw_dataset_fini(&dataset);
    }
    summary = run_well(&what); /* nothing differs any more */
    if (is_root()) {
        assert_int_equal(summary.builds_made + summary.builds_cached, 0);
        tsw_dataset_t dataset = read_run("accept");
        assert_int_equal(count_attempt(&dataset, 3), 0);
        assert_int_equal(dataset.meta.edition, 1);
        tsw_dataset_fini(&dataset);
    }
}

/* ---- refusals ---- */

static void assert_refused(const what_t *what, tsw_status_t wanted, const char *text)
{
    tsw_run_summary_t summary = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = run(what, &summary, &err);
    if (status != wanted || strstr(err.text, text) == NULL)
        fail_msg("%s: %s, not %s with \"%s\"", tsw_status_text(status), err.text,
                 tsw_status_text(wanted), text);
}

static void test_run_when_it_cannot_start_then_says_why(void **state)
{
    (void)state;
    char path[800];
    what_t what = {.job = "tiny.yaml", .run = "full", .device = "sim:h200"};
    if (is_root()) {
        path_of("full", path, sizeof(path));
        assert_int_equal(tsw_dir_make(path, NULL), TSW_OK);
        path_of("full/something", path, sizeof(path));
        assert_int_equal(tsw_file_write_atomic(path, "x", 1, NULL), TSW_OK);
    }
    tsw_comm_agree(place.comm, TSW_OK, NULL);
    assert_refused(&what, TSW_ERR_ENV, "is not empty");
    what.run = "full/something";
    assert_refused(&what, TSW_ERR_ENV, "is not a folder");
    what.run = "never";
    what.device = "sim:a100";
    assert_refused(&what, TSW_ERR_ENV, "no rank has a device for sm_90");
    what.device = "sim:h20";
    assert_refused(&what, TSW_ERR_ARG, "did you mean h200?");
    what.device = "gpu";
    assert_refused(&what, TSW_ERR_ARG, "sim:NAME");
    what.device = "replay:/nonexistent.h5";
    assert_refused(&what, TSW_ERR_INPUT, "/nonexistent.h5");
    path_of("never", path, sizeof(path));
    assert_false(tsw_path_exists(path)); /* a refusal leaves nothing behind */
}

/* A folder that is not the same one for all: nobody may take the rest for the whole. */
static void test_run_when_the_folder_is_not_shared_then_refused(void **state)
{
    (void)state;
    if (tsw_comm_size(place.comm) == 1)
        return;
    what_t what = {.job = "tiny.yaml", .run = is_root() ? "mine" : "theirs", .device = "sim:h200"};
    assert_refused(&what, TSW_ERR_ENV, "do all nodes share that folder?");
}

static void test_run_when_resumed_with_another_job_then_differences(void **state)
{
    (void)state;
    what_t what = {.job = "tiny.yaml", .run = "other", .device = "sim:h200@0"};
    run_well(&what);
    what.resume = true;
    what.job = "tiny_spin.yaml";
    assert_refused(&what, TSW_ERR_ARG, "cannot resume");
}

/* ---- main ---- */

static int run_case(const char *name)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(test_run_when_plain_then_each_cell_once),
        cmocka_unit_test(test_run_when_cached_then_nothing_is_built),
        cmocka_unit_test(test_run_when_two_archs_then_each_on_its_device),
    };
    const struct CMUnitTest faults[] = {
        cmocka_unit_test(test_run_when_configs_misbehave_then_each_costs_itself),
        cmocka_unit_test(test_run_when_the_reference_kills_workers_then_cells_are_invalid),
        cmocka_unit_test(test_run_when_a_device_is_lost_then_others_go_on),
    };
    const struct CMUnitTest archs[] = {
        cmocka_unit_test(test_run_when_compile_only_then_built_and_not_timed),
        cmocka_unit_test(test_run_when_all_is_compile_only_then_no_device),
        cmocka_unit_test(test_run_when_a_device_is_of_no_use_then_its_rank_builds),
    };
    const struct CMUnitTest keeper[] = {
        cmocka_unit_test(test_run_when_a_keeper_is_killed_once_then_nothing_is_lost),
        cmocka_unit_test(test_run_when_keepers_are_always_killed_then_it_ends),
    };
    const struct CMUnitTest drain[] = {
        cmocka_unit_test(test_run_when_drained_then_resumable),
        cmocka_unit_test(test_run_when_drained_at_once_then_resumed_whole),
        cmocka_unit_test(test_run_when_stopped_before_the_merge_then_resumable),
        cmocka_unit_test(test_run_when_segments_cannot_be_written_then_resumable),
    };
    const struct CMUnitTest replay[] = {
        cmocka_unit_test(test_run_when_replayed_then_the_same_winners),
    };
    const struct CMUnitTest local[] = {
        cmocka_unit_test(test_run_when_local_then_all_is_gathered),
        cmocka_unit_test(test_run_when_something_is_left_over_then_it_is_gathered),
    };
    const struct CMUnitTest accept[] = {
        cmocka_unit_test(test_run_when_differences_are_accepted_then_only_those_again),
    };
    const struct CMUnitTest refuse[] = {
        cmocka_unit_test(test_run_when_it_cannot_start_then_says_why),
        cmocka_unit_test(test_run_when_resumed_with_another_job_then_differences),
        cmocka_unit_test(test_run_when_the_folder_is_not_shared_then_refused),
    };
    if (strcmp(name, "plain") == 0)
        return cmocka_run_group_tests(plain, NULL, NULL);
    if (strcmp(name, "faults") == 0)
        return cmocka_run_group_tests(faults, NULL, NULL);
    if (strcmp(name, "archs") == 0)
        return cmocka_run_group_tests(archs, NULL, NULL);
    if (strcmp(name, "keeper") == 0)
        return cmocka_run_group_tests(keeper, NULL, NULL);
    if (strcmp(name, "drain") == 0)
        return cmocka_run_group_tests(drain, NULL, NULL);
    if (strcmp(name, "replay") == 0)
        return cmocka_run_group_tests(replay, NULL, NULL);
    if (strcmp(name, "local") == 0)
        return cmocka_run_group_tests(local, NULL, NULL);
    if (strcmp(name, "accept") == 0)
        return cmocka_run_group_tests(accept, NULL, NULL);
    if (strcmp(name, "refuse") == 0)
        return cmocka_run_group_tests(refuse, NULL, NULL);
    fprintf(stderr, "no case %s\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (argc != 2 || tsw_comm_open(&place.comm, &err) != TSW_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    snprintf(place.root, sizeof(place.root), "%s/tests/run.%s.np%d", TSW_BINARY_DIR, argv[1],
             tsw_comm_size(place.comm));
    if (is_root()) {
        tsw_dir_remove(place.root, NULL);
        tsw_dir_make(place.root, NULL);
    }
    tsw_comm_agree(place.comm, TSW_OK, NULL);
    /* A failed assertion ends the process: the other ranks would wait for it for ever. */
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    int failures = run_case(argv[1]);
    if (failures > 0)
        tsw_comm_abort(place.comm, 1);
    tsw_comm_close(place.comm);
    return 0;
}
