/* Tiles, slivers and dot products of one floating type: T, with SUFFIX f32 or f64 and WORD its unsigned integer.
 *
 * The tile keeps rows x vectors accumulators in registers: named variables, because arrays of vectors do not stay in
 * registers with every compiler. `rows` and `vectors` are constants wherever tile_body is inlined, so all that a
 * smaller tile does not need falls away. Rows of a are addressed from every third row, base + {0, 1, 2} * stride,
 * which x86 has an addressing mode for. The empty asm keeps the compiler from giving each row a pointer of its own. */
#define VEC JOIN(vector, SUFFIX)
#define LANES (VECTOR_BYTES / (int)sizeof(T))
#define SPREAD JOIN(SPREAD, SUFFIX)
#define FMA JOIN(FMA, SUFFIX)
#define LOAD_PART JOIN(LOAD_PART, SUFFIX)
#define STORE_PART JOIN(STORE_PART, SUFFIX)
#define NAME(name) JOIN(name, SUFFIX)
#define MASK_TYPE JOIN(mask, SUFFIX)
#define MASK_OF JOIN(MASK, SUFFIX)
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))

typedef T NAME(element);
typedef struct {
    VEC value;
} __attribute__((packed, aligned(sizeof(T)), may_alias)) NAME(unaligned);
#define LOAD(from) (((const NAME(unaligned) *)(from))->value)
#define STORE(to, x) (((NAME(unaligned) *)(to))->value = (x))

/* M(row, its base, the multiple of a's row stride to add) */
#define EACH_TILE_ROW(M) \
    M(1, a0, 0) M(2, a0, 1) M(3, a0, 2) M(4, a3, 0) M(5, a3, 1) M(6, a3, 2) M(7, a6, 0) \
    M(8, a6, 1) M(9, a6, 2) M(10, a9, 0) M(11, a9, 1) M(12, a9, 2) M(13, a12, 0) M(14, a12, 1)

#define DECLARE_ROW(i, base, times) VEC low##i = {0}, high##i = {0};

#define MULTIPLY_ROW(i, base, times) \
    if (rows >= i) { \
        const VEC x = SPREAD(*(const T *)(base + times * a_row)); \
        low##i = FMA(x, low, low##i); \
        if (vectors == 2) \
            high##i = FMA(x, high, high##i); \
    }

#define FETCH_ROW(i, base, times) \
    if (rows >= i) { \
        __builtin_prefetch(onto + (i - 1) * onto_row, 0, 3); \
        if (vectors == 2) \
            __builtin_prefetch(onto + (i - 1) * onto_row + VECTOR_BYTES, 0, 3); \
    }

#define STORE_VECTOR(to, from, x, partial) \
    if (partial) { \
        if (onto) \
            x += LOAD_PART(from, mask); \
        STORE_PART(to, mask, x); \
    } else { \
        if (onto) \
            x += LOAD(from); \
        STORE(to, x); \
    }

#define STORE_ROW(i, base, times) \
    if (rows >= i) { \
        T *to = (T *)(out + (i - 1) * out_row); \
        const T *from = onto ? (const T *)(onto + (i - 1) * onto_row) : NULL; \
        STORE_VECTOR(to, from, low##i, !whole && vectors == 1) \
        if (vectors == 2) { \
            STORE_VECTOR(to + LANES, from + LANES, high##i, !whole) \
        } \
    }

/* Steps: the second cache, or the third, is slower than the multiplications where nobody asks ahead. */
#define FETCH_AHEAD 16

INLINE void NAME(tile_body)(const int rows, const int vectors, const int whole, int64_t columns, int64_t k,
                            const char *a, int64_t a_row, int64_t a_step, const char *b, int64_t b_step, char *out,
                            int64_t out_row, const char *onto, int64_t onto_row)
{
    const MASK_TYPE mask = MASK_OF(columns - (vectors - 1) * LANES);
    const char *a0 = a, *a3 = a + 3 * a_row, *a6 = a + 6 * a_row, *a9 = a + 9 * a_row, *a12 = a + 12 * a_row;
    const int64_t ahead = b_step == 2 * VECTOR_BYTES ? FETCH_AHEAD * b_step : 0; /* packed slivers follow each other */
    EACH_TILE_ROW(DECLARE_ROW)
    if (onto) {
        EACH_TILE_ROW(FETCH_ROW)
    }
    for (; k > 0; k--) {
        VEC low, high = {0};
        if (whole) {
            __builtin_prefetch(b + ahead, 0, 3);
            if (VECTOR_BYTES == 64)
                __builtin_prefetch(b + ahead + 64, 0, 3);
        }
        if (vectors == 2) {
            low = LOAD(b);
            high = whole ? LOAD(b + VECTOR_BYTES) : LOAD_PART(b + VECTOR_BYTES, mask);
        } else {
            low = whole ? LOAD(b) : LOAD_PART(b, mask);
        }
        b += b_step;
        EACH_TILE_ROW(MULTIPLY_ROW)
        a0 += a_step;
        OPAQUE(a0);
        if (rows > 3) {
            a3 += a_step;
            OPAQUE(a3);
        }
        if (rows > 6) {
            a6 += a_step;
            OPAQUE(a6);
        }
        if (rows > 9) {
            a9 += a_step;
            OPAQUE(a9);
        }
        if (rows > 12) {
            a12 += a_step;
            OPAQUE(a12);
        }
    }
    EACH_TILE_ROW(STORE_ROW)
}

#define TILE_PARAMETERS \
    int64_t columns, int64_t k, const char *a, int64_t a_row, int64_t a_step, const char *b, int64_t b_step, \
        char *out, int64_t out_row, const char *onto, int64_t onto_row
#define TILE_ARGUMENTS columns, k, a, a_row, a_step, b, b_step, out, out_row, onto, onto_row

#define DEFINE_TILE(i) \
    static void NAME(tile_##i)(TILE_PARAMETERS) \
    { \
        if (WHOLE_TILES_APART && columns == 2 * LANES) \
            NAME(tile_body)(i, 2, 1, TILE_ARGUMENTS); \
        else if (columns > LANES) \
            NAME(tile_body)(i, 2, 0, TILE_ARGUMENTS); \
        else \
            NAME(tile_body)(i, 1, 0, TILE_ARGUMENTS); \
    }
EACH_ROW_COUNT(DEFINE_TILE)

#define TILE_OF(i) NAME(tile_##i),
static void (*const NAME(tile_of_rows)[TILE_ROWS])(TILE_PARAMETERS) = {EACH_ROW_COUNT(TILE_OF)};

static void NAME(tile)(int64_t rows, TILE_PARAMETERS)
{
    NAME(tile_of_rows)[rows - 1](TILE_ARGUMENTS);
}

/* --- packing ------------------------------------------------------------------------------------------------- */

/* Columns dense: each row is moved as vectors. */
static void NAME(pack_rows)(int64_t k, int64_t columns, int64_t width, const char *from, int64_t step, T *to)
{
    const int64_t whole = columns / LANES * LANES;
    const MASK_TYPE mask = MASK_OF(columns - whole);
    for (int64_t p = 0; p < k; p++, from += step, to += width) {
        const T *row = (const T *)from;
        for (int64_t j = 0; j < whole; j += LANES)
            STORE(to + j, LOAD(row + j));
        if (whole < columns)
            STORE_PART(to + whole, mask, LOAD_PART(row + whole, mask));
    }
}

static void NAME(pack_strided)(int64_t k, int64_t columns, int64_t width, const char *from, int64_t step,
                               int64_t column, T *to)
{
    for (int64_t p = 0; p < k; p++, from += step, to += width)
        for (int64_t j = 0; j < columns; j++)
            to[j] = *(const T *)(from + j * column);
}

/* Rows of `to` dense along p in `from`: blocks of 4 x 4 are transposed in registers. */
typedef T NAME(quad) __attribute__((vector_size(4 * sizeof(T))));
typedef struct {
    NAME(quad) value;
} __attribute__((packed, aligned(sizeof(T)), may_alias)) NAME(unaligned_quad);
#define QUAD_AT(pointer) (((NAME(unaligned_quad) *)(pointer))->value)

INLINE void NAME(transpose_quad)(const char *from, int64_t column, T *to, int64_t width)
{
    const NAME(quad) x0 = QUAD_AT(from), x1 = QUAD_AT(from + column), x2 = QUAD_AT(from + 2 * column),
                     x3 = QUAD_AT(from + 3 * column);
    const NAME(quad) low01 = SHUFFLE(WORD, x0, x1, 0, 4, 1, 5), low23 = SHUFFLE(WORD, x2, x3, 0, 4, 1, 5),
                     high01 = SHUFFLE(WORD, x0, x1, 2, 6, 3, 7), high23 = SHUFFLE(WORD, x2, x3, 2, 6, 3, 7);
    QUAD_AT(to) = SHUFFLE(WORD, low01, low23, 0, 1, 4, 5);
    QUAD_AT(to + width) = SHUFFLE(WORD, low01, low23, 2, 3, 6, 7);
    QUAD_AT(to + 2 * width) = SHUFFLE(WORD, high01, high23, 0, 1, 4, 5);
    QUAD_AT(to + 3 * width) = SHUFFLE(WORD, high01, high23, 2, 3, 6, 7);
}

/* TRANSPOSE_STEPS elements, about a cache line, of one column after the other. The last quad of columns may overlap
 * the one before it. */
#define TRANSPOSE_STEPS 16
static void NAME(pack_transposed)(int64_t k, int64_t columns, int64_t width, const char *from, int64_t column, T *to)
{
    const int64_t whole = columns < 4 ? 0 : k / 4 * 4;
    for (int64_t start = 0; start < whole; start += TRANSPOSE_STEPS) {
        const int64_t end = start + TRANSPOSE_STEPS < whole ? start + TRANSPOSE_STEPS : whole;
        for (int64_t next = 0; next < columns; next += 4) {
            const int64_t j = next + 4 <= columns ? next : columns - 4;
            for (int64_t p = start; p < end; p += 4)
                NAME(transpose_quad)(from + j * column + p * (int64_t)sizeof(T), column, to + p * width + j, width);
        }
    }
    NAME(pack_strided)
    (k - whole, columns, width, from + whole * (int64_t)sizeof(T), sizeof(T), column, to + whole * width);
}

static void NAME(pack)(int64_t k, int64_t columns, int64_t width, const char *from, int64_t step, int64_t column,
                       char *to)
{
    if (column == (int64_t)sizeof(T))
        NAME(pack_rows)(k, columns, width, from, step, (T *)to);
    else if (step == (int64_t)sizeof(T))
        NAME(pack_transposed)(k, columns, width, from, column, (T *)to);
    else
        NAME(pack_strided)(k, columns, width, from, step, column, (T *)to);
}

/* --- dot products ---------------------------------------------------------------------------------------------- */

INLINE T NAME(sum_lanes)(VEC x)
{
    T lanes[LANES];
    STORE(lanes, x);
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

INLINE void NAME(fold_lanes)(VEC x, NAME(quad) *sum)
{
    T lanes[LANES < 4 ? 4 : LANES] = {0};
    STORE(lanes, x);
    *sum = QUAD_AT(lanes);
    for (int lane = 4; lane < LANES; lane += 4)
        *sum += QUAD_AT(lanes + lane);
}

/* The sums of four vectors' lanes. */
INLINE void NAME(sum_four)(VEC x0, VEC x1, VEC x2, VEC x3, NAME(quad) *sums)
{
    NAME(quad) q0, q1, q2, q3;
    NAME(fold_lanes)(x0, &q0);
    NAME(fold_lanes)(x1, &q1);
    NAME(fold_lanes)(x2, &q2);
    NAME(fold_lanes)(x3, &q3);
    const NAME(quad) pairs01 = SHUFFLE(WORD, q0, q1, 0, 4, 2, 6) + SHUFFLE(WORD, q0, q1, 1, 5, 3, 7);
    const NAME(quad) pairs23 = SHUFFLE(WORD, q2, q3, 0, 4, 2, 6) + SHUFFLE(WORD, q2, q3, 1, 5, 3, 7);
    *sums = SHUFFLE(WORD, pairs01, pairs23, 0, 1, 4, 5) + SHUFFLE(WORD, pairs01, pairs23, 2, 3, 6, 7);
}

/* `count` (4 or 1) columns at once, each with two accumulators, so that the additions do not wait for each other. */
INLINE void NAME(dots_body)(const int count, int64_t k, const char *a, const char *b, int64_t b_column, char *out,
                            int64_t out_column)
{
    const char *b0 = b, *b1 = b + b_column, *b2 = b + 2 * b_column, *b3 = b + 3 * b_column;
    VEC s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
    const int64_t pair = 2 * VECTOR_BYTES, end = k * (int64_t)sizeof(T), pairs = end / pair * pair;
    int64_t at = 0;
    for (; at < pairs; at += pair) {
        const VEC x = LOAD(a + at), y = LOAD(a + at + VECTOR_BYTES);
#define DOT_PAIR(n) \
    if (count > n) { \
        s##n = FMA(x, LOAD(b##n + at), s##n); \
        t##n = FMA(y, LOAD(b##n + at + VECTOR_BYTES), t##n); \
    }
        DOT_PAIR(0) DOT_PAIR(1) DOT_PAIR(2) DOT_PAIR(3)
    }
    for (; at < end; at += VECTOR_BYTES) {
        const int64_t left = (end - at) / (int64_t)sizeof(T);
        const MASK_TYPE mask = MASK_OF(left < LANES ? left : LANES);
        const VEC x = LOAD_PART(a + at, mask);
#define DOT_PART(n) \
    if (count > n) \
        s##n = FMA(x, LOAD_PART(b##n + at, mask), s##n);
        DOT_PART(0) DOT_PART(1) DOT_PART(2) DOT_PART(3)
    }
    if (count == 4) {
        NAME(quad) sums;
        NAME(sum_four)(s0 + t0, s1 + t1, s2 + t2, s3 + t3, &sums);
        for (int n = 0; n < 4; n++)
            *(T *)(out + n * out_column) = sums[n];
    } else {
        *(T *)out = NAME(sum_lanes)(s0 + t0);
    }
#undef DOT_PAIR
#undef DOT_PART
}

static void NAME(dots)(int64_t columns, int64_t k, const char *a, const char *b, int64_t b_column, char *out,
                       int64_t out_column)
{
    for (; columns >= 4; columns -= 4, b += 4 * b_column, out += 4 * out_column)
        NAME(dots_body)(4, k, a, b, b_column, out, out_column);
    for (; columns > 0; columns--, b += b_column, out += out_column)
        NAME(dots_body)(1, k, a, b, b_column, out, out_column);
}

/* --- one row ------------------------------------------------------------------------------------------------------
 * Four rows of b at a time are added onto out, which stays in the first cache: b is read in order, as memory likes. */
INLINE void NAME(combine_body)(const int count, int64_t columns, const char *a, int64_t a_step, const char *b,
                               int64_t b_step, T *out, int accumulate)
{
    const VEC zero = {0};
    const VEC x0 = SPREAD(*(const T *)a), x1 = count > 1 ? SPREAD(*(const T *)(a + a_step)) : zero,
              x2 = count > 2 ? SPREAD(*(const T *)(a + 2 * a_step)) : zero,
              x3 = count > 3 ? SPREAD(*(const T *)(a + 3 * a_step)) : zero;
    const int64_t whole = columns / LANES * LANES;
    const MASK_TYPE mask = MASK_OF(columns - whole);
#define COMBINE(load, ...) \
    sum = FMA(x0, load(b + at, ##__VA_ARGS__), sum); \
    if (count > 1) \
        sum = FMA(x1, load(b + b_step + at, ##__VA_ARGS__), sum); \
    if (count > 2) \
        sum = FMA(x2, load(b + 2 * b_step + at, ##__VA_ARGS__), sum); \
    if (count > 3) \
        sum = FMA(x3, load(b + 3 * b_step + at, ##__VA_ARGS__), sum);
    for (int64_t j = 0; j < whole; j += LANES) {
        const int64_t at = j * (int64_t)sizeof(T);
        VEC sum = accumulate ? LOAD(out + j) : zero;
        COMBINE(LOAD)
        STORE(out + j, sum);
    }
    if (whole < columns) {
        const int64_t at = whole * (int64_t)sizeof(T);
        VEC sum = accumulate ? LOAD_PART(out + whole, mask) : zero;
        COMBINE(LOAD_PART, mask)
        STORE_PART(out + whole, mask, sum);
    }
#undef COMBINE
}

static void NAME(combine)(int64_t columns, int64_t k, const char *a, int64_t a_step, const char *b, int64_t b_step,
                          char *out)
{
    int accumulate = 0;
    for (; k >= 4; k -= 4, a += 4 * a_step, b += 4 * b_step, accumulate = 1)
        NAME(combine_body)(4, columns, a, a_step, b, b_step, (T *)out, accumulate);
    for (; k > 0; k--, a += a_step, b += b_step, accumulate = 1)
        NAME(combine_body)(1, columns, a, a_step, b, b_step, (T *)out, accumulate);
}
