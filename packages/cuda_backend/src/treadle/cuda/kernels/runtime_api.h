/* What the Python binding calls apart from arithmetic: devices, memory, copies, streams, events, graphs. Conventions
 * as in api.h. Every thread has a current device, and for each device a current stream, where its work goes; at
 * first that is the default stream. */
#ifndef TREADLE_CUDA_RUNTIME_API_H
#define TREADLE_CUDA_RUNTIME_API_H

#include <stdint.h>

enum { TD_TO_DEVICE, TD_TO_HOST, TD_ON_DEVICE };
enum { TD_OK = 0, TD_FAILED, TD_NO_MEMORY, TD_NO_KERNEL, TD_CAPTURING, TD_WRONG_INDEX };

typedef struct {
    int64_t in_use;   /* bytes held by arrays, as rounded by the allocator */
    int64_t peak;     /* the most that in_use has been since it was reset */
    int64_t cached;   /* bytes kept for reuse */
    int64_t captured; /* bytes that graphs need, apart from arrays that live */
    int64_t blocks;   /* blocks held by arrays */
    int64_t obtained; /* how often the device was asked for memory */
} td_cuda_statistics;

typedef struct td_cuda_pool td_cuda_pool;
typedef struct td_cuda_stream td_cuda_stream;
typedef struct td_cuda_event td_cuda_event;
typedef struct td_cuda_graph td_cuda_graph;

/* Memory of a device, and the pool where it goes back to. */
typedef struct {
    void *memory;
    int64_t nbytes;
    int device;
    td_cuda_pool *pool;
} td_cuda_block;

#ifdef __cplusplus
extern "C" {
#endif

/* runtime.cu */
const char *td_cuda_error(void);
int td_cuda_device_count(int *count);
int td_cuda_use(int device);
int td_cuda_synchronize(void);
/* Copies wait until they are done, but for asynchronous ones from or to page-locked memory. */
int td_cuda_copy_bytes(void *to, const void *from, int64_t nbytes, int direction, int asynchronous);
int td_cuda_pinned_allocate(int64_t nbytes, void **memory);
void td_cuda_pinned_release(void *memory);

/* allocator.cu */
int td_cuda_allocate(int device, int64_t nbytes, td_cuda_block *block);
void td_cuda_release(const td_cuda_block *block);
int td_cuda_empty_cache(int device);
td_cuda_statistics td_cuda_memory(int device);
void td_cuda_reset_peak(int device);

/* streams.cu. A null stream is the default stream of the device. */
int td_cuda_stream_create(int device, td_cuda_stream **stream);
void td_cuda_stream_destroy(td_cuda_stream *stream); /* no block of its pool may be in use */
void td_cuda_stream_choose(int device, td_cuda_stream *stream);
int td_cuda_stream_synchronize(int device, td_cuda_stream *stream);
int td_cuda_stream_query(int device, td_cuda_stream *stream, int *done);
uintptr_t td_cuda_stream_handle(const td_cuda_stream *stream);
/* What is put on later from now on waits for what is on earlier by now. */
int td_cuda_stream_order(int device, td_cuda_stream *earlier, td_cuda_stream *later);
/* The same with a stream of another library, which is the earlier or the later one. Its handle is the address of a
 * stream, or 0 or 1 for the default stream, or 2 for the default stream of the thread. */
int td_cuda_stream_order_foreign(int device, uintptr_t handle, td_cuda_stream *stream, int foreign_first);

int td_cuda_event_create(int device, int timed, td_cuda_event **event);
void td_cuda_event_destroy(td_cuda_event *event);
int td_cuda_event_record(td_cuda_event *event, td_cuda_stream *stream);
int td_cuda_event_wait(td_cuda_event *event, td_cuda_stream *stream);
int td_cuda_event_synchronize(td_cuda_event *event);
int td_cuda_event_query(td_cuda_event *event, int *done);
int td_cuda_event_elapsed(td_cuda_event *begin, td_cuda_event *end, float *milliseconds);

/* graphs.cu. Between begin and end the calling thread's work on the device is recorded, not done, and its memory comes
 * from the graph's own pool. */
int td_cuda_graph_create(int device, td_cuda_graph **graph);
void td_cuda_graph_destroy(td_cuda_graph *graph); /* no block of its pool may be in use */
int td_cuda_graph_begin(td_cuda_graph *graph);
int td_cuda_graph_end(td_cuda_graph *graph, int keep);
/* key and counter are of the random numbers that the replay draws: their seed, and how far the generator has moved
 * since the capture began. */
int td_cuda_graph_replay(td_cuda_graph *graph, td_cuda_stream *stream, uint64_t key, uint64_t counter);
int64_t td_cuda_graph_nodes(const td_cuda_graph *graph);
int td_cuda_capturing(void);

#ifdef __cplusplus
}
#endif

#endif
