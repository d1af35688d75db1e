/* The unary ops of treadle/elementwise.h. */
#include "map.h"

namespace td {

namespace {

template <class T> struct Unary {
    static constexpr int VIEWS = 2;
    struct Inputs {
        T x;
    };
    static TD_DEVICE Inputs load(const Walk<2> &walk, const int64_t (&offset)[2]) { return {read<T>(walk, 0, offset)}; }
};

#define DEFINE_UNARY(suffix, ctype, op, OUT, body) \
    struct unary_##op##_##suffix : Unary<ctype> { \
        using T = ctype; \
        using Result = OUT; \
        static TD_DEVICE Result value(const Inputs &inputs) \
        { \
            [[maybe_unused]] const T x = inputs.x; \
            return (Result)(body); \
        } \
    };
#define X(op, TYPES, OUT, body) TD_TYPES_##TYPES(DEFINE_UNARY, op, OUT, body)
TD_UNARY_OPS(X, X)
#undef X

} // namespace

} // namespace td

int td_cuda_unary(int op, const td_view *x, const td_view *out)
{
    td::Walk<2> walk = td::plan<2>({x, out});
    switch (op * TD_DTYPE_COUNT + x->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_UNARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::unary_##op##_##suffix>(walk);
#define X(op, TYPES, ...) TD_TYPES_##TYPES(RUN, op)
        TD_UNARY_OPS(X, X)
#undef X
    default: return td::no_kernel("unary", op, x->dtype);
    }
}
