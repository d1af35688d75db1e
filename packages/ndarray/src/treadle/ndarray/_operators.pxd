cimport cython

from treadle.ndarray._strided cimport Strided


@cython.no_gc
cdef class Operators(Strided):
    pass
