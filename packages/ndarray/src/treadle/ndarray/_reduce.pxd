from treadle.ndarray._elementwise cimport td_reduction, td_squares
from treadle.ndarray._types cimport td_view

cdef void reduce_view(const td_reduction *kernel, const td_view *x, const td_view *out, double divisor) noexcept nogil
cdef void variance_view(const td_reduction *sum_kernel, const td_squares *squares, const td_view *x, const td_view *out,
                        double divisor) noexcept nogil
