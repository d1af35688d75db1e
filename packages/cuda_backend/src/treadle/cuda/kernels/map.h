/* One kernel for everything elementwise. An operation is a struct with
 *   Result                           what it writes
 *   Inputs, VIEWS                    what it reads, and the number of views with the output
 *   load(walk, offset) -> Inputs     reads one place
 *   value(inputs) -> Result          the scalar body
 * Where the walk has one axis, each thread loads ITEMS elements, or twice as many of narrow types, a block's width
 * apart, before it stores the first: several loads are then under way at once, which is what a bandwidth-bound kernel
 * lives on. */
#ifndef TREADLE_CUDA_MAP_H
#define TREADLE_CUDA_MAP_H

#include "layout.h"

namespace td {

constexpr int ITEMS = 4;
template <class Operation> constexpr int ITEMS_OF = sizeof(typename Operation::Result) < 4 ? 2 * ITEMS : ITEMS;

template <class T, int N> TD_DEVICE void write(const Walk<N> &walk, int view, int64_t offset, T value)
{
    *reinterpret_cast<T *>(walk.data[view] + offset) = value;
}

template <class T, int N> TD_DEVICE T read(const Walk<N> &walk, int view, const int64_t (&offset)[N])
{
    return *reinterpret_cast<const T *>(walk.data[view] + offset[view]);
}

/* The elements from base on, step apart, of a walk with one axis. */
template <class Operation> TD_DEVICE void map_row(const Walk<Operation::VIEWS> &walk, int64_t base, int64_t step)
{
    constexpr int OUT = Operation::VIEWS - 1, COUNT = ITEMS_OF<Operation>;
    typename Operation::Inputs inputs[COUNT];
    TD_UNROLL
    for (int item = 0; item < COUNT; item++) {
        int64_t offset[Operation::VIEWS];
        locate_in_row(walk, base + item * step, offset);
        inputs[item] = Operation::load(walk, offset);
    }
    TD_UNROLL
    for (int item = 0; item < COUNT; item++)
        write(walk, OUT, (base + item * step) * walk.strides[OUT][0], Operation::value(inputs[item]));
}

template <class Operation> __global__ void map_kernel(const __grid_constant__ Walk<Operation::VIEWS> walk)
{
    constexpr int OUT = Operation::VIEWS - 1;
    const int64_t step = blockDim.x, tile = step * ITEMS_OF<Operation>;
    for (int64_t base = blockIdx.x * tile + threadIdx.x; base < walk.size; base += gridDim.x * tile) {
        if (walk.ndim == 1 && base + (ITEMS_OF<Operation> - 1) * step < walk.size) {
            map_row<Operation>(walk, base, step);
            continue;
        }
        const int64_t end = base + tile < walk.size ? base + tile : walk.size;
        for (int64_t i = base; i < end; i += step) {
            int64_t offset[Operation::VIEWS];
            locate(walk, i, offset);
            write(walk, OUT, offset[OUT], Operation::value(Operation::load(walk, offset)));
        }
    }
}

template <class Operation> int map(const Walk<Operation::VIEWS> &walk)
{
    if (walk.size == 0)
        return TD_OK;
    TD_LAUNCH(map_kernel<Operation>, blocks_for(walk.size, BLOCK * ITEMS_OF<Operation>), BLOCK, walk);
    return TD_OK;
}

} // namespace td

#endif
