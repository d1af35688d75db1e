/* Rows that lie at given offsets: what convolution reads, where matmul_tiles.h reads rows a fixed stride apart.
 * Included for each floating type after matmul_tiles.h, whose vectors it uses. */

/* to[p * width + j] = from[offsets[p] + j], for j < columns. */
static void NAME(pack_at)(int64_t rows, int64_t columns, int64_t width, const char *from, const int64_t *offsets,
                          char *to)
{
    const int64_t whole = columns / LANES * LANES;
    const MASK_TYPE mask = MASK_OF(columns - whole);
    T *line = (T *)to;
    if (columns == 2 * LANES) {
        for (int64_t p = 0; p < rows; p++, line += width) {
            const char *row = from + offsets[p];
            const VEC low = LOAD(row), high = LOAD(row + VECTOR_BYTES);
            STORE(line, low);
            STORE(line + LANES, high);
        }
        return;
    }
    for (int64_t p = 0; p < rows; p++, line += width) {
        const T *row = (const T *)(from + offsets[p]);
        for (int64_t j = 0; j < whole; j += LANES)
            STORE(line + j, LOAD(row + j));
        if (whole < columns)
            STORE_PART(line + whole, mask, LOAD_PART(row + whole, mask));
    }
}

/* to[i, j] = from[i, j] + x; to may be from. */
static void NAME(add_to_lines)(int64_t lines, int64_t columns, const char *from, int64_t from_line, const char *x,
                               char *to, int64_t to_line)
{
    const int64_t whole = columns / LANES * LANES;
    const MASK_TYPE mask = MASK_OF(columns - whole);
    const VEC added = SPREAD(*(const T *)x);
    for (int64_t i = 0; i < lines; i++, from += from_line, to += to_line) {
        const T *line = (const T *)from;
        T *target = (T *)to;
        for (int64_t j = 0; j < whole; j += LANES)
            STORE(target + j, LOAD(line + j) + added);
        if (whole < columns)
            STORE_PART(target + whole, mask, LOAD_PART(line + whole, mask) + added);
    }
}

/* `count` vectors of one row, the last of them perhaps a part. */
INLINE void NAME(combine_at_body)(const int count, const int whole, MASK_TYPE mask, int64_t k, const T *a,
                                  const char *b, const int64_t *offsets, T *out)
{
    VEC s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (int64_t p = 0; p < k; p++) {
        const VEC x = SPREAD(a[p]);
        const char *row = b + offsets[p];
#define COMBINE_AT(n) \
    if (count > n) \
        s##n = FMA(x, whole || n < count - 1 ? LOAD(row + n * VECTOR_BYTES) : LOAD_PART(row + n * VECTOR_BYTES, mask), \
                   s##n);
        COMBINE_AT(0) COMBINE_AT(1) COMBINE_AT(2) COMBINE_AT(3)
#undef COMBINE_AT
    }
#define STORE_AT(n) \
    if (count > n) { \
        if (whole || n < count - 1) \
            STORE(out + n * LANES, s##n); \
        else \
            STORE_PART(out + n * LANES, mask, s##n); \
    }
    STORE_AT(0) STORE_AT(1) STORE_AT(2) STORE_AT(3)
#undef STORE_AT
}

/* out[i, j] = sum over p < k of a[p] * b[i * b_row + offsets[p] + j]. */
static void NAME(combine_at)(int64_t rows, int64_t columns, int64_t k, const char *a, const char *b, int64_t b_row,
                             const int64_t *offsets, char *out, int64_t out_row)
{
    const int64_t whole = columns / (4 * LANES) * (4 * LANES);
    const int64_t rest = columns - whole;
    const MASK_TYPE mask = MASK_OF((rest - 1) % LANES + 1);
    const int64_t at = whole * (int64_t)sizeof(T);
    for (int64_t i = 0; i < rows; i++, b += b_row, out += out_row) {
        T *to = (T *)out;
        for (int64_t j = 0; j < whole; j += 4 * LANES)
            NAME(combine_at_body)(4, 1, mask, k, (const T *)a, b + j * (int64_t)sizeof(T), offsets, to + j);
        if (rest > 3 * LANES)
            NAME(combine_at_body)(4, 0, mask, k, (const T *)a, b + at, offsets, to + whole);
        else if (rest > 2 * LANES)
            NAME(combine_at_body)(3, 0, mask, k, (const T *)a, b + at, offsets, to + whole);
        else if (rest > LANES)
            NAME(combine_at_body)(2, 0, mask, k, (const T *)a, b + at, offsets, to + whole);
        else if (rest > 0)
            NAME(combine_at_body)(1, 0, mask, k, (const T *)a, b + at, offsets, to + whole);
    }
}

INLINE T NAME(dot_rectangle)(int64_t rows, int64_t columns, const char *x, int64_t x_row, const char *y, int64_t y_row)
{
    const int64_t pair = 2 * VECTOR_BYTES, end = columns * (int64_t)sizeof(T), pairs = end / pair * pair;
    VEC s0 = {0}, s1 = {0};
    for (int64_t i = 0; i < rows; i++, x += x_row, y += y_row) {
        int64_t at = 0;
        for (; at < pairs; at += pair) {
            s0 = FMA(LOAD(x + at), LOAD(y + at), s0);
            s1 = FMA(LOAD(x + at + VECTOR_BYTES), LOAD(y + at + VECTOR_BYTES), s1);
        }
        for (; at < end; at += VECTOR_BYTES) {
            const int64_t left = (end - at) / (int64_t)sizeof(T);
            const MASK_TYPE mask = MASK_OF(left < LANES ? left : LANES);
            s0 = FMA(LOAD_PART(x + at, mask), LOAD_PART(y + at, mask), s0);
        }
    }
    return NAME(sum_lanes)(s0 + s1);
}

/* out[p] += the sum of products of two rectangles of rows: a, and b moved by offsets[p]. Large ones are cut into runs
 * of DOTS_RUN products, whose sums meet in double precision. */
#undef DOTS_RUN
#define DOTS_RUN 8192
static void NAME(dots_at)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, const char *b,
                          int64_t b_row, const int64_t *offsets, char *out)
{
    for (int64_t p = 0; p < k; p++) {
        double sum = (double)((T *)out)[p];
        for (int64_t start = 0; start < columns; start += DOTS_RUN) {
            const int64_t width = columns - start < DOTS_RUN ? columns - start : DOTS_RUN;
            const int64_t most = DOTS_RUN / width, place = start * (int64_t)sizeof(T);
            for (int64_t i = 0; i < rows; i += most)
                sum += (double)NAME(dot_rectangle)(rows - i < most ? rows - i : most, width, a + i * a_row + place,
                                                   a_row, b + offsets[p] + i * b_row + place, b_row);
        }
        ((T *)out)[p] = (T)sum;
    }
}
