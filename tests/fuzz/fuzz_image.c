/* The bytes behind the seal of a sweep, and a file of numbers for a pack's `fill: dataset`. */
#include "fuzz.h"

#include "base/file.h"
#include "store/store.h"
#include "store/store_seal.h"

static void read_sealed(const uint8_t *data, size_t size)
{
    tsw_buf_t file = TSW_BUF_INIT, report = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t dataset;
    size_t faults = 0;
    char block[TSW_SEAL_SIZE];
    tsw_seal_format(data, size, block);
    tsw_buf_append(&file, block, sizeof(block));
    tsw_buf_append(&file, data, size);
    const char *path = fuzz_file("sweep.h5", file.data, file.size);
    if (tsw_store_read_file(path, &dataset, &err) == TSW_OK)
        tsw_dataset_fini(&dataset);
    tsw_store_check(path, &faults, &report, &err);
    tsw_buf_fini(&report);
    tsw_buf_fini(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t numbers = TSW_BUF_INIT;
    size_t width = 0;
    tsw_buf_t copy = TSW_BUF_INIT;
    read_sealed(data, size);
    tsw_buf_append(&copy, data, size);
    if (size > 0)
        tsw_store_read_raw_image(copy.data, copy.size, "file", "numbers", &numbers, &width, &err);
    tsw_buf_fini(&copy);
    tsw_buf_fini(&numbers);
    return 0;
}
