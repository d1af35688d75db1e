/* The matrix product: batched, any strides, any sizes.
 *
 * A block computes a tile of TILE_ROWS x TILE_COLUMNS of out, DEPTH steps of the inner axis at a time: both
 * operands' parts are brought to shared memory, row, column and inner bounds checked, zeros beyond them; then each
 * thread multiplies a micro-tile that it holds in registers. threadIdx.x walks columns of out. Which way the threads
 * walk an operand while they load it follows its shorter stride, so a transposed operand is read as fast as a plain
 * one. Floats are copied asynchronously into a ring of stages, while others are multiplied. Two blocks fit on a
 * multiprocessor, so that one computes while the other loads. Every element of out is one sum in the order of the inner
 * axis, whatever the tile. But where there are few tiles and a long inner axis, its parts go to different blocks, and a
 * second kernel adds what they leave ("split-k"); how it is cut, too, depends on sizes alone. */
#include "product.h"

namespace td {

namespace {

/* Brings WIDTH x DEPTH elements to shared memory, as tile[step][place]. from is the first element of the tile,
 * places and steps are how many of them exist. Each thread takes elements at a fixed distance from each other. */
template <class Tile, int WIDTH>
TD_DEVICE void load_tile(typename Tile::Sum (&tile)[Tile::DEPTH][WIDTH + Tile::PAD], const char *from,
                         int64_t place_stride, int64_t step_stride, int places, int steps)
{
    static_assert(Tile::THREADS % WIDTH == 0 && Tile::THREADS % Tile::DEPTH == 0, "a place or a step stays");
    const int thread = static_cast<int>(threadIdx.y) * Tile::SIDE + static_cast<int>(threadIdx.x);
    const bool steps_first = magnitude(step_stride) < magnitude(place_stride);
    int place = steps_first ? thread / Tile::DEPTH : thread % WIDTH;
    int step = steps_first ? thread % Tile::DEPTH : thread / WIDTH;
    const int more_places = steps_first ? Tile::THREADS / Tile::DEPTH : 0;
    const int more_steps = steps_first ? 0 : Tile::THREADS / WIDTH;
    const int64_t distance = more_places * place_stride + more_steps * step_stride;
    from += place * place_stride + step * step_stride;
    TD_UNROLL
    for (int part = 0; part < WIDTH * Tile::DEPTH / Tile::THREADS; part++) {
        const bool exists = place < places && step < steps;
        if constexpr (Tile::STAGES > 1) {
            copy_word_async(&tile[step][place], from, exists);
        } else {
            typename Tile::Sum value = {};
            if (exists)
                value = static_cast<typename Tile::Sum>(*reinterpret_cast<const typename Tile::T *>(from));
            tile[step][place] = value;
        }
        place += more_places;
        step += more_steps;
        from += distance;
    }
}

template <class Tile>
TD_DEVICE void store_tile(const Product &plan, char *out, int64_t row0, int64_t column0,
                          const typename Tile::Sum (&sums)[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS])
{
    const int64_t row = row0 + threadIdx.y * Tile::THREAD_ROWS, column = column0 + threadIdx.x;
    const int64_t rows = plan.rows - row, columns = plan.columns - column;
    out += row * plan.out_row + column * plan.out_column;
    TD_UNROLL
    for (int i = 0; i < Tile::THREAD_ROWS; i++, out += plan.out_row) {
        char *at = out;
        TD_UNROLL
        for (int j = 0; j < Tile::THREAD_COLUMNS; j++, at += Tile::SIDE * plan.out_column)
            if (i < rows && j * Tile::SIDE < columns)
                *reinterpret_cast<typename Tile::T *>(at) = static_cast<typename Tile::T>(sums[i][j]);
    }
}

/* The sums of a part, for merge_kernel. */
template <class Tile>
TD_DEVICE void store_part(const Product &plan, int64_t matrix, int64_t row0, int64_t column0,
                          const typename Tile::Sum (&sums)[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS])
{
    auto *out = reinterpret_cast<typename Tile::Sum *>(plan.parts.sums) + matrix * plan.rows * plan.columns;
    TD_UNROLL
    for (int i = 0; i < Tile::THREAD_ROWS; i++) {
        const int64_t row = row0 + threadIdx.y * Tile::THREAD_ROWS + i;
        TD_UNROLL
        for (int j = 0; j < Tile::THREAD_COLUMNS; j++) {
            const int64_t column = column0 + threadIdx.x + j * Tile::SIDE;
            if (row < plan.rows && column < plan.columns)
                out[row * plan.columns + column] = sums[i][j];
        }
    }
}

/* Where the tile lies is found once more: the loop before has no registers to spare. */
template <class Tile>
TD_DEVICE void store(const Product &plan, int64_t tile,
                     const typename Tile::Sum (&sums)[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS])
{
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    const int64_t row0 = tile % tiles / plan.column_tiles * Tile::ROWS;
    const int64_t column0 = tile % tiles % plan.column_tiles * Tile::COLUMNS;
    if (plan.parts.count > 1) {
        store_part<Tile>(plan, tile / tiles, row0, column0, sums);
        return;
    }
    int64_t offset[3];
    locate(plan.batch, tile / tiles % plan.batch.size, offset);
    store_tile<Tile>(plan, plan.batch.data[2] + offset[2], row0, column0, sums);
}

template <class Tile, class Load, class Multiply>
TD_DEVICE void multiply_blocks(int64_t blocks, Load &&load, Multiply &&multiply)
{
    if constexpr (Tile::STAGES > 1) {
        run_ring<Tile::STAGES>(blocks, load, [](int) {}, multiply);
    } else {
        for (int64_t block = 0; block < blocks; block++) {
            load(block, 0);
            __syncthreads();
            multiply(0);
            __syncthreads();
        }
    }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 2) matmul_kernel(const __grid_constant__ Product plan)
{
    using Sum = typename Tile::Sum;
    TD_SHARED(Sum, x_tiles, [Tile::STAGES][Tile::DEPTH][Tile::ROWS + Tile::PAD]);
    TD_SHARED(Sum, y_tiles, [Tile::STAGES][Tile::DEPTH][Tile::COLUMNS + Tile::PAD]);
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    for (int64_t tile = blockIdx.x; tile < tiles * plan.batch.size * plan.parts.count; tile += gridDim.x) {
        const int64_t row0 = tile % tiles / plan.column_tiles * Tile::ROWS;
        const int64_t column0 = tile % tiles % plan.column_tiles * Tile::COLUMNS;
        const int64_t first = tile / tiles / plan.batch.size * plan.parts.length;
        const int rows = at_most(plan.rows - row0, Tile::ROWS);
        const int columns = at_most(plan.columns - column0, Tile::COLUMNS);
        int64_t offset[3];
        locate(plan.batch, tile / tiles % plan.batch.size, offset);
        const char *x = plan.batch.data[0] + offset[0] + row0 * plan.x_row + first * plan.x_inner;
        const char *y = plan.batch.data[1] + offset[1] + column0 * plan.y_column + first * plan.y_inner;
        Sum sums[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS] = {};
        const int64_t left = plan.inner - first < plan.parts.length ? plan.inner - first : plan.parts.length;
        const auto load = [&](int64_t block, int stage) {
            const int steps = at_most(left - block * Tile::DEPTH, Tile::DEPTH);
            load_tile<Tile, Tile::ROWS>(x_tiles[stage], x, plan.x_row, plan.x_inner, rows, steps);
            load_tile<Tile, Tile::COLUMNS>(y_tiles[stage], y, plan.y_column, plan.y_inner, columns, steps);
            x += Tile::DEPTH * plan.x_inner;
            y += Tile::DEPTH * plan.y_inner;
        };
        const auto multiply = [&](int stage) { multiply_tiles<Tile>(x_tiles[stage], y_tiles[stage], sums); };
        multiply_blocks<Tile>(ceil_div(left, Tile::DEPTH), load, multiply);
        store<Tile>(plan, tile, sums);
    }
}

template <class Tile> int multiply(Product &plan)
{
    return run_tiles<typename Tile::Kind>(plan, Tile::ROWS, Tile::COLUMNS, [&](unsigned blocks) -> int {
        TD_LAUNCH(matmul_kernel<Tile>, blocks, dim3(Tile::SIDE, Tile::SIDE), plan);
        return TD_OK;
    });
}

/* A tile as large as leaves enough of them to fill a device. */
template <class T> int multiply_reals(Product &plan)
{
    constexpr double ENOUGH = 96;
    double elements = static_cast<double>(plan.rows) * static_cast<double>(plan.columns) *
                      static_cast<double>(plan.batch.size);
    if constexpr (std::is_same_v<T, float>)
        if (elements >= ENOUGH * Large<T>::ROWS * Large<T>::COLUMNS)
            return multiply<Large<T>>(plan);
    if (elements >= ENOUGH * Middle<T>::ROWS * Middle<T>::COLUMNS)
        return multiply<Middle<T>>(plan);
    return multiply<Small<T>>(plan);
}

/* Whether the matrix instruction serves: the device has it, and the product fills a fair part of its tile. */
bool suits_instruction(const Product &plan, int dtype)
{
    constexpr int64_t LEAST = 32;
    return plan.rows >= LEAST && plan.columns >= LEAST && plan.inner >= LEAST && multiplies_by_instruction(dtype);
}

Product plan_product(const td_view *x, const td_view *y, const td_view *out)
{
    td_view x_batch = *x, y_batch = *y, out_batch = *out;
    const int row = x->ndim - 2, column = x->ndim - 1;
    x_batch.ndim = y_batch.ndim = out_batch.ndim = row;
    Product plan = {};
    plan.batch = td::plan<3>({&x_batch, &y_batch, &out_batch});
    plan.rows = out->shape[row];
    plan.columns = out->shape[column];
    plan.inner = x->shape[column];
    plan.x_row = x->strides[row];
    plan.x_inner = x->strides[column];
    plan.y_inner = y->strides[row];
    plan.y_column = y->strides[column];
    plan.out_row = out->strides[row];
    plan.out_column = out->strides[column];
    return plan;
}

} // namespace

} // namespace td

int td_cuda_matmul(const td_view *x, const td_view *y, const td_view *out)
{
    td::Product plan = td::plan_product(x, y, out);
    if (plan.rows == 0 || plan.columns == 0 || plan.batch.size == 0)
        return TD_OK;
    if (td::suits_instruction(plan, out->dtype))
        return td::suits_warpgroups(plan, out->dtype) ? td::multiply_by_warpgroups(plan, out->dtype)
                                                      : td::multiply_by_instruction(plan, out->dtype);
    switch (out->dtype) {
    case TD_bool: return td::multiply<td::Tiling<td::Logic, 2, 2, 16>>(plan);
    case TD_i8:
    case TD_u8: return td::multiply<td::Small<uint8_t>>(plan);
    case TD_i16:
    case TD_u16: return td::multiply<td::Small<uint16_t>>(plan);
    case TD_i32:
    case TD_u32: return td::multiply<td::Small<uint32_t>>(plan);
    case TD_i64:
    case TD_u64: return td::multiply<td::Small<uint64_t>>(plan);
    case TD_f32: return td::multiply_reals<float>(plan);
    case TD_f64: return td::multiply_reals<double>(plan);
    case TD_f16: return td::multiply_reals<td::Float16>(plan);
    case TD_bf16: return td::multiply_reals<td::BFloat16>(plan);
    case TD_c64: return td::multiply<td::Small<td_c64>>(plan);
    case TD_c128: return td::multiply<td::Small<td_c128>>(plan);
    default: return td::no_kernel("matmul", 0, out->dtype);
    }
}
