/* The loops of reductions, scans and index reductions. A part of slots_body.h.
 *
 * A dense row is folded into LANES accumulators side by side, which is what SIMD needs, and these are then folded
 * pairwise; long rows are cut into blocks of ROW_BLOCK, so that errors grow with the number of blocks only. */
#define LANES 32
#define ROW_BLOCK 4096

/* A row is read faster than the processor's own prefetching brings it from far caches. */
#define AHEAD 2048
#define PREFETCH_LANES(xs, ahead) \
    for (size_t at = 0; at < LANES * sizeof(*(xs)); at += 64) \
        __builtin_prefetch((const char *)(xs) + (ahead) + at);

/* Lines that are folded at once into accumulators side by side, which are then read and written less often. */
#define FOLDED_LINES 4
/* Lines that are scanned at once: each step of a scan waits for the one before it in its line. */
#define SCANNED_LINES 4

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
        if (n >= LANES) { \
            const T lowest = TD_LOWEST_##sfx, largest = TD_LARGEST_##sfx; \
            (void)lowest, (void)largest; \
            for (int lane = 0; lane < LANES; lane++) { \
                ACC acc = identity; \
                T x = xs[lane]; \
                lanes[lane] = combine; \
            } \
            i = LANES; \
        } else { \
            reduce_start_##op##_##sfx(LANES, (char *)lanes); \
        } \
        for (; i + LANES <= n; i += LANES) { \
            PREFETCH_LANES(xs + i, AHEAD) \
            for (int lane = 0; lane < LANES; lane++) { \
                ACC acc = lanes[lane]; \
                T x = xs[i + lane]; \
                lanes[lane] = combine; \
            } \
        } \
        for (int lane = 0; i < n; i++, lane++) { \
            ACC acc = lanes[lane]; \
            T x = xs[i]; \
            lanes[lane] = combine; \
        } \
        TD_UNROLLED \
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
    static void reduce_lines_##op##_##sfx(int64_t n, const char *xp, int64_t step, char *acc_) \
    { \
        typedef ctype T; \
        ACC *accs = (ACC *)acc_; \
        for (int64_t i = 0; i < n; i += LANES) { \
            ACC lanes[LANES]; \
            memcpy(lanes, accs + i, sizeof lanes); \
            for (int line = 0; line < FOLDED_LINES; line++) { \
                const T *xs = (const T *)(xp + line * step) + i; \
                PREFETCH_LANES(xs, FOLDED_LINES * step) \
                for (int lane = 0; lane < LANES; lane++) { \
                    ACC acc = lanes[lane]; \
                    T x = xs[lane]; \
                    lanes[lane] = combine; \
                } \
            } \
            memcpy(accs + i, lanes, sizeof lanes); \
        } \
    } \
    static void reduce_line_##op##_##sfx(int64_t n, const char *xp, int64_t sx, char *acc_) \
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
    static void reduce_column_##op##_##sfx(int64_t n, const char *xp, int64_t sx, int64_t lines, int64_t step, \
                                           char *acc) \
    { \
        typedef ctype T; \
        const int64_t whole = DENSE(T, sx) ? n / LANES * LANES : 0; \
        char *rest = acc + whole * (int64_t)sizeof(ACC); \
        for (; whole && lines >= FOLDED_LINES; lines -= FOLDED_LINES, xp += FOLDED_LINES * step) { \
            reduce_lines_##op##_##sfx(whole, xp, step, acc); \
            for (int line = 0; whole < n && line < FOLDED_LINES; line++) \
                reduce_line_##op##_##sfx(n - whole, xp + line * step + whole * sx, sx, rest); \
        } \
        for (; lines > 0; lines--, xp += step) \
            reduce_line_##op##_##sfx(n, xp, sx, acc); \
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
    static void scan_start_##op##_##sfx(int64_t n, char *acc_) \
    { \
        typedef ctype T; \
        (void)sizeof(T); \
        reduce_start_##op##_##sfx(n, acc_); \
        for (int64_t i = 0; i < n; i++) \
            ((ACC *)acc_)[i] = SCAN_START_##op(ACC, ((ACC *)acc_)[i]); \
    } \
    static void reduce_scan_##op##_##sfx(int64_t n, const char *xp, int64_t sx, int64_t lines, int64_t x_step, \
                                         char *outp, int64_t so, int64_t out_step) \
    { \
        typedef ctype T; \
        const double divisor = 1.0; \
        for (; lines >= SCANNED_LINES; lines -= SCANNED_LINES) { \
            ACC accs[SCANNED_LINES]; \
            scan_start_##op##_##sfx(SCANNED_LINES, (char *)accs); \
            for (int64_t i = 0; i < n; i++) \
                for (int line = 0; line < SCANNED_LINES; line++) { \
                    const T x = READ(T, xp + line * x_step, sx, i); \
                    char *const out = outp + line * out_step; \
                    ACC acc = accs[line]; \
                    acc = accs[line] = combine; \
                    FINISH_##op(T, ACC) \
                } \
            xp += SCANNED_LINES * x_step; \
            outp += SCANNED_LINES * out_step; \
        } \
        for (; lines > 0; lines--, xp += x_step, outp += out_step) { \
            ACC acc; \
            char *const out = outp; \
            scan_start_##op##_##sfx(1, (char *)&acc); \
            for (int64_t i = 0; i < n; i++) { \
                const T x = READ(T, xp, sx, i); \
                acc = combine; \
                FINISH_##op(T, ACC) \
            } \
        } \
    }
/* A scan always has a first element, and running sums of -0.0 are -0.0: only that leaves every number as it is. */
#define SCAN_START_sum(ACC, identity) ((ACC)-0.0)
#define SCAN_START_prod(ACC, identity) (identity)
#define SCAN_START_max(ACC, identity) (identity)
#define SCAN_START_min(ACC, identity) (identity)
#define SCAN_START_any(ACC, identity) (identity)
#define SCAN_START_all(ACC, identity) (identity)
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

/* The index of the first best element. The blocks' best ones are found first, in lanes; only the block that holds the
 * best of all is searched for the place. A column of several lines at once goes the same way: column keeps the best of
 * each line, merge where a block's beats those before. NaN is better than any number. */
#define ARG_BLOCK 1024
/* Two comparisons and a choice follow on each other in a lane: where there are registers, more lanes hide that. */
#ifdef TD_WITH_LANES
#define ARG_LANES (4 * LANES)
#else
#define ARG_LANES LANES
#endif
#define KEPT(better_or_equal, best, x) ((best)better_or_equal(x) || (best) != (best) ? (best) : (x))
#define DEFINE_ARG(sfx, ctype, name, better_or_equal) \
    static void name##_column_##sfx(int64_t n, const char *xp, int64_t sx, char *best_) \
    { \
        ctype *best = (ctype *)best_; \
        if (DENSE(ctype, sx)) { \
            const ctype *xs = (const ctype *)xp; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                best[i] = KEPT(better_or_equal, best[i], xs[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            const ctype x = READ(ctype, xp, sx, i); \
            best[i] = KEPT(better_or_equal, best[i], x); \
        } \
    } \
    static void name##_merge_##sfx(int64_t n, const char *xp, int64_t block, char *best_, int64_t *blocks) \
    { \
        const ctype *xs = (const ctype *)xp; \
        ctype *best = (ctype *)best_; \
        for (int64_t i = 0; i < n; i++) \
            if (!(best[i] better_or_equal xs[i] || best[i] != best[i])) { \
                best[i] = xs[i]; \
                blocks[i] = block; \
            } \
    } \
    static int64_t name##_first_##sfx(int64_t n, const ctype *xs, ctype best) \
    { \
        int64_t i = 0; \
        for (; best == best && i + ARG_LANES <= n; i += ARG_LANES) { \
            int found = 0; \
            for (int lane = 0; lane < ARG_LANES; lane++) \
                found |= xs[i + lane] == best; \
            if (found) \
                break; \
        } \
        for (; best == best && i + LANES <= n; i += LANES) { \
            int first = LANES; \
            for (int lane = 0; lane < LANES; lane++) { \
                const int here = xs[i + lane] == best ? lane : LANES; \
                first = here < first ? here : first; \
            } \
            if (first < LANES) \
                return i + first; \
        } \
        while (i < n - 1 && !(xs[i] == best || (xs[i] != xs[i] && best != best))) \
            i++; \
        return i; \
    } \
    static ctype name##_block_##sfx(int64_t n, const ctype *xs) \
    { \
        ctype lanes[ARG_LANES]; \
        int64_t i = 0; \
        const int started = n < ARG_LANES ? LANES : ARG_LANES; \
        for (int lane = 0; lane < started; lane++) \
            lanes[lane] = xs[0]; \
        for (; i + ARG_LANES <= n; i += ARG_LANES) { \
            for (int lane = 0; lane < ARG_LANES; lane += LANES) \
                PREFETCH_LANES(xs + i + lane, AHEAD) \
            for (int lane = 0; lane < ARG_LANES; lane++) \
                lanes[lane] = KEPT(better_or_equal, lanes[lane], xs[i + lane]); \
        } \
        for (int half = ARG_LANES / 2; i > 0 && half >= LANES; half /= 2) \
            for (int lane = 0; lane < half; lane++) \
                lanes[lane] = KEPT(better_or_equal, lanes[lane], lanes[lane + half]); \
        for (; i + LANES <= n; i += LANES) { \
            PREFETCH_LANES(xs + i, AHEAD) \
            for (int lane = 0; lane < LANES; lane++) \
                lanes[lane] = KEPT(better_or_equal, lanes[lane], xs[i + lane]); \
        } \
        for (int lane = 0; i < n; i++, lane++) \
            lanes[lane] = KEPT(better_or_equal, lanes[lane], xs[i]); \
        TD_UNROLLED \
        for (int half = LANES / 2; half; half /= 2) \
            for (int lane = 0; lane < half; lane++) \
                lanes[lane] = KEPT(better_or_equal, lanes[lane], lanes[lane + half]); \
        return lanes[0]; \
    } \
    static int64_t name##_##sfx(int64_t n, const char *xp, int64_t sx) \
    { \
        ctype best = READ(ctype, xp, sx, 0); \
        int64_t at = 0; \
        if (!DENSE(ctype, sx) || n < LANES) { \
            for (int64_t i = 1; i < n && best == best; i++) { \
                const ctype x = READ(ctype, xp, sx, i); \
                if (!(best better_or_equal x)) { \
                    best = x; \
                    at = i; \
                } \
            } \
            return at; \
        } \
        for (int64_t i = 0; i < n && best == best; i += ARG_BLOCK) { \
            const ctype x = name##_block_##sfx(n - i < ARG_BLOCK ? n - i : ARG_BLOCK, (const ctype *)xp + i); \
            if (!(best better_or_equal x)) { \
                best = x; \
                at = i; \
            } \
        } \
        return at + name##_first_##sfx(n - at < ARG_BLOCK ? n - at : ARG_BLOCK, (const ctype *)xp + at, best); \
    }
TD_TYPES_ALL(DEFINE_ARG, arg_max, >=)
TD_TYPES_ALL(DEFINE_ARG, arg_min, <=)
