#include "wire/wire.h"

void tsw_put_calibration(tsw_buf_t *out, const tsw_calibration_t *calibration)
{
    size_t count = 0;
    tsw_calibration_fields(&count);
    tsw_put_gpu(out, &calibration->gpu);
    tsw_put_u64(out, calibration->wall_ns);
    for (size_t i = 0; i < count; i++)
        tsw_put_f64(out, tsw_calibration_get(&calibration->values, i));
    tsw_put_text(out, calibration->absent);
}

void tsw_get_calibration(tsw_reader_t *in, tsw_calibration_t *calibration)
{
    size_t count = 0;
    tsw_calibration_fields(&count);
    tsw_get_gpu(in, &calibration->gpu);
    calibration->wall_ns = tsw_get_u64(in);
    for (size_t i = 0; i < count; i++)
        tsw_calibration_set(&calibration->values, i, tsw_get_f64(in));
    tsw_get_text_into(in, calibration->absent, sizeof(calibration->absent));
}
