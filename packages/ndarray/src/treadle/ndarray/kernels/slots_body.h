/* Every inner loop, stamped from the scalar bodies. Included once an instruction set, with TD_SLOTS naming the table. */
#include "slots.h"

extern const td_slots TD_SLOTS; /* the table at the end of this file */

#if defined(__clang__)
#define TD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define TD_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define TD_INDEPENDENT _Pragma("GCC ivdep")
#define TD_UNROLLED _Pragma("GCC unroll 8")
#endif

#define STEP(type, pointer, stride, i) (*(type *)((pointer) + (i) * (stride)))
#define READ(type, pointer, stride, i) (*(const type *)((pointer) + (i) * (stride)))
#define DENSE(type, stride) ((stride) == (int64_t)sizeof(type))

#include "elementwise_loops.h"
#ifdef TD_WITH_LANES
#include "lanes_avx512.h"
#else
#define SLOTS_LANES
#endif
#include "cast_loops.h"
#include "reduce_loops.h"
#include "normalize_loops.h"
#include "half_loops.h"
#include "half_reduce_loops.h"
#include "complex_loops.h"
#include "update_loops.h"
#include "random_loops.h"

/* --- the table -------------------------------------------------------------------------------------------------- */
#define SLOT_UNARY(sfx, ctype, op) [TD_UNARY_##op][TD_##sfx] = unary_##op##_##sfx,
#define SLOT_BINARY(sfx, ctype, op) [TD_BINARY_##op][TD_##sfx] = binary_##op##_##sfx,
#define SLOT_TERNARY(sfx, ctype, op) [TD_TERNARY_##op][TD_##sfx] = ternary_##op##_##sfx,
#define SLOT_CAST(to, ctype, from) [TD_##from][TD_##to] = cast_##from##_##to,
#define SLOT_REDUCE(sfx, ctype, op, ACC) \
    [TD_REDUCE_##op][TD_##sfx] = {reduce_start_##op##_##sfx, reduce_row_##op##_##sfx, reduce_column_##op##_##sfx, \
                                  reduce_merge_##op##_##sfx, reduce_finish_##op##_##sfx, scan_start_##op##_##sfx, \
                                  reduce_scan_##op##_##sfx},
#define SLOT_TYPE(sfx, ctype, name) [TD_##sfx] = name##_##sfx,
#define SLOT_ARG(sfx, ctype, name) [TD_##sfx] = {name##_##sfx, name##_column_##sfx, name##_merge_##sfx},
#define SLOT_SQUARES(sfx, ctype, unused) [TD_##sfx] = {squares_row_##sfx, squares_column_##sfx},
#define CASTS(from) TD_TYPES_ALL(SLOT_CAST, from) TD_TYPES_HALF(SLOT_CAST, from) TD_TYPES_COMPLEX(SLOT_CAST, from)
#define COMPLEX_CASTS(from) TD_TYPES_BOOL(SLOT_CAST, from) TD_TYPES_COMPLEX(SLOT_CAST, from)
#define SLOT_HALF_UNARY(sfx, op) SLOT_UNARY(sfx, , op)
#define SLOT_HALF_BINARY(sfx, op) SLOT_BINARY(sfx, , op)
#define SLOT_HALF_TERNARY(sfx, op) SLOT_TERNARY(sfx, , op)
#define SLOT_HALF_REDUCE(sfx, op) \
    [TD_REDUCE_##op][TD_##sfx] = {reduce_start_##op##_f32, reduce_row_##op##_##sfx, reduce_column_##op##_##sfx, \
                                  reduce_merge_##op##_f32, reduce_finish_##op##_##sfx, scan_start_##op##_f32, \
                                  reduce_scan_##op##_##sfx},
#define SLOT_NEXT(sfx, ctype, ...) [TD_BINARY_nextafter][TD_##sfx] = next_##sfx,
#define SLOT_COMPLEX_UNARY(op, OUT) TD_TYPES_COMPLEX(SLOT_UNARY, op)
#define SLOT_COMPLEX_BINARY(op, OUT) TD_TYPES_COMPLEX(SLOT_BINARY, op)
#define SLOT_COMPLEX_SCAN(sfx, ctype, ...) [TD_REDUCE_prod][TD_##sfx] = {.scan = reduce_scan_prod_##sfx},
#define SLOT_COMPLEX_SUM(sfx, ctype, ...) \
    [TD_REDUCE_sum][TD_##sfx] = {reduce_start_sum_##sfx, reduce_row_sum_##sfx, reduce_column_sum_##sfx, \
                                 reduce_merge_sum_##sfx, reduce_finish_sum_##sfx},

/* The halves' nextafter replaces the one by way of float, and lanes_avx512.h the loops of scalar bodies. */
#pragma GCC diagnostic ignored "-Woverride-init"
const td_slots TD_SLOTS = {
#define X(op, TYPES, ...) TD_TYPES_##TYPES(SLOT_UNARY, op) HALVES_##TYPES(SLOT_HALF_UNARY, op)
    .unary = {TD_UNARY_OPS(X, X) TD_COMPLEX_UNARY_OPS(SLOT_COMPLEX_UNARY) SLOTS_LANES},
#undef X
#define X(op, TYPES, ...) TD_TYPES_##TYPES(SLOT_BINARY, op) HALVES_##TYPES(SLOT_HALF_BINARY, op)
    .binary = {TD_BINARY_OPS(X, X) TD_COMPLEX_BINARY_OPS(SLOT_COMPLEX_BINARY) TD_TYPES_HALF(SLOT_NEXT, )},
#undef X
#define X(op, TYPES, ...) TD_TYPES_##TYPES(SLOT_TERNARY, op) HALVES_##TYPES(SLOT_HALF_TERNARY, op)
    .ternary = {TD_TERNARY_OPS(X, X) TD_TYPES_COMPLEX(SLOT_TERNARY, where)},
#undef X
    .cast = {CASTS(bool) CASTS(i8) CASTS(i16) CASTS(i32) CASTS(i64) CASTS(u8) CASTS(u16) CASTS(u32) CASTS(u64)
                 CASTS(f32) CASTS(f64) CASTS(f16) CASTS(bf16) COMPLEX_CASTS(c64) COMPLEX_CASTS(c128)},
#define X(op, TYPES, ACC, ...) TD_TYPES_##TYPES(SLOT_REDUCE, op, ACC) HALVES_##TYPES(SLOT_HALF_REDUCE, op)
    .reduce = {TD_REDUCE_OPS(X, X) TD_TYPES_COMPLEX(SLOT_COMPLEX_SCAN, ) TD_TYPES_COMPLEX(SLOT_COMPLEX_SUM, )},
#undef X
    .arg_max = {TD_TYPES_ALL(SLOT_ARG, arg_max)},
    .arg_min = {TD_TYPES_ALL(SLOT_ARG, arg_min)},
    .squares = {TD_TYPES_FLOATING(SLOT_SQUARES, )},
    .softmax = {TD_TYPES_FLOATING(SLOT_TYPE, softmax)},
    .adam = {TD_TYPES_FLOATING(SLOT_TYPE, adam)},
    .sgd = {TD_TYPES_FLOATING(SLOT_TYPE, sgd)},
    .random_words = random_words,
};
