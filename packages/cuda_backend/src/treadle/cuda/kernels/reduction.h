/* The reductions of treadle/reduce.h as structs: Element is read, Accumulator is folded, Result is written: a sum
 * that is accumulated in double leaves in the operand's type, everything else as it was accumulated. */
#ifndef TREADLE_CUDA_REDUCTION_H
#define TREADLE_CUDA_REDUCTION_H

#include "runtime.h"

namespace td {

namespace {

#define TD_DEFINE_REDUCTION(suffix, ctype, op, ACC, identity, combine) \
    struct reduce_##op##_##suffix { \
        using T = ctype; \
        using Element = T; \
        using Accumulator = ACC; \
        using Result = std::conditional_t<std::is_same_v<ACC, double>, T, ACC>; \
        static TD_DEVICE Accumulator start() \
        { \
            [[maybe_unused]] const T lowest = TD_LOWEST_##suffix, largest = TD_LARGEST_##suffix; \
            return identity; \
        } \
        static TD_DEVICE Accumulator fold(Accumulator acc, Element x) { return (Accumulator)(combine); } \
        static TD_DEVICE Accumulator merge(Accumulator acc, Accumulator x) { return (Accumulator)(combine); } \
    };
#define X(op, TYPES, ACC, identity, combine) TD_TYPES_##TYPES(TD_DEFINE_REDUCTION, op, ACC, identity, combine)
TD_REDUCE_OPS(X, X)
#undef X

} // namespace

} // namespace td

#endif
