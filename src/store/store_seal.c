#include "store/store_seal.h"

#include "base/hash.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

void tsw_seal_format(const void *bytes, size_t size, char block[TSW_SEAL_SIZE])
{
    char key[TSW_KEY_TEXT_SIZE];
    memset(block, 0, TSW_SEAL_SIZE);
    snprintf(block, TSW_SEAL_SIZE, TSW_STORE_START "%zu %s\n", size,
             tsw_key_format(tsw_key_of(bytes, size), key));
}

static tsw_status_t refuse_start(tsw_err_t *err)
{
    return tsw_err_set(err, TSW_ERR_CORRUPT, "no seal of tilesweep at its start");
}

static tsw_status_t refuse_size(tsw_err_t *err)
{
    return tsw_err_set(err, TSW_ERR_CORRUPT, "torn or damaged: the seal does not fit the rest");
}

tsw_status_t tsw_seal_check_size(const void *start, size_t size, uint64_t file_size, tsw_err_t *err)
{
    char head[48] = "";
    char expected[48];
    if (size < TSW_SEAL_SIZE || memcmp(start, TSW_STORE_START, strlen(TSW_STORE_START)) != 0)
        return refuse_start(err);
    snprintf(expected, sizeof(expected), TSW_STORE_START "%llu ",
             (unsigned long long)(file_size - TSW_SEAL_SIZE));
    memcpy(head, start, strlen(expected));
    return strcmp(head, expected) == 0 ? TSW_OK : refuse_size(err);
}

tsw_status_t tsw_seal_check(const void *file, size_t size, tsw_err_t *err)
{
    const char *found = file;
    if (size < TSW_SEAL_SIZE || memcmp(found, TSW_STORE_START, strlen(TSW_STORE_START)) != 0)
        return refuse_start(err);
    char expected[TSW_SEAL_SIZE];
    tsw_seal_format(found + TSW_SEAL_SIZE, size - TSW_SEAL_SIZE, expected);
    if (memcmp(found, expected, TSW_SEAL_SIZE) != 0)
        return refuse_size(err);
    return TSW_OK;
}
