/* The loops of the optimizers' fused updates. A part of slots_body.h. */
#define DEFINE_ADAM(sfx, ctype, name) \
    static void name##_##sfx(int64_t n, char *p, const char *g, char *m, char *v, const td_adam_settings *settings) \
    { \
        typedef ctype T; \
        const T beta1 = (T)settings->beta1, beta2 = (T)settings->beta2, eps = (T)settings->eps; \
        const T decay1 = (T)(1.0 - settings->beta1), decay2 = (T)(1.0 - settings->beta2); \
        const T decay = settings->decoupled ? 0 : (T)settings->weight_decay; \
        const T shrink = settings->decoupled ? (T)(1.0 - settings->lr * settings->weight_decay) : 1; \
        const T step = (T)(settings->lr / settings->correction1), root = (T)sqrt(settings->correction2); \
        const T sign = (T)settings->sign; \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) \
            td_adam_##sfx((T *)p + i, ((const T *)g)[i], (T *)m + i, (T *)v + i, beta1, beta2, decay1, decay2, \
                          eps, decay, shrink, step, root, sign); \
    }
TD_TYPES_FLOATING(DEFINE_ADAM, adam)

#define DEFINE_SGD(sfx, ctype, name) \
    static void name##_##sfx(int64_t n, char *p, const char *g, char *buffer, const td_sgd_settings *settings) \
    { \
        typedef ctype T; \
        const T lr = (T)settings->lr, momentum = (T)settings->momentum, damping = (T)(1.0 - settings->dampening); \
        const T decay = (T)settings->weight_decay, sign = (T)settings->sign; \
        const int nesterov = settings->nesterov != 0, first = settings->first_step != 0; \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) \
            td_sgd_##sfx((T *)p + i, ((const T *)g)[i], buffer ? (T *)buffer + i : NULL, lr, momentum, damping, decay, \
                         nesterov, first, sign); \
    }
TD_TYPES_FLOATING(DEFINE_SGD, sgd)
