/* Attention's scores, some rows of a block at a time: between the product that makes them and those that use them they
 * stay in the first cache. _attention.pyx says how the blocks go round. */
#define LOWEST ((T)(sizeof(T) == 4 ? -104.0 : -746.0)) /* exp of what is less is 0 */

/* How many of the block's keys a row may look at. */
static inline int64_t NAME(seen)(const td_attention *work, int64_t row)
{
    const int64_t seen = work->seen + (work->causal ? row : 0);
    return seen < 0 ? 0 : seen > work->columns ? work->columns : seen;
}

static inline void NAME(scaled)(const td_attention *work, int64_t row, int64_t n, T *scores)
{
    const T scale = (T)work->scale;
    const char *mask = work->mask + row * work->mask_row;
    const int64_t step = work->mask_column;
    if (work->mask == NULL) {
        TD_INDEPENDENT
        for (int64_t j = 0; j < n; j++)
            scores[j] *= scale;
    } else if (work->is_choice) {
        for (int64_t j = 0; j < n; j++)
            scores[j] = mask[j * step] ? scores[j] * scale : -(T)INFINITY;
    } else {
        for (int64_t j = 0; j < n; j++)
            scores[j] = scores[j] * scale + *(const T *)(mask + j * step);
    }
}

/* The largest number, not less than `top`; NaN where there is nothing but NaN and -inf. */
static inline T NAME(highest)(int64_t n, const T *x, T top)
{
    T lanes[LANES];
    int64_t i = 0;
    for (int lane = 0; lane < LANES; lane++)
        lanes[lane] = top;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    for (int lane = 0; i + lane < n; lane++)
        lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] = lanes[lane + half] > lanes[lane] ? lanes[lane + half] : lanes[lane];
    for (i = 0; lanes[0] == -(T)INFINITY && i < n; i++)
        if (x[i] != x[i])
            return x[i];
    return lanes[0];
}

/* x = exp(x - shift). */
static inline void NAME(exponentials)(int64_t n, T *x, T shift)
{
    TD_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        const T below = x[i] - shift; /* an underflow takes the processor a hundred times longer */
        const T power = td_exp((T)(below < LOWEST ? (T)0 : below));
        x[i] = below < LOWEST ? (T)0 : power;
    }
}

static inline T NAME(total)(int64_t n, const T *x)
{
    T lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] += x[i + lane];
    for (int lane = 0; i + lane < n; lane++)
        lanes[lane] += x[i + lane];
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/* The scores become exp(score - top); where a row's top grows, its sum and its part of out shrink. */
static void NAME(attention)(const td_attention *work)
{
    T *tops = (T *)work->top;
    for (int64_t row = 0; row < work->rows; row++) {
        T *scores = (T *)work->scores + row * work->step, *out = (T *)(work->out + row * work->out_row);
        const int64_t n = NAME(seen)(work, row);
        const T before = tops[row];
        NAME(scaled)(work, row, n, scores);
        T top = NAME(highest)(n, scores, before);
        top = before != before ? before : top;
        const int64_t shown = top == -(T)INFINITY ? 0 : n;
        NAME(exponentials)(shown, scores, top);
        memset(scores + shown, 0, (size_t)(work->columns - shown) * sizeof(T));
        if (top != before && before != -(T)INFINITY) {
            const T factor = td_exp((T)(before - top));
            work->sum[row] *= (double)factor;
            TD_INDEPENDENT
            for (int64_t j = 0; j < work->width; j++)
                out[j] *= factor;
        }
        work->sum[row] += (double)NAME(total)(shown, scores);
        tops[row] = top;
    }
}

/* out over the sums; a row without any is 0, and its logarithm -inf. */
static void NAME(attention_end)(const td_attention *work)
{
    T *total = (T *)work->total;
    for (int64_t row = 0; row < work->rows; row++) {
        T *out = (T *)(work->out + row * work->out_row);
        const T top = ((const T *)work->top)[row], factor = (T)(1.0 / work->sum[row]);
        total[row] = top;
        if (top == -(T)INFINITY)
            continue;
        total[row] = (T)((double)top + log(work->sum[row]));
        TD_INDEPENDENT
        for (int64_t j = 0; j < work->width; j++)
            out[j] *= factor;
    }
}

/* top[row] = the product of a row of out and one of its gradient. */
static void NAME(attention_dots)(const td_attention *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        const T *out = (const T *)(work->out + row * work->out_row);
        const T *gradient = (const T *)(work->gradient + row * work->gradient_row);
        T lanes[LANES] = {0};
        int64_t i = 0;
        for (; i + LANES <= work->width; i += LANES)
            for (int lane = 0; lane < LANES; lane++)
                lanes[lane] += out[i + lane] * gradient[i + lane];
        for (int lane = 0; i + lane < work->width; lane++)
            lanes[lane] += out[i + lane] * gradient[i + lane];
        ((T *)work->top)[row] = NAME(total)(LANES, lanes);
    }
}

/* The scores become weights, and the weights' gradients those of the scores before scaling. */
static void NAME(attention_gradient)(const td_attention *work)
{
    const T scale = (T)work->scale;
    for (int64_t row = 0; row < work->rows; row++) {
        T *weights = (T *)work->scores + row * work->step, *slopes = (T *)work->slopes + row * work->step;
        const T total = ((const T *)work->total)[row], dot = ((const T *)work->top)[row];
        const int64_t n = total == -(T)INFINITY ? 0 : NAME(seen)(work, row);
        NAME(scaled)(work, row, n, weights);
        NAME(exponentials)(n, weights, total);
        TD_INDEPENDENT
        for (int64_t j = 0; j < n; j++)
            slopes[j] = weights[j] * (slopes[j] - dot) * scale;
        memset(weights + n, 0, (size_t)(work->columns - n) * sizeof(T));
        memset(slopes + n, 0, (size_t)(work->columns - n) * sizeof(T));
    }
}
#undef LOWEST
