/* The matrix product by the matrix instruction of a warp: of halves by mma.m16n8k16, of floats rounded to TF32 by
 * mma.m16n8k8, with sums in float (PTX ISA, "Matrix fragments for mma.m16n8k16" and "for mma.m16n8k8"). In words of 32
 * bits, of two halves or one number of TF32, both instructions lay out their fragments alike. A block of four warps
 * computes a tile of ROWS x COLUMNS; each warp holds the sums of a quarter of it in registers. Both operands lie in
 * shared memory with the inner axis along rows, as the fragments read them. */
#include <atomic>

#include "fragments.h"
#include "product.h"

namespace td {

namespace {

constexpr int ROWS = 64, COLUMNS = 64, WORDS = 16; /* a step brings so many words of the inner axis */
constexpr int THREADS = 128;
constexpr int PAD = 4; /* words that spread the eight rows of a fragment over the banks */
constexpr int ROW_FRAGMENTS = 2, COLUMN_FRAGMENTS = 4; /* of 16 rows and of 8 columns, for a warp */
static_assert(ROWS == COLUMNS, "one type serves both operands");

template <class Kind> constexpr int DEPTH = WORDS * Kind::NUMBERS;
template <class Kind> using Tile = typename Kind::Stored[ROWS][(WORDS + PAD) * Kind::NUMBERS];

template <class Kind>
TD_DEVICE void load_operand(Tile<Kind> &tile, const char *from, int64_t place_stride, int64_t step_stride, int places,
                            int steps)
{
    const bool steps_first = magnitude(step_stride) < magnitude(place_stride);
    for (int at = static_cast<int>(threadIdx.x); at < ROWS * DEPTH<Kind>; at += THREADS) {
        const int place = steps_first ? at / DEPTH<Kind> : at % ROWS;
        const int step = steps_first ? at % DEPTH<Kind> : at / ROWS;
        typename Kind::Stored bits = 0;
        if (place < places && step < steps)
            bits = Kind::bits(from + place * place_stride + step * step_stride);
        tile[place][step] = bits;
    }
}

template <class Kind> TD_DEVICE uint32_t word_of(const Tile<Kind> &tile, int place, int word)
{
    uint32_t bits;
    memcpy(&bits, &tile[place][word * Kind::NUMBERS], sizeof bits);
    return bits;
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

template <class Kind> TD_DEVICE void multiply_warp(const Tile<Kind> &x, const Tile<Kind> &y, Sums &sums)
{
    const Lane lane = this_lane();
    TD_UNROLL
    for (int word = lane.pair; word < WORDS; word += 8) {
        uint32_t left[ROW_FRAGMENTS][4], right[COLUMN_FRAGMENTS][2];
        TD_UNROLL
        for (int m = 0; m < ROW_FRAGMENTS; m++)
            TD_UNROLL
            for (int part = 0; part < 4; part++)
                left[m][part] =
                    word_of<Kind>(x, lane.row + 16 * m + lane.group + part % 2 * 8, word + part / 2 * 4);
        TD_UNROLL
        for (int n = 0; n < COLUMN_FRAGMENTS; n++)
            TD_UNROLL
            for (int part = 0; part < 2; part++)
                right[n][part] = word_of<Kind>(y, lane.column + 8 * n + lane.group, word + part * 4);
        TD_UNROLL
        for (int m = 0; m < ROW_FRAGMENTS; m++)
            TD_UNROLL
            for (int n = 0; n < COLUMN_FRAGMENTS; n++)
                multiply_fragments<Kind>(sums[m][n], left[m], right[n]);
    }
}

template <class Kind>
TD_DEVICE void store_sums(const Product &plan, char *out, int64_t matrix, int64_t row0, int64_t column0,
                          const Sums &sums)
{
    const Lane lane = this_lane();
    TD_UNROLL
    for (int at = 0; at < ROW_FRAGMENTS * COLUMN_FRAGMENTS * 4; at++) {
        const int m = at / (4 * COLUMN_FRAGMENTS), n = at / 4 % COLUMN_FRAGMENTS, i = at % 4;
        store_sum<typename Kind::T>(plan, out, matrix, row0 + lane.row + 16 * m + lane.group + i / 2 * 8,
                                    column0 + lane.column + 8 * n + 2 * lane.pair + i % 2, sums[m][n][i]);
    }
}

template <class Kind>
__global__ void __launch_bounds__(THREADS) matmul_mma_kernel(const __grid_constant__ Product plan)
{
    TD_SHARED(typename Kind::Stored, x_tile, [ROWS][(WORDS + PAD) * Kind::NUMBERS]);
    TD_SHARED(typename Kind::Stored, y_tile, [COLUMNS][(WORDS + PAD) * Kind::NUMBERS]);
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
        for (; left > 0; left -= DEPTH<Kind>) {
            const int steps = at_most(left, DEPTH<Kind>);
            load_operand<Kind>(x_tile, x, plan.x_row, plan.x_inner, rows, steps);
            load_operand<Kind>(y_tile, y, plan.y_column, plan.y_inner, columns, steps);
            x += DEPTH<Kind> * plan.x_inner;
            y += DEPTH<Kind> * plan.y_inner;
            __syncthreads();
            multiply_warp<Kind>(x_tile, y_tile, sums);
            __syncthreads();
        }
        store_sums<Kind>(plan, plan.batch.data[2] + offset[2], tile / tiles, row0, column0, sums);
    }
}

template <class Kind> int multiply(Product &plan)
{
    return run_tiles<Arithmetic<typename Kind::T>>(plan, ROWS, COLUMNS, [&](unsigned blocks) -> int {
        TD_LAUNCH(matmul_mma_kernel<Kind>, blocks, THREADS, plan);
        return TD_OK;
    });
}

std::atomic<bool> tf32_allowed{false};

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

bool multiplies_by_instruction(int dtype)
{
    return (dtype == TD_f16 || dtype == TD_bf16 || (dtype == TD_f32 && tf32_allowed)) && multiplies_matrices();
}

int multiply_by_instruction(Product &plan, int dtype)
{
    switch (dtype) {
    case TD_f16: return multiply<Halves<Float16>>(plan);
    case TD_bf16: return multiply<Halves<BFloat16>>(plan);
    default: return multiply<Tf32>(plan);
    }
}

} // namespace td

int td_cuda_allow_tf32(int allowed) { return td::tf32_allowed.exchange(allowed != 0); }
