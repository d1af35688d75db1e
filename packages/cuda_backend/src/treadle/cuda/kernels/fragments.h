/* The matrix instruction of a warp: mma.m16n8k16 of halves and mma.m16n8k8 of floats rounded to TF32, with sums in float
 * (PTX ISA, "Matrix fragments for mma.m16n8k16" and "for mma.m16n8k8"), and the same by shuffles for the emulation. In
 * words of 32 bits, of two halves or one number of TF32, both lay out their fragments alike. */
#ifndef TREADLE_CUDA_FRAGMENTS_H
#define TREADLE_CUDA_FRAGMENTS_H

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
    static TD_DEVICE Stored bits(const char *at) { return *reinterpret_cast<const uint16_t *>(at); }
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
    static TD_DEVICE Stored bits(const char *at)
    {
        const float x = *reinterpret_cast<const float *>(at);
        if (!(x - x == 0.0f))
            return x != x ? 0x7FFFE000u : td_f32_to_bits(x);
        return (td_f32_to_bits(x) + 0x1000u) & ~0x1FFFu;
    }
    template <class Word> static TD_DEVICE float number(Word word, int) { return td_bits_to_f32(word); }
};

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
