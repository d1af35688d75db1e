/* Optimizer updates in place, one kernel a parameter: the scalar steps of treadle/optimizer.h over dense memory. */
#include "treadle/optimizer.h"

#include "layout.h"
#include "replays.h"

namespace td {

namespace {

template <class T> struct AdamPlan {
    T *parameter, *first, *second;
    const T *gradient;
    int64_t size;
    T beta1, beta2, decay1, decay2, eps, weight_decay, shrink, step, root_correction, sign;
    const Variables *variables; /* in a graph: of step and root_correction */
};

TD_DEVICE void adam(const AdamPlan<float> &plan, float step, float root, float *p, float g, float *m, float *v)
{
    td_adam_f32(p, g, m, v, plan.beta1, plan.beta2, plan.decay1, plan.decay2, plan.eps, plan.weight_decay, plan.shrink,
                step, root, plan.sign);
}

TD_DEVICE void adam(const AdamPlan<double> &plan, double step, double root, double *p, double g, double *m, double *v)
{
    td_adam_f64(p, g, m, v, plan.beta1, plan.beta2, plan.decay1, plan.decay2, plan.eps, plan.weight_decay, plan.shrink,
                step, root, plan.sign);
}

template <class T> __global__ void adam_kernel(const __grid_constant__ AdamPlan<T> plan)
{
    const T step = plan.variables ? static_cast<T>(plan.variables->step) : plan.step;
    const T root = plan.variables ? static_cast<T>(plan.variables->root_correction) : plan.root_correction;
    for (int64_t i = first_index(); i < plan.size; i += index_step())
        adam(plan, step, root, &plan.parameter[i], plan.gradient[i], &plan.first[i], &plan.second[i]);
}

template <class T> struct SgdPlan {
    T *parameter, *buffer;
    const T *gradient;
    int64_t size;
    T lr, momentum, damping, weight_decay, sign;
    bool nesterov, first;
};

TD_DEVICE void sgd(const SgdPlan<float> &plan, float *p, float g, float *buffer)
{
    td_sgd_f32(p, g, buffer, plan.lr, plan.momentum, plan.damping, plan.weight_decay, plan.nesterov, plan.first,
               plan.sign);
}

TD_DEVICE void sgd(const SgdPlan<double> &plan, double *p, double g, double *buffer)
{
    td_sgd_f64(p, g, buffer, plan.lr, plan.momentum, plan.damping, plan.weight_decay, plan.nesterov, plan.first,
               plan.sign);
}

template <class T> __global__ void sgd_kernel(const __grid_constant__ SgdPlan<T> plan)
{
    for (int64_t i = first_index(); i < plan.size; i += index_step())
        sgd(plan, &plan.parameter[i], plan.gradient[i], plan.buffer ? &plan.buffer[i] : nullptr);
}

/* Hyperparameters are combined in double and rounded once, as on the host. */
template <class T>
int adam_step(const td_view *parameter, const td_view *gradient, const td_view *first, const td_view *second,
              const td_adam_settings &hyper)
{
    const bool decoupled = hyper.decoupled != 0;
    AdamPlan<T> plan = {};
    plan.parameter = reinterpret_cast<T *>(parameter->data);
    plan.first = reinterpret_cast<T *>(first->data);
    plan.second = reinterpret_cast<T *>(second->data);
    plan.gradient = reinterpret_cast<const T *>(gradient->data);
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
    TD_LAUNCH(adam_kernel<T>, blocks_for(plan.size), BLOCK, plan);
    return TD_OK;
}

template <class T>
int sgd_step(const td_view *parameter, const td_view *gradient, const td_view *momentum, const td_sgd_settings &hyper)
{
    SgdPlan<T> plan = {};
    plan.parameter = reinterpret_cast<T *>(parameter->data);
    plan.buffer = momentum ? reinterpret_cast<T *>(momentum->data) : nullptr;
    plan.gradient = reinterpret_cast<const T *>(gradient->data);
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
    TD_LAUNCH(sgd_kernel<T>, blocks_for(plan.size), BLOCK, plan);
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_adam_step(const td_view *parameter, const td_view *gradient, const td_view *first, const td_view *second,
                      const td_adam_settings *hyper)
{
    switch (parameter->dtype) {
    case TD_f32: return td::adam_step<float>(parameter, gradient, first, second, *hyper);
    case TD_f64: return td::adam_step<double>(parameter, gradient, first, second, *hyper);
    default: return td::no_kernel("adam", 0, parameter->dtype);
    }
}

int td_cuda_sgd_step(const td_view *parameter, const td_view *gradient, const td_view *momentum,
                     const td_sgd_settings *hyper)
{
    switch (parameter->dtype) {
    case TD_f32: return td::sgd_step<float>(parameter, gradient, momentum, *hyper);
    case TD_f64: return td::sgd_step<double>(parameter, gradient, momentum, *hyper);
    default: return td::no_kernel("sgd", 0, parameter->dtype);
    }
}
