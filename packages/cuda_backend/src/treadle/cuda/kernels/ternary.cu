/* The ternary ops of treadle/elementwise.h: where, whose first operand is the condition c, and clip. */
#include "elements.h"
#include "map.h"

namespace td {

namespace {

template <class First, class Stored, class T> struct Ternary {
    static constexpr int VIEWS = 4;
    using FirstIn = std::conditional_t<std::is_same_v<First, T>, Stored, First>;
    struct Inputs {
        First first;
        T second, third;
    };
    static TD_DEVICE Inputs load(const Walk<4> &walk, const int64_t (&offset)[4])
    {
        return {static_cast<First>(read<FirstIn>(walk, 0, offset)), static_cast<T>(read<Stored>(walk, 1, offset)),
                static_cast<T>(read<Stored>(walk, 2, offset))};
    }
};

#define DEFINE_TERNARY(suffix, ctype, op, OUT, body, Type, First, a, b, c) \
    struct ternary_##op##_##suffix : Ternary<First, ctype, Type> { \
        using T = Type; \
        using Result = ctype; \
        static TD_DEVICE Result value(const Inputs &inputs) \
        { \
            const First a = inputs.first; \
            const T b = inputs.second, c = inputs.third; \
            return static_cast<Result>((OUT)(body)); \
        } \
    };
/* where moves elements as they are. */
#define DEFINE_where(suffix, ctype, OUT, body) \
    DEFINE_TERNARY(suffix, ctype, where, OUT, body, ctype, td_bool, c, x, y)
#define DEFINE_clip(suffix, ctype, OUT, body) \
    DEFINE_TERNARY(suffix, ctype, clip, OUT, body, Computed<ctype>, Computed<ctype>, x, y, z)
#define X(op, TYPES, OUT, body) TD_ROW_##TYPES(DEFINE_##op, OUT, body)
TD_TERNARY_OPS(X, X)
#undef X
TD_TYPES_COMPLEX(DEFINE_where, T, (c ? x : y))

} // namespace

} // namespace td

int td_cuda_ternary(int op, const td_view *x, const td_view *y, const td_view *z, const td_view *out)
{
    td::Walk<4> walk = td::plan<4>({x, y, z, out});
    switch (op * TD_DTYPE_COUNT + out->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_TERNARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::ternary_##op##_##suffix>(walk);
#define X(op, TYPES, ...) TD_ROW_##TYPES(RUN, op)
        TD_TERNARY_OPS(X, X)
#undef X
        TD_TYPES_COMPLEX(RUN, where)
    default: return td::no_kernel("ternary", op, out->dtype);
    }
}
