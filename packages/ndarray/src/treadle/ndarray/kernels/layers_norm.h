/* Normalisation: (x - mean) * scale * weight + bias, scale = 1 / sqrt(variance + eps). Sums are carried in double, in
 * lanes whose order is that of every instruction set. */
static inline double NAME(folded_lanes)(double *lanes)
{
    TD_UNROLLED
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/* Adds to *sum what `term` gives for each i of [0, n). */
#define SUM_OF(n, sum, term) \
    do { \
        double lanes[LANES] = {0}; \
        int64_t i = 0; \
        for (; i + LANES <= (n); i += LANES) \
            for (int lane = 0; lane < LANES; lane++) { \
                const int64_t at = i + lane; \
                lanes[lane] += (double)(term); \
            } \
        for (int lane = 0; i + lane < (n); lane++) { \
            const int64_t at = i + lane; \
            lanes[lane] += (double)(term); \
        } \
        (sum) += NAME(folded_lanes)(lanes); \
    } while (0)

static void NAME(norm_rows)(const td_norm *norm, int64_t first, int64_t end)
{
    const int64_t n = norm->width;
    const T *weight = (const T *)norm->weight, *bias = (const T *)norm->bias;
    for (int64_t row = first; row < end; row++) {
        const T *x = (const T *)norm->x + row * n;
        T *out = (T *)norm->out + row * n;
        double sum = 0.0, squares = 0.0;
        if (norm->mean)
            SUM_OF(n, sum, x[at]);
        const T mean = (T)(sum / (double)n);
        const double center = norm->mean ? sum / (double)n : 0.0;
        SUM_OF(n, squares, ((double)x[at] - center) * ((double)x[at] - center));
        const T scale = (T)1 / td_sqrt((T)((T)(squares / (double)n) + (T)norm->eps));
        if (norm->mean)
            ((T *)norm->mean)[row] = mean;
        ((T *)norm->scale)[row] = scale;
        TD_INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            const T normal = (x[i] - mean) * scale * (weight ? weight[i] : (T)1);
            out[i] = bias ? normal + bias[i] : normal;
        }
    }
}

/* With h the normalised row and u = gradient * weight: scale * (u - mean(u) - h * mean(u h)). */
static void NAME(norm_rows_gradient)(const td_norm *norm, int64_t first, int64_t end, int64_t block)
{
    const int64_t n = norm->width;
    const T *weight = (const T *)norm->weight;
    T *by_weight = norm->weight_gradient ? (T *)norm->weight_gradient + block * n : NULL;
    T *by_bias = norm->bias_gradient ? (T *)norm->bias_gradient + block * n : NULL;
    for (int64_t row = first; row < end; row++) {
        const T *x = (const T *)norm->x + row * n, *g = (const T *)norm->gradient + row * n;
        const T mean = norm->mean ? ((const T *)norm->mean)[row] : (T)0, scale = ((const T *)norm->scale)[row];
        if (by_weight) {
            TD_INDEPENDENT
            for (int64_t i = 0; i < n; i++)
                by_weight[i] += g[i] * ((x[i] - mean) * scale);
        }
        if (by_bias) {
            TD_INDEPENDENT
            for (int64_t i = 0; i < n; i++)
                by_bias[i] += g[i];
        }
        if (!norm->out)
            continue;
        double sum = 0.0, products = 0.0;
        T *out = (T *)norm->out + row * n;
        TD_INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = weight ? g[i] * weight[i] : g[i];
        if (norm->mean)
            SUM_OF(n, sum, out[at]);
        SUM_OF(n, products, out[at] * ((x[at] - mean) * scale));
        const T mean_of = (T)(sum / (double)n), mean_product = (T)(products / (double)n);
        TD_INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = (out[i] - mean_of - (x[i] - mean) * scale * mean_product) * scale;
    }
}

/* One channel of (rows, channels, width), with mean and scale given. */
static void NAME(norm_channel)(const td_norm *norm, int64_t channel)
{
    const int64_t n = norm->width;
    const T mean = ((const T *)norm->mean)[channel], scale = ((const T *)norm->scale)[channel];
    const T weight = norm->weight ? ((const T *)norm->weight)[channel] : (T)1;
    const T bias = norm->bias ? ((const T *)norm->bias)[channel] : (T)0;
    for (int64_t row = 0; row < norm->rows; row++) {
        const int64_t start = (row * norm->channels + channel) * n;
        const T *x = (const T *)norm->x + start;
        T *out = (T *)norm->out + start;
        TD_INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - mean) * scale * weight + bias;
    }
}

static void NAME(norm_channel_gradient)(const td_norm *norm, int64_t channel)
{
    const int64_t n = norm->width, step = norm->channels * n;
    const T mean = ((const T *)norm->mean)[channel], scale = ((const T *)norm->scale)[channel];
    const T factor = norm->weight ? ((const T *)norm->weight)[channel] * scale : scale;
    const double count = (double)norm->rows * (double)n;
    double sum = 0.0, products = 0.0;
    for (int64_t row = 0; row < norm->rows; row++) {
        const T *x = (const T *)norm->x + channel * n + row * step, *g = (const T *)norm->gradient + channel * n + row * step;
        SUM_OF(n, sum, g[at]);
        SUM_OF(n, products, g[at] * ((x[at] - mean) * scale));
    }
    if (norm->weight_gradient)
        ((T *)norm->weight_gradient)[channel] = (T)products;
    if (norm->bias_gradient)
        ((T *)norm->bias_gradient)[channel] = (T)sum;
    if (!norm->out)
        return;
    const T mean_of = (T)(sum / count), mean_product = (T)(products / count);
    for (int64_t row = 0; row < norm->rows; row++) {
        const T *x = (const T *)norm->x + channel * n + row * step, *g = (const T *)norm->gradient + channel * n + row * step;
        T *out = (T *)norm->out + channel * n + row * step;
        TD_INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = (g[i] - mean_of - (x[i] - mean) * scale * mean_product) * factor;
    }
}
#undef SUM_OF
