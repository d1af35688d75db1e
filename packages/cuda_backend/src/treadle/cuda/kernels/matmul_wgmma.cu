/* The matrix product of halves, and of floats rounded to TF32, by the instruction of a warpgroup (warpgroup.h), on
 * compute capability 9.0.
 *
 * A block of two warpgroups computes a tile of ROWS x COLUMNS; each warpgroup holds the sums of 64 rows in registers.
 * Both operands come to shared memory by asynchronous copies, DEPTH steps of the inner axis at a time, into a ring of
 * STAGES. In round b, after the barrier,
 *   - block b has arrived for every thread and is visible to the async proxy, and its products are issued;
 *   - the products of block b - 2 have been waited for by every thread, so that block b + STAGES - 2 may be copied
 *     into its stage while the products of blocks b - 1 and b are under way.
 * An operand may run along the inner axis or along its rows or columns; its lines must begin at multiples of 16 bytes,
 * and the other products go to matmul_mma.cu. Halves are copied as they lie, by 16 bytes. The instruction takes TF32 along
 * the inner axis only, so that floats along rows or columns are turned by copies of 4 bytes; and it drops the bits that
 * TF32 has not, so that each thread rounds what it has copied before it publishes it. Beyond the edges the copies write
 * zeros.
 *
 * Before the first product of a dtype on a device its kernels are compared with those of matmul_mma.cu: check_kind(). */
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "pools.h"
#include "product.h"
#include "warpgroup.h"

namespace td {

namespace {

constexpr int ROWS = 2 * WARPGROUP_ROWS, THREADS = 2 * WARPGROUP;
template <class Kind> constexpr int ITEM = 4 / Kind::NUMBERS; /* bytes */
template <class Kind> constexpr int DEPTH = LINE / ITEM<Kind>;
template <class Kind> constexpr bool TURNED = Kind::NUMBERS == 1; /* operands across the inner axis are */
constexpr int NARROW = 128, WIDE = 256; /* columns of a tile */
constexpr int ALIGNMENT = 8 * LINE; /* of an atom */
template <int COLUMNS> constexpr int STAGES = COLUMNS == WIDE ? 4 : 6;
template <int COLUMNS> constexpr int STAGE = (ROWS + COLUMNS) * LINE; /* bytes */
template <int COLUMNS> constexpr int SHARED = STAGES<COLUMNS> * STAGE<COLUMNS> + ALIGNMENT;

/* An operand from the tile's first element on: bytes from line to line, and how many rows or columns exist. */
struct Source {
    const char *from;
    int64_t line;
    int places;
};

/* Calls work(to, line, chunk) for the thread's 16 bytes of a block of LINES lines of CHUNKS times 16 bytes. */
template <int LINES, int CHUNKS, class Work> TD_DEVICE void for_chunks(char *to, Work &&work)
{
    const int thread = static_cast<int>(threadIdx.x), chunk = thread % CHUNKS, first = thread / CHUNKS;
    to += chunk / 8 * LINES * LINE + swizzled(first, chunk % 8); /* every further line has the same place in its eight */
    TD_UNROLL
    for (int i = 0; i < LINES * CHUNKS / THREADS; i++)
        work(to + i * (THREADS / CHUNKS) * LINE, first + i * (THREADS / CHUNKS), chunk);
}

/* Calls work(to, place, step) for the thread's words of PLACES lines along the inner axis. */
template <int PLACES, class Work> TD_DEVICE void for_words(char *to, Work &&work)
{
    const int place = static_cast<int>(threadIdx.x) % PLACES, first = static_cast<int>(threadIdx.x) / PLACES;
    TD_UNROLL
    for (int step = first; step < LINE / 4; step += THREADS / PLACES)
        work(to + swizzled(place, step / 4) + step % 4 * 4, place, step);
}

/* Starts the copies of a block of an operand, PLACES x DEPTH, of which `steps` of the inner axis exist. */
template <class Kind, int PLACES, bool INNER_LINES>
TD_DEVICE void start_copies(char *to, const Source &source, int64_t block, int steps)
{
    const char *from = source.from + block * (INNER_LINES ? LINE : DEPTH<Kind> * source.line);
    if constexpr (TURNED<Kind> && !INNER_LINES) {
        for_words<PLACES>(to, [&](char *word, int place, int step) {
            const bool exists = place < source.places && step < steps;
            copy_word_async(word, exists ? from + step * source.line + place * 4 : source.from, exists);
        });
    } else {
        constexpr int LINES = INNER_LINES ? PLACES : DEPTH<Kind>, ALONG = INNER_LINES ? DEPTH<Kind> : PLACES;
        const int lines = INNER_LINES ? source.places : steps, items = INNER_LINES ? steps : source.places;
        for_chunks<LINES, ALONG * ITEM<Kind> / 16>(to, [&](char *there, int line, int chunk) {
            const int left = ITEM<Kind> * items - 16 * chunk, bytes = left < 0 ? 0 : left < 16 ? left : 16;
            const int valid = line < lines ? bytes : 0;
            copy_async(there, valid ? from + line * source.line + chunk * 16 : source.from, valid);
        });
    }
}

/* Rounds what the thread itself has copied of a block of floats. */
template <class Kind, int PLACES, bool INNER_LINES> TD_DEVICE void round_copies(char *at)
{
    const auto round = [](char *words, int count) {
        for (uint32_t *word = reinterpret_cast<uint32_t *>(words); count-- > 0; word++)
            *word = Kind::rounded(*word);
    };
    if constexpr (!Kind::ROUNDS)
        return;
    else if constexpr (INNER_LINES)
        for_chunks<PLACES, LINE / 16>(at, [&](char *chunk, int, int) { round(chunk, 4); });
    else
        for_words<PLACES>(at, [&](char *word, int, int) { round(word, 1); });
}

/* The products of a block that lies at an address of shared memory. */
template <class Kind, int COLUMNS, bool X_LINES, bool Y_LINES>
TD_DEVICE void start_products(float (&sums)[COLUMNS / 2], uint32_t stage)
{
    const uint32_t warpgroup = threadIdx.x / WARPGROUP;
    constexpr bool X_INNER = X_LINES || TURNED<Kind>, Y_INNER = Y_LINES || TURNED<Kind>;
    constexpr int LINES = STEP / ITEM<Kind> * LINE; /* bytes of a step across them */
    const uint64_t x = describe<X_INNER>(stage + warpgroup * WARPGROUP_ROWS * LINE, DEPTH<Kind>);
    const uint64_t y = describe<Y_INNER>(stage + ROWS * LINE, DEPTH<Kind>);
    begin_products();
    TD_UNROLL
    for (int step = 0; step < LINE / STEP; step++)
        multiply_async<Kind, COLUMNS, X_INNER, Y_INNER>(sums, x + descriptor_step(step * (X_INNER ? STEP : LINES)),
                                                        y + descriptor_step(step * (Y_INNER ? STEP : LINES)));
    commit_products();
}

template <class Kind, int COLUMNS>
TD_DEVICE void store_sums(const Product &plan, char *out, int64_t matrix, int64_t row0, int64_t column0,
                          const float (&sums)[COLUMNS / 2])
{
    using T = typename Kind::T;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const bool in_words = Kind::NUMBERS == 2 && plan.parts.count == 1 && plan.out_column == 2 &&
                          (reinterpret_cast<uintptr_t>(out) | static_cast<uintptr_t>(plan.out_row)) % 4 == 0;
    column0 += lane % 4 * 2;
    TD_UNROLL
    for (int half = 0; half < 2; half++) {
        const int64_t row = row0 + thread / 32 * 16 + lane / 4 + 8 * half;
        [[maybe_unused]] char *to = out + row * plan.out_row + column0 * 2;
        TD_UNROLL
        for (int n = 0; n < COLUMNS / 8; n++) {
            const float low = sums[4 * n + 2 * half], high = sums[4 * n + 2 * half + 1];
            if constexpr (Kind::NUMBERS == 2)
                if (in_words && row < plan.rows && column0 + 8 * n + 1 < plan.columns) {
                    const uint32_t word = T(low).bits | static_cast<uint32_t>(T(high).bits) << 16;
                    *reinterpret_cast<uint32_t *>(to + 16 * n) = word;
                    continue;
                }
            store_sum<T>(plan, out, matrix, row, column0 + 8 * n, low);
            store_sum<T>(plan, out, matrix, row, column0 + 8 * n + 1, high);
        }
    }
}

struct Place {
    int64_t row, column;
};

/* Tiles that run at once lie side by side in both directions, so that they share what they read in the cache. */
[[maybe_unused]] TD_DEVICE Place place_of(const Product &plan, int64_t tile)
{
    constexpr int64_t GROUP = 16;
    const int64_t first = tile / (GROUP * plan.column_tiles) * GROUP;
    const int64_t rest = tile - first * plan.column_tiles;
    const int64_t rows = plan.row_tiles - first < GROUP ? plan.row_tiles - first : GROUP;
    return {first + rest % rows, rest / rows};
}

template <class Kind, int COLUMNS, bool X_INNER, bool Y_INNER>
TD_DEVICE void multiply_blocks(const Source &x, const Source &y, int64_t left, char *stages, float (&sums)[COLUMNS / 2])
{
    constexpr int COUNT = STAGES<COLUMNS>, AHEAD = COUNT - 2;
    const int64_t blocks = ceil_div(left, DEPTH<Kind>);
    const auto copy = [&](int64_t block) {
        if (block < blocks) {
            char *stage = stages + block % COUNT * STAGE<COLUMNS>;
            const int steps = at_most(left - block * DEPTH<Kind>, DEPTH<Kind>);
            start_copies<Kind, ROWS, X_INNER>(stage, x, block, steps);
            start_copies<Kind, COLUMNS, Y_INNER>(stage + ROWS * LINE, y, block, steps);
        }
        commit_copies();
    };
    for (int block = 0; block < AHEAD; block++)
        copy(block);
    const uint32_t base = shared_address(stages);
    settle(sums);
    TD_ROLLED
    for (int64_t block = 0; block < blocks; block++) {
        wait_for_copies<AHEAD - 1>();
        round_copies<Kind, ROWS, X_INNER>(stages + block % COUNT * STAGE<COLUMNS>);
        round_copies<Kind, COLUMNS, Y_INNER>(stages + block % COUNT * STAGE<COLUMNS> + ROWS * LINE);
        publish_copies();
        __syncthreads();
        start_products<Kind, COLUMNS, X_INNER, Y_INNER>(
            sums, base + static_cast<uint32_t>(block % COUNT) * STAGE<COLUMNS>);
        copy(block + AHEAD);
        wait_for_products<1>();
    }
    wait_for_products<0>();
    settle(sums);
    __syncthreads(); /* the next tile's first copies go to stages that the other warpgroup has just read */
}

template <class Kind, int COLUMNS, bool X_INNER, bool Y_INNER>
__global__ void __launch_bounds__(THREADS, 1) matmul_wgmma_kernel(const __grid_constant__ Product plan)
{
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
    __trap(); /* has_warpgroups() keeps these devices away */
#else
    TD_DYNAMIC_SHARED(char, shared);
    char *stages = shared + (ALIGNMENT - shared_address(shared) % ALIGNMENT) % ALIGNMENT;
    const int64_t tiles = plan.row_tiles * plan.column_tiles;
    for (int64_t tile = blockIdx.x; tile < tiles * plan.batch.size * plan.parts.count; tile += gridDim.x) {
        const Place place = place_of(plan, tile % tiles);
        const int64_t row0 = place.row * ROWS, column0 = place.column * COLUMNS;
        const int64_t first = tile / tiles / plan.batch.size * plan.parts.length;
        const int64_t left = plan.inner - first < plan.parts.length ? plan.inner - first : plan.parts.length;
        int64_t offset[3];
        locate(plan.batch, tile / tiles % plan.batch.size, offset);
        const Source x = {plan.batch.data[0] + offset[0] + row0 * plan.x_row + first * plan.x_inner,
                          X_INNER ? plan.x_row : plan.x_inner, at_most(plan.rows - row0, ROWS)};
        const Source y = {plan.batch.data[1] + offset[1] + column0 * plan.y_column + first * plan.y_inner,
                          Y_INNER ? plan.y_column : plan.y_inner, at_most(plan.columns - column0, COLUMNS)};
        float sums[COLUMNS / 2] = {};
        multiply_blocks<Kind, COLUMNS, X_INNER, Y_INNER>(x, y, left, stages, sums);
        store_sums<Kind, COLUMNS>(plan, plan.batch.data[2] + offset[2], tile / tiles, row0, column0, sums);
    }
#endif
}

template <class Kind, int COLUMNS, bool X_INNER, bool Y_INNER> int run(Product &plan)
{
    return run_tiles<Arithmetic<typename Kind::T>>(plan, ROWS, COLUMNS, [&](unsigned blocks) -> int {
        TD_LAUNCH_SHARED((matmul_wgmma_kernel<Kind, COLUMNS, X_INNER, Y_INNER>), blocks, THREADS, SHARED<COLUMNS>, plan);
        return TD_OK;
    });
}

template <class Kind, int COLUMNS> int run_layout(Product &plan)
{
    const bool x_inner = plan.x_inner == ITEM<Kind>, y_inner = plan.y_inner == ITEM<Kind>;
    if (x_inner)
        return y_inner ? run<Kind, COLUMNS, true, true>(plan) : run<Kind, COLUMNS, true, false>(plan);
    return y_inner ? run<Kind, COLUMNS, false, true>(plan) : run<Kind, COLUMNS, false, false>(plan);
}

template <class Kind> int run_width(Product &plan, int columns)
{
    return columns == WIDE ? run_layout<Kind, WIDE>(plan) : run_layout<Kind, NARROW>(plan);
}

int run_kind(Product &plan, int dtype, int columns)
{
    switch (dtype) {
    case TD_f16: return run_width<Halves<Float16>>(plan, columns);
    case TD_bf16: return run_width<Halves<BFloat16>>(plan, columns);
    default: return run_width<Tf32>(plan, columns);
    }
}

int64_t item_of(int dtype) { return dtype == TD_f32 ? 4 : 2; }

/* --- whether it serves -------------------------------------------------------------------------------------------- */

bool has_warpgroups()
{
#ifdef TREADLE_EMULATION
    return true;
#elif defined(TREADLE_CUDA_SM_90A)
    int major = 0, minor = 1;
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current_device()) == cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, current_device()) == cudaSuccess &&
           major == 9 && minor == 0;
#else
    return false;
#endif
}

bool allowed_at_first()
{
    const char *setting = getenv("TREADLE_CUDA_WGMMA");
    return !setting || strcmp(setting, "0") != 0;
}

enum Verdict { UNKNOWN, RIGHT, WRONG };
constexpr int KINDS[] = {TD_f16, TD_bf16, TD_f32};
std::atomic<bool> allowed{allowed_at_first()};
std::atomic<int> verdicts[MAX_DEVICES][std::size(KINDS)];
thread_local std::string warning;

/* The check: whole numbers, whose sums are exact, in a product with edges that goes round the ring of stages. */
constexpr int64_t CHECK_ROWS = 72, CHECK_COLUMNS = 200, CHECK_INNER = 392;

/* Writes the small whole number of an element. */
void write_number(int dtype, char *to, int64_t i, int64_t j)
{
    const float number = static_cast<float>((i * 7 + j * 13 + i * j % 11) % 8 - 4);
    const uint16_t half = dtype == TD_f16 ? Float16(number).bits : BFloat16(number).bits;
    if (dtype == TD_f32)
        memcpy(to, &number, sizeof number);
    else
        memcpy(to, &half, sizeof half);
}

std::atomic<int> &verdict_on(int device, int dtype)
{
    return verdicts[device][std::find(std::begin(KINDS), std::end(KINDS) - 1, dtype) - KINDS];
}

struct Operand {
    Scratch device;
    int64_t row, column; /* strides in bytes */
    int fill(int dtype, int64_t rows, int64_t columns, bool columns_first)
    {
        const int64_t nbytes = rows * columns * item_of(dtype);
        std::vector<char> bytes(static_cast<size_t>(nbytes));
        row = item_of(dtype) * (columns_first ? columns : 1);
        column = item_of(dtype) * (columns_first ? 1 : rows);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                write_number(dtype, &bytes[static_cast<size_t>(i * row + j * column)], i, j);
        TD_TRY(device.reserve(nbytes));
        return td_cuda_copy_bytes(device.memory(), bytes.data(), nbytes, TD_TO_DEVICE, 0);
    }
};

/* The product of the numbers with x and y in a layout: by warpgroups for a number of columns, or by warps for none. */
int check_product(int dtype, bool x_inner, bool y_inner, int columns, std::vector<char> &result)
{
    Operand x, y, out;
    TD_TRY(x.fill(dtype, CHECK_ROWS, CHECK_INNER, x_inner));
    TD_TRY(y.fill(dtype, CHECK_INNER, CHECK_COLUMNS, !y_inner));
    TD_TRY(out.fill(dtype, CHECK_ROWS, CHECK_COLUMNS, true));
    Product plan = {};
    plan.batch.data[0] = x.device.memory();
    plan.batch.data[1] = y.device.memory();
    plan.batch.data[2] = out.device.memory();
    plan.batch.finish();
    plan.rows = CHECK_ROWS, plan.columns = CHECK_COLUMNS, plan.inner = CHECK_INNER;
    plan.x_row = x.row, plan.x_inner = x.column, plan.y_inner = y.row, plan.y_column = y.column;
    plan.out_row = out.row, plan.out_column = out.column;
    TD_TRY(columns ? run_kind(plan, dtype, columns) : multiply_by_instruction(plan, dtype));
    result.resize(static_cast<size_t>(CHECK_ROWS * CHECK_COLUMNS * item_of(dtype)));
    /* Not by td_cuda_copy_bytes(), which tells of indices that replays have met: no fault of these kernels. */
    TD_CHECK(cudaMemcpyAsync(result.data(), out.device.memory(), result.size(), cudaMemcpyDeviceToHost,
                             stream()));
    TD_CHECK(cudaStreamSynchronize(stream()));
    return TD_OK;
}

/* The device goes on without the instruction for the dtype, and the caller is warned of the kernel. */
int give_up(int device, int dtype, bool x_inner, bool y_inner, int columns, const std::string &why)
{
    const char *kind = dtype == TD_f16 ? "float16, " : dtype == TD_bf16 ? "bfloat16, " : "TF32, ";
    warning = std::string("matmul_wgmma_kernel<") + kind + std::to_string(columns) +
              (x_inner ? ", rows of x" : ", columns of x") + (y_inner ? ", columns of y> " : ", rows of y> ") + why;
    verdict_on(device, dtype) = WRONG;
    return TD_OK;
}

/* Runs every kernel of a dtype once. A GPU has the last word on what the emulation can not show: where a kernel fails, or
 * its result differs from that of matmul_mma.cu in one bit, the dtype does without the instruction on the device. */
int check_kind(int device, int dtype)
{
    std::vector<char> expected, found;
    TD_TRY(check_product(dtype, true, false, 0, expected));
    for (int layout = 0; layout < 8; layout++) {
        const bool x_inner = layout & 1, y_inner = layout & 2;
        const int columns = layout & 4 ? WIDE : NARROW;
        const int status = check_product(dtype, x_inner, y_inner, columns, found);
        if (status == TD_NO_MEMORY)
            return status;
        if (status != TD_OK)
            return give_up(device, dtype, x_inner, y_inner, columns, std::string("fails: ") + td_cuda_error());
        if (found != expected)
            return give_up(device, dtype, x_inner, y_inner, columns, "and matmul_mma_kernel differ");
    }
    verdict_on(device, dtype) = RIGHT;
    return TD_OK;
}

} // namespace

bool suits_warpgroups(const Product &plan, int dtype)
{
    constexpr int64_t LEAST = 64;
    const int device = current_device();
    const int64_t item = item_of(dtype);
    if (!allowed || plan.rows < LEAST || plan.columns < LEAST || plan.inner < LEAST || device >= MAX_DEVICES ||
        !has_lines(plan, 0, plan.x_inner, plan.x_row, item) ||
        !has_lines(plan, 1, plan.y_inner, plan.y_column, item) || !has_warpgroups())
        return false;
    const std::atomic<int> &verdict = verdict_on(device, dtype);
    if (verdict == UNKNOWN && !td_cuda_capturing())
        guarded([&] { return check_kind(device, dtype); }); /* without memory for it, the next product tries again */
    return verdict == RIGHT;
}

int multiply_by_warpgroups(Product &plan, int dtype)
{
    constexpr int64_t ENOUGH = 96; /* wide tiles, which read less, fill the device */
    const int64_t wide = ceil_div(plan.rows, ROWS) * ceil_div(plan.columns, WIDE) * plan.batch.size;
    return run_kind(plan, dtype, wide >= ENOUGH ? WIDE : NARROW);
}

} // namespace td

int td_cuda_allow_wgmma(int allowed, int again)
{
    if (again)
        for (auto &kinds : td::verdicts)
            for (std::atomic<int> &verdict : kinds)
                verdict = td::UNKNOWN;
    return td::allowed.exchange(allowed != 0);
}

int td_cuda_wgmma_verdict(int device, int kind)
{
    return device < td::MAX_DEVICES ? td::verdicts[device][kind].load() : td::UNKNOWN;
}

const char *td_cuda_wgmma_warning(void)
{
    thread_local std::string taken;
    if (td::warning.empty())
        return nullptr;
    taken.swap(td::warning);
    td::warning.clear();
    return taken.c_str();
}
