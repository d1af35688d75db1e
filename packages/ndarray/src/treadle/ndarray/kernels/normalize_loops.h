/* Squares about a mean, and softmax with its kin over one dense line. A part of slots_body.h, after reduce_loops.h.
 *
 * Each is several passes over a line that stays in a near cache. Exponentials are written to the output or a small
 * buffer, so that their loop is a vector loop of its own; sums are in double, as all sums are. */
#define EXP_BLOCK 256

#define DEFINE_SQUARES(sfx, ctype, unused) \
    static void squares_row_##sfx(int64_t n, const char *xp, int64_t sx, double center, char *acc) \
    { \
        double total = 0.0; \
        for (int64_t start = 0; start < n; start += ROW_BLOCK) { \
            const int64_t end = n - start < ROW_BLOCK ? n : start + ROW_BLOCK; \
            double lanes[LANES]; \
            int64_t i = start; \
            if (DENSE(ctype, sx) && start + LANES <= end) { \
                const ctype *xs = (const ctype *)xp; \
                for (int lane = 0; lane < LANES; lane++) { \
                    const double distance = (double)xs[i + lane] - center; \
                    lanes[lane] = distance * distance; \
                } \
                for (i += LANES; i + LANES <= end; i += LANES) { \
                    PREFETCH_LANES(xs + i, AHEAD) \
                    for (int lane = 0; lane < LANES; lane++) { \
                        const double distance = (double)xs[i + lane] - center; \
                        lanes[lane] += distance * distance; \
                    } \
                } \
            } else { \
                for (int lane = 0; lane < LANES; lane++) \
                    lanes[lane] = 0.0; \
            } \
            for (int lane = 0; i < end; i++, lane = (lane + 1) % LANES) { \
                const double distance = (double)READ(ctype, xp, sx, i) - center; \
                lanes[lane] += distance * distance; \
            } \
            TD_UNROLLED \
            for (int half = LANES / 2; half; half /= 2) \
                for (int lane = 0; lane < half; lane++) \
                    lanes[lane] += lanes[lane + half]; \
            total += lanes[0]; \
        } \
        *(double *)acc += total; \
    } \
    static void squares_column_##sfx(int64_t n, const char *xp, int64_t sx, const double *centers, char *acc_) \
    { \
        double *acc = (double *)acc_; \
        if (DENSE(ctype, sx)) { \
            const ctype *xs = (const ctype *)xp; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) { \
                const double distance = (double)xs[i] - centers[i]; \
                acc[i] += distance * distance; \
            } \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            const double distance = (double)READ(ctype, xp, sx, i) - centers[i]; \
            acc[i] += distance * distance; \
        } \
    }
TD_TYPES_FLOATING(DEFINE_SQUARES, )

#define DEFINE_EXP_SHIFTED(sfx, ctype, unused) \
    static void exp_shifted_##sfx(int64_t n, const ctype *xs, ctype shift, ctype *out) \
    { \
        TD_INDEPENDENT \
        for (int64_t i = 0; i < n; i++) \
            out[i] = td_exp(xs[i] - shift); \
    }
DEFINE_EXP_SHIFTED(f64, double, )
#ifdef TD_WITH_LANES
static void exp_shifted_f32(int64_t n, const float *xs, float shift, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = xs[i] - shift;
    lanes_exp(n, (const char *)out, sizeof(float), (char *)out, sizeof(float));
}
#else
DEFINE_EXP_SHIFTED(f32, float, )
#endif

#define DEFINE_SOFTMAX(sfx, ctype, unused) \
    static double exp_sum_##sfx(int64_t n, const ctype *xs, ctype shift, ctype *out) \
    { \
        ctype buffer[EXP_BLOCK]; \
        double total = 0.0; \
        for (int64_t start = 0; start < n; start += EXP_BLOCK) { \
            const int64_t count = n - start < EXP_BLOCK ? n - start : EXP_BLOCK; \
            ctype *powers = out ? out + start : buffer; \
            exp_shifted_##sfx(count, xs + start, shift, powers); \
            reduce_row_sum_##sfx(count, (const char *)powers, sizeof(ctype), (char *)&total); \
        } \
        return total; \
    } \
    static void softmax_##sfx(int64_t n, const char *xp, char *out, int form) \
    { \
        const ctype *xs = (const ctype *)xp; \
        ctype *os = (ctype *)out, top = (ctype)-INFINITY; \
        reduce_row_max_##sfx(n, xp, sizeof(ctype), (char *)&top); \
        if (form == TD_LOGSUMEXP) { \
            const ctype shift = top - top == 0 ? top : 0; \
            os[0] = (ctype)(log(exp_sum_##sfx(n, xs, shift, NULL)) + shift); \
        } else if (form == TD_LOG_SOFTMAX) { \
            const ctype total = (ctype)log(exp_sum_##sfx(n, xs, top, NULL)); \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                os[i] = xs[i] - top - total; \
        } else { \
            const ctype total = (ctype)exp_sum_##sfx(n, xs, top, os); \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                os[i] = os[i] / total; \
        } \
    }
TD_TYPES_FLOATING(DEFINE_SOFTMAX, )
