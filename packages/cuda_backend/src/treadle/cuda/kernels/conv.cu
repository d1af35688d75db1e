/* Convolution and its two gradients as matrix products of which one operand is never laid out ("implicit matmul").
 *
 * All three are, for each group, out[row, column] = the sum over steps of plain[row, step] * windowed[column, step]:
 *
 *                    row      column                 step                   plain      windowed
 *   forward          output   (sample, place)        (channel, tap)         weight     x
 *   input gradient   channel  (sample, input place)  (output, tap)          weight     gradient
 *   weight gradient  output   (channel, tap)         (sample, place)        gradient   x
 *
 * A column and a step each have an outer number and an index along every spatial axis. Along an axis the windowed
 * operand is read at (what the column adds + what the step adds) / divisor, and is 0 where that lies outside or is no
 * whole number. A block keeps these addends of its columns and steps in shared memory and multiplies tiles as matmul.cu
 * does, parts of a long inner axis included. */
#include "tiles.h"

namespace td {

namespace {

constexpr int AXES = 8;

/* Columns or steps. */
struct Space {
    int64_t size;
    int64_t shape[AXES];
    int32_t scale[AXES], shift[AXES]; /* index * scale + shift is what is added along an axis of windowed */
    int64_t outer;                    /* bytes from one outer number to the next: in windowed */
    int64_t other_outer;              /* and in out (columns) or plain (steps) */
    int64_t other[AXES];              /* bytes along each axis there */
};

struct Convolution {
    int32_t axes;
    int64_t rows, groups;
    Space columns, steps;
    const char *plain, *windowed;
    char *out;
    int64_t plain_row, plain_group, windowed_group, out_row, out_group;
    int32_t divisor[AXES], length[AXES]; /* of windowed's axes */
    int64_t stride[AXES];
    int64_t row_tiles, column_tiles;
    Parts parts;
};

/* A column or step as it is kept in shared memory. */
struct Address {
    int64_t outer, other;
    int32_t at[AXES];
};

TD_DEVICE void find(const Space &space, int axes, int64_t number, Address &address)
{
    int64_t other = 0;
    for (int axis = axes - 1; axis >= 0; axis--) {
        const int64_t index = number % space.shape[axis];
        number /= space.shape[axis];
        address.at[axis] = static_cast<int32_t>(index) * space.scale[axis] + space.shift[axis];
        other += index * space.other[axis];
    }
    address.outer = number * space.outer;
    address.other = other + number * space.other_outer;
}

template <class T>
TD_DEVICE T read_windowed(const Convolution &plan, const char *windowed, const Address &column, const Address &step)
{
    int64_t offset = column.outer + step.outer;
    bool inside = true;
    TD_ROLLED
    for (int axis = 0; axis < plan.axes; axis++) {
        const int32_t sum = column.at[axis] + step.at[axis];
        const int32_t place = plan.divisor[axis] == 1 ? sum : sum / plan.divisor[axis];
        inside = inside && sum >= 0 && place < plan.length[axis] && place * plan.divisor[axis] == sum;
        offset += place * plan.stride[axis];
    }
    return inside ? *reinterpret_cast<const T *>(windowed + offset) : T{};
}

/* Both operands' parts of a tile: neighbouring threads take neighbouring steps of plain and columns of windowed. */
template <class Tile>
TD_DEVICE void load_tiles(const Convolution &plan, const char *plain, const char *windowed, int64_t rows, int columns,
                          int steps, const Address *column, const Address *step,
                          typename Tile::Sum (&x)[Tile::DEPTH][Tile::ROWS + Tile::PAD],
                          typename Tile::Sum (&y)[Tile::DEPTH][Tile::COLUMNS + Tile::PAD])
{
    using T = typename Tile::T;
    using Sum = typename Tile::Sum;
    const int thread = static_cast<int>(threadIdx.y) * Tile::SIDE + static_cast<int>(threadIdx.x);
    TD_ROLLED
    for (int at = thread; at < Tile::ROWS * Tile::DEPTH; at += Tile::THREADS) {
        const int row = at / Tile::DEPTH, k = at % Tile::DEPTH;
        Sum value = {};
        if (row < rows && k < steps)
            value = static_cast<Sum>(*reinterpret_cast<const T *>(plain + row * plan.plain_row + step[k].other));
        x[k][row] = value;
    }
    TD_ROLLED
    for (int at = thread; at < Tile::COLUMNS * Tile::DEPTH; at += Tile::THREADS) {
        const int place = at % Tile::COLUMNS, k = at / Tile::COLUMNS;
        Sum value = {};
        if (place < columns && k < steps)
            value = static_cast<Sum>(read_windowed<T>(plan, windowed, column[place], step[k]));
        y[k][place] = value;
    }
}

template <class Tile>
TD_DEVICE void store_sums(const Convolution &plan, char *out, int64_t part, int64_t row0, int64_t column0,
                          const Address *column,
                          const typename Tile::Sum (&sums)[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS])
{
    using Sum = typename Tile::Sum;
    TD_UNROLL
    for (int i = 0; i < Tile::THREAD_ROWS; i++) {
        const int64_t row = row0 + threadIdx.y * Tile::THREAD_ROWS + i;
        TD_UNROLL
        for (int j = 0; j < Tile::THREAD_COLUMNS; j++) {
            const int place = static_cast<int>(threadIdx.x) + j * Tile::SIDE;
            if (row >= plan.rows || column0 + place >= plan.columns.size)
                continue;
            if (plan.parts.count > 1)
                reinterpret_cast<Sum *>(plan.parts.sums)[(part * plan.rows + row) * plan.columns.size + column0 +
                                                         place] = sums[i][j];
            else
                *reinterpret_cast<typename Tile::T *>(out + row * plan.out_row + column[place].other) =
                    static_cast<typename Tile::T>(sums[i][j]);
        }
    }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 2) conv_kernel(const __grid_constant__ Convolution plan)
{
    using Sum = typename Tile::Sum;
    TD_SHARED(Sum, x_tile, [Tile::DEPTH][Tile::ROWS + Tile::PAD]);
    TD_SHARED(Sum, y_tile, [Tile::DEPTH][Tile::COLUMNS + Tile::PAD]);
    TD_SHARED(Address, columns, [Tile::COLUMNS]);
    TD_SHARED(Address, steps, [Tile::DEPTH]);
    const int thread = static_cast<int>(threadIdx.y) * Tile::SIDE + static_cast<int>(threadIdx.x);
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    for (int64_t tile = blockIdx.x; tile < tiles * plan.groups * plan.parts.count; tile += gridDim.x) {
        const int64_t row0 = tile % tiles / plan.column_tiles * Tile::ROWS;
        const int64_t column0 = tile % tiles % plan.column_tiles * Tile::COLUMNS;
        const int64_t group = tile / tiles % plan.groups;
        const int64_t first = tile / tiles / plan.groups * plan.parts.length;
        const int64_t last = first + plan.parts.length < plan.steps.size ? first + plan.parts.length : plan.steps.size;
        const int64_t left = plan.columns.size - column0;
        const int present = static_cast<int>(left < Tile::COLUMNS ? left : Tile::COLUMNS);
        Sum sums[Tile::THREAD_ROWS][Tile::THREAD_COLUMNS] = {};
        if (thread < present)
            find(plan.columns, plan.axes, column0 + thread, columns[thread]);
        for (int64_t begin = first; begin < last; begin += Tile::DEPTH) {
            const int count = static_cast<int>(last - begin < Tile::DEPTH ? last - begin : Tile::DEPTH);
            if (thread < count)
                find(plan.steps, plan.axes, begin + thread, steps[thread]);
            __syncthreads();
            load_tiles<Tile>(plan, plan.plain + group * plan.plain_group + row0 * plan.plain_row,
                             plan.windowed + group * plan.windowed_group, plan.rows - row0, present, count, columns,
                             steps, x_tile, y_tile);
            __syncthreads();
            multiply_tiles<Tile>(x_tile, y_tile, sums);
        }
        store_sums<Tile>(plan, plan.out + group * plan.out_group, tile / tiles, row0, column0, columns, sums);
        __syncthreads();
    }
}

template <class Kind> __global__ void merge_kernel(const __grid_constant__ Convolution plan)
{
    const int64_t matrix = plan.rows * plan.columns.size, size = matrix * plan.groups;
    for (int64_t i = first_index(); i < size; i += index_step()) {
        Address column;
        find(plan.columns, plan.axes, i % plan.columns.size, column);
        char *out = plan.out + i / matrix * plan.out_group + i % matrix / plan.columns.size * plan.out_row;
        *reinterpret_cast<typename Kind::T *>(out + column.other) =
            static_cast<typename Kind::T>(merge_parts<Kind>(plan.parts, size, i));
    }
}

template <class Tile> int convolve(Convolution &plan)
{
    using Kind = typename Tile::Kind;
    plan.row_tiles = ceil_div(plan.rows, Tile::ROWS);
    plan.column_tiles = ceil_div(plan.columns.size, Tile::COLUMNS);
    const int64_t tiles = plan.row_tiles * plan.column_tiles * plan.groups;
    plan.parts = cut_inner_axis(tiles, plan.steps.size);
    const int64_t size = plan.rows * plan.columns.size * plan.groups;
    Scratch sums;
    if (plan.parts.count > 1) {
        TD_TRY(sums.reserve(plan.parts.count * size * static_cast<int64_t>(sizeof(typename Tile::Sum))));
        plan.parts.sums = sums.memory();
    }
    TD_LAUNCH(conv_kernel<Tile>, blocks_for(tiles * plan.parts.count, 1), dim3(Tile::SIDE, Tile::SIDE), plan);
    if (plan.parts.count > 1)
        TD_LAUNCH(merge_kernel<Kind>, blocks_for(size), BLOCK, plan);
    return TD_OK;
}

template <class T> int convolve_reals(Convolution &plan)
{
    constexpr int64_t ENOUGH = 96;
    if (plan.rows * plan.columns.size * plan.groups >= ENOUGH * Middle<T>::ROWS * Middle<T>::COLUMNS)
        return convolve<Middle<T>>(plan);
    return convolve<Small<T>>(plan);
}

/* Which of the first two axes of plain, windowed and out are rows, columns or steps: the other one of each is the outer
 * number of steps, steps and columns. And which of plain's axes the groups divide. */
struct Roles {
    int plain_row, plain_group, windowed_column, out_row;
};

constexpr Roles ROLES[] = {{0, 0, 0, 1}, {1, 0, 0, 1}, {1, 1, 1, 0}}; /* forward, input gradient, weight gradient */

/* What a space walks over: the outer numbers, and the axes 2.. of a view. */
void walk_axes(Space &space, int64_t outer_numbers, const td_view &counted)
{
    space.size = outer_numbers;
    for (int axis = 0; axis < counted.ndim - 2; axis++) {
        space.shape[axis] = counted.shape[2 + axis];
        space.other[axis] = counted.strides[2 + axis];
        space.size *= space.shape[axis];
    }
}

void plan_operands(Convolution &plan, const Roles &roles, const td_view &plain, const td_view &windowed, const td_view &out)
{
    const int plain_step = 1 - roles.plain_row, windowed_step = 1 - roles.windowed_column, out_column = 1 - roles.out_row;
    plan.plain = plain.data, plan.windowed = windowed.data, plan.out = out.data;
    plan.rows = out.shape[roles.out_row] / plan.groups;
    plan.plain_row = plain.strides[roles.plain_row], plan.out_row = out.strides[roles.out_row];
    plan.plain_group = plain.shape[roles.plain_group] / plan.groups * plain.strides[roles.plain_group];
    plan.windowed_group = windowed.shape[1] / plan.groups * windowed.strides[1];
    plan.out_group = plan.rows * plan.out_row;
    plan.columns.outer = windowed.strides[roles.windowed_column], plan.columns.other_outer = out.strides[out_column];
    plan.steps.outer = windowed.strides[windowed_step], plan.steps.other_outer = plain.strides[plain_step];
    walk_axes(plan.columns, out.shape[out_column], out);
    walk_axes(plan.steps, plain.shape[plain_step] / (plain_step == roles.plain_group ? plan.groups : 1), plain);
}

/* What columns and steps add along each axis of windowed. */
void plan_windows(Convolution &plan, int which, const td_cuda_windows &windows)
{
    for (int axis = 0; axis < plan.axes; axis++) {
        const auto stride = static_cast<int32_t>(windows.stride[axis]);
        const auto padding = static_cast<int32_t>(windows.padding[axis]);
        const auto dilation = static_cast<int32_t>(windows.dilation[axis]);
        const bool of_input = which == TD_CONV_input, of_weight = which == TD_CONV_weight;
        plan.columns.scale[axis] = of_input ? 1 : of_weight ? dilation : stride;
        plan.columns.shift[axis] = of_input ? padding : -padding;
        plan.steps.scale[axis] = of_input ? -dilation : of_weight ? stride : dilation;
        plan.divisor[axis] = of_input ? stride : 1;
    }
}

/* Whether what is added along each axis fits the 32 bits in which places are counted. */
bool fits_counts(const Convolution &plan)
{
    for (int axis = 0; axis < plan.axes; axis++) {
        const Space &columns = plan.columns, &steps = plan.steps;
        const int64_t reach = (columns.shape[axis] - 1) * magnitude(columns.scale[axis]) +
                              magnitude(columns.shift[axis]) + (steps.shape[axis] - 1) * magnitude(steps.scale[axis]);
        if (reach > INT32_MAX)
            return false;
    }
    return true;
}

} // namespace

} // namespace td

int td_cuda_conv(int which, const td_view *first, const td_view *second, const td_cuda_windows *windows,
                 const td_view *out)
{
    constexpr int64_t MAX_LENGTH = int64_t{1} << 30;
    td::Convolution plan = {};
    plan.axes = out->ndim - 2;
    plan.groups = windows->groups;
    if (plan.axes > td::AXES)
        return td::no_kernel("convolution over so many axes", which, out->dtype);
    const td_view *windowed = which == TD_CONV_weight ? second : first;
    for (int axis = 0; axis < plan.axes; axis++) {
        for (int64_t each : {windowed->shape[2 + axis], out->shape[2 + axis], windows->stride[axis],
                             windows->padding[axis], windows->dilation[axis]})
            if (each > MAX_LENGTH)
                return td::no_kernel("convolution over axes so long", which, out->dtype);
        plan.length[axis] = static_cast<int32_t>(windowed->shape[2 + axis]);
        plan.stride[axis] = windowed->strides[2 + axis];
    }
    td::plan_operands(plan, td::ROLES[which], which == TD_CONV_weight ? *first : *second, *windowed, *out);
    td::plan_windows(plan, which, *windows);
    if (plan.rows * plan.columns.size * plan.groups == 0)
        return TD_OK;
    if (!td::fits_counts(plan))
        return td::no_kernel("convolution over axes so long", which, out->dtype);
    if (plan.steps.size == 0)
        return td_cuda_fill(out, 0.0, 0.0, 0);
    switch (out->dtype) {
    case TD_i8:
    case TD_u8: return td::convolve<td::Small<uint8_t>>(plan);
    case TD_i16:
    case TD_u16: return td::convolve<td::Small<uint16_t>>(plan);
    case TD_i32:
    case TD_u32: return td::convolve<td::Small<uint32_t>>(plan);
    case TD_i64:
    case TD_u64: return td::convolve<td::Small<uint64_t>>(plan);
    case TD_f16: return td::convolve_reals<td::Float16>(plan);
    case TD_bf16: return td::convolve_reals<td::BFloat16>(plan);
    case TD_f32: return td::convolve_reals<float>(plan);
    case TD_f64: return td::convolve_reals<double>(plan);
    case TD_c64: return td::convolve<td::Small<td_c64>>(plan);
    case TD_c128: return td::convolve<td::Small<td_c128>>(plan);
    default: return td::no_kernel("convolution", which, out->dtype);
    }
}
