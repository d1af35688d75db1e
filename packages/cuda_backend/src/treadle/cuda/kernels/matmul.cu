/* The matrix product: batched, any strides, any sizes.
 *
 * A block computes a tile of TILE_ROWS x TILE_COLUMNS of out, DEPTH steps of the inner axis at a time: both
 * operands' parts are brought to shared memory, row, column and inner bounds checked, zeros beyond them; then each
 * thread multiplies a micro-tile that it holds in registers. threadIdx.x walks columns of out. Which way the threads
 * walk an operand while they load it follows its shorter stride, so a transposed operand is read as fast as a plain
 * one. Two blocks fit on a multiprocessor, so that one computes while the other loads. Every element of out is one
 * sum in the order of the inner axis, whatever the tile: the choice of a tile never changes a bit. */
#include "complex_ops.h"
#include "elements.h"
#include "layout.h"

namespace td {

namespace {

struct Product {
    Walk<3> batch; /* x, y, out */
    int64_t rows, columns, inner;
    int64_t x_row, x_inner, y_inner, y_column, out_row, out_column;
    int64_t row_tiles, column_tiles;
};

TD_DEVICE td_c64 add_product(td_c64 sum, td_c64 x, td_c64 y) { return td_add_c64(sum, td_multiply_c64(x, y)); }
TD_DEVICE td_c128 add_product(td_c128 sum, td_c128 x, td_c128 y) { return td_add_c128(sum, td_multiply_c128(x, y)); }
template <class T> TD_DEVICE T add_product(T sum, T x, T y) { return sum + x * y; }

/* Integers wrap, so signed and unsigned of one width are the same; bool is "or" of "and"; halves are summed in float. */
template <class T_> struct Arithmetic {
    using T = T_;
    using Sum = std::conditional_t<std::is_integral_v<T> && sizeof(T) <= 4, uint32_t, Computed<T>>;
    static TD_DEVICE Sum fold(Sum sum, Sum x, Sum y) { return add_product(sum, x, y); }
};

struct Logic {
    using T = td_bool;
    using Sum = uint32_t;
    static TD_DEVICE Sum fold(Sum sum, Sum x, Sum y) { return sum | (x & y); }
};

template <class Kind_, int THREAD_ROWS_, int THREAD_COLUMNS_, int DEPTH_> struct Tiling {
    using Kind = Kind_;
    using T = typename Kind::T;
    using Sum = typename Kind::Sum;
    static constexpr int SIDE = 16; /* threads of a block along either axis */
    static constexpr int THREADS = SIDE * SIDE;
    static constexpr int THREAD_ROWS = THREAD_ROWS_, THREAD_COLUMNS = THREAD_COLUMNS_, DEPTH = DEPTH_;
    static constexpr int ROWS = SIDE * THREAD_ROWS, COLUMNS = SIDE * THREAD_COLUMNS;
    static constexpr int PAD = 4; /* spreads a column of the tile over the banks */
};

/* Brings WIDTH x DEPTH elements to shared memory, as tile[step][place]. from is the first element of the tile,
 * places and steps are how many of them exist. Each thread takes elements at a fixed distance from each other. */
template <class Tile, int WIDTH>
TD_DEVICE void load_tile(typename Tile::Sum (&tile)[Tile::DEPTH][WIDTH + Tile::PAD], const char *from,
                         int64_t place_stride, int64_t step_stride, int64_t places, int64_t steps)
{
    static_assert(Tile::THREADS % WIDTH == 0 && Tile::THREADS % Tile::DEPTH == 0, "a place or a step stays");
    const int thread = static_cast<int>(threadIdx.y) * Tile::SIDE + static_cast<int>(threadIdx.x);
    const bool steps_first = magnitude(step_stride) < magnitude(place_stride);
    int place = steps_first ? thread / Tile::DEPTH : thread % WIDTH;
    int step = steps_first ? thread % Tile::DEPTH : thread / WIDTH;
    const int more_places = steps_first ? Tile::THREADS / Tile::DEPTH : 0;
    const int more_steps = steps_first ? 0 : Tile::THREADS / WIDTH;
    const int64_t distance = more_places * place_stride + more_steps * step_stride;
    const int last_place = places < WIDTH ? static_cast<int>(places) : WIDTH;
    const int last_step = steps < Tile::DEPTH ? static_cast<int>(steps) : Tile::DEPTH;
    from += place * place_stride + step * step_stride;
    TD_UNROLL
    for (int part = 0; part < WIDTH * Tile::DEPTH / Tile::THREADS; part++) {
        typename Tile::Sum value = {};
        if (place < last_place && step < last_step)
            value = static_cast<typename Tile::Sum>(*reinterpret_cast<const typename Tile::T *>(from));
        tile[step][place] = value;
        place += more_places;
        step += more_steps;
        from += distance;
    }
}

template <class Tile>
TD_DEVICE void multiply_tiles(const typename Tile::Sum (&x)[Tile::DEPTH][Tile::ROWS + Tile::PAD],
                              const typename Tile::Sum (&y)[Tile::DEPTH][Tile::COLUMNS + Tile::PAD],
                              typename Tile::Sum (&sums)[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS])
{
    using Sum = typename Tile::Sum;
    TD_UNROLL
    for (int step = 0; step < Tile::DEPTH; step++) {
        Sum left[Tile::THREAD_ROWS], right[Tile::THREAD_COLUMNS];
        TD_UNROLL
        for (int row = 0; row < Tile::THREAD_ROWS; row++)
            left[row] = x[step][threadIdx.y * Tile::THREAD_ROWS + row];
        TD_UNROLL
        for (int column = 0; column < Tile::THREAD_COLUMNS; column++)
            right[column] = y[step][threadIdx.x + column * Tile::SIDE];
        TD_UNROLL
        for (int row = 0; row < Tile::THREAD_ROWS; row++) {
            TD_UNROLL
            for (int column = 0; column < Tile::THREAD_COLUMNS; column++)
                sums[row][column] = Tile::Kind::fold(sums[row][column], left[row], right[column]);
        }
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

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 2) matmul_kernel(const __grid_constant__ Product plan)
{
    using Sum = typename Tile::Sum;
    TD_SHARED(Sum, x_tile, [Tile::DEPTH][Tile::ROWS + Tile::PAD]);
    TD_SHARED(Sum, y_tile, [Tile::DEPTH][Tile::COLUMNS + Tile::PAD]);
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    for (int64_t tile = blockIdx.x; tile < tiles * plan.batch.size; tile += gridDim.x) {
        const int64_t row0 = tile % tiles / plan.column_tiles * Tile::ROWS;
        const int64_t column0 = tile % tiles % plan.column_tiles * Tile::COLUMNS;
        int64_t offset[3];
        locate(plan.batch, tile / tiles, offset);
        const char *x = plan.batch.data[0] + offset[0] + row0 * plan.x_row;
        const char *y = plan.batch.data[1] + offset[1] + column0 * plan.y_column;
        Sum sums[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS] = {};
        for (int64_t begin = 0; begin < plan.inner; begin += Tile::DEPTH) {
            load_tile<Tile, Tile::ROWS>(x_tile, x + begin * plan.x_inner, plan.x_row, plan.x_inner, plan.rows - row0,
                                        plan.inner - begin);
            load_tile<Tile, Tile::COLUMNS>(y_tile, y + begin * plan.y_inner, plan.y_column, plan.y_inner,
                                           plan.columns - column0, plan.inner - begin);
            __syncthreads();
            multiply_tiles<Tile>(x_tile, y_tile, sums);
            __syncthreads();
        }
        store_tile<Tile>(plan, plan.batch.data[2] + offset[2], row0, column0, sums);
    }
}

template <class Tile> int multiply(Product &plan)
{
    plan.row_tiles = ceil_div(plan.rows, Tile::ROWS);
    plan.column_tiles = ceil_div(plan.columns, Tile::COLUMNS);
    int64_t tiles = plan.row_tiles * plan.column_tiles * plan.batch.size;
    TD_LAUNCH(matmul_kernel<Tile>, blocks_for(tiles, 1), dim3(Tile::SIDE, Tile::SIDE), plan);
    return TD_OK;
}

template <class T> using Small = Tiling<Arithmetic<T>, 2, 2, 16>;
template <class T> using Middle = Tiling<Arithmetic<T>, 4, 4, 16>;
template <class T> using Large = Tiling<Arithmetic<T>, 8, 8, 8>;

/* A tile as large as leaves enough of them to fill a device. */
template <class T> int multiply_reals(Product &plan)
{
    constexpr double ENOUGH = 96;
    double elements = static_cast<double>(plan.rows) * static_cast<double>(plan.columns) *
                      static_cast<double>(plan.batch.size);
    if constexpr (sizeof(Computed<T>) == 4)
        if (elements >= ENOUGH * Large<T>::ROWS * Large<T>::COLUMNS)
            return multiply<Large<T>>(plan);
    if (elements >= ENOUGH * Middle<T>::ROWS * Middle<T>::COLUMNS)
        return multiply<Middle<T>>(plan);
    return multiply<Small<T>>(plan);
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
