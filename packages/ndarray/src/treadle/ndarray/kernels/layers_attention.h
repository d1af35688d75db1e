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

/* Vectors as long as all lanes; rows are filled up to a multiple of them. */
typedef T NAME(all_lanes) __attribute__((vector_size(LANES * sizeof(T))));
typedef struct {
    NAME(all_lanes) value;
} __attribute__((packed, aligned(sizeof(T)), may_alias)) NAME(part);
#define PART(x) (((NAME(part) *)(x))->value)
#define MASK(x, y) ((x) > (y))
#define LARGER(x, y) \
    ((__typeof__(x))(((__typeof__(MASK(x, y)))(x) & MASK(x, y)) | ((__typeof__(MASK(x, y)))(y) & ~MASK(x, y))))
#define SUM(x, y) ((x) + (y))
/* Two lanes of all, halves combined with each other. */
#define FOLDED(combine, all, two) \
    const __auto_type eight = combine(__builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7), \
                                      __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15)); \
    const __auto_type four = combine(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), \
                                     __builtin_shufflevector(eight, eight, 4, 5, 6, 7)); \
    const __auto_type two = \
        combine(__builtin_shufflevector(four, four, 0, 1), __builtin_shufflevector(four, four, 2, 3));

static inline int64_t NAME(filled)(int64_t n, T *x)
{
    const int64_t end = (n + LANES - 1) / LANES * LANES;
    for (int64_t i = n; i < end; i++)
        x[i] = -(T)INFINITY;
    return end;
}

/* The largest number, not less than `top`; NaN where there is nothing but NaN and -inf. */
static inline T NAME(highest)(int64_t n, const T *x, T top)
{
    NAME(all_lanes) most = (NAME(all_lanes)){0} + top;
    for (int64_t i = 0; i < n; i += LANES)
        most = LARGER(PART(x + i), most);
    FOLDED(LARGER, most, two)
    top = two[0] > two[1] ? two[0] : two[1];
    for (int64_t i = 0; top == -(T)INFINITY && i < n; i++)
        if (x[i] != x[i])
            return x[i];
    return top;
}

/* x = exp(x - shift), and the sum of that. */
static inline T NAME(exponentials)(int64_t n, T *x, T shift)
{
    NAME(all_lanes) total = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        TD_INDEPENDENT
        for (int lane = 0; lane < LANES; lane++) {
            const T below = x[i + lane] - shift; /* an underflow takes the processor a hundred times longer */
            const T power = td_exp((T)(below < LOWEST ? (T)0 : below));
            x[i + lane] = below < LOWEST ? (T)0 : power;
        }
        total += PART(x + i);
    }
    FOLDED(SUM, total, two)
    return two[0] + two[1];
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
        const int64_t end = NAME(filled)(n, scores);
        T top = NAME(highest)(end, scores, before);
        top = before != before ? before : top;
        const int64_t shown = top == -(T)INFINITY ? 0 : n;
        const T total = NAME(exponentials)(shown ? end : 0, scores, top);
        memset(scores + shown, 0, (size_t)(work->columns - shown) * sizeof(T));
        if (top != before && before != -(T)INFINITY) {
            const T factor = td_exp((T)(before - top));
            work->sum[row] *= (double)factor;
            TD_INDEPENDENT
            for (int64_t j = 0; j < work->width; j++)
                out[j] *= factor;
        }
        work->sum[row] += (double)total;
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
        if (top == -(T)INFINITY) {
            memset(out, 0, (size_t)work->width * sizeof(T)); /* 0 times NaN is none */
            continue;
        }
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
        NAME(all_lanes) total = {0};
        int64_t i = 0;
        for (; i + LANES <= work->width; i += LANES)
            total += PART(out + i) * PART(gradient + i);
        FOLDED(SUM, total, two)
        T rest = 0;
        for (; i < work->width; i++)
            rest += out[i] * gradient[i];
        ((T *)work->top)[row] = two[0] + two[1] + rest;
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
        NAME(exponentials)(NAME(filled)(n, weights), weights, total);
        TD_INDEPENDENT
        for (int64_t j = 0; j < n; j++)
            slopes[j] = weights[j] * (slopes[j] - dot) * scale;
        memset(weights + n, 0, (size_t)(work->columns - n) * sizeof(T));
        memset(slopes + n, 0, (size_t)(work->columns - n) * sizeof(T));
    }
}
#undef LOWEST
#undef PART
#undef MASK
#undef LARGER
#undef SUM
#undef FOLDED
