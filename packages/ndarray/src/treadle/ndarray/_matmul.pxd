from libc.stdint cimport int64_t

from treadle.ndarray._types cimport td_view

# (..., m, k) @ (..., k, n) -> (..., m, n) with equal batch shapes and one dtype; any strides, zero ones for a and b.
# Returns 0, or -1 when there is no memory for packing. Writes every element of out, which overlaps neither operand.
cdef int matmul(const td_view *a, const td_view *b, td_view *out) noexcept nogil

# isa: a TD_ISA_* of kernels/isa.h. To be called before the first product.
cdef void select_matmul(int isa)

# td_parallel_for of kernels/threadpool.h, for other modules: there is one pool.
cdef void (*parallel_for)(int64_t blocks, void (*body)(void *context, int64_t block) noexcept nogil,
                          void *context) noexcept nogil
