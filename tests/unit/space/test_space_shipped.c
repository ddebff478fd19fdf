/* The shipped packs, as they are: a space for every arch and dtype, small enough for a release. */
#include "base/file.h"
#include "base/mem.h"
#include "pack/arch.h"
#include "space/kind.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static tsw_pack_t *read_pack(const char *name)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    char *dir = tsw_path_join(TSW_SOURCE_DIR "/kernels", name);
    if (dir == NULL || tsw_fileset_add_dir(&files, "", dir, &err) != TSW_OK ||
        tsw_pack_read(&files, &pack, &err) != TSW_OK)
        fail_msg("%s: %s", name, err.text);
    tsw_free(dir);
    tsw_fileset_fini(&files);
    return pack;
}

static void check_space(const tsw_pack_t *pack, tsw_arch_t arch, tsw_dtype_t dtype,
                        tsw_eval_t *eval)
{
    tsw_variant_t variant = {.pack = pack, .dtype = dtype};
    tsw_space_t space = {0};
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < pack->dim_count; i++)
        variant.static_dims[i] = pack->dim_is_static[i] ? 128 : 0;
    if (tsw_space_make(&variant, arch, TSW_PURPOSE_RELEASE, NULL, eval, &space, &err) != TSW_OK)
        fail_msg("%s on sm_%u: %s", pack->name, arch, err.text);
    if (tsw_pack_lacking(pack, dtype, arch) == TSW_DTYPE_OF_CELL &&
        (space.count < 2 || space.listed > 30))
        fail_msg("%s on sm_%u: %zu configs of %zu", pack->name, arch, space.count, space.listed);
    for (size_t i = 0; i < space.report.count; i++) {
        if (space.count > 0 && space.report.filters[i].removed > 0)
            fail_msg("%s on sm_%u: the list has configs that filter %s removes", pack->name, arch,
                     space.report.filters[i].name);
    }
    tsw_space_fini(&space);
}

static void test_every_shipped_pack_has_a_space_on_every_arch(void **state)
{
    (void)state;
    tsw_names_t names = {0};
    tsw_eval_t *eval = NULL;
    size_t arch_count = 0;
    const tsw_arch_traits_t *archs = tsw_arch_all(&arch_count);
    assert_int_equal(tsw_dir_list(TSW_SOURCE_DIR "/kernels", &names, NULL), TSW_OK);
    assert_int_equal(tsw_eval_new(&eval, NULL), TSW_OK);
    assert_true(names.count > 0);
    for (size_t i = 0; i < names.count; i++) {
        tsw_pack_t *pack = read_pack(names.names[i]);
        for (size_t a = 0; a < arch_count; a++) {
            for (int dtype = 0; dtype < TSW_DTYPE_COUNT; dtype++) {
                if (pack->dtypes[dtype])
                    check_space(pack, archs[a].arch, (tsw_dtype_t)dtype, eval);
            }
        }
        tsw_pack_free(pack);
    }
    tsw_eval_free(eval);
    tsw_names_fini(&names);
}

/* The dtype of an output is as good a reason as the cell's. */
static void test_quantised_output_needs_fp8(void **state)
{
    (void)state;
    tsw_pack_t *pack = read_pack("fp8_quantize");
    assert_int_equal(tsw_pack_lacking(pack, TSW_DTYPE_F16, 80), TSW_DTYPE_E4M3);
    assert_int_equal(tsw_pack_lacking(pack, TSW_DTYPE_F16, 89), TSW_DTYPE_OF_CELL);
    tsw_variant_t variant = {.pack = pack, .dtype = TSW_DTYPE_F16};
    tsw_space_t space = {0};
    tsw_eval_t *eval = NULL;
    assert_int_equal(tsw_eval_new(&eval, NULL), TSW_OK);
    assert_int_equal(tsw_space_make(&variant, 80, TSW_PURPOSE_RELEASE, NULL, eval, &space, NULL),
                     TSW_OK);
    assert_int_equal(space.count, 0);
    assert_string_equal(space.report.filters[0].reason, "sm_80 has no e4m3");
    tsw_space_fini(&space);
    tsw_eval_free(eval);
    tsw_pack_free(pack);
}

/* What is searched for each shipped kernel, by its kind; and every template has a pack. */
static void test_kinds_of_the_shipped_packs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tsw_template_t template_id;
        bool tiles; /* else the occupancy alone */
    } packs[] = {
        {"swiglu", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"geglu", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"rmsnorm", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"layernorm", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"softmax", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"cross_entropy", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"fp8_quantize", TSW_TEMPLATE_T1_ELEMENTWISE, false},
        {"rope", TSW_TEMPLATE_T2_IN_PLACE, false},
        {"matmul", TSW_TEMPLATE_T3_MATMUL, true},
        {"bmm", TSW_TEMPLATE_T3_MATMUL, true},
        {"sgemm", TSW_TEMPLATE_T3_MATMUL, true},
        {"matmul_persistent", TSW_TEMPLATE_T4_PERSISTENT, true},
        {"fmha", TSW_TEMPLATE_T5_FMHA, true},
        {"fp8_gemm", TSW_TEMPLATE_T6_FP8, true},
        {"grouped_gemm", TSW_TEMPLATE_T7_GROUPED, true},
        {"fmha_varlen", TSW_TEMPLATE_T8_VARLEN, true},
        {"dual_gemm", TSW_TEMPLATE_T9_DUAL, true},
    };
    tsw_names_t names = {0};
    assert_int_equal(tsw_dir_list(TSW_SOURCE_DIR "/kernels", &names, NULL), TSW_OK);
    assert_int_equal(names.count, sizeof(packs) / sizeof(packs[0]));
    for (size_t i = 0; i < names.count; i++) {
        tsw_pack_t *pack = read_pack(packs[i].name);
        assert_int_equal(pack->template_id, packs[i].template_id);
        assert_int_equal(tsw_kind_of(pack)->tiles, packs[i].tiles);
        if (!packs[i].tiles) {
            assert_int_equal(pack->knob_count, 1);
            assert_string_equal(pack->knobs[0].name, "occupancy");
        }
        tsw_pack_free(pack);
    }
    tsw_names_fini(&names);
}

/* Rope's backward pass uses one buffer and is not searched: of the in-place kernels only the
 * forward pass is a pack. */
static void test_backward_pass_in_place_is_no_pack(void **state)
{
    (void)state;
    tsw_names_t names = {0};
    size_t in_place = 0;
    assert_int_equal(tsw_dir_list(TSW_SOURCE_DIR "/kernels", &names, NULL), TSW_OK);
    for (size_t i = 0; i < names.count; i++) {
        tsw_pack_t *pack = read_pack(names.names[i]);
        if (pack->template_id == TSW_TEMPLATE_T2_IN_PLACE) {
            in_place++;
            assert_null(strstr(pack->name, "bwd"));
            assert_null(strstr(pack->name, "backward"));
        }
        tsw_pack_free(pack);
    }
    assert_int_equal(in_place, 1);
    tsw_names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shipped_pack_has_a_space_on_every_arch),
        cmocka_unit_test(test_kinds_of_the_shipped_packs),
        cmocka_unit_test(test_quantised_output_needs_fp8),
        cmocka_unit_test(test_backward_pass_in_place_is_no_pack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
