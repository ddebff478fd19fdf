/* Graphs: many launches as one command. */
#include "base/mem.h"
#include "device/cuda_body.h"

/* What a tsw_graph_t of this body is. */
typedef struct {
    cu_graph_exec_t exec;
} cuda_graph_t;

/* The launches go into a graph instead of to the device. */
static tsw_status_t capture(tsw_cuda_t *cuda, const tsw_launch_t *launches, uint32_t set_count,
                            uint32_t repeat, cu_graph_t *graph_p, tsw_err_t *err)
{
    tsw_cuda_api_t *api = &cuda->api;
    tsw_err_t late = TSW_ERR_INIT;
    cu_graph_t graph = NULL;
    tsw_status_t status =
        tsw_cuda_call(cuda, api->stream_begin_capture(cuda->stream, CU_CAPTURE_RELAXED),
                      "cuStreamBeginCapture", err);
    if (status != TSW_OK)
        return status;
    for (uint32_t i = 0; i < repeat && status == TSW_OK; i++)
        status = tsw_cuda_launch(cuda, &launches[i % set_count], err);
    /* Whatever happened: the stream must leave its capture. */
    tsw_status_t end_status = tsw_cuda_call(cuda, api->stream_end_capture(cuda->stream, &graph),
                                            "cuStreamEndCapture", &late);
    if (status == TSW_OK && end_status != TSW_OK) {
        status = end_status;
        if (err != NULL)
            *err = late;
    }
    if (status == TSW_OK)
        *graph_p = graph;
    else if (graph != NULL)
        tsw_cuda_warn(api, api->graph_destroy(graph), "cuGraphDestroy");
    return status;
}

tsw_status_t tsw_cuda_graph_new(tsw_device_t *dev, const tsw_launch_t *launches, uint32_t set_count,
                                uint32_t repeat, tsw_graph_t **graph_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    tsw_cuda_api_t *api = &cuda->api;
    cu_graph_t nodes = NULL;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status != TSW_OK)
        return status;
    cuda_graph_t *graph = tsw_calloc(1, sizeof(*graph));
    if (graph == NULL)
        return tsw_err_nomem(err);
    status = capture(cuda, launches, set_count, repeat, &nodes, err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, api->graph_instantiate(&graph->exec, nodes, 0),
                               "cuGraphInstantiate", err);
    if (nodes != NULL && !cuda->lost)
        tsw_cuda_warn(api, api->graph_destroy(nodes), "cuGraphDestroy");
    if (status == TSW_OK) /* else the first launch would pay for it */
        status =
            tsw_cuda_call(cuda, api->graph_upload(graph->exec, cuda->stream), "cuGraphUpload", err);
    if (status == TSW_OK) {
        *graph_p = (tsw_graph_t *)graph;
        return TSW_OK;
    }
    tsw_err_wrap(err, "a graph of %u launches", repeat);
    tsw_cuda_graph_free(dev, (tsw_graph_t *)graph);
    return status;
}

void tsw_cuda_graph_free(tsw_device_t *dev, tsw_graph_t *made)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    cuda_graph_t *graph = (cuda_graph_t *)made;
    if (graph == NULL)
        return;
    if (graph->exec != NULL && !cuda->lost)
        tsw_cuda_warn(&cuda->api, cuda->api.graph_exec_destroy(graph->exec), "cuGraphExecDestroy");
    tsw_free(graph);
}

tsw_status_t tsw_cuda_graph_launch(tsw_cuda_t *cuda, const tsw_graph_t *made, tsw_err_t *err)
{
    const cuda_graph_t *graph = (const cuda_graph_t *)made;
    return tsw_cuda_call(cuda, cuda->api.graph_launch(graph->exec, cuda->stream), "cuGraphLaunch",
                         err);
}
