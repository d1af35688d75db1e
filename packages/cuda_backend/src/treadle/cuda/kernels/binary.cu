/* The binary ops of treadle/elementwise.h. */
#include "map.h"

namespace td {

namespace {

template <class T> struct Binary {
    static constexpr int VIEWS = 3;
    struct Inputs {
        T x, y;
    };
    static TD_DEVICE Inputs load(const Walk<3> &walk, const int64_t (&offset)[3])
    {
        return {read<T>(walk, 0, offset), read<T>(walk, 1, offset)};
    }
};

#define DEFINE_BINARY(suffix, ctype, op, OUT, body) \
    struct binary_##op##_##suffix : Binary<ctype> { \
        using T = ctype; \
        using Result = OUT; \
        static TD_DEVICE Result value(const Inputs &inputs) \
        { \
            const T x = inputs.x, y = inputs.y; \
            return (Result)(body); \
        } \
    };
#define X(op, TYPES, OUT, body) TD_TYPES_##TYPES(DEFINE_BINARY, op, OUT, body)
TD_BINARY_OPS(X, X)
#undef X

} // namespace

} // namespace td

int td_cuda_binary(int op, const td_view *x, const td_view *y, const td_view *out)
{
    td::Walk<3> walk = td::plan<3>({x, y, out});
    switch (op * TD_DTYPE_COUNT + x->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_BINARY_##op * TD_DTYPE_COUNT + TD_##suffix: return td::map<td::binary_##op##_##suffix>(walk);
#define X(op, TYPES, ...) TD_TYPES_##TYPES(RUN, op)
        TD_BINARY_OPS(X, X)
#undef X
    default: return td::no_kernel("binary", op, x->dtype);
    }
}
