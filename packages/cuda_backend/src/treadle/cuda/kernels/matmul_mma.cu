/* The matrix product by the matrix instruction of a warp (fragments.h): of halves, and of floats rounded to TF32, with
 * sums in float. In words of 32 bits, of two halves or one number of TF32, both are alike.
 *
 * A block computes a tile of Shape::ROWS x COLUMNS, and each of its warps the sums of a part of it in registers. The
 * operands come to shared memory DEPTH steps of the inner axis at a time, into a ring of STAGES, so that two blocks are
 * under way while one is multiplied. Operands with lines of 16 bytes, along the inner axis or along the rows or columns,
 * are copied as they lie (async_copy.h) and brought into the order of the fragments by ldmatrix; others are gathered
 * element by element into lines along the inner axis. The 16 bytes of a line are exchanged by its number, so that the
 * eight rows that ldmatrix reads lie in different banks. */
#include <atomic>

#include "fragments.h"
#include "product.h"

namespace td {

namespace {

constexpr int WORDS = 16, STAGES = 3; /* a block has so many words of the inner axis */
constexpr int CHUNK = 16;             /* bytes */
constexpr int INNER_LINE = WORDS * 4;
template <class Kind> constexpr int DEPTH = WORDS * Kind::NUMBERS;
template <class Kind> constexpr int ITEM = 4 / Kind::NUMBERS;

template <int ROWS_, int COLUMNS_, int WARP_ROWS, int WARP_COLUMNS> struct Shape {
    static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_, ACROSS = COLUMNS / WARP_COLUMNS;
    static constexpr int THREADS = 32 * ROWS / WARP_ROWS * ACROSS;
    static constexpr int STAGE = (ROWS + COLUMNS) * INNER_LINE; /* bytes */
    static constexpr int M = WARP_ROWS / 16, N = WARP_COLUMNS / 8; /* fragments of a warp */
};
using Large = Shape<128, 128, 64, 32>;
using Little = Shape<64, 64, 32, 32>;

template <class Shape> using Sums = float[Shape::M][Shape::N][4];

/* An operand from the tile's first element on: the strides of its rows or columns and of the inner axis, how many of
 * them exist, and whether it is copied in lines. */
struct Source {
    const char *from;
    int64_t place, step;
    int places;
    bool in_lines;
};

/* Where a chunk of a line lies in a tile, whose lines run along the inner axis or hold PLACES rows or columns. */
template <class Kind, int PLACES, bool INNER> TD_DEVICE int place_of(int line, int chunk)
{
    if (INNER)
        return line * INNER_LINE + (chunk ^ line / 2 % 4) * CHUNK;
    return line * PLACES * ITEM<Kind> + (chunk ^ line % 8) * CHUNK;
}

/* Gathers a block of an operand into lines along the inner axis. */
template <class Kind, class Shape, int PLACES>
TD_DEVICE void gather(char *to, const Source &source, const char *from, int steps)
{
    constexpr int STEPS = DEPTH<Kind>, IN_CHUNK = CHUNK / ITEM<Kind>;
    const bool steps_first = magnitude(source.step) < magnitude(source.place);
    for (int at = static_cast<int>(threadIdx.x); at < PLACES * STEPS; at += Shape::THREADS) {
        const int place = steps_first ? at / STEPS : at % PLACES, step = steps_first ? at % STEPS : at / PLACES;
        typename Kind::Stored bits = 0;
        if (place < source.places && step < steps)
            bits = Kind::bits(from + place * source.place + step * source.step);
        char *there = to + place_of<Kind, PLACES, true>(place, step / IN_CHUNK) + step % IN_CHUNK * ITEM<Kind>;
        *reinterpret_cast<typename Kind::Stored *>(there) = bits;
    }
}

/* Calls work(to, line, chunk) for the chunks of a tile that are this thread's. */
template <class Kind, class Shape, int PLACES, bool INNER, class Work> TD_DEVICE void for_chunks(char *tile, Work &&work)
{
    constexpr int LINES = INNER ? PLACES : DEPTH<Kind>;
    constexpr int CHUNKS = (INNER ? DEPTH<Kind> : PLACES) * ITEM<Kind> / CHUNK, APART = Shape::THREADS / CHUNKS;
    static_assert(APART % 8 == 0 && LINES % APART == 0, "a thread's chunks are exchanged alike");
    const int first = static_cast<int>(threadIdx.x) / CHUNKS, chunk = static_cast<int>(threadIdx.x) % CHUNKS;
    tile += place_of<Kind, PLACES, INNER>(first, chunk);
    TD_UNROLL
    for (int line = 0; line < LINES; line += APART)
        work(tile + line * (INNER ? INNER_LINE : PLACES * ITEM<Kind>), first + line, chunk);
}

/* Starts to bring a block of an operand, of which `steps` of the inner axis exist, with zeros beyond the edges. */
template <class Kind, class Shape, int PLACES, bool INNER>
TD_DEVICE void start_block(char *tile, const Source &source, int64_t block, int steps)
{
    const char *from = source.from + block * DEPTH<Kind> * source.step;
    if (INNER && !source.in_lines)
        return gather<Kind, Shape, PLACES>(tile, source, from, steps);
    const int lines = INNER ? source.places : steps, items = INNER ? steps : source.places;
    const int64_t stride = INNER ? source.place : source.step;
    for_chunks<Kind, Shape, PLACES, INNER>(tile, [&](char *to, int line, int chunk) {
        const int left = items * ITEM<Kind> - chunk * CHUNK, bytes = left < 0 ? 0 : left < CHUNK ? left : CHUNK;
        const int valid = line < lines ? bytes : 0;
        copy_async(to, valid ? from + line * stride + chunk * CHUNK : source.from, valid);
    });
}

/* Rounds what the thread itself has copied. */
template <class Kind, class Shape, int PLACES, bool INNER> TD_DEVICE void round_block(char *tile, const Source &source)
{
    if (Kind::ROUNDS && source.in_lines)
        for_chunks<Kind, Shape, PLACES, INNER>(tile, [&](char *at, int, int) {
            uint32_t words[4];
            memcpy(words, at, sizeof words);
            for (uint32_t &word : words)
                word = Kind::rounded(word);
            memcpy(at, words, sizeof words);
        });
}

/* Sixteen rows or columns from `place` on by eight words from chunk `chunk` on: the matrices lie behind each other along
 * the inner axis first, or along the rows or columns first. */
template <class Kind, int PLACES, bool INNER, bool PLACES_FIRST>
TD_DEVICE void load_fragments(uint32_t (&words)[4], const char *tile, int place, int chunk)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, first = lane / 8 % 2, second = lane / 16;
    const int along_places = PLACES_FIRST ? first : second, along_inner = PLACES_FIRST ? second : first;
    if constexpr (INNER) {
        load_matrices<false>(
            words, tile + place_of<Kind, PLACES, true>(place + 8 * along_places + lane % 8, chunk + along_inner));
    } else if constexpr (Kind::NUMBERS == 2) {
        const int step = 8 * (chunk + along_inner) + lane % 8;
        load_matrices<true>(words, tile + place_of<Kind, PLACES, false>(step, place / 8 + along_places));
    } else {
        TD_UNROLL
        for (int matrix = 0; matrix < 4; matrix++) {
            const int step = 4 * (chunk + (PLACES_FIRST ? matrix / 2 : matrix % 2)) + lane % 4;
            const int at = place + 8 * (PLACES_FIRST ? matrix % 2 : matrix / 2) + lane / 4;
            memcpy(&words[matrix], tile + place_of<Kind, PLACES, false>(step, at / 4) + at % 4 * 4, 4);
        }
    }
}

template <class Shape> TD_DEVICE int warp_row() { return threadIdx.x / 32 / Shape::ACROSS * Shape::M * 16; }
template <class Shape> TD_DEVICE int warp_column() { return threadIdx.x / 32 % Shape::ACROSS * Shape::N * 8; }

template <class Kind, class Shape, bool X_INNER, bool Y_INNER>
TD_DEVICE void multiply_block(const char *x, const char *y, Sums<Shape> &sums)
{
    TD_UNROLL
    for (int chunk = 0; chunk < WORDS / 4; chunk += 2) {
        uint32_t left[Shape::M][4], right[Shape::N / 2][4];
        TD_UNROLL
        for (int m = 0; m < Shape::M; m++)
            load_fragments<Kind, Shape::ROWS, X_INNER, true>(left[m], x, warp_row<Shape>() + 16 * m, chunk);
        TD_UNROLL
        for (int n = 0; n < Shape::N / 2; n++)
            load_fragments<Kind, Shape::COLUMNS, Y_INNER, false>(right[n], y, warp_column<Shape>() + 16 * n, chunk);
        TD_UNROLL
        for (int m = 0; m < Shape::M; m++)
            TD_UNROLL
            for (int n = 0; n < Shape::N; n++) {
                const uint32_t column[2] = {right[n / 2][n % 2 * 2], right[n / 2][n % 2 * 2 + 1]};
                multiply_fragments<Kind>(sums[m][n], left[m], column);
            }
    }
}

template <class Kind, class Shape>
TD_DEVICE void store_sums(const Product &plan, char *out, int64_t matrix, int64_t row0, int64_t column0,
                          const Sums<Shape> &sums)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row0 += warp_row<Shape>() + lane / 4;
    column0 += warp_column<Shape>() + lane % 4 * 2;
    TD_UNROLL
    for (int at = 0; at < Shape::M * Shape::N * 4; at++) {
        const int m = at / (4 * Shape::N), n = at / 4 % Shape::N, i = at % 4;
        store_sum<typename Kind::T>(plan, out, matrix, row0 + 16 * m + i / 2 * 8, column0 + 8 * n + i % 2, sums[m][n][i]);
    }
}

template <class Kind, class Shape, bool X_INNER, bool Y_INNER>
TD_DEVICE void multiply_blocks(const Source &x, const Source &y, int64_t left, char *stages, Sums<Shape> &sums)
{
    constexpr int Y = Shape::ROWS * INNER_LINE;
    run_ring<STAGES>(
        ceil_div(left, DEPTH<Kind>),
        [&](int64_t block, int stage) {
            char *to = stages + stage * Shape::STAGE;
            const int steps = at_most(left - block * DEPTH<Kind>, DEPTH<Kind>);
            start_block<Kind, Shape, Shape::ROWS, X_INNER>(to, x, block, steps);
            start_block<Kind, Shape, Shape::COLUMNS, Y_INNER>(to + Y, y, block, steps);
        },
        [&](int stage) {
            char *at = stages + stage * Shape::STAGE;
            round_block<Kind, Shape, Shape::ROWS, X_INNER>(at, x);
            round_block<Kind, Shape, Shape::COLUMNS, Y_INNER>(at + Y, y);
        },
        [&](int stage) {
            const char *at = stages + stage * Shape::STAGE;
            multiply_block<Kind, Shape, X_INNER, Y_INNER>(at, at + Y, sums);
        });
}

template <class Kind, class Shape, bool X_INNER, bool Y_INNER>
__global__ void __launch_bounds__(Shape::THREADS, Kind::ROUNDS ? 1 : 2)
    matmul_mma_kernel(const __grid_constant__ Product plan)
{
    TD_DYNAMIC_SHARED(char, stages);
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    for (int64_t tile = blockIdx.x; tile < tiles * plan.batch.size * plan.parts.count; tile += gridDim.x) {
        const int64_t row0 = tile % tiles / plan.column_tiles * Shape::ROWS;
        const int64_t column0 = tile % tiles % plan.column_tiles * Shape::COLUMNS;
        const int64_t first = tile / tiles / plan.batch.size * plan.parts.length;
        const int64_t left = plan.inner - first < plan.parts.length ? plan.inner - first : plan.parts.length;
        int64_t offset[3];
        locate(plan.batch, tile / tiles % plan.batch.size, offset);
        const Source x = {plan.batch.data[0] + offset[0] + row0 * plan.x_row + first * plan.x_inner, plan.x_row,
                          plan.x_inner, at_most(plan.rows - row0, Shape::ROWS), plan.x_lines};
        const Source y = {plan.batch.data[1] + offset[1] + column0 * plan.y_column + first * plan.y_inner,
                          plan.y_column, plan.y_inner, at_most(plan.columns - column0, Shape::COLUMNS), plan.y_lines};
        Sums<Shape> sums = {};
        multiply_blocks<Kind, Shape, X_INNER, Y_INNER>(x, y, left, stages, sums);
        store_sums<Kind, Shape>(plan, plan.batch.data[2] + offset[2], tile / tiles, row0, column0, sums);
    }
}

template <class Kind, class Shape, bool X_INNER, bool Y_INNER> int run(Product &plan)
{
    return run_tiles<Arithmetic<typename Kind::T>>(plan, Shape::ROWS, Shape::COLUMNS, [&](unsigned blocks) -> int {
        TD_LAUNCH_SHARED((matmul_mma_kernel<Kind, Shape, X_INNER, Y_INNER>), blocks, Shape::THREADS,
                         STAGES * Shape::STAGE, plan);
        return TD_OK;
    });
}

template <class Kind, class Shape> int run_layout(Product &plan)
{
    constexpr int64_t item = ITEM<Kind>;
    plan.x_lines = has_lines(plan, 0, plan.x_inner, plan.x_row, item);
    plan.y_lines = has_lines(plan, 1, plan.y_inner, plan.y_column, item);
    const bool x_inner = !plan.x_lines || plan.x_inner == item, y_inner = !plan.y_lines || plan.y_inner == item;
    if (x_inner)
        return y_inner ? run<Kind, Shape, true, true>(plan) : run<Kind, Shape, true, false>(plan);
    return y_inner ? run<Kind, Shape, false, true>(plan) : run<Kind, Shape, false, false>(plan);
}

template <class Kind> int multiply(Product &plan)
{
    constexpr int64_t ENOUGH = 96; /* large tiles, which read less, fill the device */
    const int64_t tiles = ceil_div(plan.rows, Large::ROWS) * ceil_div(plan.columns, Large::COLUMNS) * plan.batch.size;
    return tiles >= ENOUGH ? run_layout<Kind, Large>(plan) : run_layout<Kind, Little>(plan);
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
