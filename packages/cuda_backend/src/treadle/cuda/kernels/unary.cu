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
        static TD_DEVICE Result value(const Inputs &inputs) \
        { \
            [[maybe_unused]] const T x = inputs.x; \
            return static_cast<Result>((OUT)(body)); \
        } \
    };
#define X(op, TYPES, OUT, body) TD_ROW_##TYPES(DEFINE_UNARY, op, OUT, body)
TD_UNARY_OPS(X, X)
#undef X

#define DEFINE_COMPLEX_UNARY(suffix, ctype, op, OUT) \
    struct unary_##op##_##suffix : Unary<ctype> { \
        using T = ctype; \
        using R = TD_PART_##suffix; \
        using Result = OUT; \
        static TD_DEVICE Result value(const Inputs &inputs) { return td_##op##_##suffix(inputs.x); } \
    };
#define X(op, OUT) TD_TYPES_COMPLEX(DEFINE_COMPLEX_UNARY, op, OUT)
TD_COMPLEX_UNARY_OPS(X)
#undef X

} // namespace

} // namespace td

int td_cuda_unary(int op, const td_view *x, const td_view *out)
{
    td::Walk<2> walk = td::plan<2>({x, out});
    switch (op * TD_DTYPE_COUNT + x->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_UNARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::unary_##op##_##suffix>(walk);
#define X(op, TYPES, ...) TD_ROW_##TYPES(RUN, op)
        TD_UNARY_OPS(X, X)
#undef X
#define X(op, OUT) TD_TYPES_COMPLEX(RUN, op)
        TD_COMPLEX_UNARY_OPS(X)
#undef X
    default: return td::no_kernel("unary", op, x->dtype);
    }
}
