# The types of _methods.py.
cimport cython

from treadle.autograd._node cimport Node

cdef object _functions


@cython.trashcan(True)
cdef class Methods(Node):
    pass


@cython.locals(twin=Methods)
cpdef object rebuilt(kind, data, bint requires_grad, name, attributes)
