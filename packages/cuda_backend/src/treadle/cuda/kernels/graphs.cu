/* Graphs: the work of one step, recorded once and put on a stream again as a whole. The legacy default stream cannot be
 * captured, so the thread's work goes to a stream of the graph's own meanwhile. Memory that arrays gave back during
 * the capture is reused in the order of the recording, which is the order of every replay too. */
#include "pools.h"

#include <cstring>

struct td_cuda_graph {
    td_cuda_stream stream; /* that is captured; its pool is the graph's */
    td_cuda_stream *before; /* the thread's stream */
    cudaGraphExec_t executable;
    int64_t nodes;
    std::vector<void *> constants; /* host memory that nodes copy from */
};

namespace td {

namespace {

thread_local td_cuda_graph *capture = nullptr;

int instantiate(td_cuda_graph &graph, cudaGraph_t recorded)
{
    size_t nodes = 0;
    cudaError_t error = cudaGraphGetNodes(recorded, nullptr, &nodes);
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&graph.executable, recorded, 0);
    cudaGraphDestroy(recorded);
    graph.nodes = static_cast<int64_t>(nodes);
    return error == cudaSuccess ? TD_OK : fail(error, "making a graph of what was captured");
}

} // namespace

td_cuda_graph *captured_graph() { return capture; }

td_cuda_pool *chosen_pool(int device)
{
    if (capture && capture->stream.device == device)
        return &capture->stream.pool;
    td_cuda_stream *stream = chosen_stream(device);
    return stream ? &stream->pool : nullptr;
}

void *keep_constant(const void *bytes, int64_t nbytes)
{
    void *memory = nullptr;
    if (cudaMallocHost(&memory, static_cast<size_t>(nbytes > 0 ? nbytes : 1)) != cudaSuccess)
        return nullptr;
    capture->constants.push_back(memory);
    if (nbytes > 0)
        memcpy(memory, bytes, static_cast<size_t>(nbytes));
    return memory;
}

} // namespace td

int td_cuda_graph_create(int device, td_cuda_graph **graph)
{
    return td::guarded([&]() -> int {
        TD_TRY(td_cuda_use(device));
        auto made = std::make_unique<td_cuda_graph>();
        made->stream.device = device;
        TD_CHECK(cudaStreamCreateWithFlags(&made->stream.handle, cudaStreamNonBlocking));
        td::open_pool(made->stream.pool, device, true);
        *graph = made.release();
        return TD_OK;
    });
}

void td_cuda_graph_destroy(td_cuda_graph *graph)
{
    cudaSetDevice(graph->stream.device);
    cudaDeviceSynchronize(); /* a replay may be under way */
    if (graph->executable)
        cudaGraphExecDestroy(graph->executable);
    for (void *memory : graph->constants)
        cudaFreeHost(memory);
    td::close_pool(graph->stream.pool);
    cudaStreamDestroy(graph->stream.handle);
    cudaSetDevice(td::current_device());
    delete graph;
}

int td_cuda_graph_begin(td_cuda_graph *graph)
{
    TD_TRY(td_cuda_use(graph->stream.device));
    TD_CHECK(cudaDeviceSynchronize()); /* what the step reads is there */
    TD_CHECK(cudaStreamBeginCapture(graph->stream.handle, cudaStreamCaptureModeRelaxed));
    graph->before = td::chosen_stream(graph->stream.device);
    td_cuda_stream_choose(graph->stream.device, &graph->stream);
    td::capture = graph;
    return TD_OK;
}

int td_cuda_graph_end(td_cuda_graph *graph, int keep)
{
    td::capture = nullptr;
    td_cuda_stream_choose(graph->stream.device, graph->before);
    cudaGraph_t recorded = nullptr;
    cudaError_t error = cudaStreamEndCapture(graph->stream.handle, &recorded);
    if (error == cudaSuccess && keep)
        return td::instantiate(*graph, recorded);
    if (recorded)
        cudaGraphDestroy(recorded);
    return error == cudaSuccess ? TD_OK : td::fail(error, "the end of a capture");
}

int td_cuda_graph_replay(td_cuda_graph *graph, td_cuda_stream *stream)
{
    TD_TRY(td_cuda_use(graph->stream.device));
    TD_CHECK(cudaGraphLaunch(graph->executable, stream ? stream->handle : nullptr));
    return TD_OK;
}

int64_t td_cuda_graph_nodes(const td_cuda_graph *graph) { return graph->nodes; }

int td_cuda_capturing(void) { return td::capture != nullptr; }
