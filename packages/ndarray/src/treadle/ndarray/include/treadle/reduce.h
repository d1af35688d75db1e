/* The scalar bodies of all reductions and scans, once, in the form of elementwise.h.
 *
 *   X(op, TYPES, ACC, identity, combine)
 *
 * acc has type ACC and starts as identity; combine folds the element x (of type T) into it. combine also folds one
 * accumulator into another, with x of type ACC. Floats are accumulated in double: sums of float32 are then exact
 * to the last bits whatever the axis and layout. */
#ifndef TREADLE_REDUCE_H
#define TREADLE_REDUCE_H

#include "types.h"
#include "scalar_math.h"

/* The ends of each type's range. A kernel defines lowest and largest from them for the identities below. */
#define TD_LOWEST_bool 0
#define TD_LARGEST_bool 1
#define TD_LOWEST_i8 INT8_MIN
#define TD_LARGEST_i8 INT8_MAX
#define TD_LOWEST_i16 INT16_MIN
#define TD_LARGEST_i16 INT16_MAX
#define TD_LOWEST_i32 INT32_MIN
#define TD_LARGEST_i32 INT32_MAX
#define TD_LOWEST_i64 INT64_MIN
#define TD_LARGEST_i64 INT64_MAX
#define TD_LOWEST_u8 0
#define TD_LARGEST_u8 UINT8_MAX
#define TD_LOWEST_u16 0
#define TD_LARGEST_u16 UINT16_MAX
#define TD_LOWEST_u32 0
#define TD_LARGEST_u32 UINT32_MAX
#define TD_LOWEST_u64 0
#define TD_LARGEST_u64 UINT64_MAX
#define TD_LOWEST_f32 -INFINITY
#define TD_LARGEST_f32 INFINITY
#define TD_LOWEST_f64 -INFINITY
#define TD_LARGEST_f64 INFINITY

#define TD_REDUCE_OPS(X, Y) \
    X(sum, FLOATING, double, 0.0, acc + x) \
    Y(sum, SIGNED, int64_t, 0, (int64_t)((uint64_t)acc + (uint64_t)x)) \
    Y(sum, UNSIGNED, uint64_t, 0, acc + x) \
    Y(sum, BOOL, int64_t, 0, acc + x) \
    X(prod, FLOATING, double, 1.0, acc * x) \
    Y(prod, SIGNED, int64_t, 1, (int64_t)((uint64_t)acc * (uint64_t)x)) \
    Y(prod, UNSIGNED, uint64_t, 1, acc * x) \
    Y(prod, BOOL, int64_t, 1, acc * x) \
    X(max, FLOATING, T, lowest, (acc >= x || acc != acc ? acc : x)) \
    Y(max, INTEGER, T, lowest, (acc >= x ? acc : x)) \
    Y(max, BOOL, T, lowest, (T)(acc | x)) \
    X(min, FLOATING, T, largest, (acc <= x || acc != acc ? acc : x)) \
    Y(min, INTEGER, T, largest, (acc <= x ? acc : x)) \
    Y(min, BOOL, T, largest, (T)(acc & x)) \
    X(any, ALL, td_bool, 0, (td_bool)(acc | (x != 0))) \
    X(all, ALL, td_bool, 1, (td_bool)(acc & (x != 0)))

/* mean is sum with one division; cumsum and cumprod are sum and prod with every step written out. */

#endif
