from treadle.ndarray._types cimport td_view

cdef int read_shape(object shape, td_view *view, str op) except -1
cdef int axis_number(object axis, int ndim, str op) except -2
cdef int normal_axis(object axis, const td_view *view, str op) except -1
cdef tuple view_shape(const td_view *view)
cdef tuple shape_argument(object shape)
cdef int read_lengths(object shape, td_view *view, str op, tuple more=*) except -1
