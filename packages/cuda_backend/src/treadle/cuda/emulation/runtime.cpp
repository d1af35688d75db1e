/* Memory, errors and devices of the emulated runtime: one device, whose memory is the host's. Work is done at once, so
 * streams are in order and there is nothing to wait for. */
#include "cuda_runtime.h"

#include <cstdlib>
#include <string>

namespace emulation {

std::string failure;

} // namespace emulation

namespace {

constexpr size_t ALIGNMENT = 256; /* what cudaMalloc promises */

} // namespace

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaMalloc(void **pointer, size_t nbytes)
{
    if (nbytes > size_t{1} << 46)
        return cudaErrorMemoryAllocation;
#ifdef __SANITIZE_ADDRESS__
    /* aligned_alloc wants a multiple of the alignment, which would hide an overrun behind the end. */
    return posix_memalign(pointer, ALIGNMENT, nbytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
#else
    size_t padded = (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *pointer = aligned_alloc(ALIGNMENT, padded);
    return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
#endif
}

cudaError_t cudaFree(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind, cudaStream_t)
{
    if (nbytes)
        memcpy(to, from, nbytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t nbytes, cudaStream_t)
{
    if (nbytes)
        memset(to, value, nbytes);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaGetLastError() { return cudaSuccess; }

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    }
    return "unknown error";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorLaunchFailure: return emulation::failure.c_str();
    }
    return "unknown error";
}
