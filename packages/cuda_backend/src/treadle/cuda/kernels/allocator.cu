/* The caching allocator of device memory. cudaMalloc and cudaFree wait for the whole device, so freed blocks are
 * kept, by device and size class, and handed out again: in order on one stream, a block can be reused at once. Size
 * classes: multiples of 512 bytes up to 4 KB, then eight to an octave, so at most an eighth is lost. When the device
 * has no memory left, the cache is emptied and asked again. TREADLE_CUDA_CACHE=0 keeps nothing and rounds nothing,
 * so that a memory checker sees each array's true bounds. */
#include "runtime.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

namespace td {

namespace {

constexpr int64_t GRAIN = 512;
constexpr int64_t SMALL = 4096;
constexpr int64_t WORD = 4; /* atomics on narrow types work on whole words */

struct Pool {
    std::unordered_map<int64_t, std::vector<void *>> free;
    td_cuda_statistics statistics = {};
};

Pool &pool(int device)
{
    static std::map<int, Pool> pools;
    return pools[device];
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

cudaError_t empty(Pool &pool)
{
    cudaError_t worst = cudaSuccess;
    for (auto &[nbytes, blocks] : pool.free)
        for (void *memory : blocks) {
            cudaError_t error = cudaFree(memory);
            worst = error != cudaSuccess ? error : worst;
        }
    pool.free.clear();
    pool.statistics.cached = 0;
    return worst;
}

cudaError_t obtain(Pool &pool, int64_t nbytes, void **memory)
{
    pool.statistics.obtained++;
    cudaError_t error = cudaMalloc(memory, static_cast<size_t>(nbytes));
    if (error == cudaErrorMemoryAllocation && pool.statistics.cached > 0) {
        cudaGetLastError();
        empty(pool);
        error = cudaMalloc(memory, static_cast<size_t>(nbytes));
    }
    return error;
}

} // namespace

} // namespace td

int td_cuda_allocate(int device, int64_t nbytes, void **memory)
{
    return td::guarded([&]() -> int {
        td::Pool &pool = td::pool(device);
        int64_t size = td::rounded(nbytes);
        std::vector<void *> &blocks = pool.free[size];
        if (!blocks.empty()) {
            *memory = blocks.back();
            blocks.pop_back();
            pool.statistics.cached -= size;
        } else {
            TD_TRY(td_cuda_use(device));
            TD_CHECK(td::obtain(pool, size, memory));
        }
        pool.statistics.in_use += size;
        pool.statistics.blocks++;
        if (pool.statistics.in_use > pool.statistics.peak)
            pool.statistics.peak = pool.statistics.in_use;
        return TD_OK;
    });
}

void td_cuda_release(int device, void *memory, int64_t nbytes)
{
    td::Pool &pool = td::pool(device); /* there since the block was allocated */
    int64_t size = td::rounded(nbytes);
    pool.statistics.in_use -= size;
    pool.statistics.blocks--;
    if (!td::caching()) {
        cudaFree(memory);
        return;
    }
    int status = td::guarded([&] {
        pool.free[size].push_back(memory);
        pool.statistics.cached += size;
        return TD_OK;
    });
    if (status != TD_OK)
        cudaFree(memory); /* no memory to keep it by */
}

int td_cuda_empty_cache(int device)
{
    return td::guarded([&]() -> int {
        TD_TRY(td_cuda_use(device));
        TD_CHECK(td::empty(td::pool(device)));
        return TD_OK;
    });
}

td_cuda_statistics td_cuda_memory(int device)
{
    td_cuda_statistics statistics = {}; /* of a device that nothing was ever allocated on */
    td::guarded([&] {
        statistics = td::pool(device).statistics;
        return TD_OK;
    });
    return statistics;
}
