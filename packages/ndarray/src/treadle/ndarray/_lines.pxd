from treadle.ndarray._elementwise cimport td_arg_reduction, td_reduction, td_softmax_loop
from treadle.ndarray._types cimport td_view

cdef void arg_view(const td_arg_reduction *kernel, const td_view *x, int axis, const td_view *out) noexcept nogil
cdef void scan_view(const td_reduction *kernel, const td_view *x, int axis, const td_view *out) noexcept nogil
cdef void softmax_view(td_softmax_loop kernel, const td_view *x, int axis, const td_view *out, int form) noexcept nogil
