/* Moving tiles: transposed copies of operands that lie across, outputs that go past the caches. */
#ifndef TREADLE_TILES_H
#define TREADLE_TILES_H

#include <stdint.h>

#include "treadle/types.h"

/* By dtype, in bytes. */
static const int64_t td_item_sizes[TD_DTYPE_COUNT] = {
    [TD_bool] = 1, [TD_i8] = 1, [TD_i16] = 2, [TD_i32] = 4, [TD_i64] = 8, [TD_u8] = 1, [TD_u16] = 2, [TD_u32] = 4,
    [TD_u64] = 8, [TD_f16] = 2, [TD_bf16] = 2, [TD_f32] = 4, [TD_f64] = 8, [TD_c64] = 8, [TD_c128] = 16,
};

/* out[j][i] = x[i][j] for i < lines and j < length. The elements of an output row lie densely, its rows so apart, in
 * bytes; x has any strides. itemsize is a power of two up to 16. */
void td_transpose(int64_t itemsize, int64_t lines, int64_t length, const char *x, int64_t line_stride, int64_t stride,
                  char *out, int64_t out_stride);

/* Asks for so many lines of so many bytes, which a walk comes to next; they need not exist. */
#define CACHE_LINE 64
static inline void td_prefetch(int64_t lines, int64_t bytes, const char *x, int64_t line_stride)
{
    for (int64_t line = 0; line < lines; line++)
        for (int64_t at = 0; at < bytes; at += CACHE_LINE)
            __builtin_prefetch(x + line * line_stride + at, 0, 2);
}

/* memcpy that writes whole cache lines past the caches; a line that is overwritten whole need not be fetched first.
 * td_stream_fence comes before another thread may read the result. */
void td_stream(char *out, const char *x, int64_t bytes);
void td_stream_fence(void);

#endif
