/* Element types: one row a type. Read by the C kernels, by Cython and by nvcc.
 *
 * M(suffix, ctype, ...): the type lists apply M to each member, so that a kernel is stamped out for a
 * group of types by naming the group: TD_TYPES_FLOATING(DEFINE_KERNEL, exp, ...). The lists up to ALL hold the types
 * that C computes in itself; the halves are computed in float (half.h), complex numbers by complex_math.h.
 * Ids are fixed for good (they index tables and travel between packages). */
#ifndef TREADLE_TYPES_H
#define TREADLE_TYPES_H

#include <stdint.h>

#define TD_MAX_NDIM 32

enum {
    TD_bool = 0,
    TD_i8, TD_i16, TD_i32, TD_i64,
    TD_u8, TD_u16, TD_u32, TD_u64,
    TD_f16, TD_bf16, TD_f32, TD_f64,
    TD_c64, TD_c128,
    TD_DTYPE_COUNT
};

typedef uint8_t td_bool; /* 0 or 1, nothing else */
typedef uint16_t td_f16;  /* the bits of IEEE 754's binary16 */
typedef uint16_t td_bf16; /* the upper half of a float's bits */
typedef struct {
    float re, im;
} td_c64;
typedef struct {
    double re, im;
} td_c128;

#define TD_TYPES_BOOL(M, ...) M(bool, td_bool, __VA_ARGS__)
#define TD_TYPES_SIGNED(M, ...) \
    M(i8, int8_t, __VA_ARGS__) M(i16, int16_t, __VA_ARGS__) \
    M(i32, int32_t, __VA_ARGS__) M(i64, int64_t, __VA_ARGS__)
#define TD_TYPES_UNSIGNED(M, ...) \
    M(u8, uint8_t, __VA_ARGS__) M(u16, uint16_t, __VA_ARGS__) \
    M(u32, uint32_t, __VA_ARGS__) M(u64, uint64_t, __VA_ARGS__)
#define TD_TYPES_FLOATING(M, ...) M(f32, float, __VA_ARGS__) M(f64, double, __VA_ARGS__)
#define TD_TYPES_INTEGER(M, ...) TD_TYPES_SIGNED(M, __VA_ARGS__) TD_TYPES_UNSIGNED(M, __VA_ARGS__)
#define TD_TYPES_NUMERIC(M, ...) TD_TYPES_INTEGER(M, __VA_ARGS__) TD_TYPES_FLOATING(M, __VA_ARGS__)
#define TD_TYPES_ALL(M, ...) TD_TYPES_BOOL(M, __VA_ARGS__) TD_TYPES_NUMERIC(M, __VA_ARGS__)
#define TD_TYPES_HALF(M, ...) M(f16, td_f16, __VA_ARGS__) M(bf16, td_bf16, __VA_ARGS__)
#define TD_TYPES_COMPLEX(M, ...) M(c64, td_c64, __VA_ARGS__) M(c128, td_c128, __VA_ARGS__)

/* A strided view: what every kernel family knows of an array. Strides are in bytes and signed; they are
 * multiples of the item size, and data is aligned to it. */
typedef struct {
    char *data;
    int32_t dtype;
    int32_t ndim;
    int64_t shape[TD_MAX_NDIM];
    int64_t strides[TD_MAX_NDIM];
} td_view;

#endif
