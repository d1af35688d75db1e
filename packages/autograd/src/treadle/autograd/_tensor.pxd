# The types of _tensor.py.
cimport cython

from treadle.autograd._arrays cimport differentiable
from treadle.autograd._methods cimport Methods
from treadle.autograd._node cimport STATE, State, broken
from treadle.autograd._recording cimport recording, serving

cdef object _array_type, _differentiate, _defer, _nd
cdef object _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _POW, _MATMUL, _NEGATIVE


cdef class Op:
    cdef bint _is_direct

    cdef object _compute(self, tuple inputs)
    cdef tuple _kept(self, tuple inputs, data)
    cdef object _gradients(self, grad, Tensor node)


@cython.locals(requires_grad=bint, pending=bint, node=Tensor, tensor=Tensor)
cpdef Tensor apply(Op op, tuple inputs)


@cython.locals(count=Py_ssize_t, first=Tensor, second=Tensor, node=Tensor)
cdef tuple _forward(Op op, tuple inputs)


@cython.locals(tensor=Tensor)
cpdef Tensor deferred(op, tuple inputs, tuple spec, bint requires_grad)


@cython.locals(tensor=Tensor)
cpdef Tensor recorded(op, tuple inputs, data, tuple saved, kind=*)


@cython.locals(tensor=Tensor)
cpdef Tensor constant(data)


cdef object _binary(op, x, y)


@cython.trashcan(True)
cdef class Tensor(Methods):
    cpdef object _compared(self, name, compare, other)
