/* How a kernel walks over strided views. The host plans once a launch; a thread turns its number into byte offsets.
 *
 * A plan drops axes of length 1, orders the axes by the last view's strides (so that neighbouring threads write
 * neighbouring elements), turns reversed axes of that view round, and merges axes that lie in one row in every view.
 * Most plans end with one axis, for which an offset is one multiplication; all others divide axis by axis, in 32
 * bits where the size allows. A walk travels to the kernel by value and holds any number of axes up to TD_MAX_NDIM. */
#ifndef TREADLE_CUDA_LAYOUT_H
#define TREADLE_CUDA_LAYOUT_H

#include "runtime.h"

namespace td {

template <int N> struct Walk {
    int32_t ndim;   /* at least 1 */
    int32_t narrow; /* the size fits 32 bits */
    int64_t size;
    char *data[N];
    int64_t shape[TD_MAX_NDIM];
    int64_t strides[N][TD_MAX_NDIM];

    void append(const td_view *const (&views)[N], int axis, bool flip)
    {
        int64_t length = views[N - 1]->shape[axis];
        bool merges = ndim > 0;
        for (int n = 0; n < N; n++) {
            int64_t stride = views[n]->strides[axis];
            if (flip) {
                data[n] += stride * (length - 1);
                stride = -stride;
            }
            strides[n][ndim] = stride;
            merges = merges && strides[n][ndim - 1] == stride * length;
        }
        shape[ndim] = length;
        if (!merges) {
            ndim++;
            return;
        }
        shape[ndim - 1] *= length;
        for (int n = 0; n < N; n++)
            strides[n][ndim - 1] = strides[n][ndim];
    }

    void finish()
    {
        if (ndim == 0) {
            ndim = 1;
            shape[0] = 1;
            for (int n = 0; n < N; n++)
                strides[n][0] = 0;
        }
        size = 1;
        for (int axis = 0; axis < ndim; axis++)
            size *= shape[axis];
        narrow = size < (int64_t(1) << 31);
    }
};

__host__ __device__ inline int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

/* The walk over views of one shape, in an order of its own choice. */
template <int N> Walk<N> plan(const td_view *const (&views)[N])
{
    Walk<N> walk = {};
    const td_view &last = *views[N - 1];
    int axes[TD_MAX_NDIM];
    int count = 0;
    for (int axis = 0; axis < last.ndim; axis++) {
        if (last.shape[axis] == 1)
            continue;
        int place = count++;
        for (; place > 0 && magnitude(last.strides[axes[place - 1]]) < magnitude(last.strides[axis]); place--)
            axes[place] = axes[place - 1];
        axes[place] = axis;
    }
    for (int n = 0; n < N; n++)
        walk.data[n] = views[n]->data;
    for (int place = 0; place < count; place++)
        walk.append(views, axes[place], last.shape[axes[place]] > 0 && last.strides[axes[place]] < 0);
    walk.finish();
    return walk;
}

/* The walk in C order. */
template <int N> Walk<N> plan_in_order(const td_view *const (&views)[N])
{
    Walk<N> walk = {};
    for (int n = 0; n < N; n++)
        walk.data[n] = views[n]->data;
    for (int axis = 0; axis < views[N - 1]->ndim; axis++)
        if (views[N - 1]->shape[axis] != 1)
            walk.append(views, axis, false);
    walk.finish();
    return walk;
}

/* The shortest step of a walk's view in memory. */
template <int N> int64_t shortest_stride(const Walk<N> &walk, int view)
{
    int64_t shortest = int64_t(1) << 62;
    for (int axis = 0; axis < walk.ndim; axis++)
        if (walk.shape[axis] > 1 && magnitude(walk.strides[view][axis]) < shortest)
            shortest = magnitude(walk.strides[view][axis]);
    return shortest;
}

template <class Index, int N> TD_DEVICE void divide(const Walk<N> &walk, Index rest, int64_t (&offset)[N])
{
    for (int axis = walk.ndim - 1; axis > 0; axis--) {
        Index length = static_cast<Index>(walk.shape[axis]);
        Index outer = rest / length;
        int64_t at = static_cast<int64_t>(rest - outer * length);
        for (int n = 0; n < N; n++)
            offset[n] += at * walk.strides[n][axis];
        rest = outer;
    }
    for (int n = 0; n < N; n++)
        offset[n] += static_cast<int64_t>(rest) * walk.strides[n][0];
}

/* The byte offsets of element i of a walk with one axis. */
template <int N> TD_DEVICE void locate_in_row(const Walk<N> &walk, int64_t i, int64_t (&offset)[N])
{
    for (int n = 0; n < N; n++)
        offset[n] = i * walk.strides[n][0];
}

/* The byte offsets of element i of the walk. */
template <int N> TD_DEVICE void locate(const Walk<N> &walk, int64_t i, int64_t (&offset)[N])
{
    for (int n = 0; n < N; n++)
        offset[n] = 0;
    if (walk.narrow)
        divide<uint32_t>(walk, static_cast<uint32_t>(i), offset);
    else
        divide<uint64_t>(walk, static_cast<uint64_t>(i), offset);
}

TD_DEVICE int64_t first_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

TD_DEVICE int64_t index_step() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

/* Blocks for a grid-stride loop over that many elements. */
inline unsigned blocks_for(int64_t elements, int threads = BLOCK)
{
    int64_t blocks = ceil_div(elements, threads);
    return static_cast<unsigned>(blocks < max_blocks() ? blocks : max_blocks());
}

} // namespace td

#endif
