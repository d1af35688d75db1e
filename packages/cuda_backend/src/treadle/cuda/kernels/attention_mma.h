/* What attention of halves and its gradient share: tiles of words of two halves, and their products by the matrix
 * instruction. A block is four warps, each with 16 rows of a tile of ROWS. Of a fragment of sums, 16 rows of 8 columns, a
 * lane has columns 2 pair and 2 pair + 1 of the rows group and group + 8. */
#ifndef TREADLE_CUDA_ATTENTION_MMA_H
#define TREADLE_CUDA_ATTENTION_MMA_H

#include "attention.h"
#include "fragments.h"

namespace td {

namespace {

constexpr int ROWS = 16 * (THREADS / 32);
constexpr int PAD = 4; /* words that spread the rows of a fragment over the banks */

template <int LENGTH_ROWS, int LENGTH> using Words = uint32_t[LENGTH_ROWS][LENGTH / 2 + PAD];

TD_DEVICE int group_of() { return static_cast<int>(threadIdx.x) % 32 / 4; }
TD_DEVICE int pair_of() { return static_cast<int>(threadIdx.x) % 4; }
/* The row of the block's tile that the lane's sums 0 and 1, or 2 and 3, belong to. */
TD_DEVICE int row_of(int sum) { return static_cast<int>(threadIdx.x) / 32 * 16 + group_of() + sum / 2 * 8; }
/* The column of the tile that sum number `sum` of fragment n belongs to. */
TD_DEVICE int column_of_sum(int n, int sum) { return 8 * n + 2 * pair_of() + sum % 2; }

TD_DEVICE uint32_t half_at(const char *from) { return *reinterpret_cast<const uint16_t *>(from); }

/* The rows from `first` on of a matrix; zeros beyond it. */
template <int COUNT, int LENGTH>
TD_DEVICE void load_words(Words<COUNT, LENGTH> &tile, const Attention &plan, int view, int64_t offset, int64_t first,
                          int64_t rows, int columns)
{
    const char *base = plan.batch.data[view] + offset + first * plan.row[view];
    const int64_t stride = plan.column[view];
    for (int at = static_cast<int>(threadIdx.x); at < COUNT * LENGTH / 2; at += THREADS) {
        const int row = at / (LENGTH / 2), word = at % (LENGTH / 2), column = 2 * word;
        const char *from = base + row * plan.row[view] + column * stride;
        uint32_t bits = 0;
        if (first + row < rows && column + 1 < columns && stride == 2 && reinterpret_cast<uintptr_t>(from) % 4 == 0)
            bits = *reinterpret_cast<const uint32_t *>(from);
        else if (first + row < rows && column < columns)
            bits = half_at(from) | (column + 1 < columns ? half_at(from + stride) << 16 : 0u);
        tile[row][word] = bits;
    }
}

/* Two numbers rounded to halves, in one word. */
template <class Half> TD_DEVICE uint32_t pack(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t word;
    if constexpr (std::is_same_v<Half, Float16>)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return Half(low).bits | static_cast<uint32_t>(Half(high).bits) << 16;
#endif
}

/* sums = x y^T for the warp's rows of x and all of y. */
template <class Half, int COUNT, int LENGTH, int N>
TD_DEVICE void multiply_halves(const Words<ROWS, LENGTH> &x, const Words<COUNT, LENGTH> &y, float (&sums)[N][4])
{
    static_assert(COUNT == 8 * N, "a fragment has eight columns");
    TD_UNROLL
    for (int n = 0; n < N; n++)
        TD_UNROLL
        for (int sum = 0; sum < 4; sum++)
            sums[n][sum] = 0.0f;
#ifndef TREADLE_EMULATION
#pragma unroll 2
#endif
    for (int step = 0; step < LENGTH / 16; step++) {
        const int word = 8 * step + pair_of();
        const uint32_t left[4] = {x[row_of(0)][word], x[row_of(2)][word], x[row_of(0)][word + 4], x[row_of(2)][word + 4]};
        TD_UNROLL
        for (int n = 0; n < N; n++) {
            const uint32_t right[2] = {y[8 * n + group_of()][word], y[8 * n + group_of()][word + 4]};
            multiply_fragments<Halves<Half>>(sums[n], left, right);
        }
    }
}

/* The halves at a column of two neighbouring rows. */
template <int COUNT, int LENGTH> TD_DEVICE uint32_t below(const Words<COUNT, LENGTH> &tile, int row, int column)
{
    const int shift = column % 2 * 16;
    return (tile[row][column / 2] >> shift & 0xFFFFu) | tile[row + 1][column / 2] >> shift << 16;
}

/* sums += weights y, where the weights are fragments of sums, rounded to halves. */
template <class Half, int COUNT, int LENGTH, int N, int K>
TD_DEVICE void add_halves(const float (&weights)[N][4], const Words<COUNT, LENGTH> &y, float (&sums)[K][4])
{
    static_assert(COUNT == 8 * N && LENGTH == 8 * K, "a fragment has eight columns");
    TD_UNROLL
    for (int step = 0; step < N / 2; step++) {
        const float(&even)[4] = weights[2 * step], (&odd)[4] = weights[2 * step + 1];
        const uint32_t left[4] = {pack<Half>(even[0], even[1]), pack<Half>(even[2], even[3]), pack<Half>(odd[0], odd[1]),
                                  pack<Half>(odd[2], odd[3])};
        const int row = 16 * step + 2 * pair_of();
        TD_UNROLL
        for (int k = 0; k < K; k++) {
            const uint32_t right[2] = {below<COUNT, LENGTH>(y, row, 8 * k + group_of()),
                                       below<COUNT, LENGTH>(y, row + 8, 8 * k + group_of())};
            multiply_fragments<Halves<Half>>(sums[k], left, right);
        }
    }
}

template <class Half, int K>
TD_DEVICE void store_halves(const Attention &plan, int view, int64_t offset, int64_t first, int64_t rows, int columns,
                            const float (&sums)[K][4])
{
    TD_UNROLL
    for (int k = 0; k < K; k++)
        TD_UNROLL
        for (int sum = 0; sum < 4; sum++) {
            const int64_t row = first + row_of(sum);
            const int column = column_of_sum(k, sum);
            if (row < rows && column < columns)
                *reinterpret_cast<Half *>(plan.batch.data[view] + offset + row * plan.row[view] +
                                          column * plan.column[view]) = Half(sums[k][sum]);
        }
}

/* Calls work<Half, LENGTH>(plan). */
#define TD_RUN_HALVES(work, plan) \
    do { \
        const int length = (plan).features > (plan).width ? (plan).features : (plan).width; \
        if ((plan).dtype == TD_f16) \
            return length <= 32   ? work<Float16, 32>(plan) \
                   : length <= 64 ? work<Float16, 64>(plan) \
                                  : work<Float16, 128>(plan); \
        return length <= 32   ? work<BFloat16, 32>(plan) \
               : length <= 64 ? work<BFloat16, 64>(plan) \
                              : work<BFloat16, 128>(plan); \
    } while (0)

} // namespace

} // namespace td

#endif
