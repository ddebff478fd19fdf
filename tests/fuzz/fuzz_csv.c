/* A CSV file of shapes. */
#include "fuzz.h"

#include "base/mem.h"
#include "pack/job_shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char m[] = "M", n[] = "N";
    const tsw_pack_t pack = {.dims = {m, n}, .dim_count = 2};
    tsw_shape_set_t set = {.count = 0};
    tsw_err_t err = TSW_ERR_INIT;
    char *text = fuzz_text(data, size);
    tsw_shapes_read_csv(&pack, "shapes.csv", text, size, 1, &set, &err);
    tsw_free(set.shapes);
    tsw_free(set.slots);
    tsw_free(text);
    return 0;
}
