from libc.stdint cimport int64_t

from treadle.ndarray._strided cimport Strided
from treadle.ndarray._types cimport Device, DType, td_view

cdef enum:
    # below this many bytes of output a kernel is over before another thread could have used the GIL
    KEEP_GIL = 1 << 16

cdef bint is_array(object value)
cdef bint fits(object value, int dtype) except -1
cdef int weak_dtype(object value, int dtype) except -2
cdef int store(object value, int dtype, char *data) except -1
cdef Strided scalar_array(object value, int dtype, Device device)
cdef Strided operand(str op, object value, Strided like)
cdef Strided converted(Strided x, int dtype)
cdef Strided broadcast(Strided x, const td_view *shape)
cdef int check_writable(Strided out, str op) except -1
cdef int copy_into(Strided source, Strided out) except -1
cdef int fill(Strided out, object value) except -1
cdef Strided copied(Strided x)
cdef Strided on_device(Strided x, Device device)
cdef object no_array(str op, object other)
cdef object foreign(str op, object other)
cdef int must_share_device(Strided x, Strided y, str op) except -1
