/* Kernels of layers: what a composition of the elementwise ops and reductions would do in many passes over memory.
 * One table an instruction set, as in slots.h; the arrays are dense, and pointers may be NULL where it says "or NULL".
 * _layers.pyx cuts the work into blocks. */
#ifndef TREADLE_LAYERS_H
#define TREADLE_LAYERS_H

#include "treadle/types.h"

enum { TD_GRADIENT_gelu, TD_GRADIENT_gelu_tanh, TD_GRADIENT_sigmoid, TD_GRADIENT_tanh, TD_GRADIENT_relu,
       TD_GRADIENT_COUNT };

/* Windows over planes of three axes, of which the first may have length 1. A vector of places of the last axis reads
 * no more than TD_POOL_STAGE elements of a line. */
enum { TD_POOL_STAGE = 4096 };
typedef struct {
    int64_t length[3], places[3], kernel[3], stride[3], padding[3], dilation[3];
} td_pool;

typedef struct {
    int64_t rows, channels, width; /* (rows, width), or (rows, channels, width) with a number a channel */
    const char *x, *weight, *bias; /* weight and bias or NULL */
    const char *gradient;
    char *mean, *scale;            /* mean NULL where none is taken off */
    char *out;
    char *weight_gradient, *bias_gradient; /* or NULL; of rows a line for each block */
    double eps;
} td_norm;

typedef struct {
    int64_t size;
    const char *product, *given, *before; /* before: the cell's last state */
    char *gates, *cell, *shown, *hidden;  /* shown: tanh(cell) */
    char *d_cell;                         /* in and out */
    const char *d_shown;
    char *d_gates;
} td_lstm;

typedef struct {
    int64_t classes, ignored;
    const char *logits;
    const int64_t *targets;
    double smoothing;
    char *out;         /* a loss a row, or the gradient of the logits */
    const char *scale; /* of the gradient: one number, or one a row */
    int64_t scale_step;
} td_entropy;

/* Rows of a block of attention's scores, `step` elements apart; strides are in bytes. */
typedef struct {
    int64_t rows, columns, step, width; /* keys in the block; elements of a row of out */
    int64_t seen;                       /* keys of the block that the first row may look at, if causal each row one more */
    int causal, is_choice;
    double scale;
    const char *mask; /* or NULL: a byte that chooses, or a number to add */
    int64_t mask_row, mask_column;
    char *scores, *slopes;
    char *top;   /* a number a row: the largest score; in backward out times its gradient */
    double *sum; /* of exponentials, a row */
    char *total; /* a number a row: their logarithm */
    char *out;
    const char *gradient;
    int64_t out_row, gradient_row;
} td_attention;

typedef void (*td_attention_loop)(const td_attention *work);
typedef void (*td_gradient_loop)(int64_t n, const char *gradient, const char *saved, char *out);

typedef struct {
    /* out[i] = gradient[i] times the derivative, which is written in the operand (gelu) or the result (the others) */
    td_gradient_loop gradient[TD_GRADIENT_COUNT];
    /* One plane, which is followed by others up to `room` elements: the largest of every window, and where it is. */
    void (*max_pool)(const td_pool *pool, const char *x, int64_t room, char *values, int64_t *indices);
    /* Adds to the plane; 0 where an index lies outside of its n elements. */
    int (*max_pool_gradient)(int64_t places, int64_t n, const char *gradient, const int64_t *indices, char *out);
    void (*norm_rows)(const td_norm *norm, int64_t first, int64_t end);
    void (*norm_rows_gradient)(const td_norm *norm, int64_t first, int64_t end, int64_t block);
    void (*norm_channel)(const td_norm *norm, int64_t channel);
    void (*norm_channel_gradient)(const td_norm *norm, int64_t channel);
    void (*lstm)(const td_lstm *step, int64_t first, int64_t end);
    void (*lstm_gradient)(const td_lstm *step, int64_t first, int64_t end);
    /* 0 where a target is no class and not the ignored one. */
    int (*entropy)(const td_entropy *entropy, int64_t first, int64_t end);
    void (*entropy_gradient)(const td_entropy *entropy, int64_t first, int64_t end);
    td_attention_loop attention, attention_end, attention_dots, attention_gradient;
} td_layer_kernels;

typedef struct {
    td_layer_kernels types[TD_DTYPE_COUNT]; /* float32 and float64 */
} td_layers;

const td_layers *td_layers_select(int isa);

#endif
