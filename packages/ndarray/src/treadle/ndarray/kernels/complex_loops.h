/* The loops of complex types. A part of slots_body.h.
 *
 * Products are scans' last elements, or are made pair by pair (_parts.pyx). */
#define PART_c64 float
#define PART_c128 double

#define DEFINE_COMPLEX_UNARY(sfx, ctype, op, OUT) \
    static void unary_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        typedef ctype T; \
        typedef PART_##sfx R; \
        (void)sizeof(R); \
        if (DENSE(T, sx) && DENSE(OUT, so)) { \
            const T *xs = (const T *)xp; \
            OUT *os = (OUT *)out; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                os[i] = td_##op##_##sfx(xs[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) \
            STEP(OUT, out, so, i) = td_##op##_##sfx(READ(T, xp, sx, i)); \
    }
#define X(op, OUT) TD_TYPES_COMPLEX(DEFINE_COMPLEX_UNARY, op, OUT)
TD_COMPLEX_UNARY_OPS(X)
#undef X

#define DEFINE_COMPLEX_BINARY(sfx, ctype, op, OUT) \
    static void binary_##op##_##sfx(int64_t n, const char *xp, int64_t sx, const char *yp, int64_t sy, char *out, \
                                    int64_t so) \
    { \
        typedef ctype T; \
        if (DENSE(T, sx) && DENSE(T, sy) && DENSE(OUT, so)) { \
            const T *xs = (const T *)xp, *ys = (const T *)yp; \
            OUT *os = (OUT *)out; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                os[i] = td_##op##_##sfx(xs[i], ys[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) \
            STEP(OUT, out, so, i) = td_##op##_##sfx(READ(T, xp, sx, i), READ(T, yp, sy, i)); \
    }
#define X(op, OUT) TD_TYPES_COMPLEX(DEFINE_COMPLEX_BINARY, op, OUT)
TD_COMPLEX_BINARY_OPS(X)
#undef X

TD_TYPES_COMPLEX(DEFINE_WHERE, where, T, (c ? x : y))

/* --- sums ---------------------------------------------------------------------------------------------------------
 * Real and imaginary parts by turns, in accumulators by turns: real numbers, of which twice as many lie side by side. */
#define DEFINE_COMPLEX_SUM(sfx, ctype, part, PART) \
    static void reduce_start_sum_##sfx(int64_t n, char *acc) \
    { \
        reduce_start_sum_##part(2 * n, acc); \
    } \
    static void reduce_block_sum_##sfx(int64_t n, const PART *xs, double *result) \
    { \
        double lanes[LANES] = {0}; \
        int64_t i = 0; \
        for (; i + LANES <= n; i += LANES) { \
            PREFETCH_LANES(xs + i, AHEAD) \
            for (int lane = 0; lane < LANES; lane++) \
                lanes[lane] += xs[i + lane]; \
        } \
        for (int lane = 0; i < n; i++, lane++) \
            lanes[lane] += xs[i]; \
        TD_UNROLLED \
        for (int half = LANES / 2; half > 1; half /= 2) \
            for (int lane = 0; lane < half; lane++) \
                lanes[lane] += lanes[lane + half]; \
        result[0] += lanes[0]; \
        result[1] += lanes[1]; \
    } \
    static void reduce_row_sum_##sfx(int64_t n, const char *x, int64_t sx, char *acc) \
    { \
        if (DENSE(ctype, sx)) { \
            for (int64_t i = 0; i < 2 * n; i += ROW_BLOCK) \
                reduce_block_sum_##sfx(2 * n - i < ROW_BLOCK ? 2 * n - i : ROW_BLOCK, (const PART *)x + i, \
                                       (double *)acc); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) \
            reduce_column_sum_##part(2, x + i * sx, sizeof(PART), 1, 0, acc); \
    } \
    static void reduce_column_sum_##sfx(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t step, char *acc) \
    { \
        if (DENSE(ctype, sx)) { \
            reduce_column_sum_##part(2 * n, x, sizeof(PART), lines, step, acc); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) \
            reduce_column_sum_##part(2, x + i * sx, sizeof(PART), lines, step, acc + i * (int64_t)sizeof(td_c128)); \
    } \
    static void reduce_merge_sum_##sfx(int64_t n, const char *from, char *acc) \
    { \
        reduce_merge_sum_##part(2 * n, from, acc); \
    } \
    static void reduce_finish_sum_##sfx(int64_t n, const char *acc, double divisor, char *out, int64_t so) \
    { \
        for (int64_t i = 0; i < n; i++) \
            reduce_finish_sum_##part(2, acc + i * (int64_t)sizeof(td_c128), divisor, out + i * so, sizeof(PART)); \
    }
DEFINE_COMPLEX_SUM(c64, td_c64, f32, float)
DEFINE_COMPLEX_SUM(c128, td_c128, f64, double)

/* --- running products --------------------------------------------------------------------------------------------- */
#define WIDENED_c64(x) td_widened(x)
#define WIDENED_c128(x) (x)
#define NARROWED_c64(x) td_narrowed(x)
#define NARROWED_c128(x) (x)
#define DEFINE_COMPLEX_SCAN(sfx, ctype, ...) \
    static void reduce_scan_prod_##sfx(int64_t n, const char *xp, int64_t sx, int64_t lines, int64_t x_step, \
                                       char *out, int64_t so, int64_t out_step) \
    { \
        for (; lines > 0; lines--, xp += x_step, out += out_step) { \
            td_c128 acc = {1.0, 0.0}; \
            for (int64_t i = 0; i < n; i++) { \
                const td_c128 x = WIDENED_##sfx(READ(ctype, xp, sx, i)); \
                acc = i == 0 ? x : td_multiply_c128(acc, x); \
                STEP(ctype, out, so, i) = NARROWED_##sfx(acc); \
            } \
        } \
    }
TD_TYPES_COMPLEX(DEFINE_COMPLEX_SCAN, )

/* --- conversions: the real part by the loop of real types --------------------------------------------------------- */
#define DEFINE_CAST_TO_COMPLEX(from, FROM, to, part) \
    static void cast_##from##_##to(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        cast_##from##_##part(n, xp, sx, out, so); \
        for (int64_t i = 0; i < n; i++) \
            STEP(td_##to, out, so, i).im = 0; \
    }
#define TYPES_OF_ONE_PART(M, ...) TD_TYPES_ALL(M, __VA_ARGS__) TD_TYPES_HALF(M, __VA_ARGS__)
TYPES_OF_ONE_PART(DEFINE_CAST_TO_COMPLEX, c64, f32)
TYPES_OF_ONE_PART(DEFINE_CAST_TO_COMPLEX, c128, f64)

#define DEFINE_COMPLEX_CAST(from, to, body) \
    static void cast_##from##_##to(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        for (int64_t i = 0; i < n; i++) { \
            td_##from x = READ(td_##from, xp, sx, i); \
            STEP(td_##to, out, so, i) = body; \
        } \
    }
DEFINE_COMPLEX_CAST(c64, c64, x)
DEFINE_COMPLEX_CAST(c128, c128, x)
DEFINE_COMPLEX_CAST(c64, c128, td_widened(x))
DEFINE_COMPLEX_CAST(c128, c64, td_narrowed(x))
DEFINE_COMPLEX_CAST(c64, bool, !td_logical_not_c64(x))
DEFINE_COMPLEX_CAST(c128, bool, !td_logical_not_c128(x))
