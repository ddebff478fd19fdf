#include "table/table.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t digits_of(const char *text)
{
    size_t n = 0;
    while (isdigit((unsigned char)text[n]))
        n++;
    return n;
}

int tsw_table_compare(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return (a != NULL) - (b != NULL);
    while (*a != '\0' && *b != '\0') {
        size_t na = digits_of(a);
        size_t nb = digits_of(b);
        if (na > 0 && nb > 0 && na != nb) /* names have no leading zeros: longer is larger */
            return na < nb ? -1 : 1;
        if (*a != *b)
            break;
        a++;
        b++;
    }
    return ((unsigned char)*a > (unsigned char)*b) - ((unsigned char)*a < (unsigned char)*b);
}

static int compare_rows(const void *a, const void *b)
{
    const tsw_table_row_t *x = a;
    const tsw_table_row_t *y = b;
    int order = tsw_table_compare(x->variant, y->variant);
    return order != 0 ? order : tsw_table_compare(x->shape, y->shape);
}

static int compare_packs(const void *a, const void *b)
{
    const tsw_table_pack_t *x = a;
    const tsw_table_pack_t *y = b;
    int order = tsw_table_compare(x->name, y->name);
    return order != 0 ? order : tsw_table_compare(x->variant, y->variant);
}

void tsw_table_sort(tsw_table_t *table)
{
    if (table->pack_count == 0)
        return;
    qsort(table->packs, table->pack_count, sizeof(*table->packs), compare_packs);
    for (size_t i = 0; i < table->pack_count; i++) {
        if (table->packs[i].row_count > 0)
            qsort(table->packs[i].rows, table->packs[i].row_count, sizeof(tsw_table_row_t),
                  compare_rows);
    }
}

static void pack_fini(tsw_table_pack_t *pack)
{
    for (size_t i = 0; i < pack->config_count; i++)
        tsw_free(pack->configs[i]);
    for (size_t i = 0; i < pack->row_count; i++) {
        tsw_free(pack->rows[i].variant);
        tsw_free(pack->rows[i].shape);
        tsw_free(pack->rows[i].unstable);
    }
    tsw_free(pack->configs);
    tsw_free(pack->rows);
    tsw_free(pack->name);
    tsw_free(pack->variant);
    tsw_free(pack->verdict);
}

void tsw_table_fini(tsw_table_t *table)
{
    for (size_t i = 0; i < table->pack_count; i++)
        pack_fini(&table->packs[i]);
    tsw_free(table->packs);
    tsw_free(table->mode);
    tsw_free(table->purpose);
    tsw_free(table->toolchain);
    tsw_free(table->device);
    tsw_free(table->clocks);
    tsw_free(table->cache_mode);
    tsw_free(table->objective);
    *table = (tsw_table_t){0};
}

tsw_status_t tsw_table_usable(const tsw_table_t *table, tsw_err_t *err)
{
    if (strcmp(table->mode, "cuda") != 0)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                           "the table of sm_%u is not from measurements on a GPU (mode %s): its "
                           "times may be looked at, never used",
                           table->arch, table->mode);
    if (strcmp(table->purpose, "release") != 0)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                           "the table of sm_%u comes from a job with purpose %s; only purpose "
                           "release makes tables for use",
                           table->arch, table->purpose);
    return TSW_OK;
}
