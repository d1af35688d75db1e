/* The loops of reductions, scans and index reductions. A part of slots_body.h.
 *
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
