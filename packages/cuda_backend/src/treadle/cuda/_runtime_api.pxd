"""The functions of kernels/runtime_api.h."""

from libc.stdint cimport int64_t, uint64_t, uintptr_t

cdef extern from "runtime_api.h" nogil:
    enum:
        TD_OK
        TD_NO_MEMORY
        TD_CAPTURING
        TD_WRONG_INDEX
        TD_TO_DEVICE
        TD_TO_HOST
        TD_ON_DEVICE
    ctypedef struct td_cuda_statistics:
        int64_t in_use
        int64_t peak
        int64_t cached
        int64_t captured
        int64_t blocks
        int64_t obtained
    ctypedef struct td_cuda_pool:
        pass
    ctypedef struct td_cuda_stream:
        pass
    ctypedef struct td_cuda_event:
        pass
    ctypedef struct td_cuda_graph:
        pass
    ctypedef struct td_cuda_block:
        void *memory
        int64_t nbytes
        int device
        td_cuda_pool *pool

    const char *td_cuda_error()
    int td_cuda_device_count(int *count)
    int td_cuda_use(int device)
    int td_cuda_synchronize()
    int td_cuda_copy_bytes(void *to, const void *source, int64_t nbytes, int direction, int asynchronous)
    int td_cuda_pinned_allocate(int64_t nbytes, void **memory)
    void td_cuda_pinned_release(void *memory)
    int td_cuda_allocate(int device, int64_t nbytes, td_cuda_block *block)
    void td_cuda_release(const td_cuda_block *block)
    int td_cuda_empty_cache(int device)
    td_cuda_statistics td_cuda_memory(int device)
    void td_cuda_reset_peak(int device)
    int td_cuda_stream_create(int device, td_cuda_stream **stream)
    void td_cuda_stream_destroy(td_cuda_stream *stream)
    void td_cuda_stream_choose(int device, td_cuda_stream *stream)
    int td_cuda_stream_synchronize(int device, td_cuda_stream *stream)
    int td_cuda_stream_query(int device, td_cuda_stream *stream, int *done)
    uintptr_t td_cuda_stream_handle(const td_cuda_stream *stream)
    int td_cuda_stream_order(int device, td_cuda_stream *earlier, td_cuda_stream *later)
    int td_cuda_stream_order_foreign(int device, uintptr_t handle, td_cuda_stream *stream, int foreign_first)
    int td_cuda_event_create(int device, int timed, td_cuda_event **event)
    void td_cuda_event_destroy(td_cuda_event *event)
    int td_cuda_event_record(td_cuda_event *event, td_cuda_stream *stream)
    int td_cuda_event_wait(td_cuda_event *event, td_cuda_stream *stream)
    int td_cuda_event_synchronize(td_cuda_event *event)
    int td_cuda_event_query(td_cuda_event *event, int *done)
    int td_cuda_event_elapsed(td_cuda_event *begin, td_cuda_event *end, float *milliseconds)
    int td_cuda_graph_create(int device, td_cuda_graph **graph)
    void td_cuda_graph_destroy(td_cuda_graph *graph)
    int td_cuda_graph_begin(td_cuda_graph *graph)
    int td_cuda_graph_end(td_cuda_graph *graph, int keep)
    int td_cuda_graph_replay(td_cuda_graph *graph, td_cuda_stream *stream, uint64_t key, uint64_t counter)
    int64_t td_cuda_graph_nodes(const td_cuda_graph *graph)
    int td_cuda_capturing()
