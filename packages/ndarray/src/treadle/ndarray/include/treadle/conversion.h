/* Real numbers as integers, defined for every value and the same on every device: the fraction is dropped, what is out of
 * range gives the nearest integer of the type, NaN gives 0. (In C it is undefined, and processors differ: x86 has one
 * pattern for all that is out of range, ARM and NVIDIA's GPUs saturate as here, and so do Rust and WebAssembly.)
 *
 * Read by the C kernels, by nvcc and by the host emulation. F is the type of x, float or double, and x a variable. The
 * steps are written for vectorisers: a mask, a maximum, a minimum. */
#ifndef TREADLE_CONVERSION_H
#define TREADLE_CONVERSION_H

#include "scalar_math.h"

/* Where both bounds are exact in the type of x. */
TD_FN float td_cut_f32(float x, float least, float most)
{
    float number = x == x ? x : 0.0f;
    float raised = number > least ? number : least;
    return raised < most ? raised : most;
}
TD_FN double td_cut_f64(double x, double least, double most)
{
    double number = x == x ? x : 0.0;
    double raised = number > least ? number : least;
    return raised < most ? raised : most;
}
#define TD_CUT(F, x, least, most) \
    (sizeof(F) == 4 ? (F)td_cut_f32((float)(x), (float)(least), (float)(most)) : (F)td_cut_f64(x, least, most))

/* A float cannot be cut at the largest integer of 32 bits, only at the largest float below it. */
TD_FN int32_t td_i32_from_f32(float x)
{
    int32_t whole = (int32_t)td_cut_f32(x, -2147483648.0f, 2147483520.0f);
    return x >= 2147483648.0f ? INT32_MAX : whole;
}
TD_FN int32_t td_i32_from_f64(double x)
{
    return (int32_t)td_cut_f64(x, INT32_MIN, INT32_MAX);
}

/* Where only the first number beyond the largest is. */
#define TD_SATURATED(F, T, x, least, most, low, beyond) \
    ((x) >= (F)(beyond) ? (T)(most) : (x) > (F)(low) ? (T)(x) : (x) <= (F)(low) ? (T)(least) : (T)0)

#define TD_REAL_TO_i8(F, x) ((int8_t)(int32_t)TD_CUT(F, x, INT8_MIN, INT8_MAX))
#define TD_REAL_TO_i16(F, x) ((int16_t)(int32_t)TD_CUT(F, x, INT16_MIN, INT16_MAX))
#define TD_REAL_TO_u8(F, x) ((uint8_t)(int32_t)TD_CUT(F, x, 0, UINT8_MAX))
#define TD_REAL_TO_u16(F, x) ((uint16_t)(int32_t)TD_CUT(F, x, 0, UINT16_MAX))
#define TD_REAL_TO_i32(F, x) (sizeof(F) == 4 ? td_i32_from_f32((float)(x)) : td_i32_from_f64(x))
#define TD_REAL_TO_u32(F, x) TD_SATURATED(F, uint32_t, x, 0, UINT32_MAX, 0.0, 4294967296.0)
#define TD_REAL_TO_i64(F, x) \
    TD_SATURATED(F, int64_t, x, INT64_MIN, INT64_MAX, -9223372036854775808.0, 9223372036854775808.0)
#define TD_REAL_TO_u64(F, x) TD_SATURATED(F, uint64_t, x, 0, UINT64_MAX, 0.0, 18446744073709551616.0)

#endif
