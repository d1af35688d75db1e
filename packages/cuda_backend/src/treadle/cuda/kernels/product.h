/* A planned matrix product, and what its kernels share. */
#ifndef TREADLE_CUDA_PRODUCT_H
#define TREADLE_CUDA_PRODUCT_H

#include "async_copy.h"
#include "tiles.h"

namespace td {

struct Product {
    Walk<3> batch; /* x, y, out */
    int64_t rows, columns, inner;
    int64_t x_row, x_inner, y_inner, y_column, out_row, out_column;
    int64_t row_tiles, column_tiles;
    Parts parts;
    bool x_lines, y_lines; /* has_lines() of the operands; of matmul_mma.cu */
};

/* matmul_mma.cu: whether the current device's matrix instruction serves a dtype, and the product. */
bool multiplies_by_instruction(int dtype);
int multiply_by_instruction(Product &plan, int dtype);

/* matmul_wgmma.cu: whether the instruction of a warpgroup serves, and the product. */
bool suits_warpgroups(const Product &plan, int dtype);
int multiply_by_warpgroups(Product &plan, int dtype);

/* Whether an operand's lines, along its inner axis or along its rows or columns, are contiguous and begin at multiples of
 * 16 bytes in every matrix of the batch, so that they can be copied by 16 bytes. */
inline bool has_lines(const Product &plan, int view, int64_t inner, int64_t place, int64_t item)
{
    uint64_t all = reinterpret_cast<uintptr_t>(plan.batch.data[view]);
    all |= static_cast<uint64_t>(inner == item ? place : inner);
    for (int axis = 0; axis < plan.batch.ndim; axis++)
        all |= static_cast<uint64_t>(plan.batch.strides[view][axis]);
    return (inner == item || place == item) && all % 16 == 0;
}

TD_DEVICE int at_most(int64_t count, int most) { return count < most ? static_cast<int>(count) : most; }

namespace {

template <class Kind> __global__ void merge_kernel(const __grid_constant__ Product plan)
{
    const int64_t matrix = plan.rows * plan.columns, size = matrix * plan.batch.size;
    for (int64_t i = first_index(); i < size; i += index_step()) {
        int64_t offset[3];
        locate(plan.batch, i / matrix, offset);
        char *out = plan.batch.data[2] + offset[2] + i % matrix / plan.columns * plan.out_row;
        *reinterpret_cast<typename Kind::T *>(out + i % plan.columns * plan.out_column) =
            static_cast<typename Kind::T>(merge_parts<Kind>(plan.parts, size, i));
    }
}

/* Multiplies the blocks of an inner axis that asynchronous copies bring into a ring of stages: start(block, stage) starts
 * those of a block, arrive(stage) is called when the thread's own have arrived, and multiply(stage) when everybody's
 * have. All but one stage are on their way or waiting. */
template <int STAGES, class Start, class Arrive, class Multiply>
TD_DEVICE void run_ring(int64_t blocks, Start &&start, Arrive &&arrive, Multiply &&multiply)
{
    constexpr int AHEAD = STAGES - 1;
    TD_UNROLL
    for (int stage = 0; stage < AHEAD; stage++) {
        if (stage < blocks)
            start(int64_t{stage}, stage);
        commit_copies();
    }
    int stage = 0, next = AHEAD;
    TD_ROLLED
    for (int64_t block = 0; block < blocks; block++) {
        wait_for_copies<AHEAD - 1>();
        arrive(stage);
        __syncthreads(); /* and everybody has multiplied what was in the next stage */
        if (block + AHEAD < blocks)
            start(block + AHEAD, next);
        commit_copies();
        multiply(stage);
        next = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    __syncthreads();
}

/* A sum of a tile where it belongs: an element of out, or of the part's sums, which merge_kernel adds. */
template <class T>
TD_DEVICE void store_sum(const Product &plan, char *out, int64_t matrix, int64_t row, int64_t column, float sum)
{
    if (row >= plan.rows || column >= plan.columns)
        return;
    if (plan.parts.count > 1)
        reinterpret_cast<float *>(plan.parts.sums)[(matrix * plan.rows + row) * plan.columns + column] = sum;
    else
        *reinterpret_cast<T *>(out + row * plan.out_row + column * plan.out_column) = static_cast<T>(sum);
}

/* Cuts the product into tiles and parts, runs launch(blocks), and adds the parts. */
template <class Kind, class Launch> int run_tiles(Product &plan, int rows, int columns, Launch &&launch)
{
    plan.row_tiles = ceil_div(plan.rows, rows);
    plan.column_tiles = ceil_div(plan.columns, columns);
    const int64_t tiles = plan.row_tiles * plan.column_tiles * plan.batch.size;
    plan.parts = cut_inner_axis(tiles, plan.inner);
    const int64_t size = plan.rows * plan.columns * plan.batch.size;
    Scratch sums;
    if (plan.parts.count > 1) {
        TD_TRY(sums.reserve(plan.parts.count * size * static_cast<int64_t>(sizeof(typename Kind::Sum))));
        plan.parts.sums = sums.memory();
    }
    TD_TRY(launch(blocks_for(tiles * plan.parts.count, 1)));
    if (plan.parts.count > 1)
        TD_LAUNCH(merge_kernel<Kind>, blocks_for(size), BLOCK, plan);
    return TD_OK;
}

} // namespace

} // namespace td

#endif
