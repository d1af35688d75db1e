"""The functions of kernels/layers_api.h."""

from libc.stdint cimport int64_t

from treadle.cuda._api cimport td_view

cdef extern from "layers_api.h" nogil:
    enum:
        TD_GRADIENT_gelu
        TD_GRADIENT_gelu_tanh
        TD_GRADIENT_sigmoid
        TD_GRADIENT_tanh
        TD_GRADIENT_relu
    ctypedef struct td_cuda_norm:
        int dtype
        int64_t rows, channels, width, parts
        const void *x
        const void *gradient
        const void *weight
        const void *bias
        void *mean
        void *scale
        void *out
        void *weight_gradient
        void *bias_gradient
        double eps
    ctypedef struct td_cuda_lstm:
        int dtype
        int64_t batch, size
        const void *product
        const void *given
        const void *before
        void *gates
        void *cell
        void *shown
        void *hidden
        void *d_cell
        const void *d_shown
        void *d_gates
    ctypedef struct td_cuda_entropy_rows:
        int dtype
        int64_t rows, classes, ignored
        const void *logits
        const int64_t *targets
        double smoothing
        void *out
        const void *scale
        int64_t scale_step
    ctypedef struct td_cuda_pooling:
        int dtype
        int64_t planes
        int64_t length[3]
        int64_t places[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t padding[3]
        int64_t dilation[3]
    ctypedef struct td_cuda_attention_call:
        const td_view *query
        const td_view *key
        const td_view *value
        const td_view *mask
        const td_view *total
        const td_view *out
        const td_view *gradient
        const td_view *by_query
        const td_view *by_key
        const td_view *by_value
        int causal
        int64_t past
        double scale

    int td_cuda_activation_gradient(int op, const td_view *gradient, const td_view *saved, const td_view *out)
    int td_cuda_norm_rows(const td_cuda_norm *norm)
    int td_cuda_norm_rows_gradient(const td_cuda_norm *norm)
    int td_cuda_norm_channels(const td_cuda_norm *norm)
    int td_cuda_norm_channels_gradient(const td_cuda_norm *norm)
    int td_cuda_lstm_step(const td_cuda_lstm *step)
    int td_cuda_lstm_step_gradient(const td_cuda_lstm *step)
    int td_cuda_entropy(const td_cuda_entropy_rows *entropy, int *wrong)
    int td_cuda_entropy_gradient(const td_cuda_entropy_rows *entropy)
    int td_cuda_max_pool(const td_cuda_pooling *windows, const void *x, void *values, int64_t *indices)
    int td_cuda_max_pool_gradient(int dtype, int64_t planes, int64_t places, int64_t length, const void *gradient,
                                  const int64_t *indices, void *out, int *wrong)
    int td_cuda_attention_limit(int dtype)
    int td_cuda_attention(const td_cuda_attention_call *call)
    int td_cuda_attention_gradient(const td_cuda_attention_call *call)
