#include "pack/job.h"

#include "base/mem.h"
#include "base/text.h"
#include "pack_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char job_text[] = "name: test\n"
                               "purpose: research\n"
                               "archs: [sm_90, sm_80]\n"
                               "compile_only: [sm_80]\n"
                               "packs:\n"
                               "  - pack: demo\n"
                               "    dtypes: [f16]\n"
                               "    flags: {causal: 1}\n"
                               "    shapes:\n"
                               "      - {M: [16, 32], N: {from: 1, to: 100, times: 10}, D: 64}\n"
                               "      - {M: 16, N: {from: 0, to: 10, step: 4}, D: 64, weight: 3}\n"
                               "      - {csv: some/dir/shapes.csv}\n"
                               "    space:\n"
                               "      - {TILE_M: 16, TILE_X: 16, SWAP: [0, 1], occupancy: 1, num_c"
                               "tas: 1}\n"
                               "measure:\n"
                               "  rounds: 7\n"
                               "  cache: hot\n"
                               "limits:\n"
                               "  run: 2h\n"
                               "  cell: 0\n";
static const char csv_text[] = "# shapes of a night\n"
                               " D , weight,M,N\r\n"
                               "\n"
                               "64,2.5,8, 9\r\n"
                               "64,1,16,10\n"
                               "64,1,16,1";

static void add(tsw_fileset_t *files, const char *name, const char *text)
{
    assert_int_equal(tsw_fileset_add(files, name, text, strlen(text), NULL), TSW_OK);
}

static void add_pack(tsw_fileset_t *files, const char *folder, const char *yaml)
{
    tsw_fileset_t pack = TSW_FILESET_INIT;
    tsw_test_pack_files(yaml, &pack);
    for (size_t i = 0; i < pack.count; i++) {
        char name[128];
        snprintf(name, sizeof(name), "packs/%s/%s", folder, pack.items[i].name);
        add(files, name, (const char *)pack.items[i].bytes);
    }
    tsw_fileset_fini(&pack);
}

/* The table of a run: mode, arch, key of the demo pack (NULL: the true one) and verdict. */
static void add_verdict(tsw_fileset_t *files, const char *name, const char *mode, const char *arch,
                        const char *key, const char *verdict)
{
    tsw_fileset_t demo = TSW_FILESET_INIT;
    tsw_key_t now;
    char now_text[TSW_KEY_TEXT_SIZE], text[512];
    tsw_test_pack_files(tsw_test_pack_text, &demo);
    assert_int_equal(tsw_fileset_key(&demo, &now, NULL), TSW_OK);
    snprintf(text, sizeof(text),
             "{\n  \"format\": \"tilesweep-table\",\n  \"arch\": \"%s\",\n  \"mode\": \"%s\",\n"
             "  \"packs\": [\n"
             "    {\n      \"name\": \"other\", \"pack_key\": \"1\", \"verdict\": \"done\"},\n"
             "    {\n      \"name\": \"demo\", \"pack_key\": \"%s\", \"verdict\": \"%s\"}\n"
             "  ]\n}\n",
             arch, mode, key != NULL ? key : tsw_key_format(now, now_text), verdict);
    add(files, name, text);
    tsw_fileset_fini(&demo);
}

static tsw_status_t read_job(const char *yaml, const char *csv, tsw_job_t **job_p, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    add(&files, "job.yaml", yaml);
    add_pack(&files, "demo", tsw_test_pack_text);
    if (csv != NULL)
        add(&files, "csv/shapes.csv", csv);
    add_verdict(&files, "verdicts/v/slow.json", "cuda", "sm_90", NULL, "probe-needed");
    add_verdict(&files, "verdicts/v/done.json", "cuda", "sm_90", NULL, "done");
    add_verdict(&files, "verdicts/v/old.json", "cuda", "sm_90", "12", "probe-needed");
    add_verdict(&files, "verdicts/v/sm_80.json", "cuda", "sm_80", NULL, "probe-needed");
    add_verdict(&files, "verdicts/v/sim.json", "sim", "sm_90", NULL, "probe-needed");
    add(&files, "verdicts/v/other.json", "{format: 1}");
    tsw_status_t status = tsw_job_read(&files, job_p, err);
    assert_true((status == TSW_OK) == (files.count == 0));
    tsw_fileset_fini(&files);
    return status;
}

static void check_shape(const tsw_job_entry_t *entry, size_t i, int64_t m, int64_t n, double weight)
{
    assert_int_equal(entry->shapes[i].dims[0], m);
    assert_int_equal(entry->shapes[i].dims[1], n);
    assert_int_equal(entry->shapes[i].dims[2], 64);
    assert_true(entry->shapes[i].weight == weight);
}

static void test_every_key_arrives(void **state)
{
    (void)state;
    tsw_job_t *job = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (read_job(job_text, csv_text, &job, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_string_equal(job->name, "test");
    assert_string_equal(tsw_purpose_name(job->purpose), "research");
    assert_int_equal(job->arch_count, 2);
    assert_true(job->archs[0] == 90 && !job->compile_only[0]);
    assert_true(job->archs[1] == 80 && job->compile_only[1]);
    assert_true(job->policy.rounds == 7 && job->policy.warmup_rounds == 2);
    assert_true(job->policy.cache == TSW_CACHE_HOT && job->policy.protocol == TSW_PROTOCOL_RACE);
    assert_true(job->policy.launch_timeout_s == 10.0 && job->policy.cell_budget_s == 0.0);
    assert_true(job->policy.seed == 1 && job->compile_cpu_s == 60.0 && job->budget_s == 7200.0);
    assert_int_equal(job->pack_count, 1);
    const tsw_job_entry_t *entry = &job->entries[0];
    assert_string_equal(entry->pack_name, "demo");
    assert_ptr_equal(entry->pack, job->packs[0]);
    assert_true(entry->dtypes[TSW_DTYPE_F16] && !entry->dtypes[TSW_DTYPE_I8]);
    assert_int_equal(entry->flag_set_count, 2); /* causal 1 x both layouts */
    assert_true(entry->flag_sets[0][0] == 1 && entry->flag_sets[0][1] == 0);
    assert_true(entry->flag_sets[1][0] == 1 && entry->flag_sets[1][1] == 1);
    assert_int_equal(entry->row_count, 1);
    assert_int_equal(entry->rows[0].count[2], 2);
    assert_int_equal(entry->shape_count, 10); /* 16x10 and 16x1 of the CSV are there already */
    check_shape(entry, 0, 16, 1, 1.0);
    check_shape(entry, 1, 16, 10, 1.0);
    check_shape(entry, 2, 16, 100, 1.0);
    check_shape(entry, 3, 32, 1, 1.0);
    check_shape(entry, 6, 16, 0, 3.0);
    check_shape(entry, 8, 16, 8, 3.0);
    check_shape(entry, 9, 8, 9, 2.5);
    tsw_job_free(job);
}

static void test_bad_jobs_say_what_and_where(void **state)
{
    (void)state;
    const struct {
        const char *old;
        const char *new_text;
        const char *says;
    } cases[] = {
        {"purpose: research", "porpose: research", "job.yaml:2:1: unknown key 'porpose' (did you"},
        {"purpose: research", "purpose: realese", "(did you mean 'release'?)"},
        {"name: test\n", "", "job.yaml lacks the key 'name'"},
        {"[sm_90, sm_80]", "[sm_90, sm_91]", "item 2 of 'archs' is 'sm_91', wanted one of"},
        {"[sm_90, sm_80]", "[sm_90, sm_80, sm_90]", "sm_90 is there twice"},
        {"[sm_90, sm_80]", "sm_90", "'archs' is 'sm_90', wanted a list of archs"},
        {"compile_only: [sm_80]", "compile_only: [sm_89]", "sm_89 is not among 'archs'"},
        {"compile_only: [sm_80]", "compile_only: sm_80",
         "'compile_only' is 'sm_80', wanted true, false or a list of archs"},
        {"pack: demo", "pack: ..", "must end with the name of a pack folder"},
        {"pack: demo", "pack: other", "the snapshot lacks pack 'other'"},
        {"dtypes: [f16]", "dtypes: [bf16]", "job.yaml:7:14: pack demo cannot run with bf16"},
        {"{causal: 1}", "{causal: 2}", "flag causal has no value '2', it has 0, 1"},
        {"{causal: 1}", "{causal: [1, 1]}", "'1' is there twice"},
        {"{causal: 1}", "{casual: 1}", "no flag 'casual' (did you mean 'causal'?)"},
        {"{M: [16, 32]", "{M: [16, -1]", "job.yaml:10:18: item 2 of 'M' is '-1', wanted a whole"},
        {"{M: [16, 32]", "{M: [16, 99999999999999999999]", "of at most 64 bits"},
        {"{M: [16, 32]", "{Mm: [16, 32]", "pack demo has no dim 'Mm' (did you mean 'M'?)"},
        {"{M: [16, 32], ", "{", "the shape lacks 'M' of pack demo"},
        {"{M: [16, 32], ", "{M: [], ", "'M' has 0 entries"},
        {"times: 10}", "times: 1}", "wanted a whole number from 2"},
        {"times: 10}", "time: 10}", "unknown key 'time' (did you mean 'times'?)"},
        {", times: 10}", "}", "a range needs either 'step' or 'times'"},
        {", times: 10}", ", times: 10, step: 3}", "a range needs either"},
        {"from: 1, to: 100, times: 10", "from: 0, to: 100, times: 10", "cannot begin with 0"},
        {"from: 1, to: 100, times: 10", "from: 101, to: 100, times: 10", "ends before it begins"},
        {"to: 100, times: 10", "to: 9223372036854775807, step: 1", "more than 10000000 shapes"},
        {"{from: 1, to: 100, times: 10}, D: 64",
         "{from: 1, to: 100000, step: 1}, D: {from: 1, to: 1000, step: 1}",
         "job.yaml:10:9: more than 10000000 shapes"},
        {"weight: 3", "weight: 0", "'weight' is 0, wanted a number from 1e-9 to 1e9"},
        {"weight: 3", "weight: 1e300", "'weight' is 1e+300, wanted a number from 1e-9 to 1e9"},
        {"weight: 3", "weight: -1", "'weight' is '-1', wanted a number from 0"},
        {"{csv: some", "{M: 1, csv: some", "'M' beside 'csv': the file has all dims"},
        {"dir/shapes.csv", "dir/other.csv", "no file 'some/dir/other.csv'"},
        {"TILE_M: 16, TILE_X", "TILE_Y: 16, TILE_X", "no tunable or hint 'TILE_Y' (did you mean"},
        {"TILE_M: 16, TILE_X", "TILE_X", "the row lacks 'TILE_M'"},
        {"purpose: research", "purpose: release", "job.yaml:14:7: a release uses the lists of"},
        {"purpose: research", "purpose: probe", "purpose probe needs 'probe'"},
        {"    space:", "    probe: {fixed: [SWAP], varied: [TILE_M], verdict: v}\n    space:",
         "'probe' is for purpose probe, this is research"},
        {"rounds: 7", "rounds: 0", "'rounds' is '0', wanted a whole number from 1"},
        {"cache: hot", "objective: enrgy",
         "'objective' is 'enrgy', wanted one of median, p90, p99, mean, energy"},
        {"cache: hot", "cache: warm", "'cache' is 'warm', wanted one of cold, hot"},
        {"run: 2h", "run: 2d", "'run' is '2d', wanted a time"},
        {"limits:", "search: {builds: 1}\nlimits:",
         "'builds' is '1', wanted a whole number from 2"},
        {"limits:", "search: {builds: 9, seed_from: old}\nlimits:", "'seed_from' is 'old', wanted"},
        {"limits:", "search: {build: 9}\nlimits:", "unknown key 'build' (did you mean 'builds'?)"},
        {"run: 2h", "launch: 0", "'launch' must be above 0"},
        {"run: 2h", "compile_cpu: 0s", "'compile_cpu' must be above 0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *yaml = tsw_test_replace(job_text, cases[i].old, cases[i].new_text);
        tsw_job_t *job = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = read_job(yaml, csv_text, &job, &err);
        if ((status != TSW_ERR_INPUT && status != TSW_ERR_NOT_FOUND) ||
            strstr(err.text, cases[i].says) == NULL ||
            !tsw_text_starts_with(err.text, "job.yaml:") || job != NULL)
            fail_msg("case %zu (%s): status %d: %s", i, cases[i].new_text, (int)status, err.text);
        tsw_free(yaml);
    }
}

static void test_search_is_for_research_and_has_defaults(void **state)
{
    (void)state;
    tsw_job_t *job = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(read_job(job_text, csv_text, &job, &err), TSW_OK);
    assert_false(job->search.given);
    assert_false(tsw_job_searches(job, TSW_SEARCH_SWEPT));
    assert_true(tsw_job_searches(job, TSW_SEARCH_SWEPT + 1));
    assert_int_equal(job->search.builds, TSW_SEARCH_BUILDS);
    tsw_job_free(job);
    job = NULL;
    char *yaml = tsw_test_replace(
        job_text, "limits:", "search: {builds: 90, seed_from: [a/run, b.h5]}\nlimits:");
    assert_int_equal(read_job(yaml, csv_text, &job, &err), TSW_OK);
    assert_true(job->search.given && job->search.builds == 90);
    assert_int_equal(job->search.per_generation, TSW_SEARCH_PER_GENERATION);
    assert_int_equal(job->search.seed_count, 2);
    assert_string_equal(job->search.seed_from[1], "b.h5");
    assert_false(tsw_job_searches(job, 90));
    assert_true(tsw_job_searches(job, 91));
    job->purpose = TSW_PURPOSE_PROBE;
    assert_false(tsw_job_searches(job, 91));
    tsw_job_free(job);
    tsw_free(yaml);
}

static void test_bad_csv_says_where(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "shapes.csv:1:1: the header lacks 'M' of pack demo"},
        {"M,N\n1,2\n", "shapes.csv:1:1: the header lacks 'D'"},
        {"M,N,D\n", "no shapes below the header"},
        {"M,N,K\n1,2,3\n", "shapes.csv:1:5: pack demo has no dim 'K'"},
        {"M,N,D,wieght\n", "(did you mean 'weight'?)"},
        {"M,N,D,M\n1,2,3,1\n", "shapes.csv:1:7: 'M' is there twice"},
        {"M,N,D\n1,2,3\n1,2\n", "shapes.csv:3:3: the line has 2 fields, the header 3"},
        {"M,N,D\n1,2,3,4\n", "the line has 4 fields"},
        {"M,N,D\n1,x,3\n", "shapes.csv:2:3: 'N' is 'x', wanted a whole number"},
        {"M,N,D\n1,,3\n", "shapes.csv:2:3: 'N' is ''"},
        {"M,N,D\n1, -2,3\n", "shapes.csv:2:4: 'N' is '-2'"},
        {"M,N,D\n1,99999999999999999999,3\n", "from 0 to 9223372036854775807"},
        {"M,N,D,weight\n1,2,3,0\n", "shapes.csv:2:7: weight is '0'"},
        {"M,N,D,weight\n1,2,3,nan\n", "weight is 'nan'"},
        {",,,,,,,,,,,,,,,,,,,,\n", "more than 17 columns"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_job_t *job = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = read_job(job_text, cases[i].text, &job, &err);
        if (status != TSW_ERR_INPUT || strstr(err.text, cases[i].says) == NULL || job != NULL)
            fail_msg("case %zu: status %d: %s", i, (int)status, err.text);
    }
    char long_line[256] = "M,N,D\n1,2,";
    memset(long_line + strlen(long_line), '3', 100);
    tsw_job_t *job = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(read_job(job_text, long_line, &job, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "longer than 63 characters"));
    assert_int_equal(read_job(job_text, "\xef\xbb\xbfM,N,D\n1,2,3\n", &job, &err), TSW_OK);
    tsw_job_free(job);
}

static void test_probe_names_every_knob_once(void **state)
{
    (void)state;
    const struct {
        const char *probe;
        const char *says; /* NULL: it is fine */
    } cases[] = {
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/slow.json}",
         NULL},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], "
         "verdict: [v/sm_80.json, v/slow.json]}",
         NULL},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/sim.json}",
         NULL},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/done.json}",
         "is 'done'; a probe is for 'probe-needed' alone"},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/old.json}",
         "of other files than it has now"},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/sm_80.json}",
         "no verdict of pack demo on sm_90"},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/other.json}",
         "'v/other.json' is no table, wanted RUN/tables/sm_90.json"},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy], verdict: v/none.json}",
         "no file 'v/none.json'"},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP, occupancy]}",
         "probe lacks the key 'verdict'"},
        {"{fixed: [TILE_M, TILE_X, num_ctas], varied: [SWAP], verdict: v/slow.json}",
         "'occupancy' neither fixed nor va"},
        {"{fixed: [TILE_M, TILE_X, SWAP], varied: [SWAP], verdict: v/slow.json}",
         "'SWAP' is named twice"},
        {"{fixed: [TILE_MM], varied: [SWAP], verdict: v/slow.json}",
         "no tunable or hint 'TILE_MM' (did you mean"},
        {"{fixed: [TILE_M], verdict: v/slow.json}", "probe lacks the key 'varied'"},
    };
    char *probe = tsw_test_replace(job_text, "purpose: research", "purpose: probe");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[240];
        snprintf(line, sizeof(line), "    probe: %s\n    space:\n", cases[i].probe);
        char *yaml = tsw_test_replace(probe, "    space:\n", line);
        tsw_job_t *job = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = read_job(yaml, csv_text, &job, &err);
        bool good = cases[i].says == NULL
                        ? status == TSW_OK
                        : status != TSW_OK && strstr(err.text, cases[i].says) != NULL;
        if (!good)
            fail_msg("case %zu: status %d: %s", i, (int)status, err.text);
        if (status == TSW_OK) {
            assert_true(job->entries[0].fixed_count == 3 && job->entries[0].varied_count == 2);
            assert_int_equal(job->entries[0].verdict_is_measured,
                             strstr(cases[i].probe, "sim.json") == NULL);
        }
        tsw_job_free(job);
        tsw_free(yaml);
    }
    tsw_free(probe);
}

static void test_defaults_fill_what_is_absent(void **state)
{
    (void)state;
    const char *yaml = "{name: x, archs: [sm_90], compile_only: true, packs: [{pack: demo, shapes: "
                       "[{M: 1, N: 1, D: 1}]}, {pack: ./demo/, shapes: [{M: 2, N: 1, D: 1}]}]}";
    tsw_job_t *job = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (read_job(yaml, NULL, &job, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_true(job->purpose == TSW_PURPOSE_RELEASE && job->compile_only[0]);
    assert_true(job->policy.rounds == 96 && job->policy.cache == TSW_CACHE_COLD);
    assert_true(job->policy.cell_budget_s == 300.0 && job->budget_s == 0.0);
    assert_true(job->entries[0].dtypes[TSW_DTYPE_I8] && job->entries[0].flag_set_count == 4);
    assert_true(job->entries[0].rows == NULL && job->entries[0].shapes[0].weight == 1.0);
    assert_int_equal(job->pack_count, 1); /* both entries mean the same folder */
    assert_ptr_equal(job->entries[1].pack, job->packs[0]);
    tsw_job_free(job);
}

static void test_a_protocol_may_take_the_place_of_the_jobs(void **state)
{
    (void)state;
    static const char yaml[] =
        "{name: x, archs: [sm_90], measure: {protocol: rounds, objective: p99}, "
        "packs: [{pack: demo, shapes: [{M: 1, N: 1, D: 1}]}]}";
    tsw_key_t keys[2];
    for (int i = 0; i < 2; i++) {
        tsw_fileset_t files = TSW_FILESET_INIT;
        tsw_job_t *job = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        add(&files, "job.yaml", yaml);
        add_pack(&files, "demo", tsw_test_pack_text);
        assert_int_equal(tsw_job_override_protocol(&files, "rase", &err), TSW_ERR_ARG);
        assert_non_null(strstr(err.text, "no protocol 'rase'"));
        if (i == 1)
            assert_int_equal(tsw_job_override_protocol(&files, "race", &err), TSW_OK);
        assert_int_equal(tsw_job_read(&files, &job, &err), TSW_OK);
        assert_int_equal(job->policy.protocol, i == 0 ? TSW_PROTOCOL_ROUNDS : TSW_PROTOCOL_RACE);
        assert_int_equal(job->policy.rounds, i == 0 ? 20 : 96);
        assert_string_equal(tsw_protocol_name(job->policy.protocol), i == 0 ? "rounds" : "race");
        assert_string_equal(tsw_objective_name(job->policy.objective), "p99");
        keys[i] = job->key;
        tsw_job_free(job);
        tsw_fileset_fini(&files);
    }
    assert_false(tsw_key_equal(keys[0], keys[1]));
}

static void test_two_folders_with_one_pack_name_are_refused(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_job_t *job = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    add(&files, "job.yaml",
        "{name: x, archs: [sm_90], packs: [{pack: demo, shapes: [{M: 1, N: 1, D: 1}]}, {pack: "
        "copy, shapes: [{M: 1, N: 1, D: 1}]}]}");
    add_pack(&files, "demo", tsw_test_pack_text);
    add_pack(&files, "copy", tsw_test_pack_text);
    assert_int_equal(tsw_job_read(&files, &job, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "another folder of the job holds a pack 'demo'"));
    tsw_fileset_fini(&files);
}

static void test_bad_pack_is_named(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_job_t *job = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    char *yaml = tsw_test_replace(tsw_test_pack_text, "template: T5", "template: T0");
    add(&files, "job.yaml", job_text);
    add_pack(&files, "demo", yaml);
    assert_int_equal(tsw_job_read(&files, &job, &err), TSW_ERR_INPUT);
    assert_true(tsw_text_starts_with(err.text, "pack demo: kernel.yaml:2:11: "));
    tsw_fileset_fini(&files);
    tsw_free(yaml);
}

static void test_many_shapes_are_found_once(void **state)
{
    (void)state;
    const char *yaml = "{name: x, archs: [sm_90], packs: [{pack: demo, shapes: [{M: {from: 1, to: "
                       "300, step: 1}, N: {from: 1, to: 300, step: 1}, D: 1}, {M: {from: 1, to: "
                       "301, step: 1}, N: 300, D: 1}]}]}";
    tsw_job_t *job = NULL;
    assert_int_equal(read_job(yaml, NULL, &job, NULL), TSW_OK);
    assert_int_equal(job->entries[0].shape_count, 90001);
    tsw_job_free(job);
}

static void test_truncated_and_garbled_text_never_crashes(void **state)
{
    (void)state;
    size_t size = strlen(job_text);
    size_t refused = 0;
    for (size_t n = 0; n < size; n++) {
        char *cut = tsw_memdup(job_text, n + 1);
        cut[n] = '\0';
        tsw_job_t *job = NULL;
        refused += read_job(cut, csv_text, &job, NULL) != TSW_OK;
        tsw_job_free(job);
        tsw_free(cut);
        char *garbled = tsw_strdup(job_text);
        garbled[n] = "{}[]:,'&*!#%\n\x80 -0"[n % 18];
        job = NULL;
        read_job(garbled, csv_text, &job, NULL);
        tsw_job_free(job);
        tsw_free(garbled);
    }
    assert_true(refused > size / 2);
    for (size_t n = 0; n < strlen(csv_text); n++) {
        char *garbled = tsw_strdup(csv_text);
        garbled[n] = ",\n#-x\x80 0"[n % 8];
        tsw_job_t *job = NULL;
        read_job(job_text, garbled, &job, NULL);
        tsw_job_free(job);
        tsw_free(garbled);
    }
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    add(&files, "job.yaml", job_text);
    add_pack(&files, "demo", tsw_test_pack_text);
    add(&files, "csv/shapes.csv", csv_text);
    size_t failures = 0;
    bool done = false;
    for (long n = 1; !done; n += n < 400 ? 1 : 41) {
        tsw_job_t *job = NULL;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_job_read(&files, &job, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || (status == TSW_ERR_NOMEM && job == NULL));
        failures += status != TSW_OK;
        if (status == TSW_OK) { /* the snapshot went into the job: get it back */
            files = job->snapshot;
            job->snapshot = (tsw_fileset_t)TSW_FILESET_INIT;
            done = n > 20000;
        }
        tsw_job_free(job);
    }
    assert_true(failures > 200);
    tsw_fileset_fini(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_arrives),
        cmocka_unit_test(test_bad_jobs_say_what_and_where),
        cmocka_unit_test(test_search_is_for_research_and_has_defaults),
        cmocka_unit_test(test_bad_csv_says_where),
        cmocka_unit_test(test_probe_names_every_knob_once),
        cmocka_unit_test(test_defaults_fill_what_is_absent),
        cmocka_unit_test(test_a_protocol_may_take_the_place_of_the_jobs),
        cmocka_unit_test(test_two_folders_with_one_pack_name_are_refused),
        cmocka_unit_test(test_bad_pack_is_named),
        cmocka_unit_test(test_many_shapes_are_found_once),
        cmocka_unit_test(test_truncated_and_garbled_text_never_crashes),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
