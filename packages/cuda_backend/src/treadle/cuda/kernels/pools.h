/* What streams, graphs and the allocator know of each other. */
#ifndef TREADLE_CUDA_POOLS_H
#define TREADLE_CUDA_POOLS_H

#include "runtime.h"

#include <memory>
#include <unordered_map>
#include <vector>

/* Free blocks by their size: of one stream, or of a graph that was captured. */
struct td_cuda_pool {
    int device = 0;
    bool captured = false;
    std::unordered_map<int64_t, std::vector<void *>> free;
};

struct td_cuda_stream {
    cudaStream_t handle;
    int device;
    td_cuda_pool pool;
};

namespace td {

constexpr int MAX_DEVICES = 64;

/* The calling thread's device, back after the time of one call. */
class OnDevice {
public:
    explicit OnDevice(int device);
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;
    ~OnDevice();
    int status() const { return status_; }

private:
    int before_, status_;
};

/* The current stream of the calling thread on a device; null for the default stream. */
td_cuda_stream *chosen_stream(int device);

/* Where the calling thread's memory of a device comes from; null for the default stream's pool. */
td_cuda_pool *chosen_pool(int device);

/* The graph that the calling thread is capturing, or null. */
td_cuda_graph *captured_graph();

/* Memory that lives as long as the graph, with a copy of the bytes; null where there is none. */
void *keep_constant(const void *bytes, int64_t nbytes);

/* Page-locked memory that nobody else needs goes with the graph that the calling thread captures; false without one. */
bool keep_with_graph(void *memory);

void open_pool(td_cuda_pool &pool, int device, bool captured);
void close_pool(td_cuda_pool &pool);

int fail_memory(int64_t nbytes, const td_cuda_statistics &statistics, int64_t free, int64_t total);

} // namespace td

#endif
