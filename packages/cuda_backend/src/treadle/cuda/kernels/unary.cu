/* The unary ops of treadle/elementwise.h and treadle/elementwise_complex.h. */
#include "complex_ops.h"
#include "elements.h"
#include "map.h"

namespace td {

namespace {

template <class Stored> struct Unary {
    static constexpr int VIEWS = 2;
    struct Inputs {
        Computed<Stored> x;
    };
    static TD_DEVICE Inputs load(const Walk<2> &walk, const int64_t (&offset)[2])
    {
        return {static_cast<Computed<Stored>>(read<Stored>(walk, 0, offset))};
    }
};

#define DEFINE_UNARY(suffix, ctype, op, OUT, body) \
    struct unary_##op##_##suffix : Unary<ctype> { \
        using T = Computed<ctype>; \
        using Result = Kept<OUT, ctype>; \
        template <class Given> static TD_DEVICE Result value(const Given &inputs) \
        { \
            [[maybe_unused]] const T x = inputs.x; \
            return static_cast<Result>((OUT)(body)); \
        } \
    };
#define X(op, TYPES, OUT, body) TD_ROW_##TYPES(DEFINE_UNARY, op, OUT, body)
TD_UNARY_OPS(X, X)
#undef X

/* Ops that give the same bits for signed integers as for unsigned ones, whose kernels are made for those alone. */
constexpr TD_BOTH bool is_signless(int op)
{
    switch (op) {
    case TD_UNARY_positive:
    case TD_UNARY_negative:
    case TD_UNARY_square:
    case TD_UNARY_floor:
    case TD_UNARY_ceil:
    case TD_UNARY_trunc:
    case TD_UNARY_round:
    case TD_UNARY_bitwise_invert:
    case TD_UNARY_logical_not:
    case TD_UNARY_isnan:
    case TD_UNARY_isinf:
    case TD_UNARY_isfinite: return true;
    default: return false;
    }
}

/* The complex functions that complex64 takes from complex128. */
constexpr TD_BOTH bool is_in_double(int op)
{
    switch (op) {
#define X(op) case TD_UNARY_##op:
        TD_COMPLEX_FUNCTIONS(X)
#undef X
    case TD_UNARY_tanh:
    case TD_UNARY_expm1:
    case TD_UNARY_log1p:
    case TD_UNARY_log2:
    case TD_UNARY_log10: return true;
    default: return false;
    }
}

#define DEFINE_COMPLEX_UNARY(suffix, ctype, op, OUT) \
    struct unary_##op##_##suffix : Unary<ctype> { \
        using T = ctype; \
        using R = TD_PART_##suffix; \
        using Result = OUT; \
        template <class Given> static TD_DEVICE Result value(const Given &inputs) \
        { \
            if constexpr (is_in_double(TD_UNARY_##op)) \
                return call_in_double<double_##op>(inputs.x); \
            else \
                return td_##op##_##suffix(inputs.x); \
        } \
    };
#define X(op, OUT) \
    struct double_##op { \
        template <class T> static TD_DEVICE auto of(T x) { return td_##op##_c128(x); } \
    }; \
    TD_TYPES_COMPLEX(DEFINE_COMPLEX_UNARY, op, OUT)
TD_COMPLEX_UNARY_OPS(X)
#undef X

} // namespace

} // namespace td

int td_cuda_unary(int op, const td_view *x, const td_view *out)
{
    td::Walk<2> walk = td::plan<2>({x, out});
    switch (op * TD_DTYPE_COUNT + x->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_UNARY_##op * TD_DTYPE_COUNT + TD_##suffix: \
        return td::map<TD_OPERATION(td::is_signless(TD_UNARY_##op), unary_##op, suffix)>(walk);
#define X(op, TYPES, ...) TD_ROW_##TYPES(RUN, op)
        TD_UNARY_OPS(X, X)
#undef X
#undef RUN
#define RUN(suffix, ctype, op) \
    case TD_UNARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::unary_##op##_##suffix>(walk);
#define X(op, OUT) TD_TYPES_COMPLEX(RUN, op)
        TD_COMPLEX_UNARY_OPS(X)
#undef X
    default: return td::no_kernel("unary", op, x->dtype);
    }
}
