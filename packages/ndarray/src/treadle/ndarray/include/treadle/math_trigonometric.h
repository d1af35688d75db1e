/* sin, cos, tan, and the angles: asin, acos, atan, atan2; hypot.
 *
 * sin, cos and tan of an argument of usual size: the nearest multiple n of pi/2 is subtracted in parts, of which n
 * times all but the last is exact (W. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980, chapter 8),
 * and what is left goes into Chebyshev fits of (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4. An argument
 * beyond the limit needs hundreds of digits of pi: the C library has them. A loop that knows all its arguments to be usual
 * says so with td_all_usual = 1, which leaves it without a call. */
#ifndef TREADLE_MATH_TRIGONOMETRIC_H
#define TREADLE_MATH_TRIGONOMETRIC_H

#include "math_bits.h"

#define TD_USUAL_F32 1e5f
#define TD_USUAL_F64 1e6
enum { td_all_usual = 0 };

/* --- float32 ---------------------------------------------------------------------------------------------------- */
/* x - n pi/2, with n in the low bits of *quadrant. */
TD_FN float td_quadrant_f32(float x, uint32_t *quadrant)
{
    float shifted = td_fma_f32(x, 0.636619772f, TD_ROUND_F32);
    float n = shifted - TD_ROUND_F32;
    *quadrant = td_f32_to_bits(shifted);
#ifdef TD_HAS_FMA
    float r = td_fma_f32(n, -1.57079601287841796875f, x);
    r = td_fma_f32(n, -3.1391647326017846353352069854736328125e-7f, r);
    return td_fma_f32(n, -5.390302529957764765544e-15f, r);
#else
    double r = (double)x - (double)n * 1.57079632673412561417;
    return (float)(r - (double)n * 6.07710050650619224932e-11);
#endif
}

TD_FN float td_wave_f32(float x, uint32_t quarters)
{
    uint32_t quadrant;
    float r = td_quadrant_f32(x, &quadrant), z = r * r;
    quadrant += quarters;
    float s = TD_POLY_4(f32, z, 2.7243782e-6f, -1.9840039e-4f, 8.333332e-3f, -1.6666667e-1f);
    float c = TD_POLY_3(f32, z, 2.4542871e-5f, -1.3888279e-3f, 4.1666664e-2f);
    s = td_fma_f32(s * z, r, r);
    c = td_fma_f32(c * z, z, td_fma_f32(z, -0.5f, 1.0f));
    float value = quadrant & 1u ? c : s;
    return td_bits_to_f32(td_f32_to_bits(value) ^ ((quadrant & 2u) << 30));
}

/* In double, from double: near its poles the tangent would show every rounding of r. */
TD_FN float td_tangent_f32(float x)
{
    double shifted = td_fma_f64((double)x, 0.6366197723675814, TD_ROUND_F64);
    double n = shifted - TD_ROUND_F64;
    double r = td_fma_f64(n, -6.07710050650619224932e-11, td_fma_f64(n, -1.57079632673412561417, (double)x));
    double z = r * r;
    double s = TD_POLY_5(f64, z, 2.724378140946123e-06, -0.00019840038872556747, 0.008333331785217696,
                         -0.1666666666362283, 1.0) * r;
    double c = TD_POLY_6(f64, z, -2.7295830827614617e-07, 2.4800560429914505e-05, -0.001388888759732781,
                         0.04166666666412721, -0.5, 1.0);
    int odd = (td_f64_to_bits(shifted) & 1u) != 0;
    return (float)((odd ? -c : s) / (odd ? s : c));
}

TD_FN float td_sin_f32(float x, int usual)
{
    float magnitude = fabsf(x); /* of -0.0 the polynomial would make 0.0 */
    uint32_t sign = td_f32_to_bits(x) & 0x80000000u;
    return usual || !(magnitude > TD_USUAL_F32) ? td_bits_to_f32(td_f32_to_bits(td_wave_f32(magnitude, 0u)) ^ sign)
                                                : (float)sin((double)x);
}

TD_FN float td_cos_f32(float x, int usual)
{
    return usual || !(fabsf(x) > TD_USUAL_F32) ? td_wave_f32(x, 1u) : (float)cos((double)x);
}

TD_FN float td_tan_f32(float x, int usual)
{
    return usual || !(fabsf(x) > TD_USUAL_F32) ? td_tangent_f32(x) : (float)tan((double)x);
}

/* --- float64 ---------------------------------------------------------------------------------------------------- */
/* As td_quadrant_f32, with what the result rounds away in *low. */
TD_FN double td_quadrant_f64(double x, uint64_t *quadrant, double *low)
{
    double shifted = td_fma_f64(x, 0.6366197723675814, TD_ROUND_F64);
    double n = shifted - TD_ROUND_F64;
    *quadrant = td_f64_to_bits(shifted);
    double near = td_fma_f64(n, -1.57079632673412561417, x);
    double second = n * 6.07710050630396597660e-11;
    double r = near - second;
    double rest = n * 2.02226624879595063154e-21 - ((near - r) - second);
    double value = r - rest;
    *low = (r - value) - rest;
    return value;
}

TD_FN double td_wave_f64(double x, uint64_t quarters)
{
    uint64_t quadrant;
    double low, r = td_quadrant_f64(x, &quadrant, &low), z = r * r;
    quadrant += quarters;
    double s = TD_POLY_7(f64, z, -7.585486485235938e-13, 1.6058510875319195e-10, -2.505210610025599e-08,
                         2.7557319218954762e-06, -0.00019841269841264567, 0.008333333333333331, -0.16666666666666666);
    double c = TD_POLY_7(f64, z, 4.745198807202876e-14, -1.1470449354466773e-11, 2.0876755717584403e-09,
                         -2.75573192211891e-07, 2.4801587301584367e-05, -0.0013888888888888887, 0.041666666666666664);
    double half = 0.5 * z, rest = 1.0 - half;
    s = r - td_fma_f64(-s * z, r, td_fma_f64(half, low, -low)); /* a difference keeps -0.0 */
    c = rest + (((1.0 - rest) - half) + td_fma_f64(z * z, c, -r * low));
    double value = quadrant & 1u ? c : s;
    return td_bits_to_f64(td_f64_to_bits(value) ^ ((quadrant & 2u) << 62));
}

TD_FN double td_sin_f64(double x, int usual)
{
    return usual || !(fabs(x) > TD_USUAL_F64) ? td_wave_f64(x, 0u) : sin(x);
}

TD_FN double td_cos_f64(double x, int usual)
{
    return usual || !(fabs(x) > TD_USUAL_F64) ? td_wave_f64(x, 1u) : cos(x);
}

/* --- angles in float32 by way of float64, with about 35 bits ------------------------------------------------------ */
/* The angle in [0, pi/2] of the point (x, y) in the first quadrant. A slope above 1 is turned around, and one above
 * tan(pi/8) is turned by pi/4. */
TD_FN double td_angle_wide(double y, double x)
{
    double larger = y > x ? y : x, smaller = y > x ? x : y;
    int turned = smaller > 0.41421356237309503 * larger;
    double numerator = turned ? smaller - larger : smaller;
    double denominator = turned ? smaller + larger : larger;
    double t = numerator / (denominator == 0.0 ? 1.0 : denominator), z = t * t;
    double p = TD_POLY_7(f64, z, -0.040413140264706375, 0.07134420201218257, -0.09028824015576213, 0.11107482298859685,
                         -0.14285612049555613, 0.19999998911296413, -0.33333333331428355);
    double angle = td_fma_f64(p * z, t, t) + (turned ? 0.7853981633974483 : 0.0);
    return y > x ? 1.5707963267948966 - angle : angle;
}

TD_FN float td_atan_f32(float x) { return copysignf((float)td_angle_wide((double)fabsf(x), 1.0), x); }

TD_FN float td_asin_f32(float x)
{
    double a = (double)fabsf(x);
    return copysignf((float)td_angle_wide(a, sqrt((1.0 - a) * (1.0 + a))), x);
}

TD_FN float td_acos_f32(float x)
{
    double a = (double)fabsf(x);
    double angle = td_angle_wide(sqrt((1.0 - a) * (1.0 + a)), a);
    return (float)(x < 0.0f ? 3.141592653589793 - angle : angle);
}

/* An infinite operand becomes 1e300, before which every other float32 vanishes. */
TD_FN float td_atan2_f32(float y, float x)
{
    double ordinate = (double)fabsf(y), abscissa = (double)fabsf(x);
    ordinate = ordinate > 1e300 ? 1e300 : ordinate;
    abscissa = abscissa > 1e300 ? 1e300 : abscissa;
    double angle = td_angle_wide(ordinate, abscissa);
    return copysignf((float)(td_f32_to_bits(x) >> 31 ? 3.141592653589793 - angle : angle), y);
}

/* Squares of float32 are exact in float64. An infinity wins over NaN. */
TD_FN float td_hypot_f32(float x, float y)
{
    double a = (double)x, b = (double)y;
    float value = (float)sqrt(a * a + b * b);
    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : value;
}

#endif
