from cpython.object cimport PyObject


cdef class Scope:
    cdef PyObject *running  # the module, while the call runs
    cdef readonly object module
    cdef readonly str kind
    cdef readonly Scope outer


cdef class Position:
    cdef readonly object code
    cdef readonly int instruction
    cdef readonly Scope scope


cpdef Position place()


cpdef Position position()


cpdef tuple weakly(tuple values)
