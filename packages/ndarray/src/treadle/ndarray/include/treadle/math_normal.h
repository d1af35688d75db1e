/* The normal distribution's functions: erf, gelu and its approximation by tanh.
 *
 * Near 0 they are Chebyshev fits of odd series. Away from 0 the tail of the cumulative probability is
 * Phi(-a) = exp(-a^2 / 2) m(a) / a, where m tends to 1/sqrt(2 pi) and is fitted in v = (a - b) / (a + k), which maps
 * the half line to an interval. erf's beginning of the tail in float32 is a polynomial. */
#ifndef TREADLE_MATH_NORMAL_H
#define TREADLE_MATH_NORMAL_H

#include "math_exponential.h"

/* --- float64 ---------------------------------------------------------------------------------------------------- */
/* a Phi(-a) exp(a^2 / 2) for a in [0.95, 39], by v = (a - 3) / (a + 2); v_low is a further part of v, and
 * what the result rounds away is *low. */
TD_FN double td_tail_factor_f64(double v, double v_low, double *low)
{
    double p = TD_POLY_8(f64, v, 5.544985309431897e-09, -4.191120273224729e-08, -2.0740494079655254e-08,
                         1.7117089627566487e-07, 1.7025338714239935e-07, -1.786415407407569e-07,
                         -6.099264588725594e-07, -8.114048544961223e-07);
    p = TD_POLY_8(f64, v, p, 1.5562488532067905e-07, 3.340566665325287e-06, 6.404028609032761e-06,
                         2.653431781712812e-08, -2.551515118613004e-05, -4.8352636638212424e-05, 2.439486889386095e-05);
    p = TD_POLY_8(f64, v, p, 0.0002660715720671058, 0.0002952157857558479, -0.001025492291979583,
                         -0.002892772313560047, 0.004862853724503881, 0.02309579235622885, -0.08172358343740244);
    p = TD_POLY_2(f64, v, p, 0.09156321175661812);
    double factor = td_fma_f64(p, v, 0.3645418450666865);
    *low = td_fma_f64(p, v, 0.3645418450666865 - factor) + v_low * (p + p - 0.09156);
    return factor;
}

TD_FN double td_erf_f64(double x)
{
    double z = x * x;
    double p = TD_POLY_7(f64, z, 5.957176147748911e-11, -1.1372848856791674e-09, 1.4659775274047436e-08,
                         -1.6350312701054695e-07, 1.6461000484121368e-06, -1.4925595266831182e-05,
                         0.0001205533111164271);
    p = TD_POLY_7(f64, z, p, -0.000854832698083379, 0.0052239776248180145, -0.026866170645076792,
                  0.11283791670954879, -0.3761263890318375, 0.1283791670955126);
    double small = td_fma_f64(p, x, x);
    double a = 1.4142135623730951 * td_at_most_f64(fabs(x), 6.0);
    double inverse = 2.0 / (a * (a + 2.0)), low;
    double factor = td_tail_factor_f64((a - 3.0) * a * (0.5 * inverse), 0.0, &low) * (a + 2.0) * inverse;
    double lost, shifted = td_exp_shifted_f64(-0.5 * a * a);
    double s = td_exp_reduced_f64(-0.5 * a * a, 0.0, shifted, &lost);
    double large = 1.0 - td_fma_f64(s, factor, factor) * td_scale_f64(shifted, 0u);
    return fabs(x) < 1.0 ? small : copysign(large, x);
}

/* x Phi(x), where Phi is the normal distribution's cumulative probability: 1/2 + x/2 + x p(x^2) near 0, and beyond
 * Phi(-a) = exp(-a^2 / 2) erfcx(a / sqrt(2)) / 2, with a^2 split so that its rounding error does not grow. */
TD_FN double td_gelu_f64(double x)
{
    double a = td_at_most_f64(fabs(x), 39.0);
    double z = x * x;
    double p = TD_POLY_6(f64, z, -1.725718415095272e-13, 5.0219624610624796e-12, -1.128907954802392e-10,
                         2.2734265709970114e-09, -4.122661569744199e-08, 6.659693295115908e-07);
    p = TD_POLY_7(f64, z, p, -9.444656253985852e-06, 0.000115434687615282, -0.0011873282154803728,
                         0.009973557010035813, -0.06649038006690544, -0.10105771959856732);
    double half = 0.5 * x, below = 0.5 + half, lost = half - (below - 0.5);
    double small = td_fma_f64(x, td_fma_f64(p, x, lost), x * below);
    double high = td_bits_to_f64(td_f64_to_bits(a) & 0xFFFFFFFFF8000000u);
    double low = 0.5 * (high - a) * (high + a);
    double shifted = td_exp_shifted_f64(-0.5 * a * a);
    double s = td_exp_reduced_f64(-0.5 * high * high, low, shifted, &lost);
    double divisor = a + 2.0, v = (a - 3.0) / divisor;
    double product_low, product = td_two_product_f64(v, divisor, &product_low);
    double residual = (((a - 3.0) - product) - product_low) - v * (a - (divisor - 2.0));
    double factor_low, factor = td_tail_factor_f64(v, residual * (0.2 - 0.2 * v), &factor_low); /* 1 / divisor */
    uint64_t raised = a > 37.0 ? 128u : 0u;
    double tail = factor + td_fma_f64(factor, s, td_fma_f64(factor, lost, factor_low));
    tail = tail * td_scale_f64(shifted, raised) * td_bits_to_f64(((uint64_t)1023u << 52) - (raised << 52));
    double value = x > 0.0 ? x - tail : -tail;
    return a < 0.95 ? small : x != x ? x : value;
}

/* x sigmoid(u) with u = 2 sqrt(2/pi) (x + 0.044715 x^3), which is carried in two parts: its rounding error would
 * grow with u. */
TD_FN double td_gelu_tanh_f64(double x)
{
    double a = fabs(x) > 30.0 ? copysign(30.0, x) : x;
    double square_low, square = td_two_product_f64(a, a, &square_low);
    double cubic_low, cubic = td_two_product_f64(square, 0.07135481627260025, &cubic_low);
    cubic_low += square_low * 0.07135481627260025 + square * -6.175149918155315e-19;
    double sum = 1.5957691216057308 + cubic;
    double larger = cubic > 1.5957691216057308 ? cubic : 1.5957691216057308;
    double smaller = cubic > 1.5957691216057308 ? 1.5957691216057308 : cubic;
    double sum_low = ((larger - sum) + smaller) + (cubic_low + -9.96930880911092e-17);
    double low, u = td_two_product_f64(a, sum, &low);
    double value = copysign(td_sigmoid_times_f64(u, low + a * sum_low, a), x);
    return x > 30.0 ? x : value;
}

/* --- float32 ---------------------------------------------------------------------------------------------------- */
TD_FN float td_erf_f32(float x)
{
    float z = x * x;
    float p = TD_POLY_7(f32, z, 6.561942e-5f, -7.577328e-4f, 5.1337685e-3f, -2.6822075e-2f, 1.1282752e-1f,
                        -3.7612545e-1f, 1.2837915e-1f);
    float t = td_magnitude_to_f32(x, 0x407A8F5C) - 2.565f; /* 3.915, where 1 - q rounds to 1 */
    float q = TD_POLY_6(f32, t, 9.163552e-6f, -1.3720792e-5f, -7.473582e-5f, 2.3341826e-4f, -1.3495189e-4f,
                        -6.776326e-4f);
    q = TD_POLY_8(f32, t, q, 2.5296302e-3f, -5.059519e-3f, 6.805289e-3f, -6.3557755e-3f, 4.02001e-3f, -1.5669676e-3f,
                  2.8622555e-4f);
    return fabsf(x) > 1.2f ? copysignf(1.0f - q, x) : td_fma_f32(p, x, x);
}

#ifdef TD_HAS_FMA
/* As td_gelu_f64. */
TD_FN float td_gelu_f32(float x)
{
    float a = td_magnitude_to_f32(x, 0x4169999A); /* 14.6 */
    float z = x * x;
    float p = TD_POLY_6(f32, z, -7.817033e-6f, 1.1383773e-4f, -1.1865929e-3f, 9.973403e-3f, -6.649037e-2f,
                        -1.0105772e-1f);
    float half = 0.5f * x, below = 0.5f + half, lost = half - (below - 0.5f);
    float small = td_fma_f32(x, td_fma_f32(p, x, lost), x * below);
    float high = td_bits_to_f32(td_f32_to_bits(a) & 0xFFFFF000u);
    uint32_t power = td_f32_to_bits(td_exp_shifted_f32(-0.5f * a * a));
    float r = td_fma_f32(0.5f * (high - a), high + a, td_exp_remainder_f32(-0.5f * high * high, power));
    float s = td_exp_polynomial_f32(r);
    float v = (a - 3.2f) / (a + 2.0f);
    float slope = TD_POLY_5(f32, v, -9.1174314e-7f, 1.5220878e-4f, 2.8109067e-4f, -7.1946613e-4f, -2.5607503e-3f);
    slope = TD_POLY_5(f32, v, slope, 3.6589215e-3f, 2.115764e-2f, -7.305563e-2f, 8.209651e-2f);
    float factor = td_fma_f32(slope, v, 3.6794394e-1f);
    float factor_low = td_fma_f32(slope, v, 3.6794394e-1f - factor);
    uint32_t raised = a > 13.0f ? 64u : 0u;
    float tail = (factor + td_fma_f32(factor, s, factor_low)) * td_scale_f32(power, raised);
    tail = tail * td_bits_to_f32((127u << 23) - (raised << 23));
    float value = x > 0.0f ? x - tail : -tail;
    return x != x ? x : a < 0.95f ? small : value;
}
#else
TD_FN float td_gelu_f32(float x) { return (float)td_gelu_f64((double)x); }
#endif

TD_FN float td_gelu_tanh_f32(float x)
{
    double a = (double)x;
    double u = 1.5957691216057308 * (a + 0.044715 * a * a * a);
    double e = td_exp_wide(-fabs(u));
    double value = a * (u < 0.0 ? e : 1.0) / (1.0 + e);
    return (float)(a < -60.0 ? -0.0 : value);
}

#endif
