/* Streams and events. A stream is ordered against the device's default stream, as CUDA's blocking streams are; streams
 * among themselves only where an event is waited for. */
#include "pools.h"

struct td_cuda_event {
    cudaEvent_t handle;
    int device;
};

namespace td {

namespace {

thread_local td_cuda_stream *chosen_streams[MAX_DEVICES] = {};

cudaStream_t handle_of(const td_cuda_stream *stream) { return stream ? stream->handle : nullptr; }

int order(int device, cudaStream_t earlier, cudaStream_t later)
{
    OnDevice use(device);
    TD_TRY(use.status());
    cudaEvent_t event;
    TD_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cudaError_t error = cudaEventRecord(event, earlier);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(later, event, 0);
    cudaEventDestroy(event);
    return error == cudaSuccess ? TD_OK : fail(error, "the order of two streams");
}

} // namespace

td_cuda_stream *chosen_stream(int device)
{
    return device >= 0 && device < MAX_DEVICES ? chosen_streams[device] : nullptr;
}

cudaStream_t stream() { return handle_of(chosen_stream(current_device())); }

} // namespace td

int td_cuda_stream_create(int device, td_cuda_stream **stream)
{
    return td::guarded([&]() -> int {
        td::OnDevice use(device);
        TD_TRY(use.status());
        auto made = std::make_unique<td_cuda_stream>();
        made->device = device;
        TD_CHECK(cudaStreamCreateWithFlags(&made->handle, cudaStreamDefault));
        td::open_pool(made->pool, device, false);
        *stream = made.release();
        return TD_OK;
    });
}

void td_cuda_stream_destroy(td_cuda_stream *stream)
{
    td::OnDevice use(stream->device);
    cudaStreamSynchronize(stream->handle);
    td::close_pool(stream->pool);
    cudaStreamDestroy(stream->handle);
    delete stream;
}

void td_cuda_stream_choose(int device, td_cuda_stream *stream)
{
    if (device >= 0 && device < td::MAX_DEVICES)
        td::chosen_streams[device] = stream;
}

int td_cuda_stream_synchronize(int device, td_cuda_stream *stream)
{
    td::OnDevice use(device);
    TD_TRY(use.status());
    TD_CHECK(cudaStreamSynchronize(td::handle_of(stream)));
    return td::replayed_index_error();
}

int td_cuda_stream_query(int device, td_cuda_stream *stream, int *done)
{
    td::OnDevice use(device);
    TD_TRY(use.status());
    cudaError_t error = cudaStreamQuery(td::handle_of(stream));
    *done = error == cudaSuccess;
    if (error != cudaErrorNotReady)
        TD_CHECK(error);
    cudaGetLastError();
    return TD_OK;
}

uintptr_t td_cuda_stream_handle(const td_cuda_stream *stream)
{
    return reinterpret_cast<uintptr_t>(td::handle_of(stream));
}

int td_cuda_stream_order(int device, td_cuda_stream *earlier, td_cuda_stream *later)
{
    return earlier == later ? TD_OK : td::order(device, td::handle_of(earlier), td::handle_of(later));
}

int td_cuda_stream_order_foreign(int device, uintptr_t handle, td_cuda_stream *stream, int foreign_first)
{
    /* 1 is cudaStreamLegacy, the default stream here, and 2 cudaStreamPerThread, which is a handle as any other. */
    cudaStream_t foreign = handle == 1 ? nullptr : reinterpret_cast<cudaStream_t>(handle);
    cudaStream_t own = td::handle_of(stream);
    if (foreign == own)
        return TD_OK;
    return foreign_first ? td::order(device, foreign, own) : td::order(device, own, foreign);
}

int td_cuda_event_create(int device, int timed, td_cuda_event **event)
{
    return td::guarded([&]() -> int {
        td::OnDevice use(device);
        TD_TRY(use.status());
        auto made = std::make_unique<td_cuda_event>();
        made->device = device;
        TD_CHECK(cudaEventCreateWithFlags(&made->handle, timed ? cudaEventDefault : cudaEventDisableTiming));
        *event = made.release();
        return TD_OK;
    });
}

void td_cuda_event_destroy(td_cuda_event *event)
{
    cudaEventDestroy(event->handle);
    delete event;
}

int td_cuda_event_record(td_cuda_event *event, td_cuda_stream *stream)
{
    td::OnDevice use(event->device);
    TD_TRY(use.status());
    TD_CHECK(cudaEventRecord(event->handle, td::handle_of(stream)));
    return TD_OK;
}

int td_cuda_event_wait(td_cuda_event *event, td_cuda_stream *stream)
{
    td::OnDevice use(stream ? stream->device : event->device);
    TD_TRY(use.status());
    TD_CHECK(cudaStreamWaitEvent(td::handle_of(stream), event->handle, 0));
    return TD_OK;
}

int td_cuda_event_synchronize(td_cuda_event *event)
{
    TD_CHECK(cudaEventSynchronize(event->handle));
    return td::replayed_index_error();
}

int td_cuda_event_query(td_cuda_event *event, int *done)
{
    cudaError_t error = cudaEventQuery(event->handle);
    *done = error == cudaSuccess;
    if (error != cudaErrorNotReady)
        TD_CHECK(error);
    cudaGetLastError();
    return TD_OK;
}

int td_cuda_event_elapsed(td_cuda_event *begin, td_cuda_event *end, float *milliseconds)
{
    TD_CHECK(cudaEventElapsedTime(milliseconds, begin->handle, end->handle));
    return TD_OK;
}
