/* Gradients of activations, of dense arrays. A zero gradient stays zero beside a derivative that is not finite. */
#include "elements.h"
#include "layers_api.h"
#include "layout.h"
#include "treadle/scalar_math.h"

namespace td {

namespace {

constexpr int ITEMS = 4; /* elements of a thread, a block's width apart: loads that are under way at once */

/* The derivative in the operand x (gelu) or the result x (the others), times g. */
template <class T, int OP> TD_DEVICE T differentiate(T g, T x)
{
    if constexpr (OP == TD_GRADIENT_sigmoid)
        return g * (x * (T(1) - x));
    else if constexpr (OP == TD_GRADIENT_tanh)
        return g * (T(1) - x * x);
    else if constexpr (OP == TD_GRADIENT_relu)
        return x <= T(0) ? T(0) : g;
    else if constexpr (OP == TD_GRADIENT_gelu) { /* P(x) + x P'(x), P the normal distribution's probability */
        const T below = T(0.5) + T(0.5) * td_erf(x * T(0.7071067811865476));
        return g == T(0) ? g : g * (below + x * (td_exp(T(-0.5) * (x * x)) * T(0.3989422804014327)));
    } else { /* s + s (1 - s) x u'(x), with s = sigmoid(u) and u = 2 sqrt(2/pi) (x + 0.044715 x^3). Beyond 30 it is 0 or 1,
                and no power of x overflows within */
        x = x < T(-30) ? T(-30) : x > T(30) ? T(30) : x;
        const T scale = T(1.5957691216057308), cubic = T(0.07135481627260025), square = x * x;
        const T below = td_sigmoid(x * (scale + cubic * square));
        const T slope = below + below * (T(1) - below) * (x * (scale + T(3) * cubic * square));
        return g == T(0) ? g : g * slope;
    }
}

template <class T, int OP>
__global__ void activation_gradient_kernel(int64_t size, const T *gradient, const T *saved, T *out)
{
    using C = Computed<T>;
    const int64_t step = blockDim.x, tile = step * ITEMS;
    for (int64_t base = blockIdx.x * tile + threadIdx.x; base < size; base += gridDim.x * tile) {
        T gradients[ITEMS], operands[ITEMS];
        TD_UNROLL
        for (int item = 0; item < ITEMS; item++) {
            const int64_t i = base + item * step;
            gradients[item] = i < size ? gradient[i] : T(C(0));
            operands[item] = i < size ? saved[i] : T(C(0));
        }
        TD_UNROLL
        for (int item = 0; item < ITEMS; item++) {
            const C value = differentiate<C, OP>(static_cast<C>(gradients[item]), static_cast<C>(operands[item]));
            if (base + item * step < size)
                out[base + item * step] = T(value);
        }
    }
}

template <class T, int OP> int run(const td_view *gradient, const td_view *saved, const td_view *out)
{
    const int64_t size = size_of(*out);
    void (*kernel)(int64_t, const T *, const T *, T *) = activation_gradient_kernel<T, OP>;
    TD_LAUNCH(kernel, blocks_for(size, BLOCK * ITEMS), BLOCK, size, reinterpret_cast<const T *>(gradient->data),
              reinterpret_cast<const T *>(saved->data), reinterpret_cast<T *>(out->data));
    return TD_OK;
}

template <class T> int run(int op, const td_view *gradient, const td_view *saved, const td_view *out)
{
    switch (op) {
    case TD_GRADIENT_gelu: return run<T, TD_GRADIENT_gelu>(gradient, saved, out);
    case TD_GRADIENT_gelu_tanh: return run<T, TD_GRADIENT_gelu_tanh>(gradient, saved, out);
    case TD_GRADIENT_sigmoid: return run<T, TD_GRADIENT_sigmoid>(gradient, saved, out);
    case TD_GRADIENT_tanh: return run<T, TD_GRADIENT_tanh>(gradient, saved, out);
    default: return run<T, TD_GRADIENT_relu>(gradient, saved, out);
    }
}

} // namespace

} // namespace td

int td_cuda_activation_gradient(int op, const td_view *gradient, const td_view *saved, const td_view *out)
{
    switch (out->dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return td::run<ctype>(op, gradient, saved, out);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return td::no_kernel("activation gradient", op, out->dtype);
    }
}
