/* The reductions of treadle/reduce.h as structs: Element is read, Accumulator is folded, Result is written: a sum
 * that is accumulated in double leaves in the operand's type, everything else as it was accumulated. Of complex numbers
 * sums and products are accumulated in double parts. */
#ifndef TREADLE_CUDA_REDUCTION_H
#define TREADLE_CUDA_REDUCTION_H

#include "complex_ops.h"
#include "elements.h"

#define TD_LOWEST_f16 -INFINITY
#define TD_LARGEST_f16 INFINITY
#define TD_LOWEST_bf16 -INFINITY
#define TD_LARGEST_bf16 INFINITY

namespace td {

namespace {

#define TD_DEFINE_REDUCTION(suffix, ctype, op, ACC, identity, combine) \
    struct reduce_##op##_##suffix { \
        using T = Computed<ctype>; \
        using Element = ctype; \
        using Accumulator = ACC; \
        using Result = std::conditional_t<std::is_same_v<ACC, double>, ctype, Kept<ACC, ctype>>; \
        static TD_DEVICE Accumulator start() \
        { \
            [[maybe_unused]] const T lowest = TD_LOWEST_##suffix, largest = TD_LARGEST_##suffix; \
            return identity; \
        } \
        static TD_DEVICE Accumulator fold(Accumulator acc, T x) { return (Accumulator)(combine); } \
        static TD_DEVICE Accumulator merge(Accumulator acc, Accumulator x) { return (Accumulator)(combine); } \
    };
#define X(op, TYPES, ACC, identity, combine) TD_ROW_##TYPES(TD_DEFINE_REDUCTION, op, ACC, identity, combine)
TD_REDUCE_OPS(X, X)
#undef X

TD_DEVICE td_c128 wide(td_c64 x) { return td_widened(x); }
TD_DEVICE td_c128 wide(td_c128 x) { return x; }

/* What a fold of floating elements is stored as; real numbers convert by themselves. */
template <class Result, class Accumulator> TD_DEVICE Result finished(Accumulator value)
{
    if constexpr (std::is_same_v<Result, td_c64>)
        return td_narrowed(value);
    else
        return static_cast<Result>(value);
}

#define TD_DEFINE_COMPLEX_FOLD(suffix, ctype, op, start_re, combine) \
    struct reduce_##op##_##suffix { \
        using Element = ctype; \
        using Accumulator = td_c128; \
        using Result = ctype; \
        static TD_DEVICE Accumulator start() { return {start_re, 0.0}; } \
        static TD_DEVICE Accumulator fold(Accumulator acc, Element x) { return combine(acc, wide(x)); } \
        static TD_DEVICE Accumulator merge(Accumulator acc, Accumulator x) { return combine(acc, x); } \
    };
TD_TYPES_COMPLEX(TD_DEFINE_COMPLEX_FOLD, sum, 0.0, td_add_c128)
TD_TYPES_COMPLEX(TD_DEFINE_COMPLEX_FOLD, prod, 1.0, td_multiply_c128)

#define TD_DEFINE_COMPLEX_TEST(suffix, ctype, op, identity, sign) \
    struct reduce_##op##_##suffix { \
        using Element = ctype; \
        using Accumulator = td_bool; \
        using Result = td_bool; \
        static TD_DEVICE Accumulator start() { return identity; } \
        static TD_DEVICE Accumulator fold(Accumulator acc, Element x) \
        { \
            return static_cast<td_bool>(acc sign !td_logical_not_##suffix(x)); \
        } \
        static TD_DEVICE Accumulator merge(Accumulator acc, Accumulator x) \
        { \
            return static_cast<td_bool>(acc sign x); \
        } \
    };
TD_TYPES_COMPLEX(TD_DEFINE_COMPLEX_TEST, any, 0, |)
TD_TYPES_COMPLEX(TD_DEFINE_COMPLEX_TEST, all, 1, &)

/* Number, mean and squared deviations, folded by the rules of T. Chan, G. Golub, R. LeVeque, "Updating formulae and a
 * pairwise algorithm for computing sample variances" (1979). */
struct Moments {
    double count, mean, squares;
};

template <class T> struct Variance {
    using Element = T;
    using Accumulator = Moments;
    using Result = T;
    static TD_DEVICE Accumulator start() { return {0.0, 0.0, 0.0}; }
    static TD_DEVICE Accumulator fold(Accumulator acc, Element x)
    {
        return merge(acc, {1.0, static_cast<double>(x), static_cast<double>(x - x)});
    }
    static TD_DEVICE Accumulator merge(Accumulator acc, Accumulator x)
    {
        if (acc.count == 0.0 || x.count == 0.0)
            return acc.count == 0.0 ? x : acc;
        const double count = acc.count + x.count, distance = x.mean - acc.mean, share = x.count / count;
        return {count, acc.mean + distance * share,
                acc.squares + x.squares + distance * distance * acc.count * share};
    }
};

} // namespace

} // namespace td

#endif
