from libc.stdint cimport int64_t, uint32_t, uint64_t

from treadle.ndarray._types cimport td_view

cdef extern from "kernels/slots.h" nogil:
    enum:
        TD_UNARY_COUNT
        TD_BINARY_COUNT
        TD_UNARY_negative
        TD_BINARY_add
        TD_BINARY_multiply
        TD_TERNARY_COUNT
        TD_REDUCE_COUNT
        TD_TERNARY_where
        TD_TERNARY_clip
        TD_SOFTMAX
        TD_LOG_SOFTMAX
        TD_LOGSUMEXP
    ctypedef void (*td_unary_loop)(int64_t n, const char *x, int64_t sx, char *out, int64_t so) noexcept nogil
    ctypedef void (*td_binary_loop)(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, char *out,
                                    int64_t so) noexcept nogil
    ctypedef void (*td_ternary_loop)(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, const char *z,
                                     int64_t sz, char *out, int64_t so) noexcept nogil
    ctypedef struct td_reduction:
        void (*start)(int64_t n, char *acc) noexcept nogil
        void (*row)(int64_t n, const char *x, int64_t sx, char *acc) noexcept nogil
        void (*column)(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t step, char *acc) noexcept nogil
        void (*merge)(int64_t n, const char *source, char *acc) noexcept nogil
        void (*finish)(int64_t n, const char *acc, double divisor, char *out, int64_t so) noexcept nogil
        void (*scan_start)(int64_t n, char *acc) noexcept nogil
        void (*scan)(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t x_step, char *out, int64_t so,
                     int64_t out_step) noexcept nogil
    ctypedef struct td_arg_reduction:
        int64_t (*row)(int64_t n, const char *x, int64_t sx) noexcept nogil
        void (*column)(int64_t n, const char *x, int64_t sx, char *best) noexcept nogil
        void (*merge)(int64_t n, const char *x, int64_t block, char *best, int64_t *blocks) noexcept nogil
    ctypedef struct td_squares:
        void (*row)(int64_t n, const char *x, int64_t sx, double center, char *acc) noexcept nogil
        void (*column)(int64_t n, const char *x, int64_t sx, const double *centers, char *acc) noexcept nogil
    ctypedef void (*td_softmax_loop)(int64_t n, const char *x, char *out, int form) noexcept nogil
    ctypedef struct td_adam_settings:
        double lr, beta1, beta2, eps, weight_decay, decoupled, correction1, correction2, sign
    ctypedef struct td_sgd_settings:
        double lr, momentum, dampening, weight_decay, nesterov, first_step, sign
    ctypedef void (*td_adam_loop)(int64_t n, char *p, const char *g, char *m, char *v,
                                  const td_adam_settings *settings) noexcept nogil
    ctypedef void (*td_sgd_loop)(int64_t n, char *p, const char *g, char *buffer,
                                 const td_sgd_settings *settings) noexcept nogil
    ctypedef struct td_slots:
        td_unary_loop unary[1][15]
        td_binary_loop binary[1][15]
        td_ternary_loop ternary[1][15]
        td_unary_loop cast[15][15]
        td_reduction reduce[1][15]
        td_arg_reduction arg_max[15]
        td_arg_reduction arg_min[15]
        td_squares squares[15]
        td_softmax_loop softmax[15]
        td_adam_loop adam[15]
        td_sgd_loop sgd[15]
        void (*random_words)(uint64_t key, uint64_t counter, int64_t blocks, uint32_t *words) noexcept nogil
    const td_slots *td_slots_select(int isa)
    const char *const td_unary_names[1]
    const char *const td_binary_names[1]
    const char *const td_ternary_names[1]
    const char *const td_reduce_names[1]

cdef const td_slots *slots

cdef void run_unary(td_unary_loop loop, const td_view *x, const td_view *out) noexcept nogil
cdef void run_binary(td_binary_loop loop, const td_view *x, const td_view *y, const td_view *out) noexcept nogil
cdef void run_ternary(td_ternary_loop loop, const td_view *x, const td_view *y, const td_view *z,
                      const td_view *out) noexcept nogil
# Dense operands, or single elements with a step of 0, and a new dense output.
cdef void run_dense_binary(td_binary_loop loop, int64_t n, char *x, int64_t sx, char *y, int64_t sy, char *out,
                           int64_t itemsize) noexcept nogil
cdef void copy_view(const td_view *x, const td_view *out, int64_t itemsize) noexcept nogil
cdef void arange_view(const td_view *out, double start, double step, int64_t int_start,
                      int64_t int_step) noexcept nogil
# out[j][i] = x[i][j]: td_transpose of kernels/tiles.h, for modules that are linked without it.
cdef void turn(int64_t itemsize, int64_t lines, int64_t length, const char *x, int64_t line_stride, int64_t stride,
               char *out, int64_t out_stride) noexcept nogil
