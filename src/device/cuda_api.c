#include "device/cuda_api.h"

#include "base/library.h"
#include "base/log.h"

#include <dlfcn.h>

typedef struct {
    const char *symbol;
    size_t offset; /* of the member in tsw_cuda_api_t */
} symbol_t;

static const symbol_t symbols[] = {
#define SYMBOL(_member, _symbol, _parameters) {_symbol, offsetof(tsw_cuda_api_t, _member)},
    TSW_CUDA_API_MAP(SYMBOL)
#undef SYMBOL
};

static tsw_status_t load_symbols(tsw_cuda_api_t *api, const char *path, tsw_err_t *err)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (!tsw_library_find(api->library, symbols[i].symbol, (char *)api + symbols[i].offset))
            return tsw_err_set(err, TSW_ERR_ENV,
                               "%s lacks %s: a driver of CUDA 12 or later is needed", path,
                               symbols[i].symbol);
    }
    return TSW_OK;
}

tsw_status_t tsw_cuda_api_open(tsw_cuda_api_t *api_p, tsw_err_t *err)
{
    const char *path = tsw_library_path("TSW_LIBCUDA", "libcuda.so.1");
    tsw_cuda_api_t api = {.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (api.library == NULL)
        return tsw_err_set(err, TSW_ERR_ENV, "no CUDA driver: %s", dlerror());
    tsw_status_t status = load_symbols(&api, path, err);
    if (status == TSW_OK && tsw_cuda_check(&api, api.init(0), "cuInit", err) != TSW_OK) {
        tsw_err_wrap(err, "no usable GPU");
        status = tsw_err_turn(err, TSW_ERR_ENV);
    }
    if (status != TSW_OK)
        tsw_cuda_api_close(&api);
    else
        *api_p = api;
    return status;
}

void tsw_cuda_api_close(tsw_cuda_api_t *api)
{
    if (api->library != NULL)
        dlclose(api->library);
    *api = (tsw_cuda_api_t){.library = NULL};
}

tsw_status_t tsw_cuda_status(cu_result_t result)
{
    switch (result) {
    case CU_OK:
        return TSW_OK;
    case CU_OUT_OF_MEMORY:
        return TSW_ERR_DEVICE_MEMORY;
    case 214: /* ECC_UNCORRECTABLE */
    case 220: /* NVLINK_UNCORRECTABLE */
    case 226: /* CONTAINED */
    case 700: /* ILLEGAL_ADDRESS */
    case 702: /* LAUNCH_TIMEOUT */
    case 709: /* CONTEXT_IS_DESTROYED */
    case 710: /* ASSERT */
    case 714: /* HARDWARE_STACK_ERROR */
    case 715: /* ILLEGAL_INSTRUCTION */
    case 716: /* MISALIGNED_ADDRESS */
    case 717: /* INVALID_ADDRESS_SPACE */
    case 718: /* INVALID_PC */
    case 719: /* LAUNCH_FAILED */
    case 721: /* TENSOR_MEMORY_LEAK */
    case 999: /* UNKNOWN */
        return TSW_ERR_DEVICE_LOST;
    default: /* 701 LAUNCH_OUT_OF_RESOURCES among them: the context lives */
        return TSW_ERR_DEVICE;
    }
}

static const char *name_of(const tsw_cuda_api_t *api, cu_result_t result)
{
    const char *name = NULL;
    return api->get_error_name(result, &name) == CU_OK && name != NULL ? name : "unknown error";
}

tsw_status_t tsw_cuda_check(const tsw_cuda_api_t *api, cu_result_t result, const char *call,
                            tsw_err_t *err)
{
    if (result == CU_OK)
        return TSW_OK;
    const char *text = NULL;
    if (api->get_error_string(result, &text) != CU_OK || text == NULL)
        text = "no description";
    return tsw_err_set_vendor(err, tsw_cuda_status(result), result, "%s: %s (%d): %s", call,
                              name_of(api, result), result, text);
}

void tsw_cuda_warn(const tsw_cuda_api_t *api, cu_result_t result, const char *call)
{
    if (result != CU_OK && tsw_cuda_status(result) != TSW_ERR_DEVICE_LOST)
        tsw_log(TSW_LOG_WARN, "%s: %s (%d)", call, name_of(api, result), result);
}
