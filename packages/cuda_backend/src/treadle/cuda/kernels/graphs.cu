/* Graphs: the work of one step, recorded once and put on a stream again as a whole. The legacy default stream cannot be
 * captured, so the thread's work goes to a stream of the graph's own meanwhile. Memory that arrays gave back during
 * the capture is reused in the order of the recording, which is the order of every replay too. */
#include "pools.h"
#include "replays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>

namespace td {

/* Variables of a graph: of its random numbers, or of one group of Adam's parameters. */
struct Slot {
    bool of_adam;
    td_adam_settings hyper; /* as at the capture, which is the first replay's step */
    Variables *variables;   /* not of the graph's pool, where what the graph does earlier may use the same memory */
};

/* Where a replay notes an index that is out of range. */
struct IndexCheck {
    std::string text;
    volatile int64_t *word; /* among the constants */
};

} // namespace td

struct td_cuda_graph {
    td_cuda_stream stream; /* that is captured; its pool is the graph's */
    td_cuda_stream *before; /* the thread's stream */
    cudaGraphExec_t executable;
    int64_t nodes;
    std::vector<void *> constants; /* host memory that nodes copy from */
    std::vector<td_cuda_graph *> dropped; /* meanwhile: to be destroyed after the capture, as they are waited for */
    std::vector<td::Slot> slots;
    std::vector<td::IndexCheck> checks;
    cudaEvent_t done;        /* the last replay; made with the first slot */
    int64_t replays;
};

namespace td {

namespace {

thread_local td_cuda_graph *capture = nullptr;

std::mutex graphs_guard; /* some synchronizations run without the interpreter's lock */

std::vector<td_cuda_graph *> &graphs_with_checks()
{
    static auto *all = new std::vector<td_cuda_graph *>; /* graphs may outlive static objects */
    return *all;
}

void ignore_checks(td_cuda_graph *graph)
{
    std::lock_guard<std::mutex> lock(graphs_guard);
    auto &all = graphs_with_checks();
    all.erase(std::remove(all.begin(), all.end(), graph), all.end());
}

int watch_checks(td_cuda_graph &graph)
{
    if (graph.checks.empty())
        return TD_OK;
    return guarded([&] {
        std::lock_guard<std::mutex> lock(graphs_guard);
        graphs_with_checks().push_back(&graph);
        return TD_OK;
    });
}

int instantiate(td_cuda_graph &graph, cudaGraph_t recorded)
{
    size_t nodes = 0;
    cudaError_t error = cudaGraphGetNodes(recorded, nullptr, &nodes);
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&graph.executable, recorded, 0);
    cudaGraphDestroy(recorded);
    graph.nodes = static_cast<int64_t>(nodes);
    return error == cudaSuccess ? watch_checks(graph) : fail(error, "making a graph of what was captured");
}

__global__ void set_kernel(Variables *variables, Variables values)
{
    *variables = values;
}

int captured_slot(bool of_adam, const td_adam_settings &hyper, const Variables **variables)
{
    *variables = nullptr;
    if (!capture)
        return TD_OK;
    return guarded([&]() -> int {
        const Slot *found = nullptr;
        for (const Slot &slot : capture->slots)
            if (slot.of_adam == of_adam && memcmp(&slot.hyper, &hyper, sizeof hyper) == 0)
                found = &slot;
        if (!capture->done)
            TD_CHECK(cudaEventCreateWithFlags(&capture->done, cudaEventDisableTiming));
        if (!found) {
            void *memory = nullptr;
            TD_CHECK(cudaMalloc(&memory, sizeof(Variables)));
            capture->slots.push_back({of_adam, hyper, static_cast<Variables *>(memory)});
            found = &capture->slots.back();
        }
        *variables = found->variables;
        return TD_OK;
    });
}

/* 1 - beta^(t + replays), for the 1 - beta^t of the capture. */
double corrected(double correction, double beta, int64_t replays)
{
    return 1.0 - (1.0 - correction) * std::pow(beta, static_cast<double>(replays));
}

Variables values_of(const Slot &slot, int64_t replays, uint64_t key, uint64_t counter)
{
    const td_adam_settings &hyper = slot.hyper;
    if (!slot.of_adam)
        return {key, counter, 0.0, 0.0};
    return {0, 0, hyper.lr / corrected(hyper.correction1, hyper.beta1, replays),
            std::sqrt(corrected(hyper.correction2, hyper.beta2, replays))};
}

/* The variables of one replay must not change before the last one is done, which may be on another stream. */
int set_variables(td_cuda_graph &graph, uint64_t key, uint64_t counter)
{
    if (!graph.slots.empty() && graph.replays > 0)
        TD_CHECK(cudaStreamWaitEvent(stream(), graph.done));
    for (const Slot &slot : graph.slots)
        TD_LAUNCH(set_kernel, 1, 1, slot.variables, values_of(slot, graph.replays, key, counter));
    return TD_OK;
}

} // namespace

int captured_random(const Variables **variables) { return captured_slot(false, {}, variables); }

int captured_adam(const td_adam_settings &hyper, const Variables **variables)
{
    return captured_slot(true, hyper, variables);
}

int captured_index_check(const char *text, int64_t **word)
{
    *word = nullptr;
    if (!capture)
        return TD_OK;
    return guarded([&]() -> int {
        *word = static_cast<int64_t *>(keep_constant(&NO_INDEX, sizeof NO_INDEX));
        if (!*word)
            return no_host_memory();
        capture->checks.push_back({text, *word});
        return TD_OK;
    });
}

int replayed_index_error()
{
    std::lock_guard<std::mutex> lock(graphs_guard);
    for (td_cuda_graph *graph : graphs_with_checks()) {
        const IndexCheck *failed = nullptr;
        int64_t index = 0;
        for (const IndexCheck &check : graph->checks) { /* one index may fail in several */
            const int64_t found = std::exchange(*check.word, NO_INDEX);
            if (found == NO_INDEX || failed)
                continue;
            failed = &check;
            index = found;
        }
        if (failed) {
            const bool at_index = failed->text.find("{}") != std::string::npos;
            return wrong_index(failed->text.c_str(), index,
                               at_index ? ", in a replay, which read and wrote nothing there" : ", in a replay");
        }
    }
    return TD_OK;
}

td_cuda_graph *captured_graph() { return capture; }

td_cuda_pool *chosen_pool(int device)
{
    if (capture && capture->stream.device == device)
        return &capture->stream.pool;
    td_cuda_stream *stream = chosen_stream(device);
    return stream ? &stream->pool : nullptr;
}

bool keep_with_graph(void *memory)
{
    if (!capture)
        return false;
    guarded([&] {
        capture->constants.push_back(memory);
        return TD_OK;
    }); /* without host memory it is lost */
    return true;
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
    if (td::capture) {
        td::guarded([&] {
            td::capture->dropped.push_back(graph);
            return TD_OK;
        });
        return;
    }
    td::OnDevice use(graph->stream.device);
    td::ignore_checks(graph);
    cudaDeviceSynchronize(); /* a replay may be under way */
    if (graph->executable)
        cudaGraphExecDestroy(graph->executable);
    for (void *memory : graph->constants)
        cudaFreeHost(memory);
    for (const td::Slot &slot : graph->slots)
        cudaFree(slot.variables);
    if (graph->done)
        cudaEventDestroy(graph->done);
    td::close_pool(graph->stream.pool);
    cudaStreamDestroy(graph->stream.handle);
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
    for (td_cuda_graph *each : std::exchange(graph->dropped, {}))
        td_cuda_graph_destroy(each);
    if (error == cudaSuccess && keep)
        return td::instantiate(*graph, recorded);
    if (recorded)
        cudaGraphDestroy(recorded);
    return error == cudaSuccess ? TD_OK : td::fail(error, "the end of a capture");
}

int td_cuda_graph_replay(td_cuda_graph *graph, td_cuda_stream *stream, uint64_t key, uint64_t counter)
{
    TD_TRY(td_cuda_use(graph->stream.device));
    TD_TRY(td::replayed_index_error());
    TD_TRY(td::set_variables(*graph, key, counter));
    TD_CHECK(cudaGraphLaunch(graph->executable, stream ? stream->handle : nullptr));
    if (graph->done)
        TD_CHECK(cudaEventRecord(graph->done, stream ? stream->handle : nullptr));
    graph->replays++;
    return TD_OK;
}

int64_t td_cuda_graph_nodes(const td_cuda_graph *graph) { return graph->nodes; }

int td_cuda_capturing(void) { return td::capture != nullptr; }
