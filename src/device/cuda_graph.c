/* The launches of a shot: one by one, or as a graph, which is one command, over whichever sets the
 * shot names. To make one takes the host 0.1 ms and more, to point its launches at other sets 0.4
 * us each (on an H200's host). */
#include "base/mem.h"
#include "device/cuda_body.h"

/* What a tsw_graph_t of this body is. */
typedef struct {
    cu_graph_t graph; /* its nodes name those of exec */
    cu_graph_exec_t exec;
    cu_graph_node_t *nodes;
    uint32_t count;
    uint32_t first_set; /* where its launches begin now; nowhere: a move failed midway */
} cuda_graph_t;

static const uint32_t nowhere = UINT32_MAX;

static const tsw_launch_t *launch_at(const tsw_shot_t *shot, uint32_t i)
{
    return &shot->launches[(shot->first_set + i) % shot->set_count];
}

static cu_kernel_node_t node_of(const tsw_launch_t *launch, tsw_cuda_params_t *params)
{
    const tsw_geometry_t *at = &launch->geometry;
    tsw_cuda_params(launch, params);
    return (cu_kernel_node_t){
        .function = tsw_cuda_function(launch),
        .grid = {at->grid[0], at->grid[1], at->grid[2]},
        .block = {at->block[0], at->block[1], at->block[2]},
        .shared_bytes = at->shared_bytes,
        .params = params->pointers,
    };
}

/* One after the other. */
static tsw_status_t add_nodes(tsw_cuda_t *cuda, cuda_graph_t *graph, const tsw_shot_t *shot,
                              tsw_err_t *err)
{
    tsw_status_t status = tsw_cuda_allow_shared(cuda, launch_at(shot, 0), err);
    for (uint32_t i = 0; i < shot->repeat && status == TSW_OK; i++) {
        tsw_cuda_params_t params;
        cu_kernel_node_t node = node_of(launch_at(shot, i), &params);
        const cu_graph_node_t *before = i > 0 ? &graph->nodes[i - 1] : NULL;
        status = tsw_cuda_call(cuda,
                               cuda->api.graph_add_kernel(&graph->nodes[i], graph->graph, before,
                                                          before != NULL, &node),
                               "cuGraphAddKernelNode", err);
    }
    return status;
}

tsw_status_t tsw_cuda_graph_new(tsw_device_t *dev, const tsw_shot_t *shot, tsw_graph_t **graph_p,
                                tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    tsw_cuda_api_t *api = &cuda->api;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status != TSW_OK)
        return status;
    cuda_graph_t *graph = tsw_calloc(1, sizeof(*graph));
    if (graph == NULL)
        return tsw_err_nomem(err);
    graph->count = shot->repeat;
    graph->first_set = shot->first_set;
    graph->nodes = tsw_calloc(shot->repeat, sizeof(*graph->nodes));
    if (graph->nodes == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, api->graph_create(&graph->graph, 0), "cuGraphCreate", err);
    if (status == TSW_OK)
        status = add_nodes(cuda, graph, shot, err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, api->graph_instantiate(&graph->exec, graph->graph, 0),
                               "cuGraphInstantiate", err);
    if (status == TSW_OK) /* else the first launch would pay for it */
        status =
            tsw_cuda_call(cuda, api->graph_upload(graph->exec, cuda->stream), "cuGraphUpload", err);
    if (status == TSW_OK) {
        *graph_p = (tsw_graph_t *)graph;
        return TSW_OK;
    }
    tsw_err_wrap(err, "a graph of %u launches", shot->repeat);
    tsw_cuda_graph_free(dev, (tsw_graph_t *)graph);
    return status;
}

void tsw_cuda_graph_free(tsw_device_t *dev, tsw_graph_t *made)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    tsw_cuda_api_t *api = &cuda->api;
    cuda_graph_t *graph = (cuda_graph_t *)made;
    if (graph == NULL)
        return;
    if (graph->exec != NULL && !cuda->lost)
        tsw_cuda_warn(api, api->graph_exec_destroy(graph->exec), "cuGraphExecDestroy");
    if (graph->graph != NULL && !cuda->lost)
        tsw_cuda_warn(api, api->graph_destroy(graph->graph), "cuGraphDestroy");
    tsw_free(graph->nodes);
    tsw_free(graph);
}

/* To the shot's sets; what is in the stream already keeps its own. */
static tsw_status_t move(tsw_cuda_t *cuda, cuda_graph_t *graph, const tsw_shot_t *shot,
                         tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (uint32_t i = 0; i < graph->count && status == TSW_OK; i++) {
        tsw_cuda_params_t params;
        cu_kernel_node_t node = node_of(launch_at(shot, i), &params);
        status =
            tsw_cuda_call(cuda, cuda->api.graph_set_kernel(graph->exec, graph->nodes[i], &node),
                          "cuGraphExecKernelNodeSetParams", err);
    }
    graph->first_set = status == TSW_OK ? shot->first_set : nowhere;
    return status;
}

tsw_status_t tsw_cuda_aim(tsw_cuda_t *cuda, const tsw_shot_t *shot, tsw_err_t *err)
{
    cuda_graph_t *graph = (cuda_graph_t *)shot->graph;
    if (graph == NULL || graph->first_set == shot->first_set)
        return TSW_OK;
    TSW_ASSERT(graph->count == shot->repeat);
    return move(cuda, graph, shot, err);
}

tsw_status_t tsw_cuda_shoot(tsw_cuda_t *cuda, const tsw_shot_t *shot, tsw_err_t *err)
{
    const cuda_graph_t *graph = (const cuda_graph_t *)shot->graph;
    tsw_status_t status = tsw_cuda_aim(cuda, shot, err);
    if (status == TSW_OK && graph != NULL)
        return tsw_cuda_call(cuda, cuda->api.graph_launch(graph->exec, cuda->stream),
                             "cuGraphLaunch", err);
    for (uint32_t i = 0; i < shot->repeat && status == TSW_OK; i++)
        status = tsw_cuda_launch(cuda, launch_at(shot, i), err);
    return status;
}
