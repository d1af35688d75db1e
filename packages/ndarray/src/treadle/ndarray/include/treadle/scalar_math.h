/* Scalar functions of the elementwise bodies, for C, C++ and CUDA.
 *
 * Those in the math_*.h headers are free of branches and calls (but where their heads say so), so that the compiler
 * turns the loop around them into SIMD code for whatever instruction set it compiles for; what is left here is short or
 * the C library's. On the GPU the CUDA math library serves instead. */
#ifndef TREADLE_SCALAR_MATH_H
#define TREADLE_SCALAR_MATH_H

#include "math_bits.h"
#include "math_exponential.h"
#include "math_logarithm.h"
#include "math_normal.h"
#include "math_trigonometric.h"
#include "types.h"

TD_FN float td_sign_f32(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x; }
TD_FN double td_sign_f64(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x; }

/* Remainder with the sign of the divisor, and the floor division that goes with it (Python's language
 * reference, "Binary arithmetic operations"). */
TD_FN double td_remainder_f64(double x, double y)
{
    double r = fmod(x, y);
    if (r == 0.0)
        return y == 0.0 ? r : copysign(0.0, y);
    return (r < 0.0) != (y < 0.0) ? r + y : r;
}

TD_FN float td_remainder_f32(float x, float y)
{
    float r = fmodf(x, y);
    if (r == 0.0f)
        return y == 0.0f ? r : copysignf(0.0f, y);
    return (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

TD_FN double td_floor_divide_f64(double x, double y)
{
    if (y == 0.0)
        return x / y;
    double r = fmod(x, y);
    double quotient = (x - r) / y;
    if (r != 0.0 && (r < 0.0) != (y < 0.0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return copysign(0.0, x / y);
    double floored = floor(quotient);
    return quotient - floored > 0.5 ? floored + 1.0 : floored;
}

TD_FN float td_floor_divide_f32(float x, float y)
{
    if (y == 0.0f)
        return x / y;
    float r = fmodf(x, y);
    float quotient = (x - r) / y;
    if (r != 0.0f && (r < 0.0f) != (y < 0.0f))
        quotient -= 1.0f;
    if (quotient == 0.0f)
        return copysignf(0.0f, x / y);
    float floored = floorf(quotient);
    return quotient - floored > 0.5f ? floored + 1.0f : floored;
}

TD_FN td_bool td_signbit_f32(float x) { return td_f32_to_bits(x) >> 31; }
TD_FN td_bool td_signbit_f64(double x) { return td_f64_to_bits(x) >> 63; }

/* Integer division by zero gives 0, and the most negative value over -1 wraps, as in NumPy. */
TD_FN int64_t td_int_floor_divide(int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    if (y == -1)
        return (int64_t)(0u - (uint64_t)x);
    int64_t quotient = x / y;
    return quotient - ((x % y != 0) && ((x < 0) != (y < 0)));
}

TD_FN int64_t td_int_remainder(int64_t x, int64_t y)
{
    if (y == 0 || y == -1)
        return 0;
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

TD_FN uint64_t td_uint_pow(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    while (exponent) {
        if (exponent & 1)
            result *= base;
        base *= base;
        exponent >>= 1;
    }
    return result;
}

/* A negative exponent truncates 1/x^|y|: only the bases 1 and -1 are left. */
TD_FN int64_t td_int_pow(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    return (int64_t)td_uint_pow((uint64_t)base, (uint64_t)exponent);
}

#define TD_C_LIBRARY(name) \
    TD_FN double td_##name##_f64(double x) { return name(x); }
#define TD_C_LIBRARY_BOTH(name) \
    TD_C_LIBRARY(name) \
    TD_FN float td_##name##_f32(float x) { return name##f(x); }
#define TD_C_LIBRARY_2(name) \
    TD_FN double td_##name##_f64(double x, double y) { return name(x, y); }
TD_C_LIBRARY_BOTH(fabs)
TD_C_LIBRARY_BOTH(sqrt)
TD_C_LIBRARY_BOTH(floor)
TD_C_LIBRARY_BOTH(ceil)
TD_C_LIBRARY_BOTH(trunc)
TD_C_LIBRARY_BOTH(rint)
TD_C_LIBRARY(expm1)
TD_C_LIBRARY(exp2)
TD_C_LIBRARY(log1p)
TD_C_LIBRARY(log2)
TD_C_LIBRARY(log10)
TD_C_LIBRARY(asin)
TD_C_LIBRARY(acos)
TD_C_LIBRARY(atan)
TD_C_LIBRARY(sinh)
TD_C_LIBRARY(cosh)
TD_C_LIBRARY(asinh)
TD_C_LIBRARY(acosh)
TD_C_LIBRARY(atanh)
TD_C_LIBRARY_2(pow)
TD_C_LIBRARY_2(atan2)
TD_C_LIBRARY_2(hypot)
TD_C_LIBRARY_2(copysign)
TD_C_LIBRARY_2(nextafter)
TD_FN float td_copysign_f32(float x, float y) { return copysignf(x, y); }
TD_FN float td_nextafter_f32(float x, float y) { return nextafterf(x, y); }
TD_FN double td_tan_f64(double x, int usual) { return (void)usual, tan(x); }
#undef TD_C_LIBRARY
#undef TD_C_LIBRARY_BOTH
#undef TD_C_LIBRARY_2

#ifdef __cplusplus
#ifdef __CUDA_ARCH__ /* the CUDA math library */
#define TD_BY_TYPE(name) \
    TD_FN float td_##name(float x) { return name##f(x); } \
    TD_FN double td_##name(double x) { return name(x); }
#define TD_BY_TYPE_2(name) \
    TD_FN float td_##name(float x, float y) { return name##f(x, y); } \
    TD_FN double td_##name(double x, double y) { return name(x, y); }
#define TD_WAVE_BY_TYPE TD_BY_TYPE
#else
#define TD_BY_TYPE TD_OWN_BY_TYPE
#define TD_BY_TYPE_2 TD_OWN_BY_TYPE_2
#define TD_WAVE_BY_TYPE(name) \
    TD_FN float td_##name(float x) { return td_##name##_f32(x, td_all_usual); } \
    TD_FN double td_##name(double x) { return td_##name##_f64(x, td_all_usual); }
#endif
#define TD_OWN_BY_TYPE(name) \
    TD_FN float td_##name(float x) { return td_##name##_f32(x); } \
    TD_FN double td_##name(double x) { return td_##name##_f64(x); }
#define TD_OWN_BY_TYPE_2(name) \
    TD_FN float td_##name(float x, float y) { return td_##name##_f32(x, y); } \
    TD_FN double td_##name(double x, double y) { return td_##name##_f64(x, y); }
TD_BY_TYPE(fabs)
TD_BY_TYPE(sqrt)
TD_BY_TYPE(exp)
TD_BY_TYPE(expm1)
TD_BY_TYPE(log)
TD_BY_TYPE(log1p)
TD_BY_TYPE(tanh)
TD_BY_TYPE(erf)
TD_BY_TYPE(floor)
TD_BY_TYPE(ceil)
TD_BY_TYPE(trunc)
TD_BY_TYPE(rint)
TD_BY_TYPE(asin)
TD_BY_TYPE(acos)
TD_BY_TYPE(atan)
TD_BY_TYPE(sinh)
TD_BY_TYPE(cosh)
TD_BY_TYPE(asinh)
TD_BY_TYPE(acosh)
TD_BY_TYPE(atanh)
TD_BY_TYPE(exp2)
TD_BY_TYPE(log2)
TD_BY_TYPE(log10)
TD_WAVE_BY_TYPE(sin)
TD_WAVE_BY_TYPE(cos)
TD_WAVE_BY_TYPE(tan)
TD_OWN_BY_TYPE(sign)
TD_OWN_BY_TYPE(sigmoid)
TD_OWN_BY_TYPE(softplus)
TD_OWN_BY_TYPE(gelu)
TD_OWN_BY_TYPE(gelu_tanh)
TD_BY_TYPE_2(pow)
TD_BY_TYPE_2(atan2)
TD_BY_TYPE_2(hypot)
TD_BY_TYPE_2(copysign)
TD_BY_TYPE_2(nextafter)
TD_OWN_BY_TYPE_2(floor_divide)
TD_OWN_BY_TYPE_2(remainder)
TD_OWN_BY_TYPE_2(logaddexp)
TD_FN td_bool td_signbit(float x) { return td_signbit_f32(x); }
TD_FN td_bool td_signbit(double x) { return td_signbit_f64(x); }
#undef TD_BY_TYPE
#undef TD_BY_TYPE_2
#undef TD_WAVE_BY_TYPE
#undef TD_OWN_BY_TYPE
#undef TD_OWN_BY_TYPE_2
#else
#define TD_BY_TYPE(x, name) _Generic((x), float: td_##name##_f32, double: td_##name##_f64)
#define td_fabs(x) TD_BY_TYPE(x, fabs)(x)
#define td_sqrt(x) TD_BY_TYPE(x, sqrt)(x)
#define td_exp(x) TD_BY_TYPE(x, exp)(x)
#define td_expm1(x) TD_BY_TYPE(x, expm1)(x)
#define td_log(x) TD_BY_TYPE(x, log)(x)
#define td_log1p(x) TD_BY_TYPE(x, log1p)(x)
#define td_tanh(x) TD_BY_TYPE(x, tanh)(x)
#define td_erf(x) TD_BY_TYPE(x, erf)(x)
#define td_floor(x) TD_BY_TYPE(x, floor)(x)
#define td_ceil(x) TD_BY_TYPE(x, ceil)(x)
#define td_trunc(x) TD_BY_TYPE(x, trunc)(x)
#define td_rint(x) TD_BY_TYPE(x, rint)(x)
#define td_asin(x) TD_BY_TYPE(x, asin)(x)
#define td_acos(x) TD_BY_TYPE(x, acos)(x)
#define td_atan(x) TD_BY_TYPE(x, atan)(x)
#define td_sinh(x) TD_BY_TYPE(x, sinh)(x)
#define td_cosh(x) TD_BY_TYPE(x, cosh)(x)
#define td_asinh(x) TD_BY_TYPE(x, asinh)(x)
#define td_acosh(x) TD_BY_TYPE(x, acosh)(x)
#define td_atanh(x) TD_BY_TYPE(x, atanh)(x)
#define td_exp2(x) TD_BY_TYPE(x, exp2)(x)
#define td_log2(x) TD_BY_TYPE(x, log2)(x)
#define td_log10(x) TD_BY_TYPE(x, log10)(x)
#define td_sign(x) TD_BY_TYPE(x, sign)(x)
#define td_sigmoid(x) TD_BY_TYPE(x, sigmoid)(x)
#define td_softplus(x) TD_BY_TYPE(x, softplus)(x)
#define td_gelu(x) TD_BY_TYPE(x, gelu)(x)
#define td_gelu_tanh(x) TD_BY_TYPE(x, gelu_tanh)(x)
#define td_signbit(x) TD_BY_TYPE(x, signbit)(x)
#define td_sin(x) TD_BY_TYPE(x, sin)(x, td_all_usual)
#define td_cos(x) TD_BY_TYPE(x, cos)(x, td_all_usual)
#define td_tan(x) TD_BY_TYPE(x, tan)(x, td_all_usual)
#define td_pow(x, y) TD_BY_TYPE(x, pow)(x, y)
#define td_atan2(x, y) TD_BY_TYPE(x, atan2)(x, y)
#define td_hypot(x, y) TD_BY_TYPE(x, hypot)(x, y)
#define td_copysign(x, y) TD_BY_TYPE(x, copysign)(x, y)
#define td_nextafter(x, y) TD_BY_TYPE(x, nextafter)(x, y)
#define td_floor_divide(x, y) TD_BY_TYPE(x, floor_divide)(x, y)
#define td_remainder(x, y) TD_BY_TYPE(x, remainder)(x, y)
#define td_logaddexp(x, y) TD_BY_TYPE(x, logaddexp)(x, y)
#endif

#define td_isinf(x) ((x) - (x) != 0 && (x) == (x))

#endif
