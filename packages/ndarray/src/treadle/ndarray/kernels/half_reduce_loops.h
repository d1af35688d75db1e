/* The reductions and scans of float16 and bfloat16. A part of slots_body.h.
 *
 * They are float's: with its accumulators, fed with blocks that were converted. */
static void half_row(int64_t n, const char *x, int64_t sx, char *acc, td_unary_loop widen,
                     void (*row)(int64_t, const char *, int64_t, char *))
{
    float values[ROW_BLOCK];
    for (int64_t i = 0; i < n; i += ROW_BLOCK) {
        int64_t block = SMALLER(n - i, ROW_BLOCK);
        widen(block, x + i * sx, sx, (char *)values, 4);
        row(block, (const char *)values, 4, acc);
    }
}

static void half_column(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t step, char *acc, int64_t acc_size,
                        td_unary_loop widen,
                        void (*column)(int64_t, const char *, int64_t, int64_t, int64_t, char *))
{
    float values[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t block = SMALLER(n - i, HALF_BLOCK);
        for (int64_t line = 0; line < lines; line++) {
            widen(block, x + line * step + i * sx, sx, (char *)values, 4);
            column(block, (const char *)values, 4, 1, 0, acc + i * acc_size);
        }
    }
}

/* Where an accumulator goes at the end: sums and products from double, the others as they are. */
static void half_finish(int64_t n, const char *acc, double divisor, char *out, int64_t so,
                        void (*finish)(int64_t, const char *, double, char *, int64_t), int64_t acc_size,
                        td_unary_loop narrow)
{
    double values[HALF_BLOCK];
    for (int64_t i = 0; i < n; i += HALF_BLOCK) {
        int64_t block = SMALLER(n - i, HALF_BLOCK);
        finish(block, acc + i * acc_size, divisor, (char *)values, acc_size);
        narrow(block, (const char *)values, acc_size, out + i * so, so);
    }
}

#define HALF_SIZE_sum 8
#define HALF_SIZE_prod 8
#define HALF_SIZE_max 4
#define HALF_SIZE_min 4
#define HALF_SIZE_any 1
#define HALF_SIZE_all 1
#define HALF_FINISH_WIDE(op, sfx) half_finish(n, acc, divisor, out, so, reduce_finish_##op##_f64, 8, cast_f64_##sfx)
#define HALF_FINISH_FLOAT(op, sfx) half_finish(n, acc, divisor, out, so, reduce_finish_##op##_f32, 4, cast_f32_##sfx)
#define HALF_FINISH_BOOL(op, sfx) reduce_finish_##op##_f32(n, acc, divisor, out, so)
#define HALF_FINISH_sum HALF_FINISH_WIDE
#define HALF_FINISH_prod HALF_FINISH_WIDE
#define HALF_FINISH_max HALF_FINISH_FLOAT
#define HALF_FINISH_min HALF_FINISH_FLOAT
#define HALF_FINISH_any HALF_FINISH_BOOL
#define HALF_FINISH_all HALF_FINISH_BOOL

#define DEFINE_HALF_REDUCE(sfx, op) \
    static void reduce_row_##op##_##sfx(int64_t n, const char *x, int64_t sx, char *acc) \
    { \
        half_row(n, x, sx, acc, cast_##sfx##_f32, reduce_row_##op##_f32); \
    } \
    static void reduce_column_##op##_##sfx(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t step, \
                                           char *acc) \
    { \
        half_column(n, x, sx, lines, step, acc, HALF_SIZE_##op, cast_##sfx##_f32, reduce_column_##op##_f32); \
    } \
    static void reduce_finish_##op##_##sfx(int64_t n, const char *acc, double divisor, char *out, int64_t so) \
    { \
        HALF_FINISH_##op(op, sfx); \
    } \
    static void reduce_scan_##op##_##sfx(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t x_step, \
                                         char *out, int64_t so, int64_t out_step) \
    { \
        for (; lines > 0; lines--, x += x_step, out += out_step) { \
            double acc; \
            scan_start_##op##_f32(1, (char *)&acc); \
            for (int64_t i = 0; i < n; i++) { \
                reduce_row_##op##_##sfx(1, x + i * sx, sx, (char *)&acc); \
                reduce_finish_##op##_##sfx(1, (const char *)&acc, 1.0, out + i * so, so); \
            } \
        } \
    }
#define X(op, TYPES, ...) HALVES_##TYPES(DEFINE_HALF_REDUCE, op)
TD_REDUCE_OPS(X, X)
#undef X
