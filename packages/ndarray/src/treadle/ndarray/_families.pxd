from libc.stdint cimport int64_t

from treadle.ndarray._strided cimport Strided
from treadle.ndarray._types cimport td_view

cpdef Strided matmul(Strided x, Strided y, Strided given=*)

# x's shape with 1 at the axes; returns the number of elements that are reduced into one.
cdef int64_t reduced_shape(Strided x, tuple axes, td_view *shape)
# The reduced axes, of length 1, dropped.
cdef Strided without(Strided out, tuple axes)
