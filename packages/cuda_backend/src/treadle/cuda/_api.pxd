"""The functions of kernels/api.h."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "api.h" nogil:
    enum:
        TD_MAX_NDIM
        TD_UNARY_COUNT
        TD_BINARY_COUNT
        TD_TERNARY_COUNT
        TD_REDUCE_COUNT
        TD_ARG_max
        TD_ARG_min
        TD_SCAN_sum
        TD_SCAN_prod
        TD_SOFTMAX_quotient
        TD_SOFTMAX_log
        TD_SOFTMAX_sum
        TD_CONV_forward
        TD_CONV_input
        TD_CONV_weight
        TD_DRAW_bits
        TD_DRAW_uniform
        TD_DRAW_normal
        TD_DRAW_integers
        TD_DRAW_bernoulli
    ctypedef struct td_view:
        char *data
        int32_t dtype
        int32_t ndim
        int64_t shape[32]
        int64_t strides[32]
    ctypedef struct td_cuda_draw:
        int kind
        uint64_t key
        uint64_t counter
        double first
        double second
        int64_t low
        uint64_t span
    ctypedef struct td_cuda_windows:
        int64_t stride[32]
        int64_t padding[32]
        int64_t dilation[32]
        int64_t groups
    ctypedef struct td_adam_settings:
        double lr, beta1, beta2, eps, weight_decay, decoupled, correction1, correction2, sign
    ctypedef struct td_sgd_settings:
        double lr, momentum, dampening, weight_decay, nesterov, first_step, sign

    const char *const td_cuda_unary_names[]
    const char *const td_cuda_binary_names[]
    const char *const td_cuda_ternary_names[]
    const char *const td_cuda_reduce_names[]
    void td_cuda_limit_blocks(int64_t blocks)
    int td_cuda_copy(const td_view *x, const td_view *out)
    int td_cuda_fill(const td_view *out, double real, double imaginary, int64_t whole)
    int td_cuda_arange(const td_view *out, double start, double step, int64_t whole_start, int64_t whole_step)
    int td_cuda_unary(int op, const td_view *x, const td_view *out)
    int td_cuda_binary(int op, const td_view *x, const td_view *y, const td_view *out)
    int td_cuda_ternary(int op, const td_view *x, const td_view *y, const td_view *z, const td_view *out)
    int td_cuda_reduce(int op, const td_view *x, uint32_t axes, const td_view *out)
    int td_cuda_variance(const td_view *x, uint32_t axes, double correction, const td_view *out)
    int td_cuda_arg_reduce(int op, const td_view *x, int axis, const td_view *out)
    int td_cuda_scan(int op, const td_view *x, int axis, const td_view *out)
    int td_cuda_sort(const td_view *x, int axis, int descending, const td_view *values, const td_view *places)
    int td_cuda_matmul(const td_view *x, const td_view *y, const td_view *out)
    int td_cuda_allow_tf32(int allowed)
    int td_cuda_allow_wgmma(int allowed, int again)
    int td_cuda_wgmma_verdict(int device, int kind)
    const char *td_cuda_wgmma_warning()
    int td_cuda_conv(int which, const td_view *first, const td_view *second, const td_cuda_windows *windows,
                     const td_view *out)
    int td_cuda_gather(const td_view *x, const td_view *indices, int count, const td_view *out)
    int td_cuda_scatter(const td_view *out, const td_view *indices, int count, const td_view *values, int accumulate)
    int td_cuda_check_range(const td_view *numbers, int64_t stop, const int64_t *ignored, const char *text, int *wrong,
                            int64_t *number)
    int64_t td_cuda_nonzero_space(const td_view *x)
    int td_cuda_nonzero_count(const td_view *x, void *space, int64_t *found)
    int td_cuda_nonzero_write(const td_view *x, const void *space, const td_view *out)
    int td_cuda_random(const td_cuda_draw *draw, const td_view *out)
    int td_cuda_softmax(int result, const td_view *x, int axis, const td_view *out)
    int td_cuda_adam_step(const td_view *parameter, const td_view *gradient, const td_view *first,
                          const td_view *second, const td_adam_settings *hyper)
    int td_cuda_sgd_step(const td_view *parameter, const td_view *gradient, const td_view *momentum,
                         const td_sgd_settings *hyper)
