# The types of _affine.py.
cimport cython

from treadle.autograd._arrays cimport linear, untrack
from treadle.autograd._tensor cimport Op, Tensor

cdef object _nd


cdef class AffineOp(Op):
    @cython.locals(x=Tensor, weight=Tensor, bias=Tensor)
    cdef object _compute(self, tuple inputs)

    @cython.locals(x=Tensor, weight=Tensor, kept=tuple)
    cdef tuple _kept(self, tuple inputs, data)

    cdef object _gradients(self, grad, Tensor node)


cpdef AffineOp direct(AffineOp op)
