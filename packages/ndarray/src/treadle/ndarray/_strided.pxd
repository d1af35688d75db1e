cimport cython
from libc.stdint cimport int64_t

from treadle.ndarray._memory cimport Buffer
from treadle.ndarray._types cimport Device, DType, td_view


@cython.no_gc
cdef class Strided:
    cdef td_view view
    cdef int64_t size
    cdef bint dense
    cdef bint writable
    cdef readonly DType dtype
    cdef readonly Device device
    cdef readonly Buffer buffer

    cdef Strided alias(self)
    cdef Strided reshaped(self, const td_view *shape)
    cdef Strided first_sliced(self, slice each)
    cdef Strided first_taken(self, object index)
    cdef Strided transposed(self)
    cdef Strided sliced(self, tuple key)
    cdef tuple shape_tuple(self)
    cdef Strided in_shape(self, shape, tuple more, bint may_copy, bint must_copy)
    cdef object _no_reshape(self, shape, tuple more)
    cdef int _keep_axes(self, Strided out, int axis, int count) except -1
    cdef int _keep(self, Strided out, int64_t length, int64_t stride) except -1
    cdef int64_t _place(self, object index, int axis) except -1


cdef Device cpu_device
cdef int set_array_type(type array_type) except -1
cdef Strided blank()
cdef Strided allocate(DType dtype, Device device, const td_view *shape)
