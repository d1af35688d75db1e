/* Complex arithmetic and functions, for C, C++ and CUDA, but that the transcendental functions are those of the host's
 * C library (C11, 7.3 and annex G, which the array API standard's special cases are) and missing in device code.
 *
 * complex64 is computed in double and rounded once, but for sums and products. A product follows the real rules part by
 * part, without annex G's recovery of infinities, as in NumPy. */
#ifndef TREADLE_COMPLEX_MATH_H
#define TREADLE_COMPLEX_MATH_H

#include "scalar_math.h"

TD_FN td_c128 td_widened(td_c64 x)
{
    td_c128 z = {(double)x.re, (double)x.im};
    return z;
}

TD_FN td_c64 td_narrowed(td_c128 x)
{
    td_c64 z = {(float)x.re, (float)x.im};
    return z;
}

/* --- what is the same in both types ------------------------------------------------------------------------------- */
#define TD_COMPLEX_ARITHMETIC(sfx, T, R) \
    TD_FN T td_positive_##sfx(T x) { return x; } \
    TD_FN T td_negative_##sfx(T x) \
    { \
        T z = {-x.re, -x.im}; \
        return z; \
    } \
    TD_FN T td_add_##sfx(T x, T y) \
    { \
        T z = {x.re + y.re, x.im + y.im}; \
        return z; \
    } \
    TD_FN T td_subtract_##sfx(T x, T y) \
    { \
        T z = {x.re - y.re, x.im - y.im}; \
        return z; \
    } \
    TD_FN T td_multiply_##sfx(T x, T y) \
    { \
        T z = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; \
        return z; \
    } \
    TD_FN T td_round_##sfx(T x) \
    { \
        T z = {td_rint(x.re), td_rint(x.im)}; \
        return z; \
    } \
    TD_FN T td_square_##sfx(T x) { return td_multiply_##sfx(x, x); } \
    TD_FN td_bool td_logical_not_##sfx(T x) { return x.re == 0 && x.im == 0; } \
    TD_FN td_bool td_isnan_##sfx(T x) { return x.re != x.re || x.im != x.im; } \
    TD_FN td_bool td_isinf_##sfx(T x) { return td_isinf(x.re) || td_isinf(x.im); } \
    TD_FN td_bool td_isfinite_##sfx(T x) { return x.re - x.re == 0 && x.im - x.im == 0; } \
    TD_FN td_bool td_equal_##sfx(T x, T y) { return x.re == y.re && x.im == y.im; } \
    TD_FN td_bool td_not_equal_##sfx(T x, T y) { return x.re != y.re || x.im != y.im; } \
    TD_FN td_bool td_logical_and_##sfx(T x, T y) { return !td_logical_not_##sfx(x) && !td_logical_not_##sfx(y); } \
    TD_FN td_bool td_logical_or_##sfx(T x, T y) { return !td_logical_not_##sfx(x) || !td_logical_not_##sfx(y); } \
    TD_FN td_bool td_logical_xor_##sfx(T x, T y) { return td_logical_not_##sfx(x) != td_logical_not_##sfx(y); }
TD_COMPLEX_ARITHMETIC(c64, td_c64, float)
TD_COMPLEX_ARITHMETIC(c128, td_c128, double)
#undef TD_COMPLEX_ARITHMETIC

/* sqrt(re^2 + im^2) of parts that are scaled by a power of two where their squares would overflow or vanish; without a
 * branch, so that a loop of it becomes SIMD code. An infinite part outweighs a NaN. */
#define TD_COMPLEX_ABS(sfx, T, R, root, magnitude, large, down, small, up) \
    TD_FN R td_abs_##sfx(T x) \
    { \
        R re = magnitude(x.re), im = magnitude(x.im); \
        R larger = re > im ? re : im; \
        R scale = larger > large ? down : larger < small ? up : (R)1; \
        R back = larger > large ? (R)1 / down : larger < small ? (R)1 / up : (R)1; \
        R a = re * scale, b = im * scale; \
        R length = root(a * a + b * b) * back; \
        return re == (R)INFINITY || im == (R)INFINITY ? (R)INFINITY : length; \
    }
TD_COMPLEX_ABS(c64, td_c64, float, sqrtf, fabsf, 1e18f, 0x1p-80f, 1e-18f, 0x1p100f)
TD_COMPLEX_ABS(c128, td_c128, double, sqrt, fabs, 1e150, 0x1p-600, 1e-150, 0x1p600)
#undef TD_COMPLEX_ABS

/* x / |x|, and 0 for 0. Scaled, where the length of a subnormal number would be coarse. */
TD_FN td_c128 td_sign_c128(td_c128 x)
{
    double scale = fabs(x.re) < 1e-290 && fabs(x.im) < 1e-290 ? 0x1p200 : 1.0;
    td_c128 z = {x.re * scale, x.im * scale};
    double length = td_abs_c128(z);
    if (length == 0.0) {
        z.re = z.im = 0.0;
        return z;
    }
    z.re = length != length ? NAN : z.re / length;
    z.im = length != length ? NAN : z.im / length;
    return z;
}

/* R. L. Smith, "Algorithm 116: Complex division", Communications of the ACM 5, 1962. */
TD_FN td_c128 td_divide_c128(td_c128 x, td_c128 y)
{
    td_c128 z;
    if (fabs(y.re) >= fabs(y.im)) {
        if (y.re == 0.0) {
            z.re = x.re / fabs(y.re);
            z.im = x.im / fabs(y.re);
            return z;
        }
        double ratio = y.im / y.re, scale = 1.0 / (y.re + y.im * ratio);
        z.re = (x.re + x.im * ratio) * scale;
        z.im = (x.im - x.re * ratio) * scale;
        return z;
    }
    double ratio = y.re / y.im, scale = 1.0 / (y.im + y.re * ratio);
    z.re = (x.re * ratio + x.im) * scale;
    z.im = (x.im * ratio - x.re) * scale;
    return z;
}

TD_FN td_c128 td_reciprocal_c128(td_c128 x)
{
    td_c128 one = {1.0, 0.0};
    return td_divide_c128(one, x);
}

/* --- functions of the C library ----------------------------------------------------------------------------------- */
#define TD_COMPLEX_FUNCTIONS(X) \
    X(sqrt) X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)

#ifdef TREADLE_COMPLEX_FUNCTIONS
#define TD_COMPLEX_FUNCTION(op) TD_FN td_c128 td_##op##_c128(td_c128 x);
TD_COMPLEX_FUNCTIONS(TD_COMPLEX_FUNCTION)
TD_FN td_c128 td_tanh_c128(td_c128 x);
TD_FN td_c128 td_power_c128(td_c128 x, td_c128 y);
#undef TD_COMPLEX_FUNCTION
#elif !defined(__CUDA_ARCH__)
TD_FN double _Complex td_to_library(td_c128 x)
{
    double _Complex z;
    __real__ z = x.re;
    __imag__ z = x.im;
    return z;
}

TD_FN td_c128 td_from_library(double _Complex x)
{
    td_c128 z = {__real__ x, __imag__ x};
    return z;
}

#define TD_COMPLEX_FUNCTION(op) \
    TD_FN td_c128 td_##op##_c128(td_c128 x) { return td_from_library(__builtin_c##op(td_to_library(x))); }
TD_COMPLEX_FUNCTIONS(TD_COMPLEX_FUNCTION)
#undef TD_COMPLEX_FUNCTION

/* At an infinite real part the imaginary part is a 0 of its own sign (array API standard), not of sin(2 im)'s. */
TD_FN td_c128 td_tanh_c128(td_c128 x)
{
    if (td_isinf(x.re) && x.im - x.im == 0.0) {
        td_c128 z = {copysign(1.0, x.re), copysign(0.0, x.im)};
        return z;
    }
    return td_from_library(__builtin_ctanh(td_to_library(x)));
}

TD_FN td_c128 td_power_c128(td_c128 x, td_c128 y)
{
    return td_from_library(__builtin_cpow(td_to_library(x), td_to_library(y)));
}
#endif

#if defined(TREADLE_COMPLEX_FUNCTIONS) || !defined(__CUDA_ARCH__)

/* exp(x + iy) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y): no digits are lost near 0. */
TD_FN td_c128 td_expm1_c128(td_c128 x)
{
    td_c128 z;
    if (fabs(x.re) < 20.0 && x.im - x.im == 0.0) {
        double half = sin(0.5 * x.im);
        z.re = expm1(x.re) * cos(x.im) - 2.0 * half * half + 0.0; /* 0, not -0, of -0 */
        z.im = exp(x.re) * sin(x.im);
        return z;
    }
    z = td_exp_c128(x);
    z.re -= 1.0;
    return z;
}

/* x (2 + x) + y^2, whose terms may cancel, to twice the digits (T. J. Dekker, "A floating-point technique for extending
 * the available precision", Numerische Mathematik 18, 1971). */
TD_FN double td_square_less_one(double x, double y)
{
    double xx = x * x, yy = y * y, twice = 2.0 * x;
    double low = fma(x, x, -xx) + fma(y, y, -yy);
    double first = twice + yy, share = first - twice;
    low += (twice - (first - share)) + (yy - share);
    double second = first + xx;
    share = second - first;
    low += (first - (second - share)) + (xx - share);
    return second + low;
}

/* log(1 + z) = log(|1 + z|^2) / 2 + i arg(1 + z). */
TD_FN td_c128 td_log1p_c128(td_c128 x)
{
    td_c128 z = {1.0 + x.re, x.im};
    int near_pole = fabs(z.re) < 0.5 && fabs(z.im) < 0.5; /* where the sum is exact */
    if (near_pole || !(fabs(x.re) < 1e100 && fabs(x.im) < 1e100))
        return td_log_c128(z);
    z.im = atan2(x.im, z.re);
    z.re = 0.5 * log1p(td_square_less_one(x.re, x.im));
    return z;
}

TD_FN td_c128 td_log2_c128(td_c128 x)
{
    td_c128 z = td_log_c128(x);
    z.re *= 1.44269504088896340736;
    z.im *= 1.44269504088896340736;
    return z;
}

TD_FN td_c128 td_log10_c128(td_c128 x)
{
    td_c128 z = td_log_c128(x);
    z.re *= 0.43429448190325182765;
    z.im *= 0.43429448190325182765;
    return z;
}

/* Small whole exponents by products; else exp(y log(x)). 0 to a power is 0 where that has a positive real part, and else
 * NaN: the magnitude is exp(Re(y) log|x|), and turns about the origin do not move it. */
TD_FN td_c128 td_pow_c128(td_c128 x, td_c128 y)
{
    td_c128 z = {1.0, 0.0};
    if (y.re == 0.0 && y.im == 0.0)
        return z;
    if (x.re == 0.0 && x.im == 0.0) {
        z.re = z.im = y.re > 0.0 && y.im - y.im == 0.0 ? 0.0 : NAN;
        return z;
    }
    if (y.im == 0.0 && fabs(y.re) < 100.0 && y.re == floor(y.re)) {
        for (int exponent = (int)fabs(y.re); exponent; exponent >>= 1, x = td_square_c128(x))
            if (exponent & 1)
                z = td_multiply_c128(z, x);
        return y.re < 0.0 ? td_reciprocal_c128(z) : z;
    }
    return td_power_c128(x, y);
}

#define TD_COMPLEX_THROUGH_DOUBLE(op) \
    TD_FN td_c64 td_##op##_c64(td_c64 x) { return td_narrowed(td_##op##_c128(td_widened(x))); }
TD_COMPLEX_THROUGH_DOUBLE(sqrt)
TD_COMPLEX_THROUGH_DOUBLE(exp)
TD_COMPLEX_THROUGH_DOUBLE(expm1)
TD_COMPLEX_THROUGH_DOUBLE(log)
TD_COMPLEX_THROUGH_DOUBLE(log1p)
TD_COMPLEX_THROUGH_DOUBLE(log2)
TD_COMPLEX_THROUGH_DOUBLE(log10)
TD_COMPLEX_THROUGH_DOUBLE(sin)
TD_COMPLEX_THROUGH_DOUBLE(cos)
TD_COMPLEX_THROUGH_DOUBLE(tan)
TD_COMPLEX_THROUGH_DOUBLE(asin)
TD_COMPLEX_THROUGH_DOUBLE(acos)
TD_COMPLEX_THROUGH_DOUBLE(atan)
TD_COMPLEX_THROUGH_DOUBLE(sinh)
TD_COMPLEX_THROUGH_DOUBLE(cosh)
TD_COMPLEX_THROUGH_DOUBLE(tanh)
TD_COMPLEX_THROUGH_DOUBLE(asinh)
TD_COMPLEX_THROUGH_DOUBLE(acosh)
TD_COMPLEX_THROUGH_DOUBLE(atanh)
TD_FN td_c64 td_pow_c64(td_c64 x, td_c64 y) { return td_narrowed(td_pow_c128(td_widened(x), td_widened(y))); }
#else
#define TD_COMPLEX_THROUGH_DOUBLE(op) \
    TD_FN td_c64 td_##op##_c64(td_c64 x) { return td_narrowed(td_##op##_c128(td_widened(x))); }
#endif

TD_COMPLEX_THROUGH_DOUBLE(sign)
TD_COMPLEX_THROUGH_DOUBLE(reciprocal)
#undef TD_COMPLEX_THROUGH_DOUBLE
TD_FN td_c64 td_divide_c64(td_c64 x, td_c64 y) { return td_narrowed(td_divide_c128(td_widened(x), td_widened(y))); }

#endif
