"""The C side of matrix product and convolution; kernels/matmul_kernels.h and matmul_workspace.h say what is what."""

from libc.stdint cimport int32_t, int64_t

from treadle.ndarray._types cimport TD_DTYPE_COUNT

cdef extern from "kernels/matmul_kernels.h" nogil:
    ctypedef struct td_matmul_tiles:
        int32_t rows
        int32_t columns
        void (*tile)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, int64_t a_step,
                     const char *b, int64_t b_step, char *out, int64_t out_row, const char *onto,
                     int64_t onto_row) noexcept nogil
        void (*pack)(int64_t k, int64_t columns, int64_t width, const char *source, int64_t step, int64_t column,
                     char *to) noexcept nogil
        void (*dots)(int64_t columns, int64_t k, const char *a, const char *b, int64_t b_column, char *out,
                     int64_t out_column) noexcept nogil
        void (*combine)(int64_t columns, int64_t k, const char *a, int64_t a_step, const char *b, int64_t b_step,
                        char *out) noexcept nogil
        void (*pack_at)(int64_t rows, int64_t columns, int64_t width, const char *source, const int64_t *offsets,
                        char *to) noexcept nogil
        void (*add_to_lines)(int64_t lines, int64_t columns, const char *source, int64_t from_line, const char *x,
                             char *to, int64_t to_line) noexcept nogil
        void (*combine_at)(int64_t rows, int64_t columns, int64_t k, const char *a, const char *b, int64_t b_row,
                           const int64_t *offsets, char *out, int64_t out_row) noexcept nogil
        void (*dots_at)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row, const char *b,
                        int64_t b_row, const int64_t *offsets, char *out) noexcept nogil
    ctypedef void (*td_matmul_plain)(int64_t rows, int64_t columns, int64_t k, const char *a, int64_t a_row,
                                     int64_t a_step, const char *b, int64_t b_step, int64_t b_column, char *out,
                                     int64_t out_row, int64_t out_column) noexcept nogil
    ctypedef struct td_matmul_kernels:
        td_matmul_tiles f32
        td_matmul_tiles f64
        td_matmul_plain plain[TD_DTYPE_COUNT]
        int32_t itemsize[TD_DTYPE_COUNT]
    const td_matmul_kernels *td_matmul_select(int isa)

cdef extern from "kernels/matmul_workspace.h" nogil:
    char *td_workspace_acquire(int64_t nbytes)
    void td_workspace_release(char *memory)
