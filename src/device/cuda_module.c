/* Modules. One that is not needed any more stays loaded for the next cell, which often runs the
 * same cubins over another shape: loading takes the driver longer than some configs run. */
#include "device/cuda_body.h"

#include "base/mem.h"

static tsw_cuda_t *body(tsw_device_t *dev)
{
    return (tsw_cuda_t *)dev;
}

static void unload(tsw_cuda_t *cuda, tsw_cuda_kernel_t *kernel)
{
    if (kernel->module != NULL && !cuda->lost)
        tsw_cuda_warn(&cuda->api, cuda->api.module_unload(kernel->module), "cuModuleUnload");
    tsw_free(kernel);
}

/* Equal bytes and entry. */
static tsw_cuda_kernel_t *find(tsw_cuda_t *cuda, tsw_key_t key, tsw_key_t entry)
{
    for (size_t i = 0; i < cuda->kernel_count; i++) {
        tsw_cuda_kernel_t *kernel = cuda->kernels[i];
        if (tsw_key_equal(kernel->key, key) && tsw_key_equal(kernel->entry, entry))
            return kernel;
    }
    return NULL;
}

/* The one that nobody has used for longest; kernel_count: all are in use. */
static size_t find_oldest(const tsw_cuda_t *cuda)
{
    size_t oldest = cuda->kernel_count;
    for (size_t i = 0; i < cuda->kernel_count; i++) {
        const tsw_cuda_kernel_t *kernel = cuda->kernels[i];
        if (kernel->users == 0 &&
            (oldest == cuda->kernel_count || kernel->turn < cuda->kernels[oldest]->turn))
            oldest = i;
    }
    return oldest;
}

void tsw_cuda_modules_trim(tsw_cuda_t *cuda, size_t most)
{
    while (cuda->idle_kernels > most) {
        size_t oldest = find_oldest(cuda);
        unload(cuda, cuda->kernels[oldest]);
        cuda->kernels[oldest] = cuda->kernels[--cuda->kernel_count];
        cuda->idle_kernels--;
    }
}

static tsw_status_t load(tsw_cuda_t *cuda, const void *cubin, const char *entry,
                         tsw_cuda_kernel_t *kernel, tsw_err_t *err)
{
    tsw_status_t status = tsw_cuda_call(cuda, cuda->api.module_load_data(&kernel->module, cubin),
                                        "cuModuleLoadData", err);
    if (status != TSW_OK)
        return status;
    status =
        tsw_cuda_call(cuda, cuda->api.module_get_function(&kernel->function, kernel->module, entry),
                      "cuModuleGetFunction", err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "entry %s", entry);
    return status;
}

static tsw_status_t add(tsw_cuda_t *cuda, const void *cubin, const char *entry,
                        const tsw_cuda_kernel_t *like, tsw_cuda_kernel_t **kernel_p, tsw_err_t *err)
{
    if (!TSW_GROW(cuda->kernels, cuda->kernel_capacity, cuda->kernel_count))
        return tsw_err_nomem(err);
    tsw_cuda_kernel_t *kernel = tsw_memdup(like, sizeof(*like));
    if (kernel == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = load(cuda, cubin, entry, kernel, err);
    if (status != TSW_OK) {
        unload(cuda, kernel);
        return status;
    }
    cuda->kernels[cuda->kernel_count++] = kernel;
    cuda->idle_kernels++;
    *kernel_p = kernel;
    return TSW_OK;
}

tsw_status_t tsw_cuda_kernel_load(tsw_device_t *dev, const void *cubin, size_t size,
                                  const char *entry, const tsw_kernel_model_t *model,
                                  tsw_kernel_t **kernel_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    (void)model;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status != TSW_OK)
        return status;
    tsw_cuda_kernel_t like = {.key = tsw_key_of(cubin, size), .entry = tsw_key_of_text(entry)};
    tsw_cuda_kernel_t *kernel = find(cuda, like.key, like.entry);
    if (kernel == NULL)
        status = add(cuda, cubin, entry, &like, &kernel, err);
    if (status != TSW_OK)
        return status;
    cuda->idle_kernels -= kernel->users == 0;
    kernel->users++;
    *kernel_p = (tsw_kernel_t *)kernel;
    return TSW_OK;
}

void tsw_cuda_kernel_unload(tsw_device_t *dev, tsw_kernel_t *loaded)
{
    static const size_t most_idle = 512;
    tsw_cuda_t *cuda = body(dev);
    tsw_cuda_kernel_t *kernel = (tsw_cuda_kernel_t *)loaded;
    if (kernel == NULL)
        return;
    kernel->turn = ++cuda->kernel_turn;
    kernel->users--;
    cuda->idle_kernels += kernel->users == 0;
    tsw_cuda_modules_trim(cuda, most_idle);
}
