/* Memory, errors and devices of the emulated runtime, whose device memory is the host's. TREADLE_EMULATED_DEVICES says
 * how many devices there are (1), TREADLE_EMULATED_MEMORY how many bytes each has. */
#include "internal.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

namespace emulation {

std::string failure;
std::recursive_mutex guard;

namespace {

constexpr size_t ALIGNMENT = 256; /* what cudaMalloc promises */
constexpr size_t UNLIMITED = size_t{1} << 46;
constexpr int MAX_DEVICES = 64;
constexpr size_t MAX_PARAMETER_BYTES = 4096;

struct Block {
    size_t nbytes;
    int device; /* -1: page-locked memory of the host */
};

size_t from_environment(const char *name, size_t otherwise)
{
    const char *setting = getenv(name);
    const long long value = setting ? atoll(setting) : 0;
    return value > 0 ? static_cast<size_t>(value) : otherwise;
}

size_t memory_limit = from_environment("TREADLE_EMULATED_MEMORY", UNLIMITED);
size_t in_use[MAX_DEVICES];
thread_local int device_of_thread = 0;
std::map<const void *, size_t> dynamic_limits; /* of kernels that asked for more than others have */

std::map<const void *, Block> &blocks()
{
    static auto *all = new std::map<const void *, Block>; /* outlives the arrays of an interpreter that ends */
    return *all;
}

int device_count()
{
    static const size_t count = from_environment("TREADLE_EMULATED_DEVICES", 1);
    return static_cast<int>(std::min<size_t>(count, MAX_DEVICES));
}

cudaError_t obtain(void **pointer, size_t nbytes, int device)
{
#ifdef __SANITIZE_ADDRESS__
    const size_t padded = nbytes; /* whole multiples of the alignment would hide an overrun behind the end */
#else
    const size_t padded = (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
#endif
    if (padded > UNLIMITED || posix_memalign(pointer, ALIGNMENT, padded) != 0)
        return cudaErrorMemoryAllocation;
    try {
        blocks()[*pointer] = {nbytes, device};
    } catch (const std::bad_alloc &) {
        free(*pointer);
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

cudaError_t give_back(void *pointer, bool pinned)
{
    auto found = blocks().find(pointer);
    if (found == blocks().end() || (found->second.device < 0) != pinned)
        return cudaErrorInvalidValue;
    if (!pinned)
        in_use[found->second.device] -= found->second.nbytes;
    blocks().erase(found);
    free(pointer);
    return cudaSuccess;
}

/* Work that still uses memory comes before the memory goes. */
void finish_all()
{
    for (int device = 0; device < device_count(); device++)
        finish_device(device);
}

} // namespace

int chosen_device() { return device_of_thread; }

bool is_pinned(const void *memory)
{
    auto after = blocks().upper_bound(memory);
    if (after == blocks().begin())
        return false;
    const auto &[begin, block] = *--after;
    return block.device < 0 && static_cast<const char *>(memory) < static_cast<const char *>(begin) + block.nbytes;
}

void set_memory_limit(size_t nbytes) { memory_limit = nbytes ? nbytes : UNLIMITED; }

/* Of the technical specifications, for every compute capability from 7.5 on. */
bool within_limits(const cudaLaunchConfig_t &config, size_t parameter_bytes, const void *kernel)
{
    const auto asked = dynamic_limits.find(kernel);
    const size_t dynamic_limit = asked == dynamic_limits.end() ? MAX_SHARED_BYTES : asked->second;
    const dim3 &grid = config.gridDim, &block = config.blockDim;
    size_t count = size_t{block.x} * block.y * block.z;
    return count > 0 && count <= MAX_THREADS && block.z <= 64 && grid.x > 0 && grid.x <= 0x7FFFFFFFu && grid.y > 0 &&
           grid.y <= 65535 && grid.z > 0 && grid.z <= 65535 && config.dynamicSmemBytes <= dynamic_limit &&
           parameter_bytes <= MAX_PARAMETER_BYTES;
}

cudaError_t set_dynamic_limit(const void *kernel, int nbytes)
{
    if (nbytes < 0 || static_cast<size_t>(nbytes) > MAX_DYNAMIC_BYTES)
        return cudaErrorInvalidValue;
    std::lock_guard<std::recursive_mutex> lock(guard);
    dynamic_limits[kernel] = std::max(static_cast<size_t>(nbytes), MAX_SHARED_BYTES);
    return cudaSuccess;
}

} // namespace emulation

using namespace emulation;
using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = device_count();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= device_count())
        return cudaErrorInvalidDevice;
    device_of_thread = device;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t nbytes)
{
    Lock lock(guard);
    const int device = device_of_thread;
    if (nbytes > memory_limit || in_use[device] > memory_limit - nbytes)
        return cudaErrorMemoryAllocation;
    cudaError_t error = obtain(pointer, nbytes, device);
    if (error == cudaSuccess)
        in_use[device] += nbytes;
    return error;
}

cudaError_t cudaFree(void *pointer)
{
    Lock lock(guard);
    finish_all();
    return pointer ? give_back(pointer, false) : cudaSuccess;
}

cudaError_t cudaMallocHost(void **pointer, size_t nbytes)
{
    Lock lock(guard);
    return obtain(pointer, nbytes, -1);
}

cudaError_t cudaFreeHost(void *pointer)
{
    Lock lock(guard);
    finish_all();
    return pointer ? give_back(pointer, true) : cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    Lock lock(guard);
    *total = memory_limit;
    *free = memory_limit - std::min(memory_limit, in_use[device_of_thread]);
    return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

namespace {

struct Description {
    cudaError_t error;
    const char *name, *text;
};

#define DESCRIBE(error, text) {error, #error, text}
constexpr Description DESCRIPTIONS[] = {
    DESCRIBE(cudaSuccess, "no error"),
    DESCRIBE(cudaErrorInvalidValue, "invalid argument"),
    DESCRIBE(cudaErrorMemoryAllocation, "out of memory"),
    DESCRIBE(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    DESCRIBE(cudaErrorInvalidDevice, "invalid device ordinal"),
    DESCRIBE(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    DESCRIBE(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    DESCRIBE(cudaErrorNotReady, "device not ready"),
    DESCRIBE(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    DESCRIBE(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    DESCRIBE(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
};

} // namespace

const char *cudaGetErrorName(cudaError_t error)
{
    for (const Description &each : DESCRIPTIONS)
        if (each.error == error)
            return each.name;
    return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "unknown error";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (const Description &each : DESCRIPTIONS)
        if (each.error == error)
            return each.text;
    return error == cudaErrorLaunchFailure ? failure.c_str() : "unknown error";
}
