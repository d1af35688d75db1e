from treadle.ndarray._elementwise cimport td_arg_loop, td_reduction
from treadle.ndarray._types cimport td_view

cdef void reduce_view(const td_reduction *reduction, const td_view *x, const td_view *out,
                      double divisor) noexcept nogil
cdef void arg_view(td_arg_loop loop, const td_view *x, int axis, const td_view *out) noexcept nogil
cdef void scan_view(const td_reduction *reduction, const td_view *x, int axis, const td_view *out) noexcept nogil
