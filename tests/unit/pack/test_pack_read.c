#include "pack/pack.h"

#include "base/file.h"
#include "base/mem.h"
#include "pack_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static tsw_status_t read_yaml(const char *yaml, tsw_pack_t **pack_p, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_test_pack_files(yaml, &files);
    tsw_status_t status = tsw_pack_read(&files, pack_p, err);
    tsw_fileset_fini(&files);
    return status;
}

static void test_matmul_reads_as_it_comes(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_fileset_add_dir(&files, "", TSW_SOURCE_DIR "/kernels/matmul", NULL),
                     TSW_OK);
    if (tsw_pack_read(&files, &pack, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_string_equal(pack->name, "matmul");
    assert_int_equal(pack->template_id, TSW_TEMPLATE_T3_MATMUL);
    assert_int_equal(pack->class_id, TSW_CLASS_COMPUTE);
    assert_int_equal(pack->dim_count, 3);
    assert_int_equal(tsw_pack_dim_index(pack, "K"), 2);
    assert_int_equal(tsw_pack_knob_index(pack, "num_ctas"), 4);
    assert_string_equal(pack->knobs[4].macro, "NUM_CTAS");
    assert_int_equal(pack->baseline[0], 128);
    assert_int_equal(tsw_pack_list(pack, 90)->row_count, 4);
    assert_int_equal(tsw_pack_list(pack, 80)->arch, 0);
    assert_false(pack->constraints[0].uses_shape);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
}

static void test_every_shipped_pack_reads(void **state)
{
    (void)state;
    tsw_names_t names = {0};
    assert_int_equal(tsw_dir_list(TSW_SOURCE_DIR "/kernels", &names, NULL), TSW_OK);
    assert_true(names.count > 0);
    for (size_t i = 0; i < names.count; i++) {
        tsw_fileset_t files = TSW_FILESET_INIT;
        tsw_pack_t *pack = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        char *dir = tsw_path_join(TSW_SOURCE_DIR "/kernels", names.names[i]);
        assert_int_equal(tsw_fileset_add_dir(&files, "", dir, NULL), TSW_OK);
        if (tsw_pack_read(&files, &pack, &err) != TSW_OK)
            fail_msg("%s: %s", dir, err.text);
        assert_string_equal(pack->name, names.names[i]);
        tsw_pack_free(pack);
        tsw_fileset_fini(&files);
        tsw_free(dir);
    }
    tsw_names_fini(&names);
}

static void test_every_key_arrives(void **state)
{
    (void)state;
    tsw_pack_t *pack = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (read_yaml(tsw_test_pack_text, &pack, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_string_equal(tsw_template_name(pack->template_id), "T5");
    assert_string_equal(tsw_class_name(pack->class_id), "compute");
    assert_int_equal(pack->language, TSW_LANGUAGE_TILE);
    assert_true(pack->dim_is_static[2] && !pack->dim_is_static[0]);
    assert_int_equal(pack->flag_count, 2);
    assert_string_equal(pack->flags[1].values[1], "column");
    assert_true(pack->dtypes[TSW_DTYPE_F16] && pack->dtypes[TSW_DTYPE_I8]);
    assert_int_equal(pack->arg_count, 9);
    assert_int_equal(pack->args[0].dtype, TSW_DTYPE_OF_CELL);
    assert_int_equal(pack->args[0].align_bytes, 16);
    assert_string_equal(pack->args[0].row.text, "N");
    assert_true(pack->args[0].fill.kind == TSW_FILL_NORMAL && pack->args[0].fill.b == 0.5);
    assert_string_equal(pack->args[1].fill.hi.text, "N - 1");
    assert_int_equal(pack->args[2].fill.kind, TSW_FILL_OFFSETS);
    assert_string_equal(pack->args[2].fill.hi.text, "N");
    assert_int_equal(pack->args[3].fill.kind, TSW_FILL_SEQUENCE);
    assert_string_equal(pack->args[4].fill.file, "data.h5");
    assert_string_equal(pack->args[4].fill.dataset, "/x/y");
    assert_true(pack->args[5].role == TSW_ROLE_INOUT && pack->args[5].fill.a == -1.0);
    assert_int_equal(pack->args[7].fill.kind, TSW_FILL_NONE);
    assert_string_equal(pack->args[8].value.text, "N");
    assert_string_equal(pack->kernel.grid[2].text, "1");
    assert_string_equal(pack->kernel.block[0].text, "1");
    assert_string_equal(pack->kernel.shared_bytes.text, "TILE_M * 2");
    assert_string_equal(pack->reference.entry, "demo_reference");
    assert_string_equal(pack->reference.shared_bytes.text, "0");
    assert_int_equal(pack->knob_count, 5);
    assert_true(pack->knobs[0].is_tile && pack->knobs[0].tiles_dim == 0);
    assert_true(pack->knobs[1].is_tile && pack->knobs[1].tiles_dim == -1);
    assert_true(!pack->knobs[2].is_tile && !pack->knobs[2].is_hint && pack->knobs[3].is_hint);
    const tsw_config_row_t *row = &tsw_pack_list(pack, 90)->rows[0];
    assert_true(row->count[0] == 2 && row->values[0][1] == 128 && row->count[3] == 3);
    assert_int_equal(tsw_pack_list(pack, 120)->rows[0].values[4][0], 1);
    assert_false(pack->constraints[0].uses_shape); /* D is static */
    assert_true(pack->constraints[1].uses_shape);
    assert_true(tsw_pack_tolerance(pack, TSW_DTYPE_F16)->rtol == 0.01);
    assert_null(tsw_pack_tolerance(pack, TSW_DTYPE_I8));
    assert_true(pack->separate_tables && pack->max_elements == 1000000);
    assert_string_equal(pack->options[0], "--use_fast_math");
    assert_int_equal(pack->files.count, 4);
    tsw_pack_free(pack);
}

static void test_bad_packs_say_what_and_where(void **state)
{
    (void)state;
    const struct {
        const char *old;
        const char *new_text;
        const char *says;
    } cases[] = {
        /* the schema */
        {"template: T5", "templat: T5",
         "kernel.yaml:2:1: unknown key 'templat' (did you mean 'temp"},
        {"class: compute", "klasse_x: compute", "kernel.yaml:3:1: unknown key 'klasse_x'; kernel."},
        {"name: demo\n", "", "kernel.yaml:1:1: kernel.yaml lacks the key 'name' (a name)"},
        {"name: demo", "name: 3demo", "'name' is '3demo', wanted a name"},
        {"name: demo", "name:", "'name' is nothing, wanted a name"},
        {"T5", "T55", "kernel.yaml:2:11: 'template' is 'T55', wanted one of T1"},
        {"compute", "computed", "(did you mean 'compute'?)"},
        {"dims: [M, N, D]", "dims: M", "'dims' is 'M', wanted a list of names"},
        {"dims: [M, N, D]", "dims: []", "'dims' has 0 entries"},
        {"dims: [M, N, D]", "dims: [M, 4, D]", "kernel.yaml:7:11: item 2 of 'dims' is '4'"},
        {"dims: [M, N, D]", "dims: [M, min, D]", "means something in expressions"},
        {"dtypes: [f16, i8]", "dtypes: [f16, fp8]", "item 2 of 'dtypes' is 'fp8'"},
        {"dtypes: [f16, i8]", "dtypes: [f16, i64]", "'i64', wanted one of"},
        {"max_elements: 1000000", "max_elements: 0", "wanted a whole number from 1"},
        {"max_elements: 1000000", "max_elements: 010", "without leading zeros"},
        {"max_elements: 1000000", "max_elements: '5'", "without quotes"},
        {"max_elements: 1000000", "max_elements: 99999999999999999999", "at most 64 bits"},
        {"separate_tables: true", "separate_tables: yes", "wanted true or false"},
        {"align: 32", "align: 33", "no power of two"},
        {"align: 32", "aligned: 32", "unknown key 'aligned' (did you mean 'align'?)"},
        {"role: workspace", "role: worksapce", "(did you mean 'workspace'?)"},
        {"fill: {normal: [0, 0.5]}", "fill: {normal: [0]}", "has 1 entries"},
        {"fill: {normal: [0, 0.5]}", "fill: {normal: [0, -1]}", "cannot deviate by -1"},
        {"fill: {normal: [0, 0.5]}", "fill: {uniform: [1, 0]}", "no number lies between 1 and 0"},
        {"fill: {normal: [0, 0.5]}", "fill: {}", "fill has 0 keys, wanted one"},
        {"fill: {normal: [0, 0.5]}", "fill: {normal: [0, 1], offsets: 3}", "fill has 2 keys"},
        {"fill: {normal: [0, 0.5]}", "fill: {gauss: [0, 1]}", "unknown key 'gauss'; fill has"},
        {"atol: 0.1", "atol: -0.1", "wanted a number from 0"},
        {"atol: 0.1, ", "", "tolerance lacks the key 'atol' (a number from 0)"},
        {"atol: 0.1", "atol: '1e-3'", "'atol' is '1e-3', wanted a number from 0 without quotes"},
        {"language: tile\n", "", "lacks the key 'language' (one of tile, cuda)"},
        {"sm_90:", "sm_99:", "'key' is 'sm_99', wanted one of default, sm_80"},
        {"TILE_M: 256,", "TILE_M: [],", "'TILE_M' has 0 entries"},
        {"TILE_M: 256,", "TILE_M: big,", "'TILE_M' is 'big', wanted a whole number"},
        {"reason: registers", "reason: ''", "'reason' is '', wanted a text"},
        /* names */
        {"dims: [M, N, D]", "dims: [M, N, D, M]", "'M' is a dim already"},
        {"dims: [M, N, D]", "dims: [M, N, D, NUM_SM]", "'NUM_SM' is a name of the tool already"},
        {"causal: [0, 1]", "N: [0, 1]", "'N' is a dim already"},
        {"causal: [0, 1]", "causal: [0, 0]", "'0' is there twice"},
        {"static: [D]", "static: [E]", "'E' is no dim of the pack"},
        {"{tiles: M}", "{tiles: Q}", "'Q' is no dim of the pack"},
        {"TILE_X: {tile: true}", "causal: {}", "'causal' is a flag already"},
        {"TILE_X: {tile: true}", "num_warps: {}", "the compiler decides num_warps and num_stages"},
        {"TILE_X: {tile: true}", "NUM_STAGES: {}", "the compiler decides"},
        {"TILE_X: {tile: true}", "DIM_D: {}", "'DIM_D' is a macro of the tool"},
        {"TILE_X: {tile: true}", "occupancy: {}", "'occupancy' is a hint"},
        {"hints: [occupancy", "hints: [occupanci", "'occupanci' is no hint, wanted occupancy or"},
        {"hints: [occupancy", "hints: [num_stages", "the compiler decides"},
        {"hints: [occupancy, num_ctas]", "hints: [occupancy, occupancy]",
         "'occupancy' is there tw"},
        {"name: I, role: in", "name: A, role: in", "argument 'A' is there twice"},
        {"name: divides", "name: fits", "constraint 'fits' is there twice"},
        /* arguments */
        {", fill: {normal: [0, 0.5]}", "", "argument A is 'in' and needs a 'fill'"},
        {"role: out, type: cell, size: M * N", "role: out, type: cell", "needs a 'size'"},
        {"role: out, type: cell", "role: out, fill: {offsets: 1}, type: cell", "has no 'fill'"},
        {"type: i32, value: N", "type: cell, value: N", "scalar n is cell, wanted i32"},
        {"type: i32, value: N", "type: i32, value: N, size: 1", "'scalar' and has no 'size'"},
        {"data.h5:/x/y", "data.h5", "is no dataset, wanted file.h5:/path"},
        {"data.h5:/x/y", "gone.h5:/x", "has no file 'gone.h5'"},
        {"template: T5", "template: T1\nfoo: 1", "unknown key 'foo'"},
        /* configs */
        {"baseline: {TILE_M: 64", "baseline: {TILE_M: 96", "TILE_M is 96, wanted a power of two"},
        {"TILE_X: 16, SWAP: 0, occupancy: 2", "SWAP: 0, occupancy: 2", "baseline lacks 'TILE_X'"},
        {"    source: ", "    baseline: {TILE_M: 64}\n    source: ", "baseline lacks 'TILE_X'"},
        {"    source: ", "    baseline: {TILE_Q: 64}\n    source: ", "no tunable or hint 'TILE_Q'"},
        {"    source: ", "    baseline: 3\n    source: ", "'baseline' is "},
        {"SWAP: 0, occupancy: 2", "SWAP: 0, SWOP: 1, occupancy: 2",
         "no tunable or hint 'SWOP' (did"},
        {"occupancy: 2, num_ctas: 1}", "occupancy: 33, num_ctas: 1}",
         "occupancy is 33, wanted 1 t"},
        {"occupancy: 1, num_ctas: 2}", "occupancy: 1, num_ctas: 3}", "num_ctas is 3, wanted 1, 2,"},
        {"SWAP: 0, occupancy: 1, num_ctas: 2}", "SWAP: 0, num_ctas: 2}",
         "the row lacks 'occupancy'"},
        {"occupancy: 1, num_ctas: 2}", "occupancy: 1, num_ctas: 2, X: 1}",
         "no tunable or hint 'X'"},
        /* expressions */
        {"2 * M * N * D", "2 * M * TILE_M", "unknown name 'TILE_M'"},
        {"flops: 2 * M", "flops: 2 * NUM_SM", "unknown name 'NUM_SM'"},
        {"size: M * N, row", "size: M * Nn, row", "unknown name 'Nn' (did you mean 'N'?)"},
        {"keep: M % TILE_M == 0", "keep: M % TILE_M = 0", "write == to compare"},
        {"keep: M % TILE_M == 0", "keep: M % TILE_Q == 0", "kernel.yaml:"},
        {"index: [0, N - 1]", "index: [0, N -]", "in 'N -'"},
        {"['ceildiv(M * N, 256)']", "['ceildiv(M * occupancy, 256)']", "unknown name 'occupancy'"},
        {"shared: TILE_M * 2", "shared: tile_m * 2", "(did you mean 'TILE_M'?)"},
        /* the pack as a whole */
        {"  f16: {atol: 0.1, rtol: 0.01}", "  i8: {atol: 0, rtol: 0}",
         "lacks the floating dtype f16"},
        {"  f16: {atol", "  f32: {atol: 1, rtol: 1}\n  f16: {atol", "not among 'dtypes'"},
        {"source: demo.cu", "source: gone.cu", ": the pack folder has no file 'gone.cu' (source)"},
        {"source: ref.cu", "source: ../ref.cu", "has no file '../ref.cu'"},
        {"language: tile", "language: cuda", "language cuda needs a 'block'"},
        {"shared: TILE_M", "block: [32, 1, 1]\nshared: TILE_M", "has block [1, 1, 1]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *yaml = tsw_test_replace(tsw_test_pack_text, cases[i].old, cases[i].new_text);
        tsw_pack_t *pack = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = read_yaml(yaml, &pack, &err);
        if (status != TSW_ERR_INPUT || strstr(err.text, cases[i].says) == NULL ||
            strstr(err.text, "kernel.yaml") == NULL || pack != NULL)
            fail_msg("case %zu (%s): status %d: %s", i, cases[i].new_text, (int)status, err.text);
        tsw_free(yaml);
    }
}

static void test_outputs_are_needed(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_pack_t *pack = NULL;
    char *no_inout = tsw_test_replace(tsw_test_pack_text, "role: inout", "role: in");
    char *in_place = tsw_test_replace(no_inout, "template: T5", "template: T2");
    assert_int_equal(read_yaml(in_place, &pack, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "needs role inout"));
    char *no_output = tsw_test_replace(no_inout, "role: out", "role: workspace");
    assert_int_equal(read_yaml(no_output, &pack, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "no argument has role out"));
    tsw_free(no_inout);
    tsw_free(in_place);
    tsw_free(no_output);
}

static void test_arch_macro_is_refused_unless_declared(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    const char *header = "#if __CUDA_ARCH__ >= 900\n";
    tsw_err_t err = TSW_ERR_INIT;
    tsw_pack_t *pack = NULL;
    char *declared = tsw_test_replace(tsw_test_pack_text, "language: tile",
                                      "language: tile\narch_dependent: true");
    tsw_test_pack_files(tsw_test_pack_text, &files);
    assert_int_equal(tsw_fileset_add(&files, "part.cuh", header, strlen(header), NULL), TSW_OK);
    assert_int_equal(tsw_pack_read(&files, &pack, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "part.cuh names __CUDA_ARCH__"));
    tsw_fileset_fini(&files);
    tsw_test_pack_files(declared, &files);
    assert_int_equal(tsw_fileset_add(&files, "part.cuh", header, strlen(header), NULL), TSW_OK);
    assert_int_equal(tsw_pack_read(&files, &pack, &err), TSW_OK);
    assert_true(pack->arch_dependent);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    tsw_free(declared);
}

static void test_folder_without_yaml_is_refused(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_pack_read(&files, &pack, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "kernel.yaml"));
}

/* Every prefix of a real file is read or refused; run under sanitizers this is a small fuzzer. */
static void test_truncated_and_garbled_text_never_crashes(void **state)
{
    (void)state;
    size_t size = strlen(tsw_test_pack_text);
    size_t refused = 0;
    for (size_t n = 0; n < size; n++) {
        char *cut = tsw_memdup(tsw_test_pack_text, n + 1);
        cut[n] = '\0';
        tsw_pack_t *pack = NULL;
        refused += read_yaml(cut, &pack, NULL) != TSW_OK;
        tsw_pack_free(pack);
        tsw_free(cut);
        char *garbled = tsw_strdup(tsw_test_pack_text);
        garbled[n] = "{}[]:,'&*!#%\n\x80 -0"[n % 18];
        pack = NULL;
        read_yaml(garbled, &pack, NULL);
        tsw_pack_free(pack);
        tsw_free(garbled);
    }
    assert_true(refused > size * 9 / 10);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_test_pack_files(tsw_test_pack_text, &files);
    bool done = false;
    size_t failures = 0;
    /* the many of the expression checks are thinned out */
    for (long n = 1; !done; n += n < 700 ? 1 : 37) {
        tsw_pack_t *pack = NULL;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_pack_read(&files, &pack, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || (status == TSW_ERR_NOMEM && pack == NULL));
        failures += status != TSW_OK;
        done = status == TSW_OK && n > 20000;
        tsw_pack_free(pack);
    }
    assert_true(failures > 300);
    tsw_fileset_fini(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_reads_as_it_comes),
        cmocka_unit_test(test_every_shipped_pack_reads),
        cmocka_unit_test(test_every_key_arrives),
        cmocka_unit_test(test_bad_packs_say_what_and_where),
        cmocka_unit_test(test_outputs_are_needed),
        cmocka_unit_test(test_arch_macro_is_refused_unless_declared),
        cmocka_unit_test(test_folder_without_yaml_is_refused),
        cmocka_unit_test(test_truncated_and_garbled_text_never_crashes),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
