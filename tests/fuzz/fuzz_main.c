/* Runs a fuzz target without a fuzzer, with any compiler: over the files that are named, and those
 * of folders, each as it is and then -m times with a few changes drawn from a fixed seed. */
#include "fuzz.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mutations; /* of each file */
static size_t inputs;

/* One change: a bit, a byte, a piece taken out, a piece put elsewhere. */
static void change(tsw_buf_t *input, uint64_t bits)
{
    const size_t size = input->size;
    const size_t at = (size_t)(bits >> 40) % size;
    const size_t from = (size_t)(bits >> 20 & 0xfffff) % size;
    const size_t longest = size - (at > from ? at : from);
    const size_t count = (size_t)(bits >> 12 & 0xff) % (longest < 64 ? longest : 64);
    switch (bits % 4) {
    case 0:
        input->data[at] ^= (uint8_t)(1u << (bits >> 4) % 8);
        break;
    case 1:
        input->data[at] = (uint8_t)(bits >> 4);
        break;
    case 2:
        memmove(input->data + at, input->data + at + count, size - at - count);
        input->size -= count;
        break;
    default:
        memmove(input->data + at, input->data + from, count);
        break;
    }
}

static void run_changed(const tsw_buf_t *file, uint64_t variant)
{
    tsw_buf_t input = TSW_BUF_INIT;
    tsw_buf_append(&input, file->data, file->size);
    const uint64_t changes = 1 + tsw_rng_u64(variant, 0, 0, 0, 0) % 4;
    for (uint64_t i = 1; i <= changes; i++)
        change(&input, tsw_rng_u64(variant, i, file->size, 0, 0));
    LLVMFuzzerTestOneInput(input.data, input.size);
    tsw_buf_fini(&input);
}

static void run_file(const char *path)
{
    tsw_buf_t file = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    fuzz_must(tsw_file_read(path, &file, &err), &err);
    LLVMFuzzerTestOneInput((const uint8_t *)tsw_buf_text(&file), file.size);
    for (uint64_t i = 0; file.size > 0 && i < mutations; i++)
        run_changed(&file, i);
    tsw_buf_fini(&file);
    inputs++;
}

static void run(const char *path)
{
    tsw_names_t names = {0};
    tsw_err_t err = TSW_ERR_INIT;
    if (!tsw_path_is_dir(path)) {
        run_file(path);
        return;
    }
    fuzz_must(tsw_dir_list(path, &names, &err), &err);
    for (size_t i = 0; i < names.count; i++) {
        char *inner = tsw_path_join(path, names.names[i]);
        run(inner);
        tsw_free(inner);
    }
    tsw_names_fini(&names);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-m=", 3) == 0)
            mutations = strtoull(argv[i] + 3, NULL, 10);
        else
            run(argv[i]);
    }
    printf("%zu files, each with %llu changed forms\n", inputs, (unsigned long long)mutations);
    return inputs > 0 ? 0 : 2;
}
