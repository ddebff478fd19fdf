/* A release table: one that can be read is checked, linted, and the same after writing. */
#include "fuzz.h"

#include "rules/lint.h"
#include "table/table.h"

static void write_and_read(const tsw_table_t *table)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_table_t again;
    if (tsw_table_write(table, &text, &err) == TSW_OK) {
        fuzz_must(tsw_table_read(text.data, text.size, &again, &err), &err);
        tsw_table_fini(&again);
    }
    tsw_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_table_t table;
    if (tsw_table_read(data, size, &table, &err) != TSW_OK)
        return 0;
    tsw_buf_t report = TSW_BUF_INIT;
    size_t faults = 0;
    tsw_lint_t lint;
    tsw_table_check(&table, &report, &faults);
    tsw_table_usable(&table, &err);
    if (tsw_lint_table(&table, NULL, 0, &lint, &err) == TSW_OK)
        tsw_lint_fini(&lint);
    write_and_read(&table);
    tsw_table_sort(&table);
    write_and_read(&table);
    tsw_buf_fini(&report);
    tsw_table_fini(&table);
    return 0;
}
