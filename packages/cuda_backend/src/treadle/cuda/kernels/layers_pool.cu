/* The maximum of windows, and its gradient.
 *
 * A thread finds one window's largest element; taps come in C order, so that the first of equal ones wins. The gradient
 * is added by one warp a plane, in the order of the places, so that it is the same on every device: of the 32 places at a
 * time the first lane of those with one index adds them all. */
#include "elements.h"
#include "index_checks.h"
#include "layers_api.h"
#include "layout.h"

namespace td {

namespace {

constexpr unsigned ALL_LANES = 0xFFFFFFFFu;
constexpr int WARPS = BLOCK / 32;

template <class T>
__global__ void max_pool_kernel(const __grid_constant__ td_cuda_pooling windows, const T *x, T *values,
                                int64_t *indices)
{
    using C = Computed<T>;
    const int64_t count = windows.places[0] * windows.places[1] * windows.places[2];
    const int64_t size = windows.length[0] * windows.length[1] * windows.length[2];
    for (int64_t i = first_index(); i < windows.planes * count; i += index_step()) {
        const int64_t plane = i / count, place = i - plane * count;
        const int64_t line = place / windows.places[2];
        const int64_t first[3] = {line / windows.places[1] * windows.stride[0] - windows.padding[0],
                                  line % windows.places[1] * windows.stride[1] - windows.padding[1],
                                  place % windows.places[2] * windows.stride[2] - windows.padding[2]};
        C best = static_cast<C>(-INFINITY);
        int64_t found = -1;
        for (int64_t a = 0; a < windows.kernel[0]; a++) {
            const int64_t depth = first[0] + a * windows.dilation[0];
            if (depth < 0 || depth >= windows.length[0])
                continue;
            for (int64_t b = 0; b < windows.kernel[1]; b++) {
                const int64_t height = first[1] + b * windows.dilation[1];
                if (height < 0 || height >= windows.length[1])
                    continue;
                for (int64_t c = 0; c < windows.kernel[2]; c++) {
                    const int64_t column = first[2] + c * windows.dilation[2];
                    if (column < 0 || column >= windows.length[2])
                        continue;
                    const int64_t at = (depth * windows.length[1] + height) * windows.length[2] + column;
                    const C value = static_cast<C>(x[plane * size + at]);
                    if (found < 0 || value > best || (value != value && best == best)) {
                        best = value;
                        found = at;
                    }
                }
            }
        }
        values[i] = T(best);
        indices[i] = found;
    }
}

/* What the lane has to add at its index: the sum of all lanes with that index, or nothing where an earlier one has it. */
template <class C> TD_DEVICE bool gather_equal(int64_t index, C value, C &sum)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    bool first = index >= 0;
    sum = C(0);
    for (int source = 0; source < 32; source++) {
        const int64_t other = __shfl_sync(ALL_LANES, index, source);
        const C more = __shfl_sync(ALL_LANES, value, source);
        first = first && (other != index || source >= lane);
        sum += other == index ? more : C(0);
    }
    return first;
}

template <class T>
__global__ void max_pool_gradient_kernel(int64_t planes, int64_t places, int64_t length, const T *gradient,
                                         const int64_t *indices, T *out, int64_t *wrong)
{
    using C = Computed<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int64_t plane = blockIdx.x * static_cast<int64_t>(WARPS) + threadIdx.x / 32; plane < planes;
         plane += gridDim.x * static_cast<int64_t>(WARPS)) {
        T *to = out + plane * length;
        for (int64_t i = lane; i < length; i += 32)
            to[i] = T(C(0));
        for (int64_t base = 0; base < places; base += 32) {
            const int64_t place = base + lane;
            int64_t index = place < places ? indices[plane * places + place] : -1;
            if (index >= length) {
                note_index(wrong, index);
                index = -1;
            }
            const C value = index >= 0 ? static_cast<C>(gradient[plane * places + place]) : C(0);
            C sum;
            __syncwarp(); /* what other lanes wrote at these indices */
            if (gather_equal(index, value, sum))
                to[index] = T(static_cast<C>(to[index]) + sum);
        }
    }
}

template <class T> int max_pool(const td_cuda_pooling &windows, const void *x, void *values, int64_t *indices)
{
    const int64_t size = windows.planes * windows.places[0] * windows.places[1] * windows.places[2];
    TD_LAUNCH(max_pool_kernel<T>, blocks_for(size), BLOCK, windows, static_cast<const T *>(x), static_cast<T *>(values),
              indices);
    return TD_OK;
}

template <class T>
int max_pool_gradient(int64_t planes, int64_t places, int64_t length, const void *gradient, const int64_t *indices,
                      void *out, int64_t *wrong)
{
    TD_LAUNCH(max_pool_gradient_kernel<T>, blocks_for(planes, WARPS), BLOCK, planes, places, length,
              static_cast<const T *>(gradient), indices, static_cast<T *>(out), wrong);
    return TD_OK;
}

int max_pool_gradient(int dtype, int64_t planes, int64_t places, int64_t length, const void *gradient,
                      const int64_t *indices, void *out, int64_t *wrong)
{
    switch (dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return max_pool_gradient<ctype>(planes, places, length, gradient, indices, out, wrong);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return no_kernel("max_pool gradient", 0, dtype);
    }
}

} // namespace

} // namespace td

int td_cuda_max_pool(const td_cuda_pooling *windows, const void *x, void *values, int64_t *indices)
{
    switch (windows->dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return td::max_pool<ctype>(*windows, x, values, indices);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return td::no_kernel("max_pool", 0, windows->dtype);
    }
}

int td_cuda_max_pool_gradient(int dtype, int64_t planes, int64_t places, int64_t length, const void *gradient,
                              const int64_t *indices, void *out, int *wrong)
{
    int64_t index;
    return td::launch_checked("max_pool_gradient: index {} is beyond its plane", wrong, &index, [&](int64_t *word) {
        return td::max_pool_gradient(dtype, planes, places, length, gradient, indices, out, word);
    });
}
