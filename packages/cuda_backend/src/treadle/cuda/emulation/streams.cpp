/* Streams, events and captured graphs of the emulated runtime.
 *
 * Work on the default stream is done at once, after all that waits on the device's blocking streams. Work on another
 * stream is put in its queue, and done only when somebody asks for it: a synchronization, the default stream, a stream
 * that waits for an event behind it, or a copy of pageable memory. A program that forgets to wait between streams so
 * reads what has not been written yet, in either schedule. A captured stream records its work instead.
 * Semantics: CUDA C++ Programming Guide, "Asynchronous Concurrent Execution" and "CUDA Graphs"; CUDA Runtime API, "API
 * synchronization behavior", "Stream synchronization behavior". */
#include "internal.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <vector>

using Work = std::function<cudaError_t()>;
using Lock = std::lock_guard<std::recursive_mutex>;

struct CUgraph_st {
    std::vector<Work> nodes;
    std::vector<cudaStream_t> streams; /* whose work is recorded, the first of all for the origin */
    bool invalid = false;
};

struct CUstream_st {
    int device;
    bool blocking;
    std::deque<Work> queue;
    cudaGraph_t capture;
    cudaError_t failed; /* what asked-for work ended with, until a synchronization tells it */
};

struct EventState {
    std::chrono::steady_clock::time_point time;
    uint64_t recorded = 0, done = 0; /* how often */
    bool timed = true;
};

struct CUevent_st {
    std::shared_ptr<EventState> state;
    cudaStream_t stream;  /* where it was recorded last */
    cudaGraph_t capture;
};

struct CUgraphExec_st {
    std::shared_ptr<std::vector<Work>> nodes;
};

namespace emulation {

namespace {

std::vector<cudaStream_t> &streams()
{
    static auto *all = new std::vector<cudaStream_t>;
    return *all;
}

bool exists(cudaStream_t stream)
{
    return !stream || std::find(streams().begin(), streams().end(), stream) != streams().end();
}

void run_next(cudaStream_t stream)
{
    Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    cudaError_t error = work();
    if (stream->failed == cudaSuccess)
        stream->failed = error;
}

cudaError_t finish(cudaStream_t stream)
{
    while (!stream->queue.empty())
        run_next(stream);
    return std::exchange(stream->failed, cudaSuccess);
}

cudaError_t finish_streams(int device, bool blocking_only)
{
    std::vector<cudaStream_t> order = streams();
    if (reversed())
        std::reverse(order.begin(), order.end());
    cudaError_t first = cudaSuccess;
    for (cudaStream_t stream : order) {
        if (stream->device != device || stream->capture || (blocking_only && !stream->blocking))
            continue;
        cudaError_t error = finish(stream);
        first = first == cudaSuccess ? error : first;
    }
    return first;
}

/* Whether work may be put on a stream from here: it must be of the calling thread's device. */
bool usable(cudaStream_t stream) { return exists(stream) && (!stream || stream->device == chosen_device()); }

/* The work, done at once or put in the queue or recorded. */
template <class Task> cudaError_t put(cudaStream_t stream, Task &&work)
{
    if (!usable(stream))
        return cudaErrorInvalidResourceHandle;
    if (!stream) {
        cudaError_t error = finish_streams(chosen_device(), true);
        return error == cudaSuccess ? work() : error;
    }
    try {
        if (stream->capture)
            stream->capture->nodes.emplace_back(std::forward<Task>(work));
        else
            stream->queue.emplace_back(std::forward<Task>(work));
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

void wait_for(const EventState &state, uint64_t recorded, cudaStream_t stream)
{
    while (state.done < recorded && exists(stream) && stream && !stream->queue.empty())
        run_next(stream);
}

/* Whether the host must wait in a copy: page-locked memory and that of devices it need not. */
bool is_pageable(const void *to, const void *from, cudaMemcpyKind kind)
{
    if (kind == cudaMemcpyDeviceToDevice)
        return false;
    return !is_pinned(kind == cudaMemcpyHostToDevice ? from : to);
}

void move(void *to, const void *from, size_t nbytes)
{
    if (nbytes)
        memcpy(to, from, nbytes);
}

} // namespace

cudaError_t finish_device(int device) { return finish_streams(device, false); }

cudaError_t launch(const cudaLaunchConfig_t &config, size_t parameter_bytes, const Call &call, const void *kernel)
{
    Lock lock(guard);
    if (!within_limits(config, parameter_bytes, kernel))
        return cudaErrorInvalidConfiguration;
    if (!config.stream)
        return put(nullptr, [&] { return run_grid(config, call.body, call.context); });
    std::shared_ptr<void> context;
    try {
        context.reset(call.copy(call.context), call.release);
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    auto body = call.body;
    return put(config.stream, [config, body, context] { return run_grid(config, body, context.get()); });
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    Lock lock(guard);
    if (!stream || stream->capture || !is_pageable(to, from, kind))
        return put(stream, [=] { return move(to, from, nbytes), cudaSuccess; });
    cudaError_t error = usable(stream) ? finish(stream) : cudaErrorInvalidResourceHandle;
    if (error == cudaSuccess)
        move(to, from, nbytes);
    return error;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t nbytes, cudaStream_t stream)
{
    Lock lock(guard);
    return put(stream, [=] {
        if (nbytes)
            memset(to, value, nbytes);
        return cudaSuccess;
    });
}

/* While one of its streams is captured, waiting for a device is an error, and ends the capture too. */
cudaError_t cudaDeviceSynchronize()
{
    Lock lock(guard);
    bool captures = false;
    for (cudaStream_t stream : streams())
        if (stream->device == chosen_device() && stream->capture)
            captures = stream->capture->invalid = true;
    return captures ? cudaErrorStreamCaptureUnsupported : finish_device(chosen_device());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    Lock lock(guard);
    *stream = new (std::nothrow)
        CUstream_st{chosen_device(), !(flags & cudaStreamNonBlocking), {}, nullptr, cudaSuccess};
    if (!*stream)
        return cudaErrorMemoryAllocation;
    streams().push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    Lock lock(guard);
    if (!stream || !exists(stream))
        return cudaErrorInvalidResourceHandle;
    finish(stream); /* CUDA lets it run on; here nobody would ask for it any more */
    streams().erase(std::find(streams().begin(), streams().end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    Lock lock(guard);
    if (!exists(stream))
        return cudaErrorInvalidResourceHandle;
    if (!stream)
        return finish_streams(chosen_device(), true);
    if (!stream->capture)
        return finish(stream);
    stream->capture->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    Lock lock(guard);
    if (!exists(stream))
        return cudaErrorInvalidResourceHandle;
    if (stream && stream->capture) {
        stream->capture->invalid = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    return !stream || stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = new CUevent_st{std::make_shared<EventState>(), nullptr, nullptr};
    (*event)->state->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    Lock lock(guard);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    Lock lock(guard);
    if (!usable(stream))
        return cudaErrorInvalidResourceHandle;
    event->stream = stream;
    event->capture = stream ? stream->capture : nullptr;
    if (event->capture)
        return cudaSuccess; /* the graph keeps the order of recording anyway */
    event->state->recorded++;
    return put(stream, [state = event->state] {
        state->time = std::chrono::steady_clock::now();
        state->done++;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    Lock lock(guard);
    if (!exists(stream))
        return cudaErrorInvalidResourceHandle;
    if (event->capture) { /* the waiting stream joins the capture */
        if (!stream || (stream->capture && stream->capture != event->capture))
            return cudaErrorStreamCaptureUnsupported;
        if (!stream->capture) {
            finish(stream);
            event->capture->streams.push_back(stream);
        }
        stream->capture = event->capture;
        return cudaSuccess;
    }
    if (stream && stream->capture)
        return cudaErrorStreamCaptureUnsupported; /* of what happens outside */
    auto wait = [state = event->state, recorded = event->state->recorded, other = event->stream] {
        wait_for(*state, recorded, other);
        return cudaSuccess;
    };
    if (!stream)
        return wait();
    stream->queue.emplace_back(wait);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    Lock lock(guard);
    if (event->capture)
        return cudaErrorStreamCaptureUnsupported;
    wait_for(*event->state, event->state->recorded, event->stream);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    Lock lock(guard);
    if (event->capture)
        return cudaErrorStreamCaptureUnsupported;
    return event->state->done == event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    Lock lock(guard);
    const EventState &first = *begin->state, &last = *end->state;
    if (!first.recorded || !last.recorded || !first.timed || !last.timed)
        return cudaErrorInvalidResourceHandle;
    if (first.done != first.recorded || last.done != last.recorded)
        return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(last.time - first.time).count();
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    Lock lock(guard);
    if (!stream || !exists(stream)) /* the legacy default stream cannot be captured */
        return cudaErrorStreamCaptureUnsupported;
    if (stream->capture)
        return cudaErrorIllegalState;
    cudaError_t error = finish(stream);
    if (error != cudaSuccess)
        return error;
    stream->capture = new CUgraph_st{{}, {stream}, false};
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    Lock lock(guard);
    if (!stream || !exists(stream) || !stream->capture || stream->capture->streams.front() != stream)
        return cudaErrorIllegalState;
    *graph = stream->capture;
    for (cudaStream_t each : (*graph)->streams)
        if (exists(each))
            each->capture = nullptr;
    if (!(*graph)->invalid)
        return cudaSuccess;
    delete std::exchange(*graph, nullptr);
    return cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (nodes)
        return cudaErrorInvalidValue; /* only their number is known here */
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    *executable = new CUgraphExec_st{std::make_shared<std::vector<Work>>(graph->nodes)};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    Lock lock(guard);
    return put(stream, [nodes = executable->nodes] {
        for (const Work &work : *nodes) {
            cudaError_t error = work();
            if (error != cudaSuccess)
                return error;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    delete executable;
    return cudaSuccess;
}
