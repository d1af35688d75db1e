/* One product of a warpgroup, m64n128k16 of halves or m64n128k8 of TF32, with operands and descriptors that a test has laid out, and with one of the
 * steps left out, or something wrong done, that PTX forbids. Compiled by test_emulator_wgmma.py. */
#include "warpgroup.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace td;

constexpr int COLUMNS = 128;

enum Wrong {
    NOTHING,
    NO_COPY_WAIT,     /* cp.async.wait_group */
    NO_COPY_COMMIT,   /* cp.async.commit_group */
    NO_PROXY_FENCE,   /* fence.proxy.async */
    NO_FENCE,         /* wgmma.fence */
    NO_COMMIT,        /* wgmma.commit_group */
    NO_WAIT,          /* wgmma.wait_group before the end */
    READ_EARLY,       /* the sums are read before the wait */
    WRITE_EARLY,      /* the sums are written before the wait */
    OVERWRITE,        /* the operands are written before the wait */
    ONE_WARP_LESS,    /* three warps of the warpgroup issue the product */
    OTHER_DESCRIPTOR, /* one thread has another descriptor */
    LATE_PROXY_FENCE, /* after the barrier: the fence is not the other threads' */
    UNALIGNED_COPY,   /* a copy of 16 bytes to a multiple of 8 */
};

template <class Kind, bool X_INNER, bool Y_INNER>
__global__ void product_kernel(const char *image, int nbytes, uint64_t x, uint64_t y, const float *before, float *out,
                               int wrong)
{
    TD_DYNAMIC_SHARED(char, shared);
    char *aligned = shared + (1024 - shared_address(shared) % 1024) % 1024;
    const int thread = static_cast<int>(threadIdx.x);
    for (int at = 16 * thread; at < nbytes; at += 16 * WARPGROUP)
        copy_async(aligned + at + (wrong == UNALIGNED_COPY ? 8 : 0), image + at, 16);
    if (wrong != NO_COPY_COMMIT)
        commit_copies();
    if (wrong != NO_COPY_WAIT)
        wait_for_copies<0>();
    if (wrong != NO_PROXY_FENCE && wrong != LATE_PROXY_FENCE)
        publish_copies();
    __syncthreads();
    if (wrong == LATE_PROXY_FENCE && thread == 0)
        publish_copies();
    float sums[COLUMNS / 2];
    for (int i = 0; i < COLUMNS / 2; i++)
        sums[i] = before[thread * (COLUMNS / 2) + i];
    if (wrong == ONE_WARP_LESS && thread / 32 == 2)
        return;
    if (wrong != NO_FENCE)
        begin_products();
    const uint64_t base = shared_address(aligned) >> 4;
    multiply_async<Kind, COLUMNS, X_INNER, Y_INNER>(sums, x + base + (wrong == OTHER_DESCRIPTOR && thread == 9), y + base);
    if (wrong != NO_COMMIT)
        commit_products();
    if (wrong == OVERWRITE)
        copy_async(aligned + 16 * thread, image, 0);
    if (wrong == READ_EARLY)
        for (int i = 0; i < COLUMNS / 2; i++)
            out[thread * (COLUMNS / 2) + i] = sums[i];
    if (wrong == WRITE_EARLY)
        sums[5] = 1.0f;
    if (wrong != NO_WAIT)
        wait_for_products<0>();
    if (wrong != READ_EARLY)
        for (int i = 0; i < COLUMNS / 2; i++)
            out[thread * (COLUMNS / 2) + i] = sums[i];
}

EXPORT const char *last_failure() { return cudaGetErrorString(cudaErrorLaunchFailure); }
EXPORT const char *error_name(int error) { return cudaGetErrorName(static_cast<cudaError_t>(error)); }
EXPORT void set_reversed(int reversed) { emulation::set_reversed(reversed != 0); }

/* limit: what the kernel asks for with cudaFuncSetAttribute, unless it is 0. */
EXPORT int product(const char *image, int nbytes, uint64_t x, uint64_t y, int x_inner, int y_inner, const float *before,
                   float *out, int wrong, int limit, int tf32)
{
    using Half = Halves<Float16>;
    const auto halves = x_inner ? (y_inner ? product_kernel<Half, true, true> : product_kernel<Half, true, false>)
                                : (y_inner ? product_kernel<Half, false, true> : product_kernel<Half, false, false>);
    const auto kernel = tf32 ? product_kernel<Tf32, true, true> : halves;
    if (limit) {
        const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limit);
        if (error != cudaSuccess)
            return error;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = WARPGROUP;
    config.dynamicSmemBytes = static_cast<size_t>(nbytes) + 1024;
    return cudaLaunchKernelEx(&config, kernel, image, nbytes, x, y, before, out, wrong);
}

/* Groups of copies, and copies of less than 16 bytes: what of two has arrived after a wait that leaves one group. */
__global__ void groups_kernel(const int *from, int *out, int left)
{
    TD_SHARED(int, shared, [8]);
    for (int i = 0; i < 8; i++)
        shared[i] = -1;
    copy_async(&shared[0], from, 16);
    commit_copies();
    copy_async(&shared[4], from + 4, 6);
    commit_copies();
    if (left)
        wait_for_copies<1>();
    else
        wait_for_copies<0>();
    for (int i = 0; i < 8; i++)
        out[i] = shared[i];
}
EXPORT int groups(const int *from, int *out, int left)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = 1;
    return cudaLaunchKernelEx(&config, groups_kernel, from, out, left);
}

/* The descriptors that the kernels make. */
EXPORT uint64_t descriptor(int inner, uint32_t address, int lines)
{
    return inner ? describe<true>(address, lines) : describe<false>(address, lines);
}
EXPORT int swizzled_place(int line, int chunk) { return swizzled(line, chunk); }
