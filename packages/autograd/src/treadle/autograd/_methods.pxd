# The types of _methods.py.
cimport cython

from treadle.autograd._node cimport Node

cdef object _functions


@cython.trashcan(True)
cdef class Methods(Node):
    pass
