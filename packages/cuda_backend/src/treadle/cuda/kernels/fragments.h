/* The matrix instruction of a warp: mma.m16n8k16 of halves and mma.m16n8k8 of floats rounded to TF32, with sums in float
 * (PTX ISA, "Matrix fragments for mma.m16n8k16" and "for mma.m16n8k8"), and the same by shuffles for the emulation. In
 * words of 32 bits, of two halves or one number of TF32, both lay out their fragments alike. */
#ifndef TREADLE_CUDA_FRAGMENTS_H
#define TREADLE_CUDA_FRAGMENTS_H

#include "async_copy.h"
#include "elements.h"

namespace td {

/* matmul_mma.cu: whether the current device has the instruction. */
bool multiplies_matrices();

namespace {

/* A kind of instruction: T as it is in memory, Stored as it is in shared memory, the numbers of a word. */
template <class Half> struct Halves {
    using T = Half;
    using Stored = uint16_t;
    static constexpr int NUMBERS = 2;
    static constexpr bool ROUNDS = false;
    static TD_DEVICE Stored bits(const char *at) { return *reinterpret_cast<const uint16_t *>(at); }
    static TD_DEVICE uint32_t rounded(uint32_t word) { return word; }
    static TD_DEVICE float number(uint32_t word, int i)
    {
        Half half;
        half.bits = static_cast<uint16_t>(word >> 16 * i);
        return half;
    }
};

/* 10 bits of fraction, to nearest, from a tie away from 0, as cvt.rna.tf32.f32 rounds. */
struct Tf32 {
    using T = float;
    using Stored = uint32_t;
    static constexpr int NUMBERS = 1;
    static constexpr bool ROUNDS = true;
    static TD_DEVICE Stored bits(const char *at) { return rounded(*reinterpret_cast<const uint32_t *>(at)); }
    static TD_DEVICE uint32_t rounded(uint32_t bits)
    {
        const uint32_t magnitude = bits & 0x7FFFFFFFu;
        if (magnitude >= 0x7F800000u)
            return magnitude > 0x7F800000u ? 0x7FFFE000u : bits;
        return (bits + 0x1000u) & ~0x1FFFu;
    }
    template <class Word> static TD_DEVICE float number(Word word, int) { return td_bits_to_f32(word); }
};

/* Four matrices of 8 rows of 16 bytes from shared memory (PTX ISA, "ldmatrix"): lane 8 m + r names row r of matrix m,
 * and gets of each its row lane / 4, word lane % 4; or, transposed, the halves number lane / 4 of the rows
 * 2 (lane % 4) and the next. */
template <bool TRANSPOSED> TD_DEVICE void load_matrices(uint32_t (&words)[4], const char *row)
{
#if !defined(TREADLE_EMULATION) && defined(__CUDA_ARCH__)
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(shared_address(row))
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(shared_address(row))
                     : "memory");
#elif defined(TREADLE_EMULATION)
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int matrix = 0; matrix < 4; matrix++) {
        uint16_t halves[2];
        for (int i = 0; i < 2; i++) {
            const int source = 8 * matrix + (TRANSPOSED ? 2 * (lane % 4) + i : lane / 4);
            const char *from = __shfl_sync(0xFFFFFFFFu, row, source);
            memcpy(&halves[i], from + (TRANSPOSED ? lane / 4 : 2 * (lane % 4) + i) * 2, sizeof halves[i]);
        }
        memcpy(&words[matrix], halves, sizeof halves);
    }
#endif
}

/* The instruction by shuffles, for the emulation. */
template <class Kind>
TD_DEVICE void multiply_portably(float (&sums)[4], const uint32_t (&x)[4], const uint32_t (&y)[2])
{
    const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, pair = lane % 4;
    for (int half = 0; half < 2; half++) {
        for (int source = 0; source < 4; source++) {
            const uint32_t upper = __shfl_sync(0xFFFFFFFFu, x[2 * half], group * 4 + source);
            const uint32_t lower = __shfl_sync(0xFFFFFFFFu, x[2 * half + 1], group * 4 + source);
            const uint32_t left = __shfl_sync(0xFFFFFFFFu, y[half], pair * 8 + source);
            const uint32_t right = __shfl_sync(0xFFFFFFFFu, y[half], pair * 8 + 4 + source);
            for (int i = 0; i < Kind::NUMBERS; i++) {
                const float a = Kind::number(upper, i), b = Kind::number(lower, i);
                const float c = Kind::number(left, i), d = Kind::number(right, i);
                sums[0] += a * c;
                sums[1] += a * d;
                sums[2] += b * c;
                sums[3] += b * d;
            }
        }
    }
}

#define TD_MMA(instruction) \
    asm volatile("mma.sync.aligned." instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]))

/* sums += x y for fragments of x, 16 rows of 8 words, and of y, 8 words of 8 columns. All lanes of the warp take
 * part. */
template <class Kind>
TD_DEVICE void multiply_fragments(float (&sums)[4], const uint32_t (&x)[4], const uint32_t (&y)[2])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<Kind, Tf32>)
        TD_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    else if constexpr (std::is_same_v<Kind, Halves<Float16>>)
        TD_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else
        TD_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#elif defined(__CUDA_ARCH__)
    __trap(); /* multiplies_matrices() keeps these devices away */
#else
    multiply_portably<Kind>(sums, x, y);
#endif
}

} // namespace

} // namespace td

#endif
