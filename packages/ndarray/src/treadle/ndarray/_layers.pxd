from libc.stdint cimport int32_t, int64_t

cdef extern from "kernels/layers.h" nogil:
    ctypedef struct td_pool:
        int64_t length[3]
        int64_t places[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t padding[3]
        int64_t dilation[3]
    enum:
        TD_POOL_STAGE
    ctypedef struct td_norm:
        int64_t rows, channels, width
        const char *x
        const char *weight
        const char *bias
        const char *gradient
        char *mean
        char *scale
        char *out
        char *weight_gradient
        char *bias_gradient
        double eps
    ctypedef struct td_lstm:
        int64_t size
        const char *product
        const char *given
        const char *before
        char *gates
        char *cell
        char *shown
        char *hidden
        char *d_cell
        const char *d_shown
        char *d_gates
    ctypedef struct td_entropy:
        int64_t classes, ignored
        const char *logits
        const int64_t *targets
        double smoothing
        char *out
        const char *scale
        int64_t scale_step
    ctypedef struct td_attention:
        int64_t rows, columns, step, width, seen
        int causal, is_choice
        double scale
        const char *mask
        int64_t mask_row, mask_column
        char *scores
        char *slopes
        char *top
        double *sum
        char *total
        char *out
        const char *gradient
        int64_t out_row, gradient_row
    ctypedef void (*td_attention_loop)(const td_attention *work) noexcept nogil
    ctypedef void (*td_gradient_loop)(int64_t n, const char *gradient, const char *saved,
                                      char *out) noexcept nogil
    ctypedef struct td_layer_kernels:
        td_gradient_loop gradient[5]
        void (*max_pool)(const td_pool *pool, const char *x, int64_t room, char *values,
                         int64_t *indices) noexcept nogil
        int (*max_pool_gradient)(int64_t places, int64_t n, const char *gradient, const int64_t *indices,
                                 char *out) noexcept nogil
        void (*norm_rows)(const td_norm *norm, int64_t first, int64_t end) noexcept nogil
        void (*norm_rows_gradient)(const td_norm *norm, int64_t first, int64_t end, int64_t block) noexcept nogil
        void (*norm_channel)(const td_norm *norm, int64_t channel) noexcept nogil
        void (*norm_channel_gradient)(const td_norm *norm, int64_t channel) noexcept nogil
        void (*lstm)(const td_lstm *step, int64_t first, int64_t end) noexcept nogil
        void (*lstm_gradient)(const td_lstm *step, int64_t first, int64_t end) noexcept nogil
        int (*entropy)(const td_entropy *entropy, int64_t first, int64_t end) noexcept nogil
        void (*entropy_gradient)(const td_entropy *entropy, int64_t first, int64_t end) noexcept nogil
        td_attention_loop attention
        td_attention_loop attention_end
        td_attention_loop attention_dots
        td_attention_loop attention_gradient
    ctypedef struct td_layers:
        const td_layer_kernels types[15]
    const td_layers *td_layers_select(int isa)


cdef const td_layers *_layers


cdef struct Job:
    const td_layer_kernels *kernels
    td_gradient_loop loop
    const td_norm *norm
    const td_lstm *lstm
    const td_entropy *entropy
    const td_pool *pool
    const char *x
    const char *gradient
    char *out
    int64_t *indices
    int64_t rows, rows_per_block, width, places, itemsize
    int32_t failed
