/* Gradients of activations. A zero gradient stays zero beside a derivative that is not finite. */
#define DEFINE_GRADIENT(op, derivative) \
    static void NAME(op##_gradient)(int64_t n, const char *gradient, const char *saved, char *out) \
    { \
        const T *gs = (const T *)gradient, *xs = (const T *)saved; \
        T *os = (T *)out; \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) { \
            const T g = gs[i], x = xs[i]; \
            os[i] = derivative; \
        } \
    }

/* P(x) + x P'(x), with the normal distribution's cumulative probability P. */
static inline T NAME(gelu_slope)(T x)
{
    const T below = (T)0.5 + (T)0.5 * td_erf((T)(x * (T)0.7071067811865476));
    return below + x * (td_exp((T)((T)-0.5 * (x * x))) * (T)0.3989422804014327);
}

/* s + s (1 - s) x u'(x), with s = sigmoid(u) and u = 2 sqrt(2/pi) (x + 0.044715 x^3). Beyond 30 it is 0 or 1, and no
 * power of x overflows within. */
static inline T NAME(gelu_tanh_slope)(T x)
{
    x = x < (T)-30 ? (T)-30 : x > (T)30 ? (T)30 : x;
    const T scale = (T)1.5957691216057308, cubic = (T)0.07135481627260025, square = x * x;
    const T below = td_sigmoid((T)(x * (scale + cubic * square)));
    return below + below * ((T)1 - below) * (x * (scale + (T)3 * cubic * square));
}

DEFINE_GRADIENT(gelu, (g == 0 ? g : g * NAME(gelu_slope)(x)))
DEFINE_GRADIENT(gelu_tanh, (g == 0 ? g : g * NAME(gelu_tanh_slope)(x)))
DEFINE_GRADIENT(sigmoid, (g * (x * ((T)1 - x))))
DEFINE_GRADIENT(tanh, (g * ((T)1 - x * x)))
DEFINE_GRADIENT(relu, (x <= 0 ? (T)0 : g))
#undef DEFINE_GRADIENT
