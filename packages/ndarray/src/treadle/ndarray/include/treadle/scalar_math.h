/* Scalar functions of the elementwise bodies, for C, C++ and CUDA.
 *
 * The float32 versions of exp, log, tanh and sigmoid are branch-free polynomials, so that the compiler turns
 * the loop around them into SIMD code for whatever instruction set it compiles for; on the GPU the CUDA math
 * library serves instead. Polynomials: S. Moshier, Cephes Mathematical Library, single precision (expf.c,
 * logf.c, tanhf.c); their error is below 2 ulp. Everything else is the C library's. */
#ifndef TREADLE_SCALAR_MATH_H
#define TREADLE_SCALAR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "types.h"

#ifdef __CUDACC__
#define TD_FN static __host__ __device__ __forceinline__
#else
#define TD_FN static inline
#endif

TD_FN float td_bits_to_f32(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TD_FN int32_t td_f32_to_bits(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* exp(x) = 2^n exp(r), |r| <= ln2/2. The scale 2^n is applied in two factors, so that results below the
 * normal range are rounded once and not flushed. */
TD_FN float td_exp_f32(float x)
{
#ifdef __CUDA_ARCH__
    return expf(x);
#else
    float clamped = x > 89.0f ? 89.0f : x;
    clamped = clamped < -104.0f ? -104.0f : clamped;
    float shifted = clamped * 1.44269504088896341f + 12582912.0f; /* 1.5 * 2^23: the sum rounds to an integer */
    float n = shifted - 12582912.0f;
    float r = clamped - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t k = (int32_t)((uint32_t)td_f32_to_bits(shifted) - 0x4B400000u);
    int32_t half = k >> 1;
    float low = td_bits_to_f32((int32_t)((uint32_t)(half + 127) << 23));
    float high = td_bits_to_f32((int32_t)((uint32_t)(k - half + 127) << 23));
    float scaled = p * low * high;
    return x != x ? x : scaled;
#endif
}

/* log(x) = e ln2 + log(m), m in [sqrt(1/2), sqrt(2)). */
TD_FN float td_log_f32(float x)
{
#ifdef __CUDA_ARCH__
    return logf(x);
#else
    int subnormal = x < 1.17549435e-38f;
    float scaled = subnormal ? x * 8388608.0f : x;
    int32_t bits = td_f32_to_bits(scaled);
    int32_t e = (int32_t)((uint32_t)bits - 0x3F3504F3u) >> 23; /* 0x3F3504F3: sqrt(1/2) */
    float m = td_bits_to_f32((int32_t)((uint32_t)bits - ((uint32_t)e << 23))) - 1.0f;
    float exponent = (float)(e - (subnormal ? 23 : 0));
    float z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z;
    p = p + exponent * -2.12194440e-4f;
    p = p - 0.5f * z;
    float value = m + p + exponent * 0.693359375f;
    value = x == 0.0f ? -INFINITY : value;
    value = x == INFINITY ? x : value;
    return x != x || x < 0.0f ? NAN : value;
#endif
}

TD_FN float td_tanh_f32(float x)
{
#ifdef __CUDA_ARCH__
    return tanhf(x);
#else
    float magnitude = fabsf(x);
    float z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    p = p * z * x + x;
    float saturated = 1.0f - 2.0f / (td_exp_f32(2.0f * magnitude) + 1.0f);
    return copysignf(magnitude < 0.625f ? p : saturated, x);
#endif
}

/* exp(-|x|) never overflows, and small results keep their digits. */
TD_FN float td_sigmoid_f32(float x)
{
    float e = td_exp_f32(-fabsf(x));
    return (x >= 0.0f ? 1.0f : e) / (1.0f + e) + (x != x ? x : 0.0f);
}

TD_FN double td_sigmoid_f64(double x)
{
    double e = exp(-fabs(x));
    return (x >= 0.0 ? 1.0 : e) / (1.0 + e) + (x != x ? x : 0.0);
}

TD_FN float td_softplus_f32(float x) { return (x > 0.0f || x != x ? x : 0.0f) + log1pf(td_exp_f32(-fabsf(x))); }
TD_FN double td_softplus_f64(double x) { return (x > 0.0 || x != x ? x : 0.0) + log1p(exp(-fabs(x))); }

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

/* x times the probability that a normal variate lies below x. erfc keeps the digits where that is small; where it is
 * 0, so is the product, also for x = -inf. float32 goes through double, because the argument's rounding error
 * grows with x squared. */
TD_FN double td_gelu_f64(double x)
{
    double below = 0.5 * erfc(-0.70710678118654752440 * x);
    return below == 0.0 ? -0.0 : x * below;
}

/* (1 + tanh(u)) / 2 is sigmoid(2 u). */
TD_FN double td_gelu_tanh_f64(double x)
{
    double below = td_sigmoid_f64(1.5957691216057307117 * (x + 0.044715 * x * x * x));
    return below == 0.0 ? -0.0 : x * below;
}

TD_FN float td_gelu_f32(float x) { return (float)td_gelu_f64((double)x); }
TD_FN float td_gelu_tanh_f32(float x) { return (float)td_gelu_tanh_f64((double)x); }

TD_FN double td_logaddexp_f64(double x, double y)
{
    if (x == y) /* equal infinities too, whose difference is NaN */
        return x + 0.69314718055994530942;
    double larger = x > y ? x : y, distance = fabs(x - y);
    return distance != distance ? distance : larger + log1p(exp(-distance));
}

TD_FN float td_logaddexp_f32(float x, float y) { return (float)td_logaddexp_f64((double)x, (double)y); }

TD_FN td_bool td_signbit_f32(float x) { return td_f32_to_bits(x) < 0; }
TD_FN td_bool td_signbit_f64(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0;
}

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

#ifdef __cplusplus
#define TD_BY_TYPE(name, f32_function, f64_function) \
    TD_FN float name(float x) { return f32_function(x); } \
    TD_FN double name(double x) { return f64_function(x); }
#define TD_BY_TYPE_2(name, f32_function, f64_function) \
    TD_FN float name(float x, float y) { return f32_function(x, y); } \
    TD_FN double name(double x, double y) { return f64_function(x, y); }
TD_BY_TYPE(td_fabs, fabsf, fabs)
TD_BY_TYPE(td_sign, td_sign_f32, td_sign_f64)
TD_BY_TYPE(td_sqrt, sqrtf, sqrt)
TD_BY_TYPE(td_exp, td_exp_f32, exp)
TD_BY_TYPE(td_expm1, expm1f, expm1)
TD_BY_TYPE(td_log, td_log_f32, log)
TD_BY_TYPE(td_log1p, log1pf, log1p)
TD_BY_TYPE(td_sin, sinf, sin)
TD_BY_TYPE(td_cos, cosf, cos)
TD_BY_TYPE(td_tanh, td_tanh_f32, tanh)
TD_BY_TYPE(td_sigmoid, td_sigmoid_f32, td_sigmoid_f64)
TD_BY_TYPE(td_erf, erff, erf)
TD_BY_TYPE(td_softplus, td_softplus_f32, td_softplus_f64)
TD_BY_TYPE(td_floor, floorf, floor)
TD_BY_TYPE(td_ceil, ceilf, ceil)
TD_BY_TYPE(td_trunc, truncf, trunc)
TD_BY_TYPE(td_round, rintf, rint)
TD_BY_TYPE(td_tan, tanf, tan)
TD_BY_TYPE(td_asin, asinf, asin)
TD_BY_TYPE(td_acos, acosf, acos)
TD_BY_TYPE(td_atan, atanf, atan)
TD_BY_TYPE(td_sinh, sinhf, sinh)
TD_BY_TYPE(td_cosh, coshf, cosh)
TD_BY_TYPE(td_asinh, asinhf, asinh)
TD_BY_TYPE(td_acosh, acoshf, acosh)
TD_BY_TYPE(td_atanh, atanhf, atanh)
TD_BY_TYPE(td_exp2, exp2f, exp2)
TD_BY_TYPE(td_log2, log2f, log2)
TD_BY_TYPE(td_log10, log10f, log10)
TD_BY_TYPE(td_gelu, td_gelu_f32, td_gelu_f64)
TD_BY_TYPE(td_gelu_tanh, td_gelu_tanh_f32, td_gelu_tanh_f64)
TD_FN td_bool td_signbit(float x) { return td_signbit_f32(x); }
TD_FN td_bool td_signbit(double x) { return td_signbit_f64(x); }
TD_BY_TYPE_2(td_floor_divide, td_floor_divide_f32, td_floor_divide_f64)
TD_BY_TYPE_2(td_remainder, td_remainder_f32, td_remainder_f64)
TD_BY_TYPE_2(td_pow, powf, pow)
TD_BY_TYPE_2(td_atan2, atan2f, atan2)
TD_BY_TYPE_2(td_hypot, hypotf, hypot)
TD_BY_TYPE_2(td_logaddexp, td_logaddexp_f32, td_logaddexp_f64)
TD_BY_TYPE_2(td_copysign, copysignf, copysign)
TD_BY_TYPE_2(td_nextafter, nextafterf, nextafter)
#undef TD_BY_TYPE
#undef TD_BY_TYPE_2
#else
#define TD_BY_TYPE(x, f32_function, f64_function) _Generic((x), float: f32_function, double: f64_function)
#define td_fabs(x) TD_BY_TYPE(x, fabsf, fabs)(x)
#define td_sign(x) TD_BY_TYPE(x, td_sign_f32, td_sign_f64)(x)
#define td_sqrt(x) TD_BY_TYPE(x, sqrtf, sqrt)(x)
#define td_exp(x) TD_BY_TYPE(x, td_exp_f32, exp)(x)
#define td_expm1(x) TD_BY_TYPE(x, expm1f, expm1)(x)
#define td_log(x) TD_BY_TYPE(x, td_log_f32, log)(x)
#define td_log1p(x) TD_BY_TYPE(x, log1pf, log1p)(x)
#define td_sin(x) TD_BY_TYPE(x, sinf, sin)(x)
#define td_cos(x) TD_BY_TYPE(x, cosf, cos)(x)
#define td_tanh(x) TD_BY_TYPE(x, td_tanh_f32, tanh)(x)
#define td_sigmoid(x) TD_BY_TYPE(x, td_sigmoid_f32, td_sigmoid_f64)(x)
#define td_erf(x) TD_BY_TYPE(x, erff, erf)(x)
#define td_softplus(x) TD_BY_TYPE(x, td_softplus_f32, td_softplus_f64)(x)
#define td_floor(x) TD_BY_TYPE(x, floorf, floor)(x)
#define td_ceil(x) TD_BY_TYPE(x, ceilf, ceil)(x)
#define td_trunc(x) TD_BY_TYPE(x, truncf, trunc)(x)
#define td_round(x) TD_BY_TYPE(x, rintf, rint)(x)
#define td_tan(x) TD_BY_TYPE(x, tanf, tan)(x)
#define td_asin(x) TD_BY_TYPE(x, asinf, asin)(x)
#define td_acos(x) TD_BY_TYPE(x, acosf, acos)(x)
#define td_atan(x) TD_BY_TYPE(x, atanf, atan)(x)
#define td_sinh(x) TD_BY_TYPE(x, sinhf, sinh)(x)
#define td_cosh(x) TD_BY_TYPE(x, coshf, cosh)(x)
#define td_asinh(x) TD_BY_TYPE(x, asinhf, asinh)(x)
#define td_acosh(x) TD_BY_TYPE(x, acoshf, acosh)(x)
#define td_atanh(x) TD_BY_TYPE(x, atanhf, atanh)(x)
#define td_exp2(x) TD_BY_TYPE(x, exp2f, exp2)(x)
#define td_log2(x) TD_BY_TYPE(x, log2f, log2)(x)
#define td_log10(x) TD_BY_TYPE(x, log10f, log10)(x)
#define td_gelu(x) TD_BY_TYPE(x, td_gelu_f32, td_gelu_f64)(x)
#define td_gelu_tanh(x) TD_BY_TYPE(x, td_gelu_tanh_f32, td_gelu_tanh_f64)(x)
#define td_signbit(x) TD_BY_TYPE(x, td_signbit_f32, td_signbit_f64)(x)
#define td_floor_divide(x, y) TD_BY_TYPE(x, td_floor_divide_f32, td_floor_divide_f64)(x, y)
#define td_remainder(x, y) TD_BY_TYPE(x, td_remainder_f32, td_remainder_f64)(x, y)
#define td_pow(x, y) TD_BY_TYPE(x, powf, pow)(x, y)
#define td_atan2(x, y) TD_BY_TYPE(x, atan2f, atan2)(x, y)
#define td_hypot(x, y) TD_BY_TYPE(x, hypotf, hypot)(x, y)
#define td_logaddexp(x, y) TD_BY_TYPE(x, td_logaddexp_f32, td_logaddexp_f64)(x, y)
#define td_copysign(x, y) TD_BY_TYPE(x, copysignf, copysign)(x, y)
#define td_nextafter(x, y) TD_BY_TYPE(x, nextafterf, nextafter)(x, y)
#endif

#define td_isinf(x) ((x) - (x) != 0 && (x) == (x))

#endif
