cdef class Scope:
    cdef readonly object module
    cdef readonly str kind
    cdef readonly Scope outer


cdef class Position:
    cdef readonly object code
    cdef readonly int instruction
    cdef readonly Scope scope


cpdef Position position()


cpdef tuple weakly(tuple values)
