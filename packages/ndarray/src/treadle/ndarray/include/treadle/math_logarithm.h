/* log and what is made from it: log1p, log2, log10, asinh, acosh, atanh, softplus, logaddexp, pow.
 *
 * log(x) = e ln 2 + log(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). In float32 a polynomial in f (S. Moshier, Cephes
 * Mathematical Library, logf.c); in float64 log(1 + f) = 2 atanh(s) with s = f / (2 + f), of which the odd series is
 * fitted by Chebyshev polynomials. The float32 functions but log go by way of float64. */
#ifndef TREADLE_MATH_LOGARITHM_H
#define TREADLE_MATH_LOGARITHM_H

#include "math_exponential.h"

/* What is added to the polynomial's value where x is no positive number: -inf at 0, NaN below, x at inf and NaN. */
TD_FN float td_log_special_f32(float x)
{
    uint32_t beyond = x < INFINITY ? 0u : td_f32_to_bits(x);
    return td_bits_to_f32(beyond | (x < 0.0f ? 0x7FC00000u : 0u) | (x == 0.0f ? 0xFF800000u : 0u));
}

TD_FN double td_log_special_f64(double x)
{
    uint64_t beyond = x < (double)INFINITY ? 0u : td_f64_to_bits(x);
    return td_bits_to_f64(beyond | (x < 0.0 ? 0x7FF8000000000000u : 0u) | (x == 0.0 ? 0xFFF0000000000000u : 0u));
}

TD_FN float td_log_f32(float x)
{
    uint32_t raised = x < 1.17549435e-38f ? 23u << 23 : 0u;
    uint32_t bits = td_f32_to_bits(x * td_bits_to_f32((127u << 23) + raised));
    uint32_t above = bits - 0x3F3504F3u; /* sqrt(1/2) */
    float e = (float)((int32_t)(above - raised) >> 23);
    float f = td_bits_to_f32(bits - (above & 0xFF800000u)) - 1.0f;
    float z = f * f;
    float p = TD_POLY_4(f32, f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f);
    p = TD_POLY_6(f32, f, p, 1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f,
                  3.3333331174e-1f);
    p = td_fma_f32(e, -2.12194440e-4f, p * f * z);
    p = td_fma_f32(z, -0.5f, p);
    return td_fma_f32(e, 0.693359375f, f + p) + td_log_special_f32(x);
}

/* e, and f in *f, of a normal number x. The exponent becomes a double through the bits of 2^52 + e + 1023. */
TD_FN double td_log_split(double x, double *f)
{
    uint64_t bits = td_f64_to_bits(x), above = bits - 0x3FE6A09E667F3BCDu; /* sqrt(1/2) */
    *f = td_bits_to_f64(bits - (above & 0xFFF0000000000000u)) - 1.0;
    uint64_t biased = (above + ((uint64_t)1023u << 52)) >> 52;
    return td_bits_to_f64(biased | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
}

/* e ln2 + log(1 + f) + low. */
TD_FN double td_log_joined_f64(double e, double f, double low)
{
    double s = f / (2.0 + f), z = s * s;
    double p = TD_POLY_4(f64, z, 0.1310072138350349, 0.13267418596474884, 0.15386290534658992, 0.181817947008978);
    p = TD_POLY_5(f64, z, p, 0.2222222240054776, 0.2857142857076445, 0.4000000000000094, 0.6666666666666666);
    double half_square = 0.5 * f * f;
    double tail = s * td_fma_f64(z, p, half_square) + td_fma_f64(e, 1.90821492927058770002e-10, low);
    return td_fma_f64(e, 6.93147180369123816490e-01, f - (half_square - tail));
}

TD_FN double td_log_f64(double x)
{
    int tiny = x < 2.2250738585072014e-308;
    double f, e = td_log_split(x * (tiny ? 18014398509481984.0 : 1.0), &f);
    return td_log_joined_f64(e - (tiny ? 54.0 : 0.0), f, 0.0) + td_log_special_f64(x);
}

/* log(1 + exp(-(x + low))) for x >= 0. */
TD_FN double td_log1p_exp_f64(double x, double low)
{
    double lost, shifted = td_exp_shifted_f64(-x);
    double s = td_exp_reduced_f64(-x, -low, shifted, &lost);
    double scale = td_scale_f64(shifted, 0u);
    double power = td_fma_f64(s, scale, scale);
    double power_low = td_fma_f64(s, scale, scale - power) + lost * scale;
    double sum = 1.0 + power;
    int upper = sum > 1.4142135623730951;
    double f = upper ? 0.5 * sum - 1.0 : power;
    double rest = power_low + (upper ? power - (sum - 1.0) : 0.0);
    double value = td_log_joined_f64(upper ? 1.0 : 0.0, f, rest / sum);
    return x > 40.0 ? td_exp_f64(-x) : value;
}

TD_FN double td_softplus_f64(double x) { return (x > 0.0 || x != x ? x : 0.0) + td_log1p_exp_f64(fabs(x), 0.0); }

/* The error is that of the larger operand's size where the sum cancels, near exp(x) + exp(y) = 1. */
TD_FN double td_logaddexp_f64(double x, double y)
{
    double larger = x > y ? x : y, smaller = x > y ? y : x;
    double distance = larger - smaller;
    double negated = distance - larger; /* D. Knuth, "The Art of Computer Programming", volume 2, theorem 4.2.2 B */
    double low = (larger - (distance - negated)) - (smaller + negated);
    double value = larger + td_log1p_exp_f64(distance, low - low == 0.0 ? low : 0.0);
    return x == y ? x + 0.6931471805599453 : value; /* equal infinities too, whose difference is NaN */
}

/* --- float32 by way of float64, with about 35 bits ---------------------------------------------------------------- */
TD_FN double td_log_joined_wide(double e, double f)
{
    double s = f / (2.0 + f), z = s * s;
    double p = TD_POLY_5(f64, z, 0.19374971137771949, 0.2219076371539249, 0.28571764621021173, 0.3999999874769565,
                         0.6666666666741171);
    return td_fma_f64(e, 0.6931471805599453, td_fma_f64(p * z, s, s + s));
}

/* log(x) of what a float32 can be. */
TD_FN double td_log_wide(double x)
{
    double f, e = td_log_split(x, &f);
    return td_log_joined_wide(e, f) + td_log_special_f64(x);
}

/* log(1 + x); where 1 + x is near 1, f is x itself. */
TD_FN double td_log1p_wide(double x)
{
    double sum = 1.0 + x;
    double f, e = td_log_split(sum, &f);
    return td_log_joined_wide(e, e == 0.0 ? x : f) + td_log_special_f64(sum);
}

TD_FN float td_log1p_f32(float x) { return copysignf((float)td_log1p_wide((double)x), x); }
TD_FN float td_log2_f32(float x) { return (float)(td_log_wide((double)x) * 1.4426950408889634); }
TD_FN float td_log10_f32(float x) { return (float)(td_log_wide((double)x) * 0.4342944819032518); }

TD_FN float td_asinh_f32(float x)
{
    double a = (double)fabsf(x);
    double value = td_log1p_wide(a + a * a / (1.0 + sqrt(1.0 + a * a)));
    return copysignf((float)(a > 1e39 ? a : value), x);
}

TD_FN float td_acosh_f32(float x)
{
    double above = (double)x - 1.0;
    double value = td_log1p_wide(above + sqrt(above * ((double)x + 1.0)));
    return (float)(x < 1.0f ? (double)NAN : value);
}

TD_FN float td_atanh_f32(float x)
{
    double a = (double)fabsf(x);
    return copysignf((float)(0.5 * td_log1p_wide((a + a) / (1.0 - a))), x);
}

TD_FN float td_softplus_f32(float x)
{
#ifdef __CUDA_ARCH__ /* where float64 is slow */
    return (x > 0.0f || x != x ? x : 0.0f) + log1pf(expf(-fabsf(x)));
#else
    double e = td_exp_wide(-(double)fabsf(x));
    return (float)((x > 0.0f || x != x ? (double)x : 0.0) + td_log1p_wide(e));
#endif
}

TD_FN float td_logaddexp_f32(float x, float y)
{
    double larger = (double)(x > y ? x : y), distance = fabs((double)x - (double)y);
    double value = larger + td_log1p_wide(td_exp_wide(-distance));
    return (float)(x == y ? (double)x + 0.6931471805599453 : value);
}

/* exp(y log |x|), with the sign of an odd power. */
TD_FN float td_pow_f32(float x, float y)
{
    double base = fabs((double)x), exponent = (double)y, f;
    double e = td_log_split(base, &f);
    double value = td_exp_f64(exponent * (td_log_joined_f64(e, f, 0.0) + td_log_special_f64(base)));
    double magnitude = fabs(exponent);
    double cut = td_at_most_f64(magnitude, 1073741824.0); /* whole and even, as every float32 above is */
    double rounded = cut + TD_ROUND_F64;
    uint64_t odd = rounded - TD_ROUND_F64 == cut ? td_f64_to_bits(rounded) << 63 : 0u;
    double fractional = x < 0.0f && base < (double)INFINITY ? (double)NAN : value;
    value = td_bits_to_f64(td_f64_to_bits(value) ^ (td_f64_to_bits((double)x) & odd));
    value = rounded - TD_ROUND_F64 == cut ? value : fractional;
    double unit = magnitude > 1e39 ? 1.0 : value;
    value = x == -1.0f ? unit : value;
    return (float)(y == 0.0f || x == 1.0f ? 1.0 : value);
}

#endif
