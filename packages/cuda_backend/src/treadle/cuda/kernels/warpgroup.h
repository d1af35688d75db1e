/* The matrix instruction of a warpgroup, four warps, on compute capability 9.0 ("sm_90a"): wgmma.mma_async.m64nNk16 of
 * halves and m64nNk8 of TF32 with sums in float (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
 * Instructions").
 *
 * Both operands lie in shared memory in the layouts of 128-byte swizzle ("Shared Memory Matrix Layout", "Canonical
 * Layouts"): lines of 128 bytes, which are 64 halves or 32 numbers of TF32, eight to an atom of 1024 bytes, and in line i
 * the 16 bytes number c lie at c ^ i % 8. A line runs along the inner axis (K-major), with one line for each row; or, of
 * halves only, along the rows of x or columns of y (MN-major), with one line for each step of the inner axis.
 *
 * The instruction runs on its own: it reads shared memory through the async proxy and writes the sums until
 * wait_for_products() says that it has finished. Until then nobody may touch either. */
#ifndef TREADLE_CUDA_WARPGROUP_H
#define TREADLE_CUDA_WARPGROUP_H

#include "fragments.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define TD_HAS_WARPGROUPS 1 /* or it is compiled for the host */
#endif

namespace td {

namespace {

constexpr int LINE = 128; /* bytes */
constexpr int STEP = 32; /* bytes of the inner axis, for one instruction */
constexpr int WARPGROUP = 128, WARPGROUP_ROWS = 64;

/* Where the 16 bytes number `chunk` of a line are, from the beginning of the lines. */
TD_DEVICE int swizzled(int line, int chunk) { return line * LINE + (chunk ^ line % 8) * 16; }

/* The descriptor of an operand whose lines begin at a multiple of 1024 bytes; PTX ISA, "Matrix Descriptor Format". Lines
 * along the rows hold 64 of them; the next 64 follow after block_lines lines. */
template <bool INNER_LINES> TD_DEVICE uint64_t describe(uint32_t address, int block_lines)
{
    constexpr uint64_t SWIZZLE_128 = 1;
    const uint64_t leading = INNER_LINES ? 16 : block_lines * LINE, stride = 8 * LINE;
    return (address & 0x3FFFF) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | SWIZZLE_128 << 62;
}

/* How far a descriptor moves for a number of bytes; addresses stay below 256 KB, so that no bit is carried out. */
TD_DEVICE uint64_t descriptor_step(int nbytes) { return static_cast<uint64_t>(nbytes) >> 4; }

/* Makes what the thread's copies brought to shared memory visible to the async proxy; before the barrier that lets the
 * others use it. */
TD_DEVICE void publish_copies()
{
#ifdef TREADLE_EMULATION
    emulation::publish_copies();
#elif defined(TD_HAS_WARPGROUPS) && defined(__CUDA_ARCH__)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Before the first product of a group: the sums are as the program has left them. */
TD_DEVICE void begin_products()
{
#ifdef TREADLE_EMULATION
    emulation::begin_products();
#elif defined(TD_HAS_WARPGROUPS) && defined(__CUDA_ARCH__)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

TD_DEVICE void commit_products()
{
#ifdef TREADLE_EMULATION
    emulation::commit_products();
#elif defined(TD_HAS_WARPGROUPS) && defined(__CUDA_ARCH__)
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Waits for the products of all but the last GROUPS groups. */
template <int GROUPS> TD_DEVICE void wait_for_products()
{
#ifdef TREADLE_EMULATION
    emulation::wait_for_products(GROUPS);
#elif defined(TD_HAS_WARPGROUPS) && defined(__CUDA_ARCH__)
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
#endif
}

/* Keeps the compiler from moving reads or writes of the sums across this place. */
template <int N> TD_DEVICE void settle(float (&sums)[N])
{
#if defined(TD_HAS_WARPGROUPS) && defined(__CUDA_ARCH__)
    TD_UNROLL
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(sums[i])::"memory");
#else
    static_cast<void>(sums);
#endif
}

#define TD_TEN(tens) \
    "%" #tens "0,%" #tens "1,%" #tens "2,%" #tens "3,%" #tens "4,%" #tens "5,%" #tens "6,%" #tens "7,%" #tens "8,%" #tens \
    "9,"
#define TD_SIXTY TD_TEN() TD_TEN(1) TD_TEN(2) TD_TEN(3) TD_TEN(4) TD_TEN(5)
#define TD_SUMS_64 "{" TD_SIXTY "%60,%61,%62,%63}"
#define TD_SUMS_128 "{" TD_SIXTY TD_TEN(6) TD_TEN(7) TD_TEN(8) TD_TEN(9) TD_TEN(10) TD_TEN(11) \
    "%120,%121,%122,%123,%124,%125,%126,%127}"
#define TD_FOUR(i) "+f"(sums[i]), "+f"(sums[(i) + 1]), "+f"(sums[(i) + 2]), "+f"(sums[(i) + 3])
#define TD_SIXTEEN(i) TD_FOUR(i), TD_FOUR((i) + 4), TD_FOUR((i) + 8), TD_FOUR((i) + 12)
#define TD_SIXTYFOUR(i) TD_SIXTEEN(i), TD_SIXTEEN((i) + 16), TD_SIXTEEN((i) + 32), TD_SIXTEEN((i) + 48)
/* After the sums: both descriptors; that the sums are added to; the signs of both operands; which are MN-major. */
#define TD_WGMMA(shape, type, list, x_place, y_place, x_trans, y_trans, ...) \
    asm volatile("wgmma.mma_async.sync.aligned.m64" shape "k16.f32." type "." type " " list ", %" #x_place ", %" #y_place \
                 ", 1, 1, 1, %" #x_trans ", %" #y_trans ";" \
                 : __VA_ARGS__ \
                 : "l"(x), "l"(y), "n"(!X_INNER), "n"(!Y_INNER))

/* For TF32, whose operands are K-major. */
#define TD_WGMMA_TF32(shape, list, x_place, y_place, ...) \
    asm volatile("wgmma.mma_async.sync.aligned.m64" shape "k8.f32.tf32.tf32 " list ", %" #x_place ", %" #y_place \
                 ", 1, 1, 1;" \
                 : __VA_ARGS__ \
                 : "l"(x), "l"(y))

/* sums += x y for the warpgroup's 64 rows of x and COLUMNS columns of y, STEP bytes of the inner axis. Of the sums, four for
 * each eight columns, a lane has what it has of mma.m16n8k16 ("Matrix fragments for wgmma.mma_async.m64nNk16"): warp w
 * has the rows from 16 w on. */
template <class Kind, int COLUMNS, bool X_INNER, bool Y_INNER>
TD_DEVICE void multiply_async(float (&sums)[COLUMNS / 2], uint64_t x, uint64_t y)
{
    static_assert(COLUMNS == 128 || COLUMNS == 256, "the sums are written out for these");
    static_assert(Kind::NUMBERS == 2 || (X_INNER && Y_INNER), "only halves may lie across the inner axis");
#ifdef TREADLE_EMULATION
    constexpr uint32_t item = 4 / Kind::NUMBERS;
    const auto number = [](uint32_t bits) { return Kind::number(bits, 0); };
    emulation::multiply_async({COLUMNS, x, y, !X_INNER, !Y_INNER, item, number}, sums);
#elif defined(TD_HAS_WARPGROUPS) && defined(__CUDA_ARCH__)
    using T = typename Kind::T;
    if constexpr (COLUMNS == 128 && std::is_same_v<T, float>)
        TD_WGMMA_TF32("n128", TD_SUMS_64, 64, 65, TD_SIXTYFOUR(0));
    else if constexpr (std::is_same_v<T, float>)
        TD_WGMMA_TF32("n256", TD_SUMS_128, 128, 129, TD_SIXTYFOUR(0), TD_SIXTYFOUR(64));
    else if constexpr (COLUMNS == 128 && std::is_same_v<T, Float16>)
        TD_WGMMA("n128", "f16", TD_SUMS_64, 64, 65, 66, 67, TD_SIXTYFOUR(0));
    else if constexpr (COLUMNS == 128)
        TD_WGMMA("n128", "bf16", TD_SUMS_64, 64, 65, 66, 67, TD_SIXTYFOUR(0));
    else if constexpr (std::is_same_v<T, Float16>)
        TD_WGMMA("n256", "f16", TD_SUMS_128, 128, 129, 130, 131, TD_SIXTYFOUR(0), TD_SIXTYFOUR(64));
    else
        TD_WGMMA("n256", "bf16", TD_SUMS_128, 128, 129, 130, 131, TD_SIXTYFOUR(0), TD_SIXTYFOUR(64));
#else
    static_cast<void>(sums), static_cast<void>(x), static_cast<void>(y);
#endif
}

} // namespace

} // namespace td

#endif
