/* The micro-kernels under the matrix product, one table an instruction set. _matmul.pyx does the cutting, the packing
 * and the threading; what stands here touches one tile, one sliver or a few dot products. All strides are in bytes. */
#ifndef TREADLE_MATMUL_KERNELS_H
#define TREADLE_MATMUL_KERNELS_H

#include "treadle/types.h"

typedef struct {
    int32_t rows;    /* of the largest tile */
    int32_t columns; /* of the largest tile; a packed sliver of b has this width */

    /* out[i, j] = sum over p < k of a[i, p] * b[p, j], for a tile of at most rows x columns, plus onto[i, j] unless that
     * is NULL: out itself, or a row that is added to all (onto_row 0). Columns of b, out and onto are dense; a may lie
     * anyhow. Never reads b past the given columns. */
    void (*tile)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, int64_t a_step, const char *b,
                 int64_t b_step, char *out, int64_t out_row, const char *onto, int64_t onto_row);

    /* Copies k rows of `columns` elements to to[p * width + j], for any strides of `from`. */
    void (*pack)(int64_t k, int64_t columns, int64_t width, const char *from, int64_t step, int64_t column, char *to);

    /* out[j] = sum over p < k of a[p] * b[p, j], for j < columns; a and the columns of b are dense along p. */
    void (*dots)(int64_t columns, int64_t k, const char *a, const char *b, int64_t b_column, char *out,
                 int64_t out_column);

    /* out[j] = sum over p < k of a[p] * b[p, j], for j < columns; rows of b and out are dense along j; k > 0. */
    void (*combine)(int64_t columns, int64_t k, const char *a, int64_t a_step, const char *b, int64_t b_step,
                    char *out);

    /* The rows of convolution lie at given offsets; window_loops.h says more. */
    void (*pack_at)(int64_t rows, int64_t columns, int64_t width, const char *from, const int64_t *offsets, char *to);
    void (*add_to_lines)(int64_t lines, int64_t columns, const char *from, int64_t from_line, const char *x, char *to,
                         int64_t to_line);
    void (*combine_at)(int64_t rows, int64_t columns, int64_t k, const char *a, const char *b, int64_t b_row,
                       const int64_t *offsets, char *out, int64_t out_row);
    void (*dots_at)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, const char *b,
                    int64_t b_row, const int64_t *offsets, char *out);
} td_matmul_tiles;

/* out[i, j] (+)= a[i, :] . b[:, j] for any strides, one loop after the other: what integers and bool need. */
typedef void (*td_matmul_plain)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, int64_t a_step,
                                const char *b, int64_t b_step, int64_t b_column, char *out, int64_t out_row,
                                int64_t out_column);

typedef struct {
    td_matmul_tiles f32;
    td_matmul_tiles f64;
    td_matmul_plain plain[TD_DTYPE_COUNT]; /* NULL for floating types */
    int32_t itemsize[TD_DTYPE_COUNT];
} td_matmul_kernels;

/* isa: TD_ISA_* of isa.h. */
const td_matmul_kernels *td_matmul_select(int isa);

#endif
