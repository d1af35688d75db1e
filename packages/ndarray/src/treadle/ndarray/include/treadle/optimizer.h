/* The scalar steps of the fused optimizer updates, for the C kernels and for nvcc.
 *
 * Adam:  D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1, both moments corrected and
 *        eps outside the root; decoupled decay: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization" (2019).
 * SGD:   momentum and Nesterov in the form of I. Sutskever et al. (2013) as PyTorch documents it: the first buffer is the
 *        gradient itself. */
#ifndef TREADLE_OPTIMIZER_H
#define TREADLE_OPTIMIZER_H

#include "scalar_math.h"

typedef struct {
    double lr, beta1, beta2, eps, weight_decay, decoupled, correction1, correction2, sign;
} td_adam_settings;

typedef struct {
    double lr, momentum, dampening, weight_decay, nesterov, first_step, sign;
} td_sgd_settings;

/* decay1 and decay2 are 1 - beta1 and 1 - beta2, formed in double before they are rounded to T. Without weight decay an
 * infinite parameter stays one: 0 times it would be NaN. */
#define TD_DEFINE_STEPS(sfx, T) \
    TD_FN void td_adam_##sfx(T *p, T g, T *m, T *v, T beta1, T beta2, T decay1, T decay2, T eps, T weight_decay, \
                             T shrink, T step, T root_correction, T sign) \
    { \
        T parameter = *p * shrink; \
        T gradient = weight_decay != 0 ? sign * g + weight_decay * parameter : sign * g; \
        T first = beta1 * *m + decay1 * gradient; \
        T second = beta2 * *v + decay2 * gradient * gradient; \
        *m = first; \
        *v = second; \
        *p = parameter - step * first / (td_sqrt(second) / root_correction + eps); \
    } \
    TD_FN void td_sgd_##sfx(T *p, T g, T *buffer, T lr, T momentum, T damping, T weight_decay, int nesterov, int first, \
                            T sign) \
    { \
        T gradient = weight_decay != 0 ? sign * g + weight_decay * *p : sign * g; \
        if (buffer) { \
            T velocity = first ? gradient : momentum * *buffer + damping * gradient; \
            *buffer = velocity; \
            gradient = nesterov ? gradient + momentum * velocity : velocity; \
        } \
        *p -= lr * gradient; \
    }
TD_DEFINE_STEPS(f32, float)
TD_DEFINE_STEPS(f64, double)
#undef TD_DEFINE_STEPS

#endif
