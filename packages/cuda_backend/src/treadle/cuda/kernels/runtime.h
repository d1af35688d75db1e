/* What all kernel files share on the host side: errors, launches, scratch memory. */
#ifndef TREADLE_CUDA_RUNTIME_H
#define TREADLE_CUDA_RUNTIME_H

#include <cuda_runtime.h>

#include <new>
#include <type_traits>
#include <utility>

#include "api.h"

#define TD_DEVICE __device__ __forceinline__

#ifdef TREADLE_EMULATION
#define TD_CALLED __attribute__((noinline))
#define TD_UNROLL _Pragma("GCC unroll 16")
#define TD_ROLLED _Pragma("GCC unroll 1")
/* An array of shared memory: TD_SHARED(float, tile, [16][17]). */
#define TD_SHARED(type, name, extents) \
    typedef type name##_array extents; \
    static const char name##_declaration = 0; \
    void *name##_memory = ::emulation::shared_array(&name##_declaration, sizeof(name##_array)); \
    name##_array &name = *static_cast<name##_array *>(name##_memory)
/* The shared memory whose size the launch names. */
#define TD_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(::emulation::dynamic_shared())
#else
#define TD_CALLED __device__ __noinline__
#define TD_UNROLL _Pragma("unroll")
#define TD_ROLLED _Pragma("unroll 1") /* where copies of a long body would cost registers */
#define TD_SHARED(type, name, extents) __shared__ type name extents
#define TD_DYNAMIC_SHARED(type, name) \
    extern __shared__ __align__(16) unsigned char td_dynamic_shared[]; \
    type *name = reinterpret_cast<type *>(td_dynamic_shared)
#endif

namespace td {

/* Threads of a block, for every kernel that has no reason for another number. */
constexpr int BLOCK = 256;

/* Blocks of a grid at most, for kernels that loop: enough to fill any device many times over. */
int64_t max_blocks();

/* The stream that work is put on: the calling thread's current one on the current device. */
cudaStream_t stream();

/* Whether TREADLE_CUDA_SYNCHRONOUS=1 asks to wait after every launch, so that an error names the kernel that made it. */
bool synchronous();

/* The device that td_cuda_use named last. */
int current_device();

/* Note the failure's text and return its status. */
int fail(cudaError_t error, const char *what);
int fail_launch(cudaError_t error, const char *kernel, dim3 blocks, dim3 threads);
int no_kernel(const char *family, int op, int dtype);
int no_host_memory();
/* text with the index for "{}", and more behind it. */
int wrong_index(const char *text, int64_t index, const char *more);

/* graphs.cu: fails once where a replay has met an index out of range. */
int replayed_index_error();

/* Run what may ask for host memory and returns a status: no exception may leave a C function. */
template <class Work> int guarded(Work &&work)
{
    try {
        return work();
    } catch (const std::bad_alloc &) {
        return no_host_memory();
    }
}

__host__ __device__ inline int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

inline int64_t size_of(const td_view &view)
{
    int64_t size = 1;
    for (int axis = 0; axis < view.ndim; axis++)
        size *= view.shape[axis];
    return size;
}

/* Bytes of an element. */
inline int item_size(int dtype)
{
    switch (dtype) {
#define TD_CASE(suffix, ctype, ...) \
    case TD_##suffix: return sizeof(ctype);
        TD_TYPES_ALL(TD_CASE, )
        TD_TYPES_HALF(TD_CASE, )
        TD_TYPES_COMPLEX(TD_CASE, )
#undef TD_CASE
    default: return 0;
    }
}

/* Of shared memory that a launch asks for: more than this only where the kernel is told so. */
constexpr size_t USUAL_SHARED_BYTES = 48 << 10;

template <class... Parameters, class... Arguments>
int launch(const char *name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, size_t shared,
           Arguments &&...arguments)
{
    if (shared > USUAL_SHARED_BYTES) {
        cudaError_t refused =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
        if (refused != cudaSuccess)
            return fail_launch(refused, name, blocks, threads);
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    config.stream = stream();
    cudaError_t error = cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
    if (error == cudaSuccess && synchronous() && !td_cuda_capturing())
        error = cudaStreamSynchronize(config.stream);
    return error == cudaSuccess ? TD_OK : fail_launch(error, name, blocks, threads);
}

/* Device memory for the time of one call. Work is in order on the stream, so the block may go back to the allocator as
 * soon as the last kernel that uses it is launched. */
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    ~Scratch();
    int reserve(int64_t nbytes);
    char *memory() const { return static_cast<char *>(block_.memory); }

private:
    td_cuda_block block_ = {};
};

} // namespace td

/* Leave the function with the status of a failed call. */
#define TD_TRY(call) \
    do { \
        int td_status = (call); \
        if (td_status != TD_OK) \
            return td_status; \
    } while (0)

#define TD_CHECK(call) \
    do { \
        cudaError_t td_error = (call); \
        if (td_error != cudaSuccess) \
            return ::td::fail(td_error, #call); \
    } while (0)

/* The one way to start a kernel. The last arguments are the kernel's; the kernel's name goes into the error. */
#define TD_LAUNCH(kernel, blocks, threads, ...) TD_LAUNCH_SHARED(kernel, blocks, threads, 0, __VA_ARGS__)
/* The same with bytes of dynamic shared memory. */
#define TD_LAUNCH_SHARED(kernel, blocks, threads, shared, ...) \
    TD_TRY(::td::launch(#kernel, kernel, blocks, threads, shared, __VA_ARGS__))

#endif
