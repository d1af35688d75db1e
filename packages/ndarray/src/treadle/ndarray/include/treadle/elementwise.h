/* The scalar bodies of all elementwise ops, once: the C kernels, the CUDA kernels and the host emulation
 * all expand these lists.
 *
 *   X(op, TYPES, OUT, body)  names an op, the group of types it is defined on, its result type and its value
 *   Y(op, TYPES, OUT, body)  adds a further group of types to the op of the X row above it
 *
 * In a body, T is the operand type and x, y, z are the operands; OUT is T or td_bool. A body with a comma
 * stands in parentheses. Functions named td_* are in scalar_math.h and are chosen by the operand's type.
 * Integer arithmetic wraps: it is done in uint64_t and cut to T, which no compiler may take for overflow. */
#ifndef TREADLE_ELEMENTWISE_H
#define TREADLE_ELEMENTWISE_H

#include "types.h"
#include "scalar_math.h"

#define TD_UNARY_OPS(X, Y) \
    X(positive, NUMERIC, T, x) \
    X(negative, FLOATING, T, -x) \
    Y(negative, INTEGER, T, (T)(0u - (uint64_t)x)) \
    X(abs, FLOATING, T, td_fabs(x)) \
    Y(abs, SIGNED, T, (T)(x < 0 ? 0u - (uint64_t)x : (uint64_t)x)) \
    Y(abs, UNSIGNED, T, x) \
    X(sign, FLOATING, T, td_sign(x)) \
    Y(sign, INTEGER, T, (T)((x > 0) - (x < 0))) \
    X(square, FLOATING, T, x * x) \
    Y(square, INTEGER, T, (T)((uint64_t)x * (uint64_t)x)) \
    X(reciprocal, FLOATING, T, (T)1 / x) \
    X(sqrt, FLOATING, T, td_sqrt(x)) \
    X(exp, FLOATING, T, td_exp(x)) \
    X(expm1, FLOATING, T, td_expm1(x)) \
    X(log, FLOATING, T, td_log(x)) \
    X(log1p, FLOATING, T, td_log1p(x)) \
    X(sin, FLOATING, T, td_sin(x)) \
    X(cos, FLOATING, T, td_cos(x)) \
    X(tanh, FLOATING, T, td_tanh(x)) \
    X(sigmoid, FLOATING, T, td_sigmoid(x)) \
    X(erf, FLOATING, T, td_erf(x)) \
    X(relu, FLOATING, T, (x > 0 || x != x ? x : (T)0)) \
    Y(relu, INTEGER, T, (T)(x > 0 ? x : 0)) \
    X(softplus, FLOATING, T, td_softplus(x)) \
    X(floor, FLOATING, T, td_floor(x)) \
    Y(floor, INTEGER, T, x) \
    X(ceil, FLOATING, T, td_ceil(x)) \
    Y(ceil, INTEGER, T, x) \
    X(trunc, FLOATING, T, td_trunc(x)) \
    Y(trunc, INTEGER, T, x) \
    X(round, FLOATING, T, td_rint(x)) \
    Y(round, INTEGER, T, x) \
    X(bitwise_invert, INTEGER, T, (T)(~x)) \
    Y(bitwise_invert, BOOL, T, (T)(!x)) \
    X(logical_not, ALL, td_bool, (x == 0)) \
    X(isnan, FLOATING, td_bool, (x != x)) \
    Y(isnan, INTEGER, td_bool, 0) \
    Y(isnan, BOOL, td_bool, 0) \
    X(isinf, FLOATING, td_bool, td_isinf(x)) \
    Y(isinf, INTEGER, td_bool, 0) \
    Y(isinf, BOOL, td_bool, 0) \
    X(isfinite, FLOATING, td_bool, (x - x == 0)) \
    Y(isfinite, INTEGER, td_bool, 1) \
    Y(isfinite, BOOL, td_bool, 1) \
    X(tan, FLOATING, T, td_tan(x)) \
    X(asin, FLOATING, T, td_asin(x)) \
    X(acos, FLOATING, T, td_acos(x)) \
    X(atan, FLOATING, T, td_atan(x)) \
    X(sinh, FLOATING, T, td_sinh(x)) \
    X(cosh, FLOATING, T, td_cosh(x)) \
    X(asinh, FLOATING, T, td_asinh(x)) \
    X(acosh, FLOATING, T, td_acosh(x)) \
    X(atanh, FLOATING, T, td_atanh(x)) \
    X(exp2, FLOATING, T, td_exp2(x)) \
    X(log2, FLOATING, T, td_log2(x)) \
    X(log10, FLOATING, T, td_log10(x)) \
    X(gelu, FLOATING, T, td_gelu(x)) \
    X(gelu_tanh, FLOATING, T, td_gelu_tanh(x)) \
    X(signbit, FLOATING, td_bool, td_signbit(x))

#define TD_BINARY_OPS(X, Y) \
    X(add, FLOATING, T, x + y) \
    Y(add, INTEGER, T, (T)((uint64_t)x + (uint64_t)y)) \
    Y(add, BOOL, T, (T)(x | y)) \
    X(subtract, FLOATING, T, x - y) \
    Y(subtract, INTEGER, T, (T)((uint64_t)x - (uint64_t)y)) \
    X(multiply, FLOATING, T, x * y) \
    Y(multiply, INTEGER, T, (T)((uint64_t)x * (uint64_t)y)) \
    Y(multiply, BOOL, T, (T)(x & y)) \
    X(divide, FLOATING, T, x / y) \
    X(floor_divide, FLOATING, T, td_floor_divide(x, y)) \
    Y(floor_divide, SIGNED, T, (T)td_int_floor_divide((int64_t)x, (int64_t)y)) \
    Y(floor_divide, UNSIGNED, T, (T)(y == 0 ? 0 : x / y)) \
    X(remainder, FLOATING, T, td_remainder(x, y)) \
    Y(remainder, SIGNED, T, (T)td_int_remainder((int64_t)x, (int64_t)y)) \
    Y(remainder, UNSIGNED, T, (T)(y == 0 ? 0 : x % y)) \
    X(pow, FLOATING, T, td_pow(x, y)) \
    Y(pow, SIGNED, T, (T)td_int_pow((int64_t)x, (int64_t)y)) \
    Y(pow, UNSIGNED, T, (T)td_uint_pow((uint64_t)x, (uint64_t)y)) \
    X(maximum, FLOATING, T, (x >= y || x != x ? x : y)) \
    Y(maximum, INTEGER, T, (x >= y ? x : y)) \
    Y(maximum, BOOL, T, (T)(x | y)) \
    X(minimum, FLOATING, T, (x <= y || x != x ? x : y)) \
    Y(minimum, INTEGER, T, (x <= y ? x : y)) \
    Y(minimum, BOOL, T, (T)(x & y)) \
    X(bitwise_and, INTEGER, T, (T)(x & y)) \
    Y(bitwise_and, BOOL, T, (T)(x & y)) \
    X(bitwise_or, INTEGER, T, (T)(x | y)) \
    Y(bitwise_or, BOOL, T, (T)(x | y)) \
    X(bitwise_xor, INTEGER, T, (T)(x ^ y)) \
    Y(bitwise_xor, BOOL, T, (T)(x ^ y)) \
    X(logical_and, ALL, td_bool, (x != 0 && y != 0)) \
    X(logical_or, ALL, td_bool, (x != 0 || y != 0)) \
    X(logical_xor, ALL, td_bool, ((x != 0) != (y != 0))) \
    X(equal, ALL, td_bool, (x == y)) \
    X(not_equal, ALL, td_bool, (x != y)) \
    X(less, ALL, td_bool, (x < y)) \
    X(less_equal, ALL, td_bool, (x <= y)) \
    X(greater, ALL, td_bool, (x > y)) \
    X(greater_equal, ALL, td_bool, (x >= y)) \
    X(atan2, FLOATING, T, (td_atan2(x, y))) \
    X(hypot, FLOATING, T, (td_hypot(x, y))) \
    X(logaddexp, FLOATING, T, (td_logaddexp(x, y))) \
    X(copysign, FLOATING, T, (td_copysign(x, y))) \
    X(nextafter, FLOATING, T, (td_nextafter(x, y))) \
    X(bitwise_left_shift, INTEGER, T, ((uint64_t)y < 8 * sizeof(T) ? (T)((uint64_t)x << y) : (T)0)) \
    X(bitwise_right_shift, SIGNED, T, ((uint64_t)y < 8 * sizeof(T) ? (T)(x >> y) : (T)(x < 0 ? -1 : 0))) \
    Y(bitwise_right_shift, UNSIGNED, T, (y < 8 * sizeof(T) ? (T)(x >> y) : (T)0))

/* where's condition c is td_bool. clip is min(max(x, y), z) with NaN handed on from any operand. */
#define TD_TERNARY_OPS(X, Y) \
    X(where, ALL, T, (c ? x : y)) \
    X(clip, FLOATING, T, (x != x || z != z ? x + z : y != y ? y : x < y ? (y > z ? z : y) : x > z ? z : x)) \
    Y(clip, INTEGER, T, (x < y ? (y > z ? z : y) : x > z ? z : x))

#endif
