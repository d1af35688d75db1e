/* How the elements of each dtype lie in memory and in which type they are computed: the halves in float, all others in
 * themselves. A result is rounded to its half once. */
#ifndef TREADLE_CUDA_ELEMENTS_H
#define TREADLE_CUDA_ELEMENTS_H

#include "treadle/half.h"

#include "runtime.h"

#define TD_BOTH __host__ __device__ __forceinline__

namespace td {

struct Float16 {
    td_f16 bits;
    Float16() = default;
    explicit TD_BOTH Float16(float x) : bits(td_f32_to_f16(x)) {}
    explicit TD_BOTH Float16(double x) : bits(td_f64_to_f16(x)) {}
    TD_BOTH operator float() const { return td_f16_to_f32(bits); }
};

struct BFloat16 {
    td_bf16 bits;
    BFloat16() = default;
    explicit TD_BOTH BFloat16(float x) : bits(td_f32_to_bf16(x)) {}
    explicit TD_BOTH BFloat16(double x) : bits(td_f64_to_bf16(x)) {}
    TD_BOTH operator float() const { return td_bf16_to_f32(bits); }
};

template <class T> constexpr bool IS_HALF = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T> constexpr bool IS_COMPLEX = std::is_same_v<T, td_c64> || std::is_same_v<T, td_c128>;

/* The type that elements stored as T are computed in. */
template <class T> using Computed = std::conditional_t<IS_HALF<T>, float, T>;

/* The type that a result is stored as: Stored where it has the computed type, and itself where it is bool. */
template <class Out, class Stored>
using Kept = std::conditional_t<std::is_same_v<Out, Computed<Stored>>, Stored, Out>;

/* Elements that are only moved are known by their size. */
struct alignas(8) Word16 {
    uint64_t halves[2];
};

} // namespace td

/* The groups of treadle/types.h with the types of this header. */
#define TD_KERNEL_HALVES(M, ...) M(f16, ::td::Float16, __VA_ARGS__) M(bf16, ::td::BFloat16, __VA_ARGS__)
#define TD_KERNEL_FLOATING(M, ...) TD_TYPES_FLOATING(M, __VA_ARGS__) TD_KERNEL_HALVES(M, __VA_ARGS__)
#define TD_KERNEL_REAL(M, ...) TD_TYPES_ALL(M, __VA_ARGS__) TD_KERNEL_HALVES(M, __VA_ARGS__)
#define TD_KERNEL_TYPES(M, ...) TD_KERNEL_REAL(M, __VA_ARGS__) TD_TYPES_COMPLEX(M, __VA_ARGS__)

/* A row of the shared lists, for a group of types, with the halves where it holds for the floating types. */
#define TD_ROW_ALL TD_KERNEL_REAL
#define TD_ROW_NUMERIC(M, ...) TD_TYPES_NUMERIC(M, __VA_ARGS__) TD_KERNEL_HALVES(M, __VA_ARGS__)
#define TD_ROW_FLOATING TD_KERNEL_FLOATING
#define TD_ROW_INTEGER TD_TYPES_INTEGER
#define TD_ROW_SIGNED TD_TYPES_SIGNED
#define TD_ROW_UNSIGNED TD_TYPES_UNSIGNED
#define TD_ROW_BOOL TD_TYPES_BOOL

/* The unsigned type whose bits an op that asks for no sign gives for signed integers too. */
#define TD_SIGNLESS_bool bool
#define TD_SIGNLESS_i8 u8
#define TD_SIGNLESS_i16 u16
#define TD_SIGNLESS_i32 u32
#define TD_SIGNLESS_i64 u64
#define TD_SIGNLESS_u8 u8
#define TD_SIGNLESS_u16 u16
#define TD_SIGNLESS_u32 u32
#define TD_SIGNLESS_u64 u64
#define TD_SIGNLESS_f16 f16
#define TD_SIGNLESS_bf16 bf16
#define TD_SIGNLESS_f32 f32
#define TD_SIGNLESS_f64 f64
#define TD_JOIN(name, suffix) name##_##suffix
#define TD_INSTANCE(name, suffix) TD_JOIN(name, suffix)
/* The operation for a type; where the op is signless, that of the unsigned type, so that one kernel serves both. */
#define TD_OPERATION(signless, name, suffix) \
    std::conditional_t<(signless), ::td::TD_INSTANCE(name, TD_SIGNLESS_##suffix), ::td::TD_INSTANCE(name, suffix)>

#define TD_PART_c64 float
#define TD_PART_c128 double

#endif
