/* The matrix product of halves by the matrix instruction of a warp, mma.m16n8k16, with sums in float (PTX ISA, "Matrix
 * fragments for mma.m16n8k16"). A block of four warps computes a tile of ROWS x COLUMNS; each warp holds the sums of a
 * quarter of it in registers. Both operands lie in shared memory with the inner axis along rows, as the fragments read
 * them: two neighbouring halves a word. */
#include "product.h"

namespace td {

namespace {

constexpr int ROWS = 64, COLUMNS = 64, DEPTH = 32;
constexpr int THREADS = 128;
constexpr int PAD = 8; /* spreads the eight rows of a fragment over the banks */
constexpr int ROW_FRAGMENTS = 2, COLUMN_FRAGMENTS = 4; /* of 16 rows and of 8 columns, for a warp */

using Tile = uint16_t[ROWS][DEPTH + PAD];
static_assert(ROWS == COLUMNS, "one type serves both operands");

template <class Half> TD_DEVICE float widen(uint32_t bits)
{
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    return half;
}

/* The instruction by shuffles, for the emulation and for devices that lack it. */
template <class Half>
TD_DEVICE void multiply_portably(float (&sums)[4], const uint32_t (&x)[4], const uint32_t (&y)[2])
{
    const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, pair = lane % 4;
    for (int half = 0; half < 2; half++) {
        for (int source = 0; source < 4; source++) {
            const uint32_t upper = __shfl_sync(0xFFFFFFFFu, x[2 * half], group * 4 + source);
            const uint32_t lower = __shfl_sync(0xFFFFFFFFu, x[2 * half + 1], group * 4 + source);
            const uint32_t left = __shfl_sync(0xFFFFFFFFu, y[half], pair * 8 + source);
            const uint32_t right = __shfl_sync(0xFFFFFFFFu, y[half], pair * 8 + 4 + source);
            for (int shift = 0; shift < 32; shift += 16) {
                const float a = widen<Half>(upper >> shift), b = widen<Half>(lower >> shift);
                const float c = widen<Half>(left >> shift), d = widen<Half>(right >> shift);
                sums[0] += a * c;
                sums[1] += a * d;
                sums[2] += b * c;
                sums[3] += b * d;
            }
        }
    }
}

/* sums += x y for a 16 x 16 fragment of x and a 16 x 8 one of y. All lanes of the warp take part. */
template <class Half>
TD_DEVICE void multiply_fragments(float (&sums)[4], const uint32_t (&x)[4], const uint32_t (&y)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<Half, Float16>)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#else
    multiply_portably<Half>(sums, x, y);
#endif
}

TD_DEVICE void load_halves(Tile &tile, const char *from, int64_t place_stride, int64_t step_stride, int places,
                           int steps)
{
    const bool steps_first = magnitude(step_stride) < magnitude(place_stride);
    for (int at = static_cast<int>(threadIdx.x); at < ROWS * DEPTH; at += THREADS) {
        const int place = steps_first ? at / DEPTH : at % ROWS, step = steps_first ? at % DEPTH : at / ROWS;
        uint16_t bits = 0;
        if (place < places && step < steps)
            bits = *reinterpret_cast<const uint16_t *>(from + place * place_stride + step * step_stride);
        tile[place][step] = bits;
    }
}

TD_DEVICE uint32_t two_halves(const Tile &tile, int place, int step)
{
    uint32_t word;
    memcpy(&word, &tile[place][step], sizeof word);
    return word;
}

using Sums = float[ROW_FRAGMENTS][COLUMN_FRAGMENTS][4];

struct Lane {
    int row, column, group, pair; /* the warp's quarter of the tile, and the lane's place in a fragment */
};

TD_DEVICE Lane this_lane()
{
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
    return {warp / 2 * 16 * ROW_FRAGMENTS, warp % 2 * 8 * COLUMN_FRAGMENTS, thread % 32 / 4, thread % 4};
}

template <class Half> TD_DEVICE void multiply_warp(const Tile &x, const Tile &y, Sums &sums)
{
    const Lane lane = this_lane();
    TD_UNROLL
    for (int step = 2 * lane.pair; step < DEPTH; step += 16) {
        uint32_t left[ROW_FRAGMENTS][4], right[COLUMN_FRAGMENTS][2];
        TD_UNROLL
        for (int m = 0; m < ROW_FRAGMENTS; m++)
            TD_UNROLL
            for (int part = 0; part < 4; part++)
                left[m][part] = two_halves(x, lane.row + 16 * m + lane.group + part % 2 * 8, step + part / 2 * 8);
        TD_UNROLL
        for (int n = 0; n < COLUMN_FRAGMENTS; n++)
            TD_UNROLL
            for (int part = 0; part < 2; part++)
                right[n][part] = two_halves(y, lane.column + 8 * n + lane.group, step + part * 8);
        TD_UNROLL
        for (int m = 0; m < ROW_FRAGMENTS; m++)
            TD_UNROLL
            for (int n = 0; n < COLUMN_FRAGMENTS; n++)
                multiply_fragments<Half>(sums[m][n], left[m], right[n]);
    }
}

template <class Half>
TD_DEVICE void store_sums(const Product &plan, char *out, int64_t matrix, int64_t row0, int64_t column0,
                          const Sums &sums)
{
    const Lane lane = this_lane();
    auto *parts = reinterpret_cast<float *>(plan.parts.sums) + matrix * plan.rows * plan.columns;
    TD_UNROLL
    for (int at = 0; at < ROW_FRAGMENTS * COLUMN_FRAGMENTS * 4; at++) {
        const int m = at / (4 * COLUMN_FRAGMENTS), n = at / 4 % COLUMN_FRAGMENTS, i = at % 4;
        const int64_t row = row0 + lane.row + 16 * m + lane.group + i / 2 * 8;
        const int64_t column = column0 + lane.column + 8 * n + 2 * lane.pair + i % 2;
        if (row >= plan.rows || column >= plan.columns)
            continue;
        if (plan.parts.count > 1)
            parts[row * plan.columns + column] = sums[m][n][i];
        else
            *reinterpret_cast<Half *>(out + row * plan.out_row + column * plan.out_column) = Half(sums[m][n][i]);
    }
}

template <class Half>
__global__ void __launch_bounds__(THREADS) matmul_half_kernel(const __grid_constant__ Product plan)
{
    TD_SHARED(uint16_t, x_tile, [ROWS][DEPTH + PAD]);
    TD_SHARED(uint16_t, y_tile, [COLUMNS][DEPTH + PAD]);
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    for (int64_t tile = blockIdx.x; tile < tiles * plan.batch.size * plan.parts.count; tile += gridDim.x) {
        const int64_t row0 = tile % tiles / plan.column_tiles * ROWS;
        const int64_t column0 = tile % tiles % plan.column_tiles * COLUMNS;
        const int64_t first = tile / tiles / plan.batch.size * plan.parts.length;
        const int rows = at_most(plan.rows - row0, ROWS), columns = at_most(plan.columns - column0, COLUMNS);
        int64_t offset[3];
        locate(plan.batch, tile / tiles % plan.batch.size, offset);
        const char *x = plan.batch.data[0] + offset[0] + row0 * plan.x_row + first * plan.x_inner;
        const char *y = plan.batch.data[1] + offset[1] + column0 * plan.y_column + first * plan.y_inner;
        Sums sums = {};
        int64_t left = plan.inner - first < plan.parts.length ? plan.inner - first : plan.parts.length;
        for (; left > 0; left -= DEPTH) {
            const int steps = at_most(left, DEPTH);
            load_halves(x_tile, x, plan.x_row, plan.x_inner, rows, steps);
            load_halves(y_tile, y, plan.y_column, plan.y_inner, columns, steps);
            x += DEPTH * plan.x_inner;
            y += DEPTH * plan.y_inner;
            __syncthreads();
            multiply_warp<Half>(x_tile, y_tile, sums);
            __syncthreads();
        }
        store_sums<Half>(plan, plan.batch.data[2] + offset[2], tile / tiles, row0, column0, sums);
    }
}

template <class Half> int multiply(Product &plan)
{
    return run_tiles<Arithmetic<Half>>(plan, ROWS, COLUMNS, [&](unsigned blocks) -> int {
        TD_LAUNCH(matmul_half_kernel<Half>, blocks, THREADS, plan);
        return TD_OK;
    });
}

} // namespace

bool multiplies_matrices()
{
#ifdef TREADLE_EMULATION
    return true;
#else
    int major = 0;
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current_device()) == cudaSuccess &&
           major >= 8;
#endif
}

int multiply_halves(Product &plan, int dtype)
{
    return dtype == TD_f16 ? multiply<Float16>(plan) : multiply<BFloat16>(plan);
}

} // namespace td
