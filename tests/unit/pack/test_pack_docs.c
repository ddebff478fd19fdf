/* The reference pages against the schema. TSW_UPDATE_DOCS=1 writes the tables into the pages. */
#include "pack/schema.h"

#include "base/file.h"
#include "base/mem.h"
#include "pack/pack.h"
#include "pack/schema_type.h"
#include "pack/view.h"
#include "pack_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char begin_mark[] = "<!-- schema: begin -->\n";
static const char end_mark[] = "<!-- schema: end -->\n";

static void rewrite(const char *path, const char *page, const char *start, const char *end,
                    const char *tables)
{
    tsw_buf_t out = TSW_BUF_INIT;
    char *full = tsw_path_join(TSW_SOURCE_DIR, path);
    tsw_buf_append(&out, page, (size_t)(start - page));
    tsw_buf_append_text(&out, tables);
    tsw_buf_append_text(&out, end);
    assert_int_equal(tsw_file_write_atomic(full, out.data, out.size, NULL), TSW_OK);
    tsw_free(full);
    tsw_buf_fini(&out);
}

static void check_page(tsw_schema_id_t id, const char *path)
{
    char *page = tsw_test_source_file(path);
    char *start = strstr(page, begin_mark);
    char *end = strstr(page, end_mark);
    assert_non_null(start);
    assert_non_null(end);
    start += strlen(begin_mark);
    tsw_buf_t tables = TSW_BUF_INIT;
    tsw_schema_print(id, &tables);
    assert_true(tsw_buf_ok(&tables));
    if (getenv("TSW_UPDATE_DOCS") != NULL) {
        rewrite(path, page, start, end, tsw_buf_text(&tables));
    } else if ((size_t)(end - start) != tables.size ||
               memcmp(start, tables.data, tables.size) != 0) {
        fail_msg("%s is behind the schema: run this test with TSW_UPDATE_DOCS=1", path);
    }
    tsw_buf_fini(&tables);
    tsw_free(page);
}

static void test_job_page_has_the_tables(void **state)
{
    (void)state;
    check_page(TSW_SCHEMA_JOB, "docs/job-file.md");
}

static void test_pack_page_has_the_tables(void **state)
{
    (void)state;
    check_page(TSW_SCHEMA_PACK, "docs/kernel-pack.md");
}

static bool is_named(const char *prose, const char *key)
{
    const char *const forms[] = {"`%s`", "`%s:", "%s: ", "{%s: ", "%s:\n"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char text[80];
        const char *mark = strstr(forms[i], "%s");
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(mark - forms[i]), forms[i], key, mark + 2);
        if (strstr(prose, text) != NULL)
            return true;
    }
    return false;
}

/* Every key of a map and of those below it occurs in the prose. */
static void check_keys(const tsw_map_t *map, const char *prose, int depth)
{
    assert_true(depth < 16);
    for (size_t i = 0; i < map->field_count; i++) {
        if (!is_named(prose, map->fields[i].key))
            fail_msg("the page says nothing about '%s' of %s", map->fields[i].key, map->title);
        assert_true(strlen(map->fields[i].meaning) > 0);
        const tsw_map_t *below = tsw_type_map(map->fields[i].type);
        if (below != NULL)
            check_keys(below, prose, depth + 1);
    }
    const tsw_map_t *below = map->rest != NULL ? tsw_type_map(map->rest->type) : NULL;
    if (below != NULL)
        check_keys(below, prose, depth + 1);
}

static void test_prose_names_every_key(void **state)
{
    (void)state;
    const struct {
        tsw_schema_id_t id;
        const char *path;
    } pages[] = {{TSW_SCHEMA_JOB, "docs/job-file.md"}, {TSW_SCHEMA_PACK, "docs/kernel-pack.md"}};
    for (size_t i = 0; i < 2; i++) {
        char *page = tsw_test_source_file(pages[i].path);
        *strstr(page, begin_mark) = '\0';
        check_keys(tsw_schema_root(pages[i].id), page, 0);
        tsw_free(page);
    }
}

/* The first YAML block of a page; heap. */
static char *first_example(const char *path)
{
    char *page = tsw_test_source_file(path);
    const char *start = strstr(page, "```yaml\n");
    assert_non_null(start);
    start += strlen("```yaml\n");
    const char *end = strstr(start, "```");
    assert_non_null(end);
    char *text = tsw_memdup(start, (size_t)(end - start) + 1);
    text[end - start] = '\0';
    tsw_free(page);
    return text;
}

static void test_example_pack_reads(void **state)
{
    (void)state;
    char *yaml = first_example("docs/kernel-pack.md");
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_fileset_add(&files, "kernel.yaml", yaml, strlen(yaml), NULL), TSW_OK);
    assert_int_equal(tsw_fileset_add(&files, "scale.cu", "", 0, NULL), TSW_OK);
    assert_int_equal(tsw_fileset_add(&files, "reference.cu", "", 0, NULL), TSW_OK);
    if (tsw_pack_read(&files, &pack, &err) != TSW_OK)
        fail_msg("%s", err.text);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    tsw_free(yaml);
}

static void test_example_job_fits_the_schema(void **state)
{
    (void)state;
    char *yaml = first_example("docs/job-file.md");
    tsw_node_t *document = NULL;
    tsw_view_t view = {NULL, NULL};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_node_read("job-file.md", yaml, strlen(yaml), &document, &err);
    if (status == TSW_OK)
        status = tsw_view_open(TSW_SCHEMA_JOB, document, &view, &err);
    if (status != TSW_OK)
        fail_msg("%s", err.text);
    tsw_node_free(document);
    tsw_free(yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_page_has_the_tables),
        cmocka_unit_test(test_pack_page_has_the_tables),
        cmocka_unit_test(test_prose_names_every_key),
        cmocka_unit_test(test_example_pack_reads),
        cmocka_unit_test(test_example_job_fits_the_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
