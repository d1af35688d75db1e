/* Cross-entropy of rows of logits and class indices, shifted by the maximum of the row. */
static inline T NAME(largest)(int64_t n, const T *x)
{
    T top = -(T)INFINITY;
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top || x[i] != x[i] ? x[i] : top;
    return top;
}

/* out[i] = exp(x[i] - top); their sum. */
static inline double NAME(powers)(int64_t n, const T *x, T top, T *out)
{
    double lanes[LANES] = {0};
    TD_INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        out[i] = td_exp((T)(x[i] - top));
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)out[i + lane];
    for (int lane = 0; i + lane < n; lane++)
        lanes[lane] += (double)out[i + lane];
    return NAME(folded_lanes)(lanes);
}

static int NAME(entropy)(const td_entropy *entropy, int64_t first, int64_t end)
{
    const int64_t n = entropy->classes;
    T buffer[256];
    for (int64_t row = first; row < end; row++) {
        const T *x = (const T *)entropy->logits + row * n;
        const int64_t target = entropy->targets[row];
        T *loss = (T *)entropy->out + row;
        *loss = 0;
        if (target == entropy->ignored)
            continue;
        if (target < 0 || target >= n)
            return 0;
        const T top = NAME(largest)(n, x);
        double total = 0.0, sum = 0.0;
        for (int64_t start = 0; start < n; start += 256) {
            const int64_t count = n - start < 256 ? n - start : 256;
            total += NAME(powers)(count, x + start, top, buffer);
            if (entropy->smoothing != 0.0)
                for (int64_t i = 0; i < count; i++)
                    sum += (double)(x[start + i] - top);
        }
        const double log_total = log(total), own = log_total - (double)(x[target] - top);
        *loss = (T)own;
        if (entropy->smoothing != 0.0)
            *loss = (T)(own * (1.0 - entropy->smoothing) + (log_total - sum / (double)n) * entropy->smoothing);
    }
    return 1;
}

static void NAME(entropy_gradient)(const td_entropy *entropy, int64_t first, int64_t end)
{
    const int64_t n = entropy->classes;
    const T uniform = (T)(entropy->smoothing / (double)n), peak = (T)(1.0 - entropy->smoothing);
    for (int64_t row = first; row < end; row++) {
        const T *x = (const T *)entropy->logits + row * n;
        T *out = (T *)entropy->out + row * n;
        const int64_t target = entropy->targets[row];
        if (target == entropy->ignored || target < 0 || target >= n) {
            memset(out, 0, (size_t)n * sizeof(T));
            continue;
        }
        const T scale = ((const T *)entropy->scale)[row * entropy->scale_step];
        const T total = (T)NAME(powers)(n, x, NAME(largest)(n, x), out);
        const T chosen = out[target] / total - (peak + uniform);
        TD_INDEPENDENT
        for (int64_t i = 0; i < n; i++)
            out[i] = (out[i] / total - uniform) * scale;
        out[target] = chosen * scale;
    }
}
