/* The binary ops of treadle/elementwise.h and treadle/elementwise_complex.h. */
#include "complex_ops.h"
#include "elements.h"
#include "map.h"

namespace td {

namespace {

template <class Stored, class T = Computed<Stored>> struct Binary {
    static constexpr int VIEWS = 3;
    struct Inputs {
        T x, y;
    };
    static TD_DEVICE Inputs load(const Walk<3> &walk, const int64_t (&offset)[3])
    {
        return {static_cast<T>(read<Stored>(walk, 0, offset)), static_cast<T>(read<Stored>(walk, 1, offset))};
    }
};

#define DEFINE_BINARY(suffix, ctype, op, OUT, body) \
    struct binary_##op##_##suffix : Binary<ctype> { \
        using T = Computed<ctype>; \
        using Result = Kept<OUT, ctype>; \
        template <class Given> static TD_DEVICE Result value(const Given &inputs) \
        { \
            const T x = inputs.x, y = inputs.y; \
            return static_cast<Result>((OUT)(body)); \
        } \
    };
#define X(op, TYPES, OUT, body) TD_ROW_##TYPES(DEFINE_BINARY, op, OUT, body)
TD_BINARY_OPS(X, X)
#undef X

/* Ops that give the same bits for signed integers as for unsigned ones, whose kernels are made for those alone. */
constexpr bool is_signless(int op)
{
    switch (op) {
    case TD_BINARY_add:
    case TD_BINARY_subtract:
    case TD_BINARY_multiply:
    case TD_BINARY_bitwise_and:
    case TD_BINARY_bitwise_or:
    case TD_BINARY_bitwise_xor:
    case TD_BINARY_bitwise_left_shift:
    case TD_BINARY_logical_and:
    case TD_BINARY_logical_or:
    case TD_BINARY_logical_xor:
    case TD_BINARY_equal:
    case TD_BINARY_not_equal: return true;
    default: return false;
    }
}

struct DoublePower {
    static TD_DEVICE td_c128 of(td_c128 x, td_c128 y) { return td_pow_c128(x, y); }
};

#define DEFINE_COMPLEX_BINARY(suffix, ctype, op, OUT) \
    struct binary_##op##_##suffix : Binary<ctype> { \
        using T = ctype; \
        using Result = OUT; \
        template <class Given> static TD_DEVICE Result value(const Given &inputs) \
        { \
            if constexpr (TD_BINARY_##op == TD_BINARY_pow) \
                return call_in_double<DoublePower>(inputs.x, inputs.y); \
            else \
                return td_##op##_##suffix(inputs.x, inputs.y); \
        } \
    };
#define X(op, OUT) TD_TYPES_COMPLEX(DEFINE_COMPLEX_BINARY, op, OUT)
TD_COMPLEX_BINARY_OPS(X)
#undef X

/* The one op that asks for the grid of the type. */
template <class Half> struct NextHalf : Binary<Half, Half> {
    using Result = Half;
    static TD_DEVICE Half value(const typename Binary<Half, Half>::Inputs &inputs)
    {
        Half next;
        next.bits = td_next_half(inputs.x.bits, inputs.y.bits, inputs.x, inputs.y);
        return next;
    }
};

} // namespace

} // namespace td

int td_cuda_binary(int op, const td_view *x, const td_view *y, const td_view *out)
{
    td::Walk<3> walk = td::plan<3>({x, y, out});
    if (op == TD_BINARY_nextafter && x->dtype == TD_f16)
        return td::map<td::NextHalf<td::Float16>>(walk);
    if (op == TD_BINARY_nextafter && x->dtype == TD_bf16)
        return td::map<td::NextHalf<td::BFloat16>>(walk);
    switch (op * TD_DTYPE_COUNT + x->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_BINARY_##op * TD_DTYPE_COUNT + TD_##suffix: \
        return td::map<TD_OPERATION(td::is_signless(TD_BINARY_##op), binary_##op, suffix)>(walk);
#define X(op, TYPES, ...) TD_ROW_##TYPES(RUN, op)
        TD_BINARY_OPS(X, X)
#undef X
#undef RUN
#define RUN(suffix, ctype, op) \
    case TD_BINARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::binary_##op##_##suffix>(walk);
#define X(op, OUT) TD_TYPES_COMPLEX(RUN, op)
        TD_COMPLEX_BINARY_OPS(X)
#undef X
    default: return td::no_kernel("binary", op, x->dtype);
    }
}
