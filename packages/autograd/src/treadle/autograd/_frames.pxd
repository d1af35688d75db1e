cdef class Position:
    cdef readonly object code
    cdef readonly int instruction


cpdef Position position()
