/* The table of one instruction set. The including file has defined its vectors:
 *
 *   MATMUL_KERNELS           the table's name
 *   VECTOR_BYTES             of a register
 *   TILE_ROWS                of the largest tile (which is two vectors wide), EACH_ROW_COUNT its EACH_TO_n
 *   WHOLE_TILES_APART        1 if tiles without a partial vector deserve their own code
 *   vector_T, mask_T         types, for T in f32, f64
 *   MASK_T(count)            selects the first count lanes
 *   SPREAD_T(x)              x in every lane
 *   FMA_T(x, y, z)           x * y + z
 *   LOAD_PART_T, STORE_PART_T   touch the masked lanes only; other lanes load as zero
 */
#include <string.h>

#define JOIN_(x, y) x##_##y
#define JOIN(x, y) JOIN_(x, y)
#define INLINE static inline __attribute__((always_inline))

/* Lanes of two vectors joined, by number; WORD is the unsigned integer of a lane's size. */
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(WORD, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(WORD, x, y, ...) \
    __builtin_shuffle(x, y, (WORD __attribute__((vector_size(4 * sizeof(WORD))))){__VA_ARGS__})
#endif

#define EACH_TO_4(M) M(1) M(2) M(3) M(4)
#define EACH_TO_6(M) EACH_TO_4(M) M(5) M(6)
#define EACH_TO_8(M) EACH_TO_6(M) M(7) M(8)
#define EACH_TO_14(M) EACH_TO_8(M) M(9) M(10) M(11) M(12) M(13) M(14)

#define T float
#define SUFFIX f32
#define WORD uint32_t
#include "matmul_tiles.h"
#include "window_loops.h"
#undef T
#undef SUFFIX
#undef WORD

#define T double
#define SUFFIX f64
#define WORD uint64_t
#include "matmul_tiles.h"
#include "window_loops.h"
#undef T
#undef SUFFIX
#undef WORD

/* --- integers and bool ------------------------------------------------------------------------------------------
 * Where both operands are dense along p: dot products. Otherwise out[i, :] takes a[i, p] times row p of b, in runs
 * short enough for the first cache. Arithmetic is in 64-bit unsigned cut to the type, so it wraps. */
#define RUN 1024

#define DEFINE_PLAIN(sfx, ctype, combine) \
    INLINE void plain_run_##sfx(int64_t width, int64_t k, const char *a, int64_t a_step, const char *b, \
                                int64_t b_step, int64_t b_column, ctype *sums) \
    { \
        memset(sums, 0, (size_t)width * sizeof(ctype)); \
        for (int64_t p = 0; p < k; p++, a += a_step, b += b_step) { \
            const ctype x = *(const ctype *)a; \
            for (int64_t j = 0; j < width; j++) { \
                const ctype y = *(const ctype *)(b + j * b_column), sum = sums[j]; \
                sums[j] = (ctype)(combine); \
            } \
        } \
    } \
    INLINE void plain_dots_##sfx(int64_t width, int64_t k, const ctype *a, const char *b, int64_t b_column, \
                                 ctype *sums) \
    { \
        for (int64_t j = 0; j < width; j++, b += b_column) { \
            const ctype *column = (const ctype *)b; \
            ctype sum = 0; \
            for (int64_t p = 0; p < k; p++) { \
                const ctype x = a[p], y = column[p]; \
                sum = (ctype)(combine); \
            } \
            sums[j] = sum; \
        } \
    } \
    static void plain_##sfx(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, int64_t a_step, \
                            const char *b, int64_t b_step, int64_t b_column, char *out, int64_t out_row, \
                            int64_t out_column) \
    { \
        const int64_t size = (int64_t)sizeof(ctype); \
        ctype sums[RUN]; \
        for (int64_t start = 0; start < columns; start += RUN, b += RUN * b_column, out += RUN * out_column) { \
            const int64_t width = columns - start < RUN ? columns - start : RUN; \
            for (int64_t i = 0; i < rows; i++) { \
                const char *row = a + i * a_row; \
                if (b_column == size) \
                    plain_run_##sfx(width, k, row, a_step, b, b_step, size, sums); \
                else if (a_step == size && b_step == size) \
                    plain_dots_##sfx(width, k, (const ctype *)row, b, b_column, sums); \
                else \
                    plain_run_##sfx(width, k, row, a_step, b, b_step, b_column, sums); \
                for (int64_t j = 0; j < width; j++) \
                    *(ctype *)(out + i * out_row + j * out_column) = sums[j]; \
            } \
        } \
    }
#define SUM_OF_PRODUCTS ((uint64_t)sum + (uint64_t)x * (uint64_t)y)
TD_TYPES_INTEGER(DEFINE_PLAIN, SUM_OF_PRODUCTS)
TD_TYPES_BOOL(DEFINE_PLAIN, sum | (x & y))

#define PLAIN_SLOT(sfx, ctype, ...) [TD_##sfx] = plain_##sfx,
#define ITEMSIZE_SLOT(sfx, ctype, ...) [TD_##sfx] = sizeof(ctype),
#define TILE_SLOTS(sfx) \
    {TILE_ROWS, 2 * VECTOR_BYTES / (int)sizeof(JOIN(element, sfx)), JOIN(tile, sfx), JOIN(pack, sfx), JOIN(dots, sfx), \
     JOIN(combine, sfx), JOIN(pack_at, sfx), JOIN(add_to_lines, sfx), JOIN(combine_at, sfx), \
     JOIN(dots_at, sfx)}

const td_matmul_kernels MATMUL_KERNELS = {
    .f32 = TILE_SLOTS(f32),
    .f64 = TILE_SLOTS(f64),
    .plain = {TD_TYPES_INTEGER(PLAIN_SLOT, ) TD_TYPES_BOOL(PLAIN_SLOT, )},
    .itemsize = {TD_TYPES_ALL(ITEMSIZE_SLOT, )},
};
