# The types of _elementwise.py.
cimport cython

from treadle.autograd._arrays cimport alike, binary, unary, untrack
from treadle.autograd._tensor cimport Op, Tensor, apply

cdef object _nd

cdef int X, Y, Z


@cython.locals(given=tuple, added=Py_ssize_t)
cpdef fit(xp, grad, tuple shape, dtype)


cdef object _fitted(gradient, Tensor operand)


cdef class UnaryOp(Op):
    cdef object _function
    cdef int _number
    cdef int _saving

    @cython.locals(first=Tensor)
    cdef object _compute(self, tuple inputs)

    @cython.locals(first=Tensor)
    cdef tuple _kept(self, tuple inputs, data)

    @cython.locals(kept=tuple)
    cdef object _gradients(self, grad, Tensor node)


cdef class BinaryOp(Op):
    cdef readonly object left
    cdef readonly object right
    cdef object _function
    cdef int _number
    cdef int _saving
    cdef int _left_saving
    cdef int _right_saving
    cdef bint _is_bare

    @cython.locals(first=Tensor, second=Tensor, scalars=int)
    cdef object _compute(self, tuple inputs)

    @cython.locals(first=Tensor, second=Tensor, saving=int)
    cdef tuple _kept(self, tuple inputs, data)

    @cython.locals(first=Tensor, second=Tensor, inputs=tuple)
    cdef object _gradients(self, grad, Tensor node)


@cython.locals(twin=BinaryOp)
cdef BinaryOp _with_scalar(BinaryOp op, scalar, index)


@cython.locals(saving=int)
cdef tuple _binary_forward(BinaryOp op, xp, tuple arrays)


@cython.locals(left=Tensor, right=Tensor, inputs=tuple)
cdef object _binary_backward(BinaryOp op, xp, grad, node)
