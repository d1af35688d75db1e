/* What the matrix product and the convolution share: the arithmetic of each dtype, the tile of a block, and how a long
 * inner axis is cut into parts where there are too few tiles to fill a device. */
#ifndef TREADLE_CUDA_TILES_H
#define TREADLE_CUDA_TILES_H

#include "complex_ops.h"
#include "elements.h"
#include "layout.h"

namespace td {

TD_DEVICE td_c64 plus(td_c64 x, td_c64 y) { return td_add_c64(x, y); }
TD_DEVICE td_c128 plus(td_c128 x, td_c128 y) { return td_add_c128(x, y); }
template <class T> TD_DEVICE T plus(T x, T y) { return x + y; }
TD_DEVICE td_c64 times(td_c64 x, td_c64 y) { return td_multiply_c64(x, y); }
TD_DEVICE td_c128 times(td_c128 x, td_c128 y) { return td_multiply_c128(x, y); }
template <class T> TD_DEVICE T times(T x, T y) { return x * y; }

/* Integers wrap, so signed and unsigned of one width are the same; bool is "or" of "and"; halves are summed in
 * float. */
template <class T_> struct Arithmetic {
    using T = T_;
    using Sum = std::conditional_t<std::is_integral_v<T> && sizeof(T) <= 4, uint32_t, Computed<T>>;
    static TD_DEVICE Sum fold(Sum sum, Sum x, Sum y) { return plus(sum, times(x, y)); }
    static TD_DEVICE Sum merge(Sum x, Sum y) { return plus(x, y); }
};

struct Logic {
    using T = td_bool;
    using Sum = uint32_t;
    static TD_DEVICE Sum fold(Sum sum, Sum x, Sum y) { return sum | (x & y); }
    static TD_DEVICE Sum merge(Sum x, Sum y) { return x | y; }
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
    static constexpr int STAGES = std::is_same_v<T, float> ? 3 : 1; /* words are copied while others are multiplied */
};

template <class T> using Small = Tiling<Arithmetic<T>, 2, 2, 16>;
template <class T> using Middle = Tiling<Arithmetic<T>, 4, 4, 16>;
template <class T> using Large = Tiling<Arithmetic<T>, 8, 8, 8>;

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

/* The inner axis in parts, each of which gives a sum for every element of out. They depend on sizes only, so the same
 * operands give the same bits everywhere. */
struct Parts {
    int64_t count, length;
    char *sums; /* (count, elements of out in C order); where there is more than one part */
};

inline Parts cut_inner_axis(int64_t tiles, int64_t inner)
{
    constexpr int64_t ENOUGH_TILES = 128, SHORTEST = 256, MOST = 64;
    Parts parts = {1, inner, nullptr};
    int64_t wanted = tiles > 0 ? ENOUGH_TILES / tiles : 1;
    wanted = wanted < inner / SHORTEST ? wanted : inner / SHORTEST;
    if (wanted < 2)
        return parts;
    parts.length = ceil_div(ceil_div(inner, wanted < MOST ? wanted : MOST), 16) * 16;
    parts.count = ceil_div(inner, parts.length);
    return parts;
}

/* The sum of element i's parts, in order. */
template <class Kind> TD_DEVICE typename Kind::Sum merge_parts(const Parts &parts, int64_t size, int64_t i)
{
    const auto *sums = reinterpret_cast<const typename Kind::Sum *>(parts.sums);
    typename Kind::Sum sum = sums[i];
    for (int64_t part = 1; part < parts.count; part++)
        sum = Kind::merge(sum, sums[part * size + i]);
    return sum;
}

} // namespace td

#endif
