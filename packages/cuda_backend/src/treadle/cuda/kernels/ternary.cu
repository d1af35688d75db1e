/* The ternary ops of treadle/elementwise.h: where, whose first operand is the condition c, and clip. */
#include "map.h"

namespace td {

namespace {

template <class First, class T> struct Ternary {
    static constexpr int VIEWS = 4;
    struct Inputs {
        First first;
        T second, third;
    };
    static TD_DEVICE Inputs load(const Walk<4> &walk, const int64_t (&offset)[4])
    {
        return {read<First>(walk, 0, offset), read<T>(walk, 1, offset), read<T>(walk, 2, offset)};
    }
};

#define DEFINE_TERNARY(suffix, ctype, op, OUT, body, First, a, b, c) \
    struct ternary_##op##_##suffix : Ternary<First, ctype> { \
        using T = ctype; \
        using Result = OUT; \
        static TD_DEVICE Result value(const Inputs &inputs) \
        { \
            const First a = inputs.first; \
            const T b = inputs.second, c = inputs.third; \
            return (Result)(body); \
        } \
    };
#define DEFINE_where(suffix, ctype, OUT, body) DEFINE_TERNARY(suffix, ctype, where, OUT, body, td_bool, c, x, y)
#define DEFINE_clip(suffix, ctype, OUT, body) DEFINE_TERNARY(suffix, ctype, clip, OUT, body, ctype, x, y, z)
#define X(op, TYPES, OUT, body) TD_TYPES_##TYPES(DEFINE_##op, OUT, body)
TD_TERNARY_OPS(X, X)
#undef X

} // namespace

} // namespace td

int td_cuda_ternary(int op, const td_view *x, const td_view *y, const td_view *z, const td_view *out)
{
    td::Walk<4> walk = td::plan<4>({x, y, z, out});
    switch (op * TD_DTYPE_COUNT + out->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_TERNARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::ternary_##op##_##suffix>(walk);
#define X(op, TYPES, ...) TD_TYPES_##TYPES(RUN, op)
        TD_TERNARY_OPS(X, X)
#undef X
    default: return td::no_kernel("ternary", op, out->dtype);
    }
}
