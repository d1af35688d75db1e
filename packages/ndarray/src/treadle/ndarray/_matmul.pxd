from libc.stdint cimport int64_t

from treadle.ndarray._types cimport td_view

# (..., m, k) @ (..., k, n) -> (..., m, n) with equal batch shapes and one dtype; any strides, zero ones for a and b.
# Returns 0, or -1 when there is no memory for packing. Writes every element of out, which overlaps neither operand.
# A dense row, of float32 or float64 results only, is added to each of the result's unless it is NULL.
cdef int matmul_onto(const td_view *a, const td_view *b, const char *row, td_view *out) noexcept nogil


cdef inline int matmul(const td_view *a, const td_view *b, td_view *out) noexcept nogil:
    return matmul_onto(a, b, NULL, out)
