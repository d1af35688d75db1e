/* The loops of float16 and bfloat16. A part of slots_body.h.
 *
 * A block of elements is converted to float, the float loop of the op runs over it, and its results are rounded back. One
 * operation of + - * / sqrt is thereby rounded as if it had been done in the narrow type (float has more than twice the
 * digits). Sums and products go on in double to the end of the reduction and are rounded once. */
enum { HALF_BLOCK = 512 };
#define SMALLER(x, y) ((x) < (y) ? (x) : (y))

/* --- conversions -------------------------------------------------------------------------------------------------- */
#ifdef TD_WITH_F16C
static int64_t widen_dense_f16(int64_t n, const td_f16 *xs, float *os)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(os + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(xs + i))));
    return i;
}

static int64_t narrow_dense_f16(int64_t n, const float *xs, td_f16 *os)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(os + i), _mm256_cvtps_ph(_mm256_loadu_ps(xs + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}
#else
#define widen_dense_f16(n, xs, os) 0
#define narrow_dense_f16(n, xs, os) 0
#endif
#define widen_dense_bf16(n, xs, os) 0
#define narrow_dense_bf16(n, xs, os) 0

#define DEFINE_HALF_CASTS(sfx, ctype, ...) \
    static void cast_##sfx##_f32(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        if (DENSE(ctype, sx) && DENSE(float, so)) { \
            const ctype *xs = (const ctype *)xp; \
            float *os = (float *)out; \
            TD_INDEPENDENT \
            for (int64_t i = widen_dense_##sfx(n, xs, os); i < n; i++) \
                os[i] = td_##sfx##_to_f32(xs[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) \
            STEP(float, out, so, i) = td_##sfx##_to_f32(READ(ctype, xp, sx, i)); \
    } \
    static void cast_f32_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        if (DENSE(float, sx) && DENSE(ctype, so)) { \
            const float *xs = (const float *)xp; \
            ctype *os = (ctype *)out; \
            TD_INDEPENDENT \
            for (int64_t i = narrow_dense_##sfx(n, xs, os); i < n; i++) \
                os[i] = td_f32_to_##sfx(xs[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) \
            STEP(ctype, out, so, i) = td_f32_to_##sfx(READ(float, xp, sx, i)); \
    } \
    static void cast_f64_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        for (int64_t i = 0; i < n; i++) \
            STEP(ctype, out, so, i) = td_f64_to_##sfx(READ(double, xp, sx, i)); \
    } \
    static void cast_##sfx##_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        for (int64_t i = 0; i < n; i++) \
            STEP(ctype, out, so, i) = READ(ctype, xp, sx, i); \
    }
TD_TYPES_HALF(DEFINE_HALF_CASTS, )

/* By way of float or double, of which both loops are there. */
static void cast_by_way(int64_t n, const char *x, int64_t sx, char *out, int64_t so, td_unary_loop first,
                        td_unary_loop second, int64_t itemsize)
{
    double way[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t block = SMALLER(n - i, HALF_BLOCK);
        first(block, x + i * sx, sx, (char *)way, itemsize);
        second(block, (const char *)way, itemsize, out + i * so, so);
    }
}
#define DEFINE_CAST_BY_WAY(from, to, way, itemsize) \
    static void cast_##from##_##to(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        cast_by_way(n, xp, sx, out, so, cast_##from##_##way, cast_##way##_##to, itemsize); \
    }
#define DEFINE_CAST_FROM_HALF(to, TO, half) DEFINE_CAST_BY_WAY(half, to, f32, 4)
#define DEFINE_CAST_TO_HALF(from, FROM, half) DEFINE_CAST_BY_WAY(from, half, f64, 8)
#define TYPES_BUT_FLOATS(M, ...) TD_TYPES_BOOL(M, __VA_ARGS__) TD_TYPES_INTEGER(M, __VA_ARGS__)
TYPES_BUT_FLOATS(DEFINE_CAST_FROM_HALF, f16)
TYPES_BUT_FLOATS(DEFINE_CAST_FROM_HALF, bf16)
TYPES_BUT_FLOATS(DEFINE_CAST_TO_HALF, f16)
TYPES_BUT_FLOATS(DEFINE_CAST_TO_HALF, bf16)
DEFINE_CAST_BY_WAY(f16, f64, f32, 4)
DEFINE_CAST_BY_WAY(bf16, f64, f32, 4)
DEFINE_CAST_BY_WAY(f16, bf16, f32, 4)
DEFINE_CAST_BY_WAY(bf16, f16, f32, 4)

/* --- elementwise -------------------------------------------------------------------------------------------------- */
/* An operand of a block: converted, and one that is held (stride 0) only once. */
typedef struct {
    float values[HALF_BLOCK];
    int64_t stride;
} td_half_operand;

static void widen_operand(td_half_operand *operand, td_unary_loop widen, int64_t block, const char *x, int64_t sx)
{
    operand->stride = sx == 0 ? 0 : 4;
    widen(sx == 0 ? 1 : block, x, sx, (char *)operand->values, 4);
}

/* narrow: NULL where the result is td_bool. */
static void half_unary(int64_t n, const char *x, int64_t sx, char *out, int64_t so, td_unary_loop widen,
                       td_unary_loop loop, td_unary_loop narrow)
{
    td_half_operand a;
    float results[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t block = SMALLER(n - i, HALF_BLOCK);
        widen_operand(&a, widen, block, x + i * sx, sx);
        if (!narrow) {
            loop(block, (const char *)a.values, a.stride, out + i * so, so);
            continue;
        }
        loop(block, (const char *)a.values, a.stride, (char *)results, 4);
        narrow(block, (const char *)results, 4, out + i * so, so);
    }
}

static void half_binary(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, char *out, int64_t so,
                        td_unary_loop widen, td_binary_loop loop, td_unary_loop narrow)
{
    td_half_operand a, b;
    float results[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t block = SMALLER(n - i, HALF_BLOCK);
        widen_operand(&a, widen, block, x + i * sx, sx);
        widen_operand(&b, widen, block, y + i * sy, sy);
        if (!narrow) {
            loop(block, (const char *)a.values, a.stride, (const char *)b.values, b.stride, out + i * so, so);
            continue;
        }
        loop(block, (const char *)a.values, a.stride, (const char *)b.values, b.stride, (char *)results, 4);
        narrow(block, (const char *)results, 4, out + i * so, so);
    }
}

static void half_ternary(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, const char *z, int64_t sz,
                         char *out, int64_t so, td_unary_loop widen, td_ternary_loop loop, td_unary_loop narrow)
{
    td_half_operand a, b, c;
    float results[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t block = SMALLER(n - i, HALF_BLOCK);
        widen_operand(&a, widen, block, x + i * sx, sx);
        widen_operand(&b, widen, block, y + i * sy, sy);
        widen_operand(&c, widen, block, z + i * sz, sz);
        loop(block, (const char *)a.values, a.stride, (const char *)b.values, b.stride, (const char *)c.values, c.stride,
             (char *)results, 4);
        narrow(block, (const char *)results, 4, out + i * so, so);
    }
}

/* A row of the lists holds for the halves where it does for the floating types. */
#define HALVES(M, ...) M(f16, __VA_ARGS__) M(bf16, __VA_ARGS__)
#define HALVES_ALL HALVES
#define HALVES_NUMERIC HALVES
#define HALVES_FLOATING HALVES
#define HALVES_INTEGER TD_NOTHING
#define HALVES_SIGNED TD_NOTHING
#define HALVES_UNSIGNED TD_NOTHING
#define HALVES_BOOL TD_NOTHING
#define NARROW_T(sfx) cast_f32_##sfx
#define NARROW_td_bool(sfx) NULL

#define DEFINE_HALF_UNARY(sfx, op, OUT) \
    static void unary_##op##_##sfx(int64_t n, const char *x, int64_t sx, char *out, int64_t so) \
    { \
        const td_unary_loop loop = TD_SLOTS.unary[TD_UNARY_##op][TD_f32]; \
        half_unary(n, x, sx, out, so, cast_##sfx##_f32, loop, NARROW_##OUT(sfx)); \
    }
#define X(op, TYPES, OUT, body) HALVES_##TYPES(DEFINE_HALF_UNARY, op, OUT)
TD_UNARY_OPS(X, X)
#undef X

#define DEFINE_HALF_BINARY(sfx, op, OUT) \
    static void binary_##op##_##sfx(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, char *out, \
                                    int64_t so) \
    { \
        half_binary(n, x, sx, y, sy, out, so, cast_##sfx##_f32, binary_##op##_f32, NARROW_##OUT(sfx)); \
    }
#define X(op, TYPES, OUT, body) HALVES_##TYPES(DEFINE_HALF_BINARY, op, OUT)
TD_BINARY_OPS(X, X)
#undef X

/* The one op that asks for the grid of the type. */
#define DEFINE_NEXT_HALF(sfx, ctype, ...) \
    static void next_##sfx(int64_t n, const char *xp, int64_t sx, const char *yp, int64_t sy, char *out, int64_t so) \
    { \
        (void)binary_nextafter_##sfx; \
        for (int64_t i = 0; i < n; i++) { \
            ctype x = READ(ctype, xp, sx, i), y = READ(ctype, yp, sy, i); \
            STEP(ctype, out, so, i) = td_next_half(x, y, td_##sfx##_to_f32(x), td_##sfx##_to_f32(y)); \
        } \
    }
TD_TYPES_HALF(DEFINE_NEXT_HALF, )

#define DEFINE_HALF_CLIP(sfx, ctype, ...) \
    static void ternary_clip_##sfx(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, const char *z, \
                                   int64_t sz, char *out, int64_t so) \
    { \
        half_ternary(n, x, sx, y, sy, z, sz, out, so, cast_##sfx##_f32, ternary_clip_f32, cast_f32_##sfx); \
    }
TD_TYPES_HALF(DEFINE_HALF_CLIP, )
TD_TYPES_HALF(DEFINE_WHERE, where, T, (c ? x : y))
