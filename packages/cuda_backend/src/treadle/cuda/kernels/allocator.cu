/* The caching allocator of device memory. cudaMalloc and cudaFree wait for the whole device, so freed blocks are
 * kept, by size class, in the pool of the stream they were allocated on, and handed out there again: in order on one
 * stream, a block can be reused at once. Size classes: multiples of 512 bytes up to 4 KB, then eight to an octave, so
 * at most an eighth is lost. When the device has no memory left, the caches are emptied and it is asked again.
 *
 * What is allocated while a graph is captured comes from the graph's own pool, which keeps it as long as the graph
 * lives: every replay writes there. TREADLE_CUDA_CACHE=0 keeps nothing else and rounds nothing, so that a memory checker
 * sees each array's true bounds. */
#include "pools.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace td {

namespace {

constexpr int64_t GRAIN = 512;
constexpr int64_t SMALL = 4096;
constexpr int64_t WORD = 4; /* atomics on narrow types work on whole words */

struct DeviceMemory {
    td_cuda_pool default_pool;
    std::vector<td_cuda_pool *> pools;
    td_cuda_statistics statistics = {};
};

DeviceMemory &memory_of(int device)
{
    static auto *all = new std::map<int, DeviceMemory>; /* arrays may outlive static objects */
    DeviceMemory &found = (*all)[device];
    if (found.pools.empty()) {
        found.default_pool.device = device;
        found.pools.push_back(&found.default_pool);
    }
    return found;
}

bool caching()
{
    static const bool on = [] {
        const char *setting = getenv("TREADLE_CUDA_CACHE");
        return !setting || strcmp(setting, "0") != 0;
    }();
    return on;
}

int64_t rounded(int64_t nbytes)
{
    int64_t grain = GRAIN;
    if (!caching())
        grain = WORD;
    else
        for (int64_t octave = SMALL; octave < nbytes; octave *= 2)
            grain = octave / 8;
    return nbytes > 0 ? ceil_div(nbytes, grain) * grain : grain;
}

/* Gives the free blocks of a pool back; cudaFree waits for work that still uses them. */
cudaError_t empty(td_cuda_pool &pool, td_cuda_statistics &statistics)
{
    cudaError_t worst = cudaSuccess;
    int64_t &kept = pool.captured ? statistics.captured : statistics.cached;
    for (auto &[nbytes, blocks] : pool.free) {
        for (void *memory : blocks) {
            cudaError_t error = cudaFree(memory);
            worst = error != cudaSuccess ? error : worst;
        }
        kept -= nbytes * static_cast<int64_t>(blocks.size());
    }
    pool.free.clear();
    return worst;
}

cudaError_t empty_caches(DeviceMemory &memory)
{
    cudaError_t worst = cudaSuccess;
    for (td_cuda_pool *pool : memory.pools) {
        cudaError_t error = pool->captured ? cudaSuccess : empty(*pool, memory.statistics);
        worst = error != cudaSuccess ? error : worst;
    }
    return worst;
}

cudaError_t obtain(DeviceMemory &owner, int64_t nbytes, void **memory)
{
    owner.statistics.obtained++;
    cudaError_t error = cudaMalloc(memory, static_cast<size_t>(nbytes));
    if (error == cudaErrorMemoryAllocation && owner.statistics.cached > 0) {
        cudaGetLastError();
        empty_caches(owner);
        error = cudaMalloc(memory, static_cast<size_t>(nbytes));
    }
    return error;
}

int no_device_memory(const DeviceMemory &owner, int64_t nbytes)
{
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    cudaGetLastError();
    return fail_memory(nbytes, owner.statistics, static_cast<int64_t>(free), static_cast<int64_t>(total));
}

} // namespace

void open_pool(td_cuda_pool &pool, int device, bool captured)
{
    pool.device = device;
    pool.captured = captured;
    memory_of(device).pools.push_back(&pool);
}

void close_pool(td_cuda_pool &pool)
{
    DeviceMemory &memory = memory_of(pool.device);
    OnDevice use(pool.device);
    empty(pool, memory.statistics);
    for (td_cuda_pool *&each : memory.pools)
        if (each == &pool) {
            each = memory.pools.back();
            memory.pools.pop_back();
            break;
        }
}

} // namespace td

int td_cuda_allocate(int device, int64_t nbytes, td_cuda_block *block)
{
    return td::guarded([&]() -> int {
        td::DeviceMemory &memory = td::memory_of(device);
        td_cuda_pool *chosen = td::chosen_pool(device);
        td_cuda_pool &pool = chosen ? *chosen : memory.default_pool;
        int64_t size = td::rounded(nbytes);
        std::vector<void *> &blocks = pool.free[size];
        if (!blocks.empty()) {
            block->memory = blocks.back();
            blocks.pop_back();
            (pool.captured ? memory.statistics.captured : memory.statistics.cached) -= size;
        } else {
            TD_TRY(td_cuda_use(device));
            cudaError_t error = td::obtain(memory, size, &block->memory);
            if (error == cudaErrorMemoryAllocation)
                return td::no_device_memory(memory, size);
            TD_CHECK(error);
        }
        block->nbytes = size;
        block->device = device;
        block->pool = &pool;
        memory.statistics.in_use += size;
        memory.statistics.blocks++;
        if (memory.statistics.in_use > memory.statistics.peak)
            memory.statistics.peak = memory.statistics.in_use;
        return TD_OK;
    });
}

void td_cuda_release(const td_cuda_block *block)
{
    td_cuda_statistics &statistics = td::memory_of(block->device).statistics;
    td_cuda_pool &pool = *block->pool;
    statistics.in_use -= block->nbytes;
    statistics.blocks--;
    int status = TD_NO_MEMORY;
    if (td::caching() || pool.captured)
        status = td::guarded([&] {
            pool.free[block->nbytes].push_back(block->memory);
            (pool.captured ? statistics.captured : statistics.cached) += block->nbytes;
            return TD_OK;
        });
    if (status != TD_OK && !pool.captured) /* no memory to keep it by; what a graph writes to is better lost */
        cudaFree(block->memory);
}

int td_cuda_empty_cache(int device)
{
    return td::guarded([&]() -> int {
        TD_TRY(td_cuda_use(device));
        TD_CHECK(td::empty_caches(td::memory_of(device)));
        return TD_OK;
    });
}

td_cuda_statistics td_cuda_memory(int device)
{
    td_cuda_statistics statistics = {}; /* of a device that nothing was ever allocated on */
    td::guarded([&] {
        statistics = td::memory_of(device).statistics;
        return TD_OK;
    });
    return statistics;
}

void td_cuda_reset_peak(int device)
{
    td::guarded([&] {
        td_cuda_statistics &statistics = td::memory_of(device).statistics;
        statistics.peak = statistics.in_use;
        return TD_OK;
    });
}
