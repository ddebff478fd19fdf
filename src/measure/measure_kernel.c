/* Kernels, the reference and configs alike: what the simulation knows of them, how they launch. */
#include "measure/measure_cell.h"

tsw_kernel_model_t tsw_measure_model(const tsw_measure_t *measure)
{
    return (tsw_kernel_model_t){
        .flops = measure->cell.flops,
        .bytes = measure->cell.bytes,
        .dtype = measure->cell.variant->dtype,
        .cell_key = measure->cell.cell_key,
    };
}

tsw_status_t tsw_measure_make_launch(tsw_measure_t *measure, const tsw_config_t *config,
                                     tsw_launch_t *launch, tsw_err_t *err)
{
    const tsw_measure_cell_t *cell = &measure->cell;
    const tsw_pack_t *pack = cell->variant->pack;
    int64_t num_sm = (int64_t)measure->dev->ops->gpu(measure->dev)->sm_count;
    tsw_status_t status =
        tsw_variant_bind(cell->variant, cell->dims, config, num_sm, measure->eval, err);
    if (status == TSW_OK)
        status = tsw_geometry_of(config != NULL ? &pack->kernel : &pack->reference, measure->eval,
                                 &launch->geometry, err);
    if (status == TSW_OK)
        status = tsw_measure_params(
            measure, config != NULL ? TSW_BUFFERS_SPLIT : TSW_BUFFERS_REFERENCE, launch, err);
    return status;
}
