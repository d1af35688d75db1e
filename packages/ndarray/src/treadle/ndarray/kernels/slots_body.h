/* Every inner loop, stamped from the scalar bodies. Included once an instruction set, with TD_SLOTS naming the table.
 *
 * The loops are plain C that the compiler vectorises: a dense version, for binary ops one with either operand held
 * (a scalar broadcast), and a strided one. An output may be the very same view as an operand, never a shifted one,
 * so no iteration depends on another: TD_INDEPENDENT says so. */
#include "slots.h"

#if defined(__clang__)
#define TD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TD_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define STEP(type, pointer, stride, i) (*(type *)((pointer) + (i) * (stride)))
#define READ(type, pointer, stride, i) (*(const type *)((pointer) + (i) * (stride)))
#define DENSE(type, stride) ((stride) == (int64_t)sizeof(type))

/* --- elementwise --------------------------------------------------------------------------------------------- */
#define DEFINE_UNARY(sfx, ctype, op, OUT, body) \
    static void unary_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        typedef ctype T; \
        if (DENSE(T, sx) && DENSE(OUT, so)) { \
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

/* --- conversion: what C does, but to bool by non-zero, and from floats to narrow integers through int64 ---------- */
#define CONVERT_bool(S, x) ((td_bool)((x) != 0))
#define CONVERT_integer(S, T, x) ((T)(int64_t)(x))
#define CONVERT_i8(S, x) CONVERT_integer(S, int8_t, x)
#define CONVERT_i16(S, x) CONVERT_integer(S, int16_t, x)
#define CONVERT_i32(S, x) CONVERT_integer(S, int32_t, x)
#define CONVERT_i64(S, x) CONVERT_integer(S, int64_t, x)
#define CONVERT_u8(S, x) CONVERT_integer(S, uint8_t, x)
#define CONVERT_u16(S, x) CONVERT_integer(S, uint16_t, x)
#define CONVERT_u32(S, x) CONVERT_integer(S, uint32_t, x)
#define CONVERT_u64(S, x) ((x) < (S)0 ? (uint64_t)(int64_t)(x) : (uint64_t)(x))
#define CONVERT_f32(S, x) ((float)(x))
#define CONVERT_f64(S, x) ((double)(x))
#define DEFINE_CAST(to, TO, from, FROM) \
    static void cast_##from##_##to(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        if (DENSE(FROM, sx) && DENSE(TO, so)) { \
            const FROM *xs = (const FROM *)xp; \
            TO *os = (TO *)out; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                os[i] = CONVERT_##to(FROM, xs[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            FROM x = READ(FROM, xp, sx, i); \
            STEP(TO, out, so, i) = CONVERT_##to(FROM, x); \
        } \
    }
#define CASTS_FROM(from, FROM) TD_TYPES_ALL(DEFINE_CAST, from, FROM)
CASTS_FROM(bool, td_bool)
CASTS_FROM(i8, int8_t) CASTS_FROM(i16, int16_t) CASTS_FROM(i32, int32_t) CASTS_FROM(i64, int64_t)
CASTS_FROM(u8, uint8_t) CASTS_FROM(u16, uint16_t) CASTS_FROM(u32, uint32_t) CASTS_FROM(u64, uint64_t)
CASTS_FROM(f32, float) CASTS_FROM(f64, double)

/* --- reductions ------------------------------------------------------------------------------------------------
 * A dense row is folded into LANES accumulators side by side, which is what SIMD needs, and these are then folded
 * pairwise; long rows are cut into blocks of ROW_BLOCK, so that errors grow with the number of blocks only. */
#define LANES 32
#define ROW_BLOCK 4096

#define DEFINE_REDUCE(sfx, ctype, op, ACC, identity, combine) \
    static void reduce_start_##op##_##sfx(int64_t n, char *acc_) \
    { \
        typedef ctype T; \
        const T lowest = TD_LOWEST_##sfx, largest = TD_LARGEST_##sfx; \
        (void)lowest, (void)largest; \
        for (int64_t i = 0; i < n; i++) \
            ((ACC *)acc_)[i] = identity; \
    } \
    static void reduce_block_##op##_##sfx(int64_t n, const ctype *xs, char *result) \
    { \
        typedef ctype T; \
        ACC lanes[LANES]; \
        int64_t i = 0; \
        reduce_start_##op##_##sfx(LANES, (char *)lanes); \
        for (; i + LANES <= n; i += LANES) \
            for (int lane = 0; lane < LANES; lane++) { \
                ACC acc = lanes[lane]; \
                T x = xs[i + lane]; \
                lanes[lane] = combine; \
            } \
        for (int lane = 0; i < n; i++, lane++) { \
            ACC acc = lanes[lane]; \
            T x = xs[i]; \
            lanes[lane] = combine; \
        } \
        for (int half = LANES / 2; half; half /= 2) \
            for (int lane = 0; lane < half; lane++) { \
                ACC acc = lanes[lane], x = lanes[lane + half]; \
                lanes[lane] = combine; \
            } \
        *(ACC *)result = lanes[0]; \
    } \
    static void reduce_row_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *acc_) \
    { \
        typedef ctype T; \
        ACC acc = *(ACC *)acc_; \
        if (DENSE(T, sx) && n >= LANES) { \
            for (int64_t i = 0; i < n; i += ROW_BLOCK) { \
                ACC x; \
                reduce_block_##op##_##sfx(n - i < ROW_BLOCK ? n - i : ROW_BLOCK, (const T *)xp + i, (char *)&x); \
                acc = combine; \
            } \
        } else { \
            for (int64_t i = 0; i < n; i++) { \
                T x = READ(T, xp, sx, i); \
                acc = combine; \
            } \
        } \
        *(ACC *)acc_ = acc; \
    } \
    static void reduce_column_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *acc_) \
    { \
        typedef ctype T; \
        ACC *accs = (ACC *)acc_; \
        if (DENSE(T, sx)) { \
            const T *xs = (const T *)xp; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) { \
                ACC acc = accs[i]; \
                T x = xs[i]; \
                accs[i] = combine; \
            } \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            ACC acc = accs[i]; \
            T x = READ(T, xp, sx, i); \
            accs[i] = combine; \
        } \
    } \
    static void reduce_merge_##op##_##sfx(int64_t n, const char *from, char *acc_) \
    { \
        typedef ctype T; \
        (void)sizeof(T); \
        for (int64_t i = 0; i < n; i++) { \
            ACC acc = ((ACC *)acc_)[i], x = ((const ACC *)from)[i]; \
            ((ACC *)acc_)[i] = combine; \
        } \
    } \
    static void reduce_finish_##op##_##sfx(int64_t n, const char *acc_, double divisor, char *out, int64_t so) \
    { \
        typedef ctype T; \
        (void)sizeof(T); \
        for (int64_t i = 0; i < n; i++) { \
            ACC acc = ((const ACC *)acc_)[i]; \
            FINISH_##op(T, ACC) \
        } \
    } \
    static void reduce_scan_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        typedef ctype T; \
        ACC acc; \
        reduce_start_##op##_##sfx(1, (char *)&acc); \
        for (int64_t i = 0; i < n; i++) { \
            T x = READ(T, xp, sx, i); \
            acc = combine; \
            double divisor = 1.0; \
            FINISH_##op(T, ACC) \
        } \
    }
/* A floating sum or product leaves in the operand's type, an integer one in its wide accumulator's. */
#define FLOATS(T) ((T)0.5 != 0)
#define FINISH_sum(T, ACC) \
    if (FLOATS(T)) \
        STEP(T, out, so, i) = (T)(divisor == 1.0 ? acc : acc / divisor); \
    else \
        STEP(ACC, out, so, i) = acc;
#define FINISH_prod(T, ACC) FINISH_sum(T, ACC)
#define FINISH_same(T, ACC) \
    (void)divisor; \
    STEP(ACC, out, so, i) = acc;
#define FINISH_max(T, ACC) FINISH_same(T, ACC)
#define FINISH_min(T, ACC) FINISH_same(T, ACC)
#define FINISH_any(T, ACC) FINISH_same(T, ACC)
#define FINISH_all(T, ACC) FINISH_same(T, ACC)
#define X(op, TYPES, ACC, identity, combine) TD_TYPES_##TYPES(DEFINE_REDUCE, op, ACC, identity, combine)
TD_REDUCE_OPS(X, X)
#undef X

#define DEFINE_ARG(sfx, ctype, name, better) \
    static int64_t name##_##sfx(int64_t n, const char *xp, int64_t sx) \
    { \
        typedef ctype T; \
        T best = READ(T, xp, sx, 0); \
        int64_t at = 0; \
        for (int64_t i = 1; i < n && best == best; i++) { \
            T x = READ(T, xp, sx, i); \
            if (better || x != x) { \
                best = x; \
                at = i; \
            } \
        } \
        return at; \
    }
TD_TYPES_ALL(DEFINE_ARG, arg_max, x > best)
TD_TYPES_ALL(DEFINE_ARG, arg_min, x < best)

/* --- optimizer updates ------------------------------------------------------------------------------------------ */
#define DEFINE_ADAM(sfx, ctype, name) \
    static void name##_##sfx(int64_t n, char *p, const char *g, char *m, char *v, const td_adam_settings *settings) \
    { \
        typedef ctype T; \
        const T beta1 = (T)settings->beta1, beta2 = (T)settings->beta2, eps = (T)settings->eps; \
        const T decay1 = (T)(1.0 - settings->beta1), decay2 = (T)(1.0 - settings->beta2); \
        const T decay = settings->decoupled ? 0 : (T)settings->weight_decay; \
        const T shrink = settings->decoupled ? (T)(1.0 - settings->lr * settings->weight_decay) : 1; \
        const T step = (T)(settings->lr / settings->correction1), root = (T)sqrt(settings->correction2); \
        const T sign = (T)settings->sign; \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) \
            td_adam_##sfx((T *)p + i, ((const T *)g)[i], (T *)m + i, (T *)v + i, beta1, beta2, decay1, decay2, \
                          eps, decay, shrink, step, root, sign); \
    }
TD_TYPES_FLOATING(DEFINE_ADAM, adam)

#define DEFINE_SGD(sfx, ctype, name) \
    static void name##_##sfx(int64_t n, char *p, const char *g, char *buffer, const td_sgd_settings *settings) \
    { \
        typedef ctype T; \
        const T lr = (T)settings->lr, momentum = (T)settings->momentum, damping = (T)(1.0 - settings->dampening); \
        const T decay = (T)settings->weight_decay, sign = (T)settings->sign; \
        const int nesterov = settings->nesterov != 0, first = settings->first_step != 0; \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) \
            td_sgd_##sfx((T *)p + i, ((const T *)g)[i], buffer ? (T *)buffer + i : NULL, lr, momentum, damping, decay, \
                         nesterov, first, sign); \
    }
TD_TYPES_FLOATING(DEFINE_SGD, sgd)

/* --- random words: Philox blocks side by side, which is what SIMD needs ------------------------------------------ */
#define PHILOX_WIDTH 16
static void random_words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t *words)
{
    int64_t block = 0;
    for (; block + PHILOX_WIDTH <= blocks; block += PHILOX_WIDTH) {
        uint32_t c0[PHILOX_WIDTH], c1[PHILOX_WIDTH], c2[PHILOX_WIDTH], c3[PHILOX_WIDTH];
        for (int i = 0; i < PHILOX_WIDTH; i++) {
            uint64_t number = counter + (uint64_t)block + (uint64_t)i;
            c0[i] = (uint32_t)number;
            c1[i] = (uint32_t)(number >> 32);
            c2[i] = c3[i] = 0;
        }
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int round = 0; round < TD_PHILOX_ROUNDS; round++) {
            for (int i = 0; i < PHILOX_WIDTH; i++)
                td_philox_round(&c0[i], &c1[i], &c2[i], &c3[i], k0, k1);
            k0 += TD_PHILOX_WEYL_0;
            k1 += TD_PHILOX_WEYL_1;
        }
        for (int i = 0; i < PHILOX_WIDTH; i++, words += 4) {
            words[0] = c0[i];
            words[1] = c1[i];
            words[2] = c2[i];
            words[3] = c3[i];
        }
    }
    for (; block < blocks; block++, words += 4)
        td_philox(key, counter + (uint64_t)block, words);
}

/* --- the table -------------------------------------------------------------------------------------------------- */
#define SLOT_UNARY(sfx, ctype, op) [TD_UNARY_##op][TD_##sfx] = unary_##op##_##sfx,
#define SLOT_BINARY(sfx, ctype, op) [TD_BINARY_##op][TD_##sfx] = binary_##op##_##sfx,
#define SLOT_TERNARY(sfx, ctype, op) [TD_TERNARY_##op][TD_##sfx] = ternary_##op##_##sfx,
#define SLOT_CAST(to, ctype, from) [TD_##from][TD_##to] = cast_##from##_##to,
#define SLOT_REDUCE(sfx, ctype, op, ACC) \
    [TD_REDUCE_##op][TD_##sfx] = {reduce_start_##op##_##sfx, reduce_row_##op##_##sfx, reduce_column_##op##_##sfx, \
                                  reduce_merge_##op##_##sfx, reduce_finish_##op##_##sfx, reduce_scan_##op##_##sfx},
#define SLOT_TYPE(sfx, ctype, name) [TD_##sfx] = name##_##sfx,
#define CASTS(from) TD_TYPES_ALL(SLOT_CAST, from)

const td_slots TD_SLOTS = {
#define X(op, TYPES, ...) TD_TYPES_##TYPES(SLOT_UNARY, op)
    .unary = {TD_UNARY_OPS(X, X)},
#undef X
#define X(op, TYPES, ...) TD_TYPES_##TYPES(SLOT_BINARY, op)
    .binary = {TD_BINARY_OPS(X, X)},
#undef X
#define X(op, TYPES, ...) TD_TYPES_##TYPES(SLOT_TERNARY, op)
    .ternary = {TD_TERNARY_OPS(X, X)},
#undef X
    .cast = {CASTS(bool) CASTS(i8) CASTS(i16) CASTS(i32) CASTS(i64) CASTS(u8) CASTS(u16) CASTS(u32) CASTS(u64)
                 CASTS(f32) CASTS(f64)},
#define X(op, TYPES, ACC, ...) TD_TYPES_##TYPES(SLOT_REDUCE, op, ACC)
    .reduce = {TD_REDUCE_OPS(X, X)},
#undef X
    .arg_max = {TD_TYPES_ALL(SLOT_TYPE, arg_max)},
    .arg_min = {TD_TYPES_ALL(SLOT_TYPE, arg_min)},
    .adam = {TD_TYPES_FLOATING(SLOT_TYPE, adam)},
    .sgd = {TD_TYPES_FLOATING(SLOT_TYPE, sgd)},
    .random_words = random_words,
};
