/* The part of the CUDA runtime that the kernels use, for the host: the same .cu sources compile with a C++ compiler
 * when this directory comes first on the include path.
 *
 * Blocks run one after the other; the threads of a block are fibres of one operating-system thread, so a run is
 * deterministic and a debugger steps through a kernel. What is checked: launch limits, barriers that not every thread
 * reaches, warp intrinsics whose named lanes do not arrive together, shared memory read before it is written (it starts
 * as all ones, which is NaN or -1, and in the reversed schedule as 0xA5). Work on a stream waits until somebody asks
 * for it, so that a missing wait between streams gives wrong results. Semantics: CUDA C++ Programming Guide, "Synchronization Functions", "Warp Shuffle
 * Functions", "Warp Vote Functions", "Atomic Functions". */
#ifndef TREADLE_EMULATION_CUDA_RUNTIME_H
#define TREADLE_EMULATION_CUDA_RUNTIME_H

#define TREADLE_EMULATION 1

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/* --- runtime ---------------------------------------------------------------------------------------------------- */
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorLaunchFailure = 719,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorIllegalState = 401,
};

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0, cudaEventDisableTiming = 2;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    void *attrs;
    unsigned numAttrs;
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaMalloc(void **pointer, size_t nbytes);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t nbytes, cudaStream_t stream);
cudaError_t cudaMallocHost(void **pointer, size_t nbytes);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGetLastError();
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

namespace emulation {

/* A kernel with its arguments: body(context) runs one thread. */
struct Call {
    void (*body)(void *context);
    void *context;
    void *(*copy)(const void *context);
    void (*release)(void *context);
};

/* Runs the call once for every thread of the grid: at once, or when it is the turn of the stream. */
cudaError_t launch(const cudaLaunchConfig_t &config, size_t parameter_bytes, const Call &call, const void *kernel);
cudaError_t set_dynamic_limit(const void *kernel, int nbytes);

/* What a test may set: bytes that a device has; the host allocation, counted from now, that fails; 0 for none. */
void set_memory_limit(size_t nbytes);
void fail_host_allocation(size_t count);

/* Reversed: blocks and threads run from the last to the first. A kernel without races gives the same results. */
void set_reversed(bool reversed);
bool reversed();

void barrier(const char *file, int line);

enum class Collective : uint8_t { shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all, sync };
uint64_t collective(Collective kind, unsigned mask, uint64_t value, unsigned operand, int width, const char *file,
                    int line);

/* The shared array of one declaration, the same for all threads of a block. */
void *shared_array(const void *declaration, size_t nbytes);
void *dynamic_shared();

template <class T> uint64_t to_word(T value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "the warp intrinsics move 4 or 8 bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

template <class T> T from_word(uint64_t word)
{
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class Body> Call call_of(Body &body)
{
    return {[](void *context) { (*static_cast<Body *>(context))(); }, &body,
            [](const void *context) -> void * { return new Body(*static_cast<const Body *>(context)); },
            [](void *context) { delete static_cast<Body *>(context); }};
}

} // namespace emulation

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments &&...arguments)
{
    auto launch = [&](Parameters... parameters) {
        auto body = [=] { kernel(parameters...); };
        constexpr size_t nbytes = (sizeof(Parameters) + ... + 0);
        return emulation::launch(*config, nbytes, emulation::call_of(body),
                                 reinterpret_cast<const void *>(kernel));
    };
    return launch(std::forward<Arguments>(arguments)...);
}

template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel *kernel, cudaFuncAttribute, int value)
{
    return emulation::set_dynamic_limit(reinterpret_cast<const void *>(kernel), value);
}

/* --- what kernels call -------------------------------------------------------------------------------------------- */
#define __syncthreads() ::emulation::barrier(__FILE__, __LINE__)

#define TD_WARP(kind, mask, value, operand, width) \
    ::emulation::collective(::emulation::Collective::kind, mask, value, operand, width, __FILE__, __LINE__)
#define TD_SHUFFLE(kind, mask, value, operand, width) \
    ::emulation::from_word<std::decay_t<decltype(value)>>( \
        TD_WARP(kind, mask, ::emulation::to_word(value), static_cast<unsigned>(operand), width))
#define __shfl_sync(mask, value, lane) TD_SHUFFLE(shuffle, mask, value, lane, warpSize)
#define __shfl_up_sync(mask, value, delta) TD_SHUFFLE(shuffle_up, mask, value, delta, warpSize)
#define __shfl_down_sync(mask, value, delta) TD_SHUFFLE(shuffle_down, mask, value, delta, warpSize)
#define __shfl_xor_sync(mask, value, lanes) TD_SHUFFLE(shuffle_xor, mask, value, lanes, warpSize)
#define __ballot_sync(mask, predicate) static_cast<unsigned>(TD_WARP(ballot, mask, (predicate) != 0, 0, warpSize))
#define __any_sync(mask, predicate) static_cast<int>(TD_WARP(any, mask, (predicate) != 0, 0, warpSize))
#define __all_sync(mask, predicate) static_cast<int>(TD_WARP(all, mask, (predicate) != 0, 0, warpSize))
#define __syncwarp() static_cast<void>(TD_WARP(sync, 0xFFFFFFFFu, 0, 0, warpSize))

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }

/* One fibre runs at a time, and none is interrupted: a plain read and write is atomic. */
template <class T> T atomicAdd(T *at, T value)
{
    T old = *at;
    *at = old + value;
    return old;
}

template <class T> T atomicMax(T *at, T value)
{
    T old = *at;
    *at = old < value ? value : old;
    return old;
}

template <class T> T atomicOr(T *at, T value)
{
    T old = *at;
    *at = old | value;
    return old;
}

template <class T> T atomicCAS(T *at, T expected, T value)
{
    T old = *at;
    if (old == expected)
        *at = value;
    return old;
}

#endif
