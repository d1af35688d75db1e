/* One step in time of an LSTM, after the two products: a thread for each element of the state. The gates i, f, g, o lie
 * side by side, each as long as the state. */
#include "elements.h"
#include "layers_api.h"
#include "layout.h"
#include "treadle/scalar_math.h"

namespace td {

namespace {

template <class T> struct Pointers {
    const T *product, *given, *before, *d_shown;
    T *gates, *cell, *shown, *hidden, *d_cell, *d_gates;
    int64_t batch, size;

    explicit Pointers(const td_cuda_lstm &step)
        : product(static_cast<const T *>(step.product)), given(static_cast<const T *>(step.given)),
          before(static_cast<const T *>(step.before)), d_shown(static_cast<const T *>(step.d_shown)),
          gates(static_cast<T *>(step.gates)), cell(static_cast<T *>(step.cell)), shown(static_cast<T *>(step.shown)),
          hidden(static_cast<T *>(step.hidden)), d_cell(static_cast<T *>(step.d_cell)),
          d_gates(static_cast<T *>(step.d_gates)), batch(step.batch), size(step.size)
    {
    }
};

template <class T> __global__ void lstm_kernel(const __grid_constant__ Pointers<T> step)
{
    using C = Computed<T>;
    for (int64_t at = first_index(); at < step.batch * step.size; at += index_step()) {
        const int64_t row = at / step.size, base = row * 4 * step.size + (at - row * step.size);
        C gates[4];
        TD_UNROLL
        for (int gate = 0; gate < 4; gate++) {
            const int64_t place = base + gate * step.size;
            const C raw = static_cast<C>(step.product[place]) + static_cast<C>(step.given[place]);
            const T rounded = T(gate == 2 ? td_tanh(raw) : td_sigmoid(raw));
            step.gates[place] = rounded;
            gates[gate] = static_cast<C>(rounded);
        }
        const T cell = T(gates[1] * static_cast<C>(step.before[at]) + gates[0] * gates[2]);
        const T shown = T(td_tanh(static_cast<C>(cell)));
        step.cell[at] = cell;
        step.shown[at] = shown;
        step.hidden[at] = T(gates[3] * static_cast<C>(shown));
    }
}

template <class T> __global__ void lstm_gradient_kernel(const __grid_constant__ Pointers<T> step)
{
    using C = Computed<T>;
    for (int64_t at = first_index(); at < step.batch * step.size; at += index_step()) {
        const int64_t row = at / step.size, base = row * 4 * step.size + (at - row * step.size);
        const C i = static_cast<C>(step.gates[base]), f = static_cast<C>(step.gates[base + step.size]);
        const C g = static_cast<C>(step.gates[base + 2 * step.size]), o = static_cast<C>(step.gates[base + 3 * step.size]);
        const C shown = static_cast<C>(step.shown[at]), d_shown = static_cast<C>(step.d_shown[at]);
        const C inner = d_shown * (o * (C(1) - shown * shown)) + static_cast<C>(step.d_cell[at]);
        step.d_gates[base] = T(inner * (i * (C(1) - i) * g));
        step.d_gates[base + step.size] = T(inner * (f * (C(1) - f) * static_cast<C>(step.before[at])));
        step.d_gates[base + 2 * step.size] = T(inner * ((C(1) - g * g) * i));
        step.d_gates[base + 3 * step.size] = T(d_shown * (o * (C(1) - o) * shown));
        step.d_cell[at] = T(inner * f);
    }
}

template <class T> int run(const td_cuda_lstm &step, bool gradient)
{
    void (*kernel)(Pointers<T>) = gradient ? lstm_gradient_kernel<T> : lstm_kernel<T>;
    TD_LAUNCH(kernel, blocks_for(step.batch * step.size), BLOCK, Pointers<T>(step));
    return TD_OK;
}

int run(const td_cuda_lstm &step, bool gradient)
{
    switch (step.dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return run<ctype>(step, gradient);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return no_kernel("lstm", gradient, step.dtype);
    }
}

} // namespace

} // namespace td

int td_cuda_lstm_step(const td_cuda_lstm *step) { return td::run(*step, false); }

int td_cuda_lstm_step_gradient(const td_cuda_lstm *step) { return td::run(*step, true); }
