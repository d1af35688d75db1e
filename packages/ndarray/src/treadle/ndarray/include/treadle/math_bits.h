/* What the headers of scalar functions share. */
#ifndef TREADLE_MATH_BITS_H
#define TREADLE_MATH_BITS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define TD_FN static __host__ __device__ __forceinline__
#else
#define TD_FN static inline
#endif

/* One rounding where the instruction set has a fused multiply-add, two where it has not. Nothing else may fuse (the
 * build says -ffp-contract=off), so a function has the same bits in every loop that it is compiled into. */
#if !defined(TD_HAS_FMA) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__CUDA_ARCH__))
#define TD_HAS_FMA 1
#endif
#ifdef TD_HAS_FMA
TD_FN float td_fma_f32(float a, float b, float c) { return fmaf(a, b, c); }
TD_FN double td_fma_f64(double a, double b, double c) { return fma(a, b, c); }
#else
TD_FN float td_fma_f32(float a, float b, float c) { return a * b + c; }
TD_FN double td_fma_f64(double a, double b, double c) { return a * b + c; }
#endif

/* Polynomials by Horner's rule, the highest coefficient first; sfx is f32 or f64. */
#define TD_POLY_2(sfx, x, a, b) td_fma_##sfx(a, x, b)
#define TD_POLY_3(sfx, x, a, b, c) td_fma_##sfx(TD_POLY_2(sfx, x, a, b), x, c)
#define TD_POLY_4(sfx, x, a, b, c, d) td_fma_##sfx(TD_POLY_3(sfx, x, a, b, c), x, d)
#define TD_POLY_5(sfx, x, a, b, c, d, e) td_fma_##sfx(TD_POLY_4(sfx, x, a, b, c, d), x, e)
#define TD_POLY_6(sfx, x, a, b, c, d, e, f) td_fma_##sfx(TD_POLY_5(sfx, x, a, b, c, d, e), x, f)
#define TD_POLY_7(sfx, x, a, b, c, d, e, f, g) td_fma_##sfx(TD_POLY_6(sfx, x, a, b, c, d, e, f), x, g)
#define TD_POLY_8(sfx, x, a, b, c, d, e, f, g, h) td_fma_##sfx(TD_POLY_7(sfx, x, a, b, c, d, e, f, g), x, h)

TD_FN float td_bits_to_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TD_FN uint32_t td_f32_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TD_FN double td_bits_to_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TD_FN uint64_t td_f64_to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The product a b as *low plus the result. Without a fused multiply-add: T. Dekker, "A floating-point technique for
 * extending the available precision" (1971); a and b are far from overflow. */
TD_FN double td_two_product_f64(double a, double b, double *low)
{
    double product = a * b;
#ifdef TD_HAS_FMA
    *low = fma(a, b, -product);
#else
    double split_a = a * 134217729.0, split_b = b * 134217729.0; /* 2^27 + 1 */
    double high_a = split_a - (split_a - a), high_b = split_b - (split_b - b);
    double low_a = a - high_a, low_b = b - high_b;
    *low = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b);
#endif
    return product;
}

/* Added to a number of small magnitude, 1.5 * 2^23 rounds it to an integer, which the low bits of the sum then hold. */
#define TD_ROUND_F32 12582912.0f
#define TD_ROUND_F64 6755399441055744.0

#endif
