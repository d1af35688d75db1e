/* The maximum of windows, a vector of places of the last axis at a time, through all taps. Taps come in the order of C,
 * so the first of equal elements wins; a NaN wins over all but an earlier one. Where nothing is above -inf, the first tap
 * inside is looked for at the end.
 *
 * Vectors are loaded from the array itself where they end before it does, whatever lies in the lanes of no place; else,
 * and where windows reach into the padding, from a copy of the line with -inf around it. */
typedef T NAME(pool_vector) __attribute__((vector_size(TD_VECTOR)));
typedef I NAME(pool_places) __attribute__((vector_size(TD_VECTOR)));
#define PLACES ((int64_t)(TD_VECTOR / sizeof(T)))

/* The elements [from, to) of a line, with -inf where there are none. */
static inline void NAME(stage_line)(const T *line, int64_t length, int64_t from, int64_t to, T *stage)
{
    int64_t i = from;
    for (; i < to && i < 0; i++)
        *stage++ = -(T)INFINITY;
    for (; i < to && i < length; i++)
        *stage++ = line[i];
    for (; i < to; i++)
        *stage++ = -(T)INFINITY;
}

/* The index of the first tap inside of a window; -1 where there is none. */
static int64_t NAME(first_inside)(const td_pool *pool, const int64_t *place)
{
    int64_t index = 0;
    for (int axis = 0; axis < 3; axis++) {
        int64_t at = place[axis] * pool->stride[axis] - pool->padding[axis];
        for (int64_t tap = 1; at < 0 && tap < pool->kernel[axis]; tap++)
            at += pool->dilation[axis];
        if (at < 0 || at >= pool->length[axis])
            return -1;
        index = index * pool->length[axis] + at;
    }
    return index;
}

/* best and at take the elements x[0], x[step], ..., whose indices are index + steps. */
#define TAKE_TAP(value, index) \
    { \
        const NAME(pool_places) better = ((value) > best) | (((value) != (value)) & (best == best)); \
        best = (NAME(pool_vector))((better & (NAME(pool_places))(value)) | (~better & (NAME(pool_places))best)); \
        at = (better & (steps + (index))) | (~better & at); \
    }

/* The places [place[2], place[2] + PLACES) of a row. room: elements from x to the end of the array. */
static inline void NAME(pool_vector_of)(const td_pool *pool, const T *x, int64_t room, const int64_t *place, T *values,
                                        I *indices)
{
    T stage[TD_POOL_STAGE];
    const int64_t stride = pool->stride[2], first = place[2] * stride - pool->padding[2];
    const int64_t reach = PLACES * stride + (pool->kernel[2] - 1) * pool->dilation[2];
    const int64_t used = (pool->places[2] - 1) * stride - pool->padding[2] + (pool->kernel[2] - 1) * pool->dilation[2];
    const int is_padded = first < 0 || used >= pool->length[2];
    NAME(pool_vector) best;
    NAME(pool_places) at, steps;
    for (int lane = 0; lane < PLACES; lane++) {
        best[lane] = -(T)INFINITY;
        at[lane] = -1;
        steps[lane] = (I)(lane * stride);
    }
    for (int64_t a = 0; a < pool->kernel[0]; a++) {
        const int64_t depth = place[0] * pool->stride[0] + a * pool->dilation[0] - pool->padding[0];
        if (depth < 0 || depth >= pool->length[0])
            continue;
        for (int64_t b = 0; b < pool->kernel[1]; b++) {
            const int64_t height = place[1] * pool->stride[1] + b * pool->dilation[1] - pool->padding[1];
            const int64_t line = (depth * pool->length[1] + height) * pool->length[2];
            if (height < 0 || height >= pool->length[1])
                continue;
            const T *from = x + line + first;
            if (is_padded || line + first + reach > room) {
                NAME(stage_line)(x + line, pool->length[2], first, first + reach, stage);
                from = stage;
            }
            for (int64_t tap = 0; tap < pool->kernel[2]; tap++, from += pool->dilation[2]) {
                const I index = (I)(line + first + tap * pool->dilation[2]);
                NAME(pool_vector) value, next;
                memcpy(&value, from, sizeof value);
                if (stride == 2) {
                    memcpy(&next, from + PLACES, sizeof next);
                    value = EVEN_LANES(value, next);
                } else if (stride != 1) {
                    for (int lane = 0; lane < PLACES; lane++)
                        value[lane] = from[lane * stride];
                }
                TAKE_TAP(value, index)
            }
        }
    }
    memcpy(values, &best, sizeof best);
    memcpy(indices, &at, sizeof at);
}
/* Windows of 2 x 2 side by side, all inside of one plane: by far the most common. */
static int NAME(is_pool_of_pairs)(const td_pool *pool)
{
    return pool->kernel[0] == 1 && pool->places[0] == 1 && pool->padding[0] == 0 && pool->kernel[1] == 2
        && pool->kernel[2] == 2 && pool->stride[1] == 2 && pool->stride[2] == 2 && pool->dilation[1] == 1
        && pool->dilation[2] == 1 && pool->padding[1] == 0 && pool->padding[2] == 0
        && 2 * pool->places[1] <= pool->length[1] && 2 * pool->places[2] <= pool->length[2];
}

/* PLACES windows whose upper left elements are x[0], x[2], ...; index is that of x[0]. */
static inline void NAME(pool_pairs)(const T *x, int64_t line, int64_t index, T *values, int64_t *indices)
{
    NAME(pool_vector) low, high, best, value;
    NAME(pool_places) at, steps;
    for (int lane = 0; lane < PLACES; lane++)
        steps[lane] = (I)(2 * lane);
    memcpy(&low, x, sizeof low);
    memcpy(&high, x + PLACES, sizeof high);
    best = EVEN_LANES(low, high);
    at = steps + (I)index;
    value = ODD_LANES(low, high);
    TAKE_TAP(value, (I)(index + 1))
    memcpy(&low, x + line, sizeof low);
    memcpy(&high, x + line + PLACES, sizeof high);
    value = EVEN_LANES(low, high);
    TAKE_TAP(value, (I)(index + line))
    value = ODD_LANES(low, high);
    TAKE_TAP(value, (I)(index + line + 1))
    memcpy(values, &best, sizeof best);
    for (int lane = 0; lane < PLACES; lane++)
        indices[lane] = at[lane];
}
#undef TAKE_TAP

/* Whole vectors are written where they stay inside of the plane's results: the next ones overwrite what is too much. */
static void NAME(max_pool)(const td_pool *pool, const char *plane, int64_t room, char *values, int64_t *indices)
{
    const T *x = (const T *)plane;
    const int is_of_pairs = NAME(is_pool_of_pairs)(pool);
    const int64_t line = pool->length[2], lines = pool->places[0] * pool->places[1];
    T *out = (T *)values, *const end = out + lines * pool->places[2], best[PLACES];
    I at[PLACES];
    int64_t place[3], wide[PLACES];
    for (place[0] = 0; place[0] < pool->places[0]; place[0]++)
        for (place[1] = 0; place[1] < pool->places[1]; place[1]++)
            for (place[2] = 0; place[2] < pool->places[2];) {
                const int64_t left = pool->places[2] - place[2], n = left < PLACES ? left : PLACES;
                const int64_t index = 2 * (place[1] * line + place[2]);
                if (is_of_pairs && index + line + 2 * PLACES <= room) {
                    const int whole = end - out >= PLACES;
                    NAME(pool_pairs)(x + index, line, index, whole ? out : best, whole ? indices : wide);
                    for (int64_t j = 0; j < n && !whole; j++) {
                        out[j] = best[j];
                        indices[j] = wide[j];
                    }
                    place[2] += n;
                } else {
                    NAME(pool_vector_of)(pool, x, room, place, best, at);
                    for (int64_t j = 0; j < n; j++, place[2]++) {
                        out[j] = best[j];
                        indices[j] = at[j] >= 0 ? at[j] : NAME(first_inside)(pool, place);
                    }
                }
                out += n;
                indices += n;
            }
}
#undef PLACES

static int NAME(max_pool_gradient)(int64_t places, int64_t n, const char *gradient, const int64_t *indices, char *out)
{
    const T *gs = (const T *)gradient;
    T *os = (T *)out;
    for (int64_t i = 0; i < places; i++) {
        const int64_t at = indices[i];
        if (at >= n)
            return 0;
        if (at >= 0) /* a window over padding alone chose nothing */
            os[at] += gs[i];
    }
    return 1;
}
