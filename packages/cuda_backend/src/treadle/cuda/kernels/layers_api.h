/* What the binding calls of the fused kernels of layers; conventions as in api.h. Arrays are dense but where views are
 * taken, of one floating dtype; statistics are float for halves and else of that dtype. Pointers may be NULL where it
 * says "or NULL". */
#ifndef TREADLE_CUDA_LAYERS_API_H
#define TREADLE_CUDA_LAYERS_API_H

#include "treadle/types.h"

enum { TD_GRADIENT_gelu, TD_GRADIENT_gelu_tanh, TD_GRADIENT_sigmoid, TD_GRADIENT_tanh, TD_GRADIENT_relu };

/* (rows, width) with statistics a row, or (rows, channels, width) with a number a channel. The weight's and bias's
 * gradients, or NULL, are of the statistics' dtype: a number a channel; of rows, `parts` lines of numbers to be added. */
typedef struct {
    int dtype;
    int64_t rows, channels, width, parts;
    const void *x, *gradient, *weight, *bias; /* weight and bias or NULL */
    void *mean, *scale;                       /* mean NULL where none is taken off */
    void *out;                                /* or NULL in a gradient */
    void *weight_gradient, *bias_gradient;
    double eps;
} td_cuda_norm;

typedef struct {
    int dtype;
    int64_t batch, size;
    const void *product, *given, *before; /* before: the cell's last state */
    void *gates, *cell, *shown, *hidden;  /* shown: tanh(cell); gates i, f, g, o side by side */
    void *d_cell;                         /* in and out */
    const void *d_shown;
    void *d_gates;
} td_cuda_lstm;

typedef struct {
    int dtype;
    int64_t rows, classes, ignored;
    const void *logits;
    const int64_t *targets;
    double smoothing;
    void *out;         /* a loss a row, or the gradient of the logits */
    const void *scale; /* of the gradient: one number, or one a row */
    int64_t scale_step;
} td_cuda_entropy_rows;

/* Windows over planes of three axes, of which the first may have length 1. */
typedef struct {
    int dtype;
    int64_t planes;
    int64_t length[3], places[3], kernel[3], stride[3], padding[3], dilation[3];
} td_cuda_pooling;

/* The views have one batch shape before their last two axes, and any strides; mask, of bool or of the statistics' dtype,
 * or NULL. total is the logarithm of each query's sum of exponentials. */
typedef struct {
    const td_view *query, *key, *value, *mask, *total, *out;
    const td_view *gradient, *by_query, *by_key, *by_value; /* NULL in the forward call */
    int causal;
    int64_t past; /* causal: query i looks at keys up to i + past */
    double scale;
} td_cuda_attention_call;

#ifdef __cplusplus
extern "C" {
#endif

/* layers_gradients.cu */
int td_cuda_activation_gradient(int op, const td_view *gradient, const td_view *saved, const td_view *out);

/* layers_norm.cu */
int td_cuda_norm_rows(const td_cuda_norm *norm);
int td_cuda_norm_rows_gradient(const td_cuda_norm *norm);
int td_cuda_norm_channels(const td_cuda_norm *norm);
int td_cuda_norm_channels_gradient(const td_cuda_norm *norm);

/* layers_lstm.cu */
int td_cuda_lstm_step(const td_cuda_lstm *step);
int td_cuda_lstm_step_gradient(const td_cuda_lstm *step);

/* layers_entropy.cu. wrong: whether a target is no class and not the ignored one, for which the host waits; while a graph
 * is captured 0, and a later replay or synchronization fails. The loss of such a row is NaN. */
int td_cuda_entropy(const td_cuda_entropy_rows *entropy, int *wrong);
int td_cuda_entropy_gradient(const td_cuda_entropy_rows *entropy);

/* layers_pool.cu. wrong: whether an index is beyond its plane, as above; its gradient is left out. */
int td_cuda_max_pool(const td_cuda_pooling *windows, const void *x, void *values, int64_t *indices);
int td_cuda_max_pool_gradient(int dtype, int64_t planes, int64_t places, int64_t length, const void *gradient,
                              const int64_t *indices, void *out, int *wrong);

/* attention.cu. The most features and width of a dtype that there is a kernel for. */
int td_cuda_attention_limit(int dtype);
int td_cuda_attention(const td_cuda_attention_call *call);
int td_cuda_attention_gradient(const td_cuda_attention_call *call);

#ifdef __cplusplus
}
#endif

#endif
