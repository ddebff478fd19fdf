/* The shipped packs have no finding that they do not give a reason for. */
#include "base/file.h"
#include "base/mem.h"
#include "rules/lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_pack(const char *name)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_lint_t lint = {0};
    tsw_err_t err = TSW_ERR_INIT;
    char *dir = tsw_path_join(TSW_SOURCE_DIR "/kernels", name);
    if (dir == NULL || tsw_fileset_add_dir(&files, "", dir, &err) != TSW_OK ||
        tsw_pack_read(&files, &pack, &err) != TSW_OK || tsw_lint_pack(pack, &lint, &err) != TSW_OK)
        fail_msg("%s: %s", name, err.text);
    for (size_t i = 0; i < lint.count; i++) {
        const tsw_finding_t *finding = &lint.findings[i];
        if (finding->reason == NULL)
            fail_msg("%s:%d: %s on %s: %s", name, finding->place.line, finding->rule,
                     finding->archs, finding->text);
    }
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    tsw_free(dir);
}

static void test_every_shipped_pack_is_clean(void **state)
{
    tsw_names_t names = {0};
    (void)state;
    assert_int_equal(tsw_dir_list(TSW_SOURCE_DIR "/kernels", &names, NULL), TSW_OK);
    assert_true(names.count > 0);
    for (size_t i = 0; i < names.count; i++)
        check_pack(names.names[i]);
    tsw_names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shipped_pack_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
