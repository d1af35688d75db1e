/* float16 and bfloat16: bits to numbers and back, for C, C++ and CUDA. Rounding is to nearest, ties to even (IEEE
 * 754-2019, 4.3.1); subnormals and infinities are kept, and so is a NaN's payload as far as it fits, made quiet. The
 * functions have no branch, so that loops of them become SIMD code.
 *
 * From double the value is first rounded to odd in float: two bits more than the target has are then enough for the
 * second rounding to give what one would (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums:
 * proved algorithms using rounding to odd", IEEE Transactions on Computers 57, 2008). */
#ifndef TREADLE_HALF_H
#define TREADLE_HALF_H

#include "scalar_math.h"

#ifdef __CUDA_ARCH__ /* one instruction (PTX ISA, cvt), with a NaN of its own */
TD_FN float td_f16_to_f32(td_f16 half)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
    return x;
}

TD_FN td_f16 td_f32_to_f16(float x)
{
    td_f16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
}
#else
TD_FN float td_f16_to_f32(td_f16 half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7FFF) << 13;
    float scaled = td_bits_to_f32((int32_t)magnitude) * 0x1p112f; /* the exponents' biases differ by 112 */
    uint32_t bits = (uint32_t)td_f32_to_bits(scaled);
    bits |= magnitude >= 0x0F800000u ? 0x7F800000u : 0u;
    bits |= magnitude > 0x0F800000u ? 0x00400000u : 0u;
    return td_bits_to_f32((int32_t)(bits | (uint32_t)(half & 0x8000) << 16));
}

TD_FN td_f16 td_f32_to_f16(float x)
{
    uint32_t bits = (uint32_t)td_f32_to_bits(x), sign = bits & 0x80000000u, magnitude = bits ^ sign;
    /* Below 2^-14 the unit in the last place is 2^-24, which is 0.5f's: adding that rounds. */
    uint32_t small = (uint32_t)td_f32_to_bits(td_bits_to_f32((int32_t)magnitude) + 0.5f) - 0x3F000000u;
    uint32_t normal = (magnitude - 0x38000000u + 0x0FFFu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t large = magnitude > 0x7F800000u ? 0x7E00u | (magnitude >> 13 & 0x3FFu) : 0x7C00u;
    uint32_t half = magnitude < 0x38800000u ? small : magnitude < 0x47800000u ? normal : large;
    return (td_f16)(half | sign >> 16);
}
#endif

TD_FN float td_bf16_to_f32(td_bf16 half) { return td_bits_to_f32((int32_t)((uint32_t)half << 16)); }

TD_FN td_bf16 td_f32_to_bf16(float x)
{
    uint32_t bits = (uint32_t)td_f32_to_bits(x);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return (td_bf16)(x != x ? bits >> 16 | 0x40u : rounded);
}

/* Truncated to float, with the last bit set where something was cut off. */
TD_FN float td_f64_to_f32_odd(double x)
{
    float nearest = (float)x;
    int32_t bits = td_f32_to_bits(nearest);
    int exact = (double)nearest == x || x != x;
    bits -= fabs((double)nearest) > fabs(x) ? 1 : 0;
    return td_bits_to_f32(exact ? bits : bits | 1);
}

TD_FN td_f16 td_f64_to_f16(double x) { return td_f32_to_f16(td_f64_to_f32_odd(x)); }
TD_FN td_bf16 td_f64_to_bf16(double x) { return td_f32_to_bf16(td_f64_to_f32_odd(x)); }

/* The neighbour of x on the way to y: the next or last pattern of bits, as in any binary format. x and y are what
 * from and to mean. */
TD_FN uint16_t td_next_half(uint16_t from, uint16_t to, float x, float y)
{
    if (x != x)
        return from;
    if (y != y || x == y)
        return to;
    if (x == 0.0f)
        return (uint16_t)((to & 0x8000) | 1);
    return (uint16_t)((x < y) == (x > 0.0f) ? from + 1 : from - 1);
}

#endif
