from treadle.ndarray._elementwise cimport td_reduction
from treadle.ndarray._types cimport td_view

cdef void reduce_view(const td_reduction *reduction, const td_view *x, const td_view *out,
                      double divisor) noexcept nogil
