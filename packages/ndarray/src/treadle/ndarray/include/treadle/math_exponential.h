/* exp and what is made from it: expm1, exp2, sinh, cosh, tanh, sigmoid.
 *
 * exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln2 / 2; ln 2 is subtracted in two parts, the first short
 * enough for n times it to be exact (W. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980,
 * chapter 6).
 * s = exp(r) - 1 = r + r^2 q(r), where q is a Chebyshev fit. With S = 2^n, exp(x) is S + S s, which rounds once. */
#ifndef TREADLE_MATH_EXPONENTIAL_H
#define TREADLE_MATH_EXPONENTIAL_H

#include "math_bits.h"

/* --- float32 ---------------------------------------------------------------------------------------------------- */
/* x / ln 2 rounded to n, in the low bits, which are cut to the exponents there are. */
TD_FN uint32_t td_cut_power_f32(float shifted)
{
    int32_t bits = (int32_t)td_f32_to_bits(shifted);
    bits = bits < 0x4B400000 - 150 ? 0x4B400000 - 150 : bits;
    return (uint32_t)(bits > 0x4B400000 + 128 ? 0x4B400000 + 128 : bits);
}

TD_FN float td_exp_shifted_f32(float x) { return td_fma_f32(x, 1.44269504088896341f, TD_ROUND_F32); }

TD_FN float td_exp_remainder_f32(float x, uint32_t power)
{
    float n = td_bits_to_f32(power) - TD_ROUND_F32;
    return td_fma_f32(n, 2.12194440e-4f, td_fma_f32(n, -0.693359375f, x));
}

TD_FN float td_exp_polynomial_f32(float r)
{
    float q = TD_POLY_6(f32, r, 1.989148e-4f, 1.393409e-3f, 8.3333105e-3f, 4.166646e-2f, 1.6666667e-1f, 0.5f);
    return td_fma_f32(q, r * r, r);
}

/* 2^(n + offset) of the n in the low bits. */
TD_FN float td_scale_f32(uint32_t power, uint32_t offset)
{
    return td_bits_to_f32((power << 23) + ((127u + offset) << 23));
}

/* Below the normal range the scale is kept 2^64 higher until the last product, which rounds once more. 2 is left for
 * that product too, because the largest results are below 2^128 = S. */
TD_FN float td_scaled_f32(float s, uint32_t power, int tiny)
{
    uint32_t raised = tiny ? 64u : 0u;
    float scale = td_scale_f32(power, raised - 1u);
    return td_fma_f32(s, scale, scale) * td_bits_to_f32((128u << 23) - (raised << 23));
}

TD_FN float td_exp_f32(float x)
{
    uint32_t power = td_cut_power_f32(td_exp_shifted_f32(x));
    float value = td_scaled_f32(td_exp_polynomial_f32(td_exp_remainder_f32(x, power)), power, x < -86.0f);
    return x < -104.0f ? 0.0f : value;
}

TD_FN float td_exp2_f32(float x)
{
    uint32_t power = td_cut_power_f32(x + TD_ROUND_F32);
    float r = x - (td_bits_to_f32(power) - TD_ROUND_F32);
    float q = TD_POLY_7(f32, r, 1.5297503e-5f, 1.5461678e-4f, 1.3333502e-3f, 9.618056e-3f, 5.550411e-2f, 2.402265e-1f,
                        6.931472e-1f);
    float value = td_scaled_f32(q * r, power, x < -124.0f);
    return x < -150.0f ? 0.0f : value;
}

TD_FN float td_magnitude_to_f32(float x, int32_t limit_bits)
{
    int32_t bits = (int32_t)(td_f32_to_bits(x) & 0x7FFFFFFFu);
    return td_bits_to_f32((uint32_t)(bits > limit_bits ? limit_bits : bits));
}

/* t / (t + 2) with t = exp(2 |x|) - 1; x + x^3 p(x^2) near 0. */
TD_FN float td_tanh_f32(float x)
{
    float magnitude = td_magnitude_to_f32(x, 0x41200000); /* 10 */
    uint32_t power = td_f32_to_bits(td_exp_shifted_f32(magnitude + magnitude));
    float scale = td_scale_f32(power, 0u);
    float s = td_exp_polynomial_f32(td_exp_remainder_f32(magnitude + magnitude, power));
    float t = td_fma_f32(s, scale, scale - 1.0f);
    float z = magnitude * magnitude;
    float p = TD_POLY_5(f32, z, -6.6102277e-3f, 2.1309389e-2f, -5.390943e-2f, 1.3333113e-1f, -3.333333e-1f);
    float small = td_fma_f32(p * z, magnitude, magnitude);
    float value = copysignf(magnitude < 0.55f ? small : t / (t + 2.0f), x);
    return x != x ? x : value;
}

/* With exp(-|x|) = S + S s, which never overflows: 1 / (1 + S + S s), or below 0 S / (1 + S + S s) (1 + s). */
TD_FN float td_sigmoid_f32(float x)
{
    float magnitude = td_magnitude_to_f32(x, 0x42D10000); /* 104.5 */
    uint32_t power = td_f32_to_bits(td_exp_shifted_f32(-magnitude));
    float s = td_exp_polynomial_f32(td_exp_remainder_f32(-magnitude, power));
    float scale = td_scale_f32(power, magnitude > 86.0f ? 64u : 0u);
    float base = 1.0f + scale, divisor = td_fma_f32(s, scale, base);
    float lost = td_fma_f32(s, scale, base - divisor);
    float factor = td_fma_f32(lost, -1.0f - s, s);
    float q = (x < 0.0f ? scale : 1.0f) / divisor;
    float value = td_fma_f32(q, x < 0.0f ? factor : 0.0f, q);
    value = value * td_bits_to_f32((127u << 23) - (x < -86.0f ? 64u << 23 : 0u));
    return x != x ? x : value;
}

/* --- float64 ---------------------------------------------------------------------------------------------------- */
TD_FN double td_exp_shifted_f64(double x) { return td_fma_f64(x, 1.4426950408889634, TD_ROUND_F64); }

/* s of x + low, with what it rounds away in *lost. */
TD_FN double td_exp_reduced_f64(double x, double low, double shifted, double *lost)
{
    double n = shifted - TD_ROUND_F64;
    double near = td_fma_f64(n, -6.93147180369123816490e-01, x);
    double rest = td_fma_f64(n, 1.90821492927058770002e-10, -low);
    double r = near - rest;
    double q = TD_POLY_6(f64, r, 2.0915059884917686e-09, 2.5105739219586713e-08, 2.7557272742699346e-07,
                         2.755725413931689e-06, 2.4801587326261104e-05, 0.00019841269875819578);
    q = TD_POLY_6(f64, r, q, 0.0013888888888883544, 0.008333333333325848, 0.04166666666666667, 0.1666666666666667, 0.5);
    double v = r * r * q;
    double s = r + v;
    *lost = ((r - s) + v) + ((near - r) - rest);
    return s;
}

TD_FN double td_scale_f64(double shifted, uint64_t offset)
{
    return td_bits_to_f64((td_f64_to_bits(shifted) << 52) + ((1023u + offset) << 52));
}

TD_FN double td_exp_f64(double x)
{
    double lost, shifted = td_exp_shifted_f64(x);
    double s = td_exp_reduced_f64(x, 0.0, shifted, &lost);
    uint64_t raised = x < -708.0 ? 64u : 0u;
    double scale = td_scale_f64(shifted, raised - 1u);
    double value = td_fma_f64(s, scale, scale) * td_bits_to_f64(((uint64_t)1024u << 52) - (raised << 52));
    value = x > 709.79 ? (double)INFINITY : value;
    return x < -746.0 ? 0.0 : value;
}

TD_FN double td_at_most_f64(double x, double limit) { return x > limit ? limit : x; }

/* t / (t + 2) with t = exp(2 |x|) - 1, where what t and t + 2 round away is put back: 1 / (t + 2) is half of 1
 * minus the quotient. */
TD_FN double td_tanh_f64(double x)
{
    double doubled = td_at_most_f64(2.0 * fabs(x), 40.0);
    double lost, shifted = td_exp_shifted_f64(doubled);
    double s = td_exp_reduced_f64(doubled, 0.0, shifted, &lost);
    double scale = td_scale_f64(shifted, 0u);
    double t = td_fma_f64(s, scale, scale - 1.0);
    double t_low = td_fma_f64(s, scale, (scale - 1.0) - t) + lost * scale;
    double divisor = t + 2.0;
    double divisor_low = (2.0 - divisor) + t;
    double q = t / divisor;
    double inverse = t < 1024.0 ? (1.0 - q) * 0.5 : 0.0; /* beyond, 1 - q has too few digits, and nothing is lost */
    double value = q + (t_low - q * (divisor_low + t_low)) * inverse;
    return copysign(value, x);
}

/* factor / (1 + exp(-(x + low))) as td_sigmoid_f32 has it; factor is 1 or, for gelu_tanh, x. */
TD_FN double td_sigmoid_times_f64(double x, double low, double factor)
{
    double negative_magnitude = -td_at_most_f64(fabs(x), 750.0);
    double lost, shifted = td_exp_shifted_f64(negative_magnitude);
    double s = td_exp_reduced_f64(negative_magnitude, x < 0.0 ? low : -low, shifted, &lost);
    double scale = td_scale_f64(shifted, negative_magnitude < -708.0 ? 64u : 0u);
    double base = 1.0 + scale, divisor = td_fma_f64(s, scale, base);
    double divisor_low = td_fma_f64(s, scale, base - divisor);
    double q = factor * (x < 0.0 ? scale : 1.0) / divisor;
    double relative = x < 0.0 ? s - (divisor_low * (1.5 - 0.5 * divisor) - lost) * (1.0 + s) : 0.0;
    uint64_t raised = x < -708.0 ? (uint64_t)64u << 52 : 0u;
    return td_fma_f64(q, relative, q) * td_bits_to_f64(((uint64_t)1023u << 52) - raised);
}

TD_FN double td_sigmoid_f64(double x) { return td_sigmoid_times_f64(x, 0.0, 1.0); }

/* --- float32 by way of float64, with about 32 bits ---------------------------------------------------------------- */
/* s and S of x, cut to [-200, 200]. */
TD_FN double td_exp_reduced_wide(double x, double *scale)
{
    double cut = td_at_most_f64(x < -200.0 ? -200.0 : x, 200.0);
    double shifted = td_exp_shifted_f64(cut);
    double r = td_fma_f64(shifted - TD_ROUND_F64, -0.6931471805599453, cut);
    double q = TD_POLY_7(f64, r, 2.4860160249711385e-05, 0.0001989985625184431, 0.0013888853347059087,
                         0.008333297780885962, 0.04166666672057088, 0.16666666720588222, 0.5);
    *scale = td_scale_f64(shifted, 0u);
    return td_fma_f64(q, r * r, r);
}

TD_FN double td_exp_wide(double x)
{
    double scale, s = td_exp_reduced_wide(x, &scale);
    return td_fma_f64(s, scale, scale);
}

TD_FN double td_expm1_wide(double x)
{
    double scale, s = td_exp_reduced_wide(x, &scale);
    return td_fma_f64(s, scale, scale - 1.0);
}

TD_FN float td_expm1_f32(float x) { return copysignf((float)td_expm1_wide((double)x), x); }

TD_FN float td_sinh_f32(float x)
{
    double t = td_expm1_wide((double)fabsf(x));
    return copysignf((float)(0.5 * (t + t / (t + 1.0))), x);
}

TD_FN float td_cosh_f32(float x)
{
    double e = td_exp_wide((double)fabsf(x));
    return (float)(0.5 * (e + 1.0 / e));
}

#endif
