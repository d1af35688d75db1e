/* Optimizer updates in place, one kernel a parameter: the scalar steps of treadle/optimizer.h over dense memory. Stored
 * is the parameter's type and its gradient's, T that of the state and of the arithmetic: float for halves. */
#include "treadle/optimizer.h"

#include "elements.h"
#include "layout.h"
#include "replays.h"

namespace td {

namespace {

template <class Stored, class T = Computed<Stored>> struct AdamPlan {
    Stored *parameter;
    const Stored *gradient;
    T *first, *second;
    int64_t size;
    T beta1, beta2, decay1, decay2, eps, weight_decay, shrink, step, root_correction, sign;
    const Variables *variables; /* in a graph: of step and root_correction */
};

template <class Stored>
TD_DEVICE void adam(const AdamPlan<Stored, float> &plan, float step, float root, float *p, float g, float *m, float *v)
{
    td_adam_f32(p, g, m, v, plan.beta1, plan.beta2, plan.decay1, plan.decay2, plan.eps, plan.weight_decay, plan.shrink,
                step, root, plan.sign);
}

template <class Stored>
TD_DEVICE void adam(const AdamPlan<Stored, double> &plan, double step, double root, double *p, double g, double *m, double *v)
{
    td_adam_f64(p, g, m, v, plan.beta1, plan.beta2, plan.decay1, plan.decay2, plan.eps, plan.weight_decay, plan.shrink,
                step, root, plan.sign);
}

template <class Stored> __global__ void adam_kernel(const __grid_constant__ AdamPlan<Stored> plan)
{
    using T = Computed<Stored>;
    const T step = plan.variables ? static_cast<T>(plan.variables->step) : plan.step;
    const T root = plan.variables ? static_cast<T>(plan.variables->root_correction) : plan.root_correction;
    for (int64_t i = first_index(); i < plan.size; i += index_step()) {
        T parameter = static_cast<T>(plan.parameter[i]);
        adam(plan, step, root, &parameter, static_cast<T>(plan.gradient[i]), &plan.first[i], &plan.second[i]);
        plan.parameter[i] = static_cast<Stored>(parameter);
    }
}

template <class Stored, class T = Computed<Stored>> struct SgdPlan {
    Stored *parameter;
    const Stored *gradient;
    T *buffer;
    int64_t size;
    T lr, momentum, damping, weight_decay, sign;
    bool nesterov, first;
};

template <class Stored> TD_DEVICE void sgd(const SgdPlan<Stored, float> &plan, float *p, float g, float *buffer)
{
    td_sgd_f32(p, g, buffer, plan.lr, plan.momentum, plan.damping, plan.weight_decay, plan.nesterov, plan.first,
               plan.sign);
}

template <class Stored> TD_DEVICE void sgd(const SgdPlan<Stored, double> &plan, double *p, double g, double *buffer)
{
    td_sgd_f64(p, g, buffer, plan.lr, plan.momentum, plan.damping, plan.weight_decay, plan.nesterov, plan.first,
               plan.sign);
}

template <class Stored> __global__ void sgd_kernel(const __grid_constant__ SgdPlan<Stored> plan)
{
    using T = Computed<Stored>;
    for (int64_t i = first_index(); i < plan.size; i += index_step()) {
        T parameter = static_cast<T>(plan.parameter[i]);
        sgd(plan, &parameter, static_cast<T>(plan.gradient[i]), plan.buffer ? &plan.buffer[i] : nullptr);
        plan.parameter[i] = static_cast<Stored>(parameter);
    }
}

/* Hyperparameters are combined in double and rounded once, as on the host. */
template <class Stored>
int adam_step(const td_view *parameter, const td_view *gradient, const td_view *first, const td_view *second,
              const td_adam_settings &hyper)
{
    using T = Computed<Stored>;
    const bool decoupled = hyper.decoupled != 0;
    AdamPlan<Stored> plan = {};
    plan.parameter = reinterpret_cast<Stored *>(parameter->data);
    plan.first = reinterpret_cast<T *>(first->data);
    plan.second = reinterpret_cast<T *>(second->data);
    plan.gradient = reinterpret_cast<const Stored *>(gradient->data);
    plan.size = size_of(*parameter);
    plan.beta1 = static_cast<T>(hyper.beta1);
    plan.beta2 = static_cast<T>(hyper.beta2);
    plan.decay1 = static_cast<T>(1.0 - hyper.beta1);
    plan.decay2 = static_cast<T>(1.0 - hyper.beta2);
    plan.eps = static_cast<T>(hyper.eps);
    plan.weight_decay = static_cast<T>(decoupled ? 0.0 : hyper.weight_decay);
    plan.shrink = static_cast<T>(decoupled ? 1.0 - hyper.lr * hyper.weight_decay : 1.0);
    plan.step = static_cast<T>(hyper.lr / hyper.correction1);
    plan.root_correction = static_cast<T>(sqrt(hyper.correction2));
    plan.sign = static_cast<T>(hyper.sign);
    if (plan.size == 0)
        return TD_OK;
    TD_TRY(captured_adam(hyper, &plan.variables));
    TD_LAUNCH(adam_kernel<Stored>, blocks_for(plan.size), BLOCK, plan);
    return TD_OK;
}

template <class Stored>
int sgd_step(const td_view *parameter, const td_view *gradient, const td_view *momentum, const td_sgd_settings &hyper)
{
    using T = Computed<Stored>;
    SgdPlan<Stored> plan = {};
    plan.parameter = reinterpret_cast<Stored *>(parameter->data);
    plan.buffer = momentum ? reinterpret_cast<T *>(momentum->data) : nullptr;
    plan.gradient = reinterpret_cast<const Stored *>(gradient->data);
    plan.size = size_of(*parameter);
    plan.lr = static_cast<T>(hyper.lr);
    plan.momentum = static_cast<T>(hyper.momentum);
    plan.damping = static_cast<T>(1.0 - hyper.dampening);
    plan.weight_decay = static_cast<T>(hyper.weight_decay);
    plan.sign = static_cast<T>(hyper.sign);
    plan.nesterov = hyper.nesterov != 0;
    plan.first = hyper.first_step != 0;
    if (plan.size == 0)
        return TD_OK;
    TD_LAUNCH(sgd_kernel<Stored>, blocks_for(plan.size), BLOCK, plan);
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_adam_step(const td_view *parameter, const td_view *gradient, const td_view *first, const td_view *second,
                      const td_adam_settings *hyper)
{
    switch (parameter->dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return td::adam_step<ctype>(parameter, gradient, first, second, *hyper);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return td::no_kernel("adam", 0, parameter->dtype);
    }
}

int td_cuda_sgd_step(const td_view *parameter, const td_view *gradient, const td_view *momentum,
                     const td_sgd_settings *hyper)
{
    switch (parameter->dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return td::sgd_step<ctype>(parameter, gradient, momentum, *hyper);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return td::no_kernel("sgd", 0, parameter->dtype);
    }
}
