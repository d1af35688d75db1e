/* Kernels that do what the CUDA C++ Programming Guide says, and some that do what it forbids. They are compiled
 * behind the emulation header by test_emulator.py, and would compile with nvcc too. */
#include "runtime.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define ALL_LANES 0xFFFFFFFFu

template <class Kernel, class... Arguments> int start(Kernel kernel, dim3 blocks, dim3 threads, Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

EXPORT const char *last_failure() { return cudaGetErrorString(cudaErrorLaunchFailure); }
EXPORT const char *error_name(int error) { return cudaGetErrorName(static_cast<cudaError_t>(error)); }
EXPORT int is_reversed() { return emulation::reversed(); }
EXPORT void set_reversed(int reversed) { emulation::set_reversed(reversed != 0); }

/* --- indices --- */
__global__ void number_kernel(int *out)
{
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = block * threads + thread;
}
EXPORT int number(int *out) { return start(number_kernel, dim3(2, 3, 2), dim3(4, 2, 3), out); }
EXPORT int number_with(int *out, int blocks_x, int blocks_y, int threads_x, int threads_z)
{
    return start(number_kernel, dim3(blocks_x, blocks_y), dim3(threads_x, 1, threads_z), out);
}

/* --- barriers and shared memory --- */
__global__ void reverse_kernel(const int *x, int *out)
{
    TD_SHARED(int, shared, [256]);
    shared[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}
EXPORT int reverse(const int *x, int *out, int n) { return start(reverse_kernel, 1, n, x, out); }

__global__ void reverse_without_barrier_kernel(const int *x, int *out)
{
    TD_SHARED(int, shared, [256]);
    shared[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}
EXPORT int reverse_without_barrier(const int *x, int *out, int n)
{
    return start(reverse_without_barrier_kernel, 1, n, x, out);
}

/* A block must not see what the block before it left in shared memory. */
__global__ void unwritten_kernel(unsigned *out)
{
    TD_SHARED(unsigned, shared, [32]);
    out[blockIdx.x * 32 + threadIdx.x] = shared[threadIdx.x];
    shared[threadIdx.x] = 7;
}
EXPORT int unwritten(unsigned *out) { return start(unwritten_kernel, 2, 32, out); }

__global__ void dynamic_kernel(int *out)
{
    TD_DYNAMIC_SHARED(int, shared);
    shared[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}
EXPORT int dynamic(int *out, int n, int nbytes)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = n;
    config.dynamicSmemBytes = nbytes;
    return cudaLaunchKernelEx(&config, dynamic_kernel, out);
}

__global__ void too_much_shared_kernel(char *out)
{
    TD_SHARED(char, shared, [(48 << 10) + 1]);
    shared[threadIdx.x] = 1;
    *out = shared[threadIdx.x];
}
EXPORT int too_much_shared(char *out) { return start(too_much_shared_kernel, 1, 32, out); }

/* "allowed in conditional code but only if the conditional evaluates identically across the entire thread block" */
__global__ void divergent_kernel(int *out)
{
    if (threadIdx.x < 16)
        __syncthreads();
    out[threadIdx.x] = 1;
}
EXPORT int divergent(int *out) { return start(divergent_kernel, 1, 64, out); }

__global__ void two_barriers_kernel(int *out)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = 1;
}
EXPORT int two_barriers(int *out) { return start(two_barriers_kernel, 1, 64, out); }

__global__ void early_exit_kernel(int *out)
{
    if (threadIdx.x == 5)
        return;
    __syncthreads();
    out[threadIdx.x] = 1;
}
EXPORT int early_exit(int *out) { return start(early_exit_kernel, 1, 64, out); }

/* --- warps --- */
__global__ void shuffles_kernel(int *out)
{
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int value = 100 + thread;
    out[thread] = __shfl_sync(ALL_LANES, value, 3);
    out[threads + thread] = __shfl_up_sync(ALL_LANES, value, 2);
    out[2 * threads + thread] = __shfl_down_sync(ALL_LANES, value, 2);
    out[3 * threads + thread] = __shfl_xor_sync(ALL_LANES, value, 1);
}
EXPORT int shuffles(int *out) { return start(shuffles_kernel, 1, 64, out); }

__global__ void warp_sum_kernel(const double *x, double *out)
{
    double value = x[threadIdx.x];
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_down_sync(ALL_LANES, value, lanes);
    if (threadIdx.x == 0)
        *out = value;
}
EXPORT int warp_sum(const double *x, double *out) { return start(warp_sum_kernel, 1, 32, x, out); }

__global__ void votes_kernel(unsigned *out)
{
    const unsigned lane = threadIdx.x % 32;
    out[threadIdx.x * 3] = __ballot_sync(ALL_LANES, lane % 3 == 0);
    out[threadIdx.x * 3 + 1] = static_cast<unsigned>(__any_sync(ALL_LANES, lane == 40));
    out[threadIdx.x * 3 + 2] = static_cast<unsigned>(__all_sync(ALL_LANES, lane < 32));
    __syncwarp();
}
EXPORT int votes(unsigned *out) { return start(votes_kernel, 1, 64, out); }

/* Half a warp exchanges among itself while the other half does not take part. */
__global__ void half_warp_kernel(int *out)
{
    out[threadIdx.x] = -1;
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_xor_sync(0xFFFFu, static_cast<int>(threadIdx.x), 8);
}
EXPORT int half_warp(int *out) { return start(half_warp_kernel, 1, 32, out); }

/* "all non-exited threads named in mask must execute the same intrinsic with the same mask" */
__global__ void missing_lane_kernel(int *out)
{
    if (threadIdx.x != 7)
        out[threadIdx.x] = __shfl_sync(ALL_LANES, static_cast<int>(threadIdx.x), 0);
    __syncthreads();
}
EXPORT int missing_lane(int *out) { return start(missing_lane_kernel, 1, 32, out); }

/* Warps are not in step: without a barrier, one may run through its intrinsics to the end before another begins. */
__global__ void overtaking_kernel(int *out)
{
    TD_SHARED(int, shared, [1]);
    if (threadIdx.x == 0)
        shared[0] = 0;
    __syncthreads();
    const int seen = shared[0];
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        shared[0] = 1 + static_cast<int>(threadIdx.x / 32);
    out[threadIdx.x] = seen;
}
EXPORT int overtaking(int *out) { return start(overtaking_kernel, 1, 64, out); }

/* --- atomics --- */
__global__ void histogram_kernel(const int *x, int n, int *counts, int *largest)
{
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
        atomicAdd(&counts[x[i]], 1);
        atomicMax(largest, x[i]);
    }
}
EXPORT int histogram(const int *x, int n, int *counts, int *largest)
{
    return start(histogram_kernel, 3, 64, x, n, counts, largest);
}

__global__ void swap_kernel(int *at, int *old) { *old = atomicCAS(at, 5, 9); }
EXPORT int swap(int *at, int *old) { return start(swap_kernel, 1, 1, at, old); }

struct Large {
    char bytes[4097];
};
__global__ void large_parameter_kernel(Large large, char *out) { *out = large.bytes[0]; }
EXPORT int large_parameter(char *out) { return start(large_parameter_kernel, 1, 1, Large{}, out); }

/* "atomicOr() reads the word old, computes (old | val), and stores the result; the function returns old", likewise Add */
__global__ void atomics_kernel(unsigned *bits, float *sum, unsigned *seen)
{
    const unsigned old = atomicOr(bits, 1u << threadIdx.x % 32);
    atomicOr(seen, old);
    atomicAdd(sum, 0.5f);
}
EXPORT int atomics(unsigned *bits, float *sum, unsigned *seen) { return start(atomics_kernel, 2, 48, bits, sum, seen); }

/* "If srcLane is outside the range [0:width-1], the value returned corresponds to the value held by srcLane % width" */
__global__ void far_shuffles_kernel(int *out)
{
    const int lane = static_cast<int>(threadIdx.x);
    out[lane] = __shfl_sync(ALL_LANES, lane, 35);
    out[32 + lane] = __shfl_up_sync(ALL_LANES, lane, 32);
    out[64 + lane] = __shfl_down_sync(ALL_LANES, lane, 31);
    const double wide = __shfl_xor_sync(ALL_LANES, 0.25 * lane, 31);
    out[96 + lane] = static_cast<int>(4 * wide);
}
EXPORT int far_shuffles(int *out) { return start(far_shuffles_kernel, 1, 32, out); }

/* "set for each thread of mask that is active and whose predicate is not zero": the exited ones count for none. */
__global__ void votes_of_some_kernel(unsigned *out)
{
    const unsigned lane = threadIdx.x;
    if (lane >= 24)
        return;
    out[3 * lane] = __ballot_sync(ALL_LANES, 1);
    out[3 * lane + 1] = static_cast<unsigned>(__all_sync(ALL_LANES, lane < 24));
    if (lane < 8)
        out[3 * lane + 2] = static_cast<unsigned>(__any_sync(0xFFu, lane == 7));
}
EXPORT int votes_of_some(unsigned *out) { return start(votes_of_some_kernel, 1, 32, out); }

/* Two intrinsics at once: the lanes of a mask must execute the same one. */
__global__ void crossed_kernel(int *out)
{
    if (threadIdx.x % 2)
        out[threadIdx.x] = __shfl_sync(ALL_LANES, 1, 0);
    else
        out[threadIdx.x] = static_cast<int>(__ballot_sync(ALL_LANES, 1));
}
EXPORT int crossed(int *out) { return start(crossed_kernel, 1, 32, out); }

/* Blocks follow each other in some order, and share nothing but memory. */
__global__ void block_order_kernel(int *counter, int *order)
{
    if (threadIdx.x == 0)
        order[atomicAdd(counter, 1)] = static_cast<int>(blockIdx.x);
}
EXPORT int block_order(int *counter, int *order) { return start(block_order_kernel, 4, 64, counter, order); }

/* Streams: what is put on one is done in order, and a wait for an event orders two. */
__global__ void append_kernel(int *count, int *out, int value) { out[atomicAdd(count, 1)] = value; }
static void append(cudaStream_t stream, int *count, int *out, int value)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = 1;
    config.stream = stream;
    cudaLaunchKernelEx(&config, append_kernel, count, out, value);
}
EXPORT int streams(int *count, int *out, int waits)
{
    cudaStream_t first, second;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDefault);
    for (int value = 0; value < 3; value++)
        append(first, count, out, value);
    cudaEventRecord(event, first);
    append(first, count, out, 3);
    if (waits)
        cudaStreamWaitEvent(second, event, 0);
    append(second, count, out, 10);
    const bool lazy = *count == 0 && cudaStreamQuery(first) == cudaErrorNotReady;
    cudaError_t error = cudaStreamSynchronize(second);
    error = error == cudaSuccess ? cudaDeviceSynchronize() : error;
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaEventDestroy(event);
    return lazy ? error : cudaErrorInvalidValue;
}

/* Waiting for a stream that is captured, or for its device, is refused and makes the graph void. */
bool is_void_after(cudaStream_t stream, cudaError_t (*wait)(cudaStream_t))
{
    cudaGraph_t recorded = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    const bool refused = wait(stream) == cudaErrorStreamCaptureUnsupported;
    return refused && cudaStreamEndCapture(stream, &recorded) == cudaErrorStreamCaptureInvalidated && !recorded;
}

/* A capture records and a launch of the graph does; the legacy default stream cannot be captured. */
EXPORT int graph(int *count, int *out)
{
    cudaStream_t stream;
    cudaGraph_t recorded;
    cudaGraphExec_t executable;
    if (cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed) != cudaErrorStreamCaptureUnsupported)
        return cudaErrorInvalidValue;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    const bool refused = is_void_after(stream, cudaStreamSynchronize) && is_void_after(stream, cudaStreamQuery) &&
                         is_void_after(stream, [](cudaStream_t) { return cudaDeviceSynchronize(); });
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    append(stream, count, out, 1);
    append(stream, count, out, 2);
    cudaStreamEndCapture(stream, &recorded);
    cudaGraphInstantiate(&executable, recorded, 0);
    cudaGraphDestroy(recorded);
    const bool nothing = *count == 0;
    cudaGraphLaunch(executable, nullptr);
    cudaGraphLaunch(executable, stream);
    cudaGraphExecDestroy(executable);
    cudaError_t error = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return refused && nothing ? error : cudaErrorInvalidValue;
}
