/* The elementwise ops on complex types, in the manner of elementwise.h, where each has its row for other types.
 *
 *   X(op, OUT)   the function td_<op>_c64 or td_<op>_c128 of complex_math.h, and its result: T, the operand's type,
 *                R, the type of its parts, or td_bool */
#ifndef TREADLE_ELEMENTWISE_COMPLEX_H
#define TREADLE_ELEMENTWISE_COMPLEX_H

#include "complex_math.h"

#define TD_COMPLEX_UNARY_OPS(X) \
    X(positive, T) X(negative, T) X(abs, R) X(sign, T) X(square, T) X(reciprocal, T) X(round, T) \
    X(sqrt, T) X(exp, T) X(expm1, T) X(log, T) X(log1p, T) X(log2, T) X(log10, T) \
    X(sin, T) X(cos, T) X(tan, T) X(asin, T) X(acos, T) X(atan, T) \
    X(sinh, T) X(cosh, T) X(tanh, T) X(asinh, T) X(acosh, T) X(atanh, T) \
    X(logical_not, td_bool) X(isnan, td_bool) X(isinf, td_bool) X(isfinite, td_bool)

#define TD_COMPLEX_BINARY_OPS(X) \
    X(add, T) X(subtract, T) X(multiply, T) X(divide, T) X(pow, T) \
    X(equal, td_bool) X(not_equal, td_bool) X(logical_and, td_bool) X(logical_or, td_bool) X(logical_xor, td_bool)

#endif
