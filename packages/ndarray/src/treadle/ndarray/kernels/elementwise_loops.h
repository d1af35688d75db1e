/* The loops of the elementwise ops. A part of slots_body.h.
 *
 * Each is plain C that the compiler vectorises: a dense version, for binary ops one with either operand held
 * (a scalar broadcast), and a strided one. An output may be the very same view as an operand, never a shifted one,
 * so no iteration depends on another: TD_INDEPENDENT says so. */
/* sin, cos and tan of a huge argument call the C library, which no SIMD loop can. So a dense operand is looked at block by
 * block, and a block without such an argument goes through a loop that knows so. */
#define MAY_BE_HUGE(op) (TD_UNARY_##op == TD_UNARY_sin || TD_UNARY_##op == TD_UNARY_cos || TD_UNARY_##op == TD_UNARY_tan)
#define HUGE_BLOCK 2048
#define DEFINE_ANY_HUGE(sfx, ctype, limit) \
    static int any_huge_##sfx(int64_t n, const ctype *xs) \
    { \
        int any = 0; \
        for (int64_t i = 0; i < n; i++) \
            any |= xs[i] > limit || xs[i] < -limit; \
        return any; \
    }
DEFINE_ANY_HUGE(f32, float, TD_USUAL_F32)
DEFINE_ANY_HUGE(f64, double, TD_USUAL_F64)
static int never_huge(int64_t n, const void *xs) { return (void)n, (void)xs, 0; }
#define ANY_HUGE(n, xs) \
    _Generic((xs), const float *: any_huge_f32, const double *: any_huge_f64, default: never_huge)(n, xs)

#define DEFINE_UNARY(sfx, ctype, op, OUT, body) \
    static void unary_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        typedef ctype T; \
        for (; MAY_BE_HUGE(op) && n > HUGE_BLOCK; n -= HUGE_BLOCK, xp += HUGE_BLOCK * sx, out += HUGE_BLOCK * so) \
            unary_##op##_##sfx(HUGE_BLOCK, xp, sx, out, so); \
        if (DENSE(T, sx) && DENSE(OUT, so) && !(MAY_BE_HUGE(op) && ANY_HUGE(n, (const T *)xp))) { \
            enum { td_all_usual = 1 }; \
            const T *xs = (const T *)xp; \
            OUT *os = (OUT *)out; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) { \
                T x = xs[i]; \
                (void)x; \
                os[i] = (OUT)(body); \
            } \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            T x = READ(T, xp, sx, i); \
            (void)x; \
            STEP(OUT, out, so, i) = (OUT)(body); \
        } \
    }
#define X(op, TYPES, OUT, body) TD_TYPES_##TYPES(DEFINE_UNARY, op, OUT, body)
TD_UNARY_OPS(X, X)
#undef X

#define BINARY_LOOP(OUT, body, x_value, y_value) \
    { \
        OUT *os = (OUT *)out; \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) { \
            T x = x_value, y = y_value; \
            os[i] = (OUT)(body); \
        } \
        return; \
    }
#define DEFINE_BINARY(sfx, ctype, op, OUT, body) \
    static void binary_##op##_##sfx(int64_t n, const char *xp, int64_t sx, const char *yp, int64_t sy, char *out, \
                                    int64_t so) \
    { \
        typedef ctype T; \
        if (DENSE(OUT, so)) { \
            const T *xs = (const T *)xp, *ys = (const T *)yp; \
            if (DENSE(T, sx) && DENSE(T, sy)) \
                BINARY_LOOP(OUT, body, xs[i], ys[i]) \
            if (DENSE(T, sx) && sy == 0 && n > 1) { \
                const T held = *ys; \
                BINARY_LOOP(OUT, body, xs[i], held) \
            } \
            if (sx == 0 && DENSE(T, sy) && n > 1) { \
                const T held = *xs; \
                BINARY_LOOP(OUT, body, held, ys[i]) \
            } \
        } \
        for (int64_t i = 0; i < n; i++) { \
            T x = READ(T, xp, sx, i), y = READ(T, yp, sy, i); \
            STEP(OUT, out, so, i) = (OUT)(body); \
        } \
    }
#define X(op, TYPES, OUT, body) TD_TYPES_##TYPES(DEFINE_BINARY, op, OUT, body)
TD_BINARY_OPS(X, X)
#undef X

/* where is the one op whose first operand has another type than the rest. */
#define WHERE_LOOP(body, x_value, y_value) \
    { \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) { \
            td_bool c = cs[i]; \
            T x = x_value, y = y_value; \
            os[i] = (body); \
        } \
        return; \
    }
#define DEFINE_WHERE(sfx, ctype, op, OUT, body) \
    static void ternary_##op##_##sfx(int64_t n, const char *cp, int64_t sc, const char *xp, int64_t sx, const char *yp, \
                                     int64_t sy, char *out, int64_t so) \
    { \
        typedef ctype T; \
        if (DENSE(td_bool, sc) && DENSE(T, so) && n > 1) { \
            const td_bool *cs = (const td_bool *)cp; \
            const T *xs = (const T *)xp, *ys = (const T *)yp; \
            T *os = (T *)out; \
            if (DENSE(T, sx) && DENSE(T, sy)) \
                WHERE_LOOP(body, xs[i], ys[i]) \
            if (DENSE(T, sx) && sy == 0) { \
                const T held = *ys; \
                WHERE_LOOP(body, xs[i], held) \
            } \
            if (sx == 0 && DENSE(T, sy)) { \
                const T held = *xs; \
                WHERE_LOOP(body, held, ys[i]) \
            } \
        } \
        for (int64_t i = 0; i < n; i++) { \
            td_bool c = READ(td_bool, cp, sc, i); \
            T x = READ(T, xp, sx, i), y = READ(T, yp, sy, i); \
            STEP(T, out, so, i) = (body); \
        } \
    }
#define DEFINE_TERNARY(sfx, ctype, op, OUT, body) \
    static void ternary_##op##_##sfx(int64_t n, const char *xp, int64_t sx, const char *yp, int64_t sy, const char *zp, \
                                     int64_t sz, char *out, int64_t so) \
    { \
        typedef ctype T; \
        if (DENSE(T, sx) && sy == 0 && sz == 0 && DENSE(T, so) && n > 1) { \
            const T *xs = (const T *)xp; \
            T *os = (T *)out; \
            const T y = *(const T *)yp, z = *(const T *)zp; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) { \
                T x = xs[i]; \
                os[i] = (OUT)(body); \
            } \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            T x = READ(T, xp, sx, i), y = READ(T, yp, sy, i), z = READ(T, zp, sz, i); \
            STEP(OUT, out, so, i) = (OUT)(body); \
        } \
    }
#define DEFINER_where DEFINE_WHERE
#define DEFINER_clip DEFINE_TERNARY
#define X(op, TYPES, OUT, body) TD_TYPES_##TYPES(DEFINER_##op, op, OUT, body)
TD_TERNARY_OPS(X, X)
#undef X
