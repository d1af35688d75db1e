# The types of _engine.py.
cimport cython

from treadle.autograd._arrays cimport alike, nbytes, version
from treadle.autograd._node cimport STATE, GraphView, Node, State
from treadle.autograd._tables cimport Integers, Slots
from treadle.autograd._tensor cimport Op, Tensor, constant

cdef object _array_type, _functions, _nd, _lock, _UNSHARED, _ALONE, _OWN_RULES


cdef class Run:
    cdef bint retain_graph
    cdef bint create_graph
    cdef bint boundary
    cdef bint accumulate
    cdef set ends
    cdef object xp
    cdef object watcher
    cdef list nodes
    cdef list grads
    cdef Integers pending
    cdef Integers edges
    cdef Integers starts
    cdef list needed
    cdef list found
    cdef dict target_slots
    cdef bint dropped

    @cython.locals(root=Tensor, node=Tensor, operand=Tensor, slots=Slots, nodes=list, edges=Integers, pending=Integers,
                   inputs=tuple, position=Py_ssize_t, slot=Py_ssize_t)
    cdef Slots _discover(self, tuple roots)

    cdef int _aim(self, tuple targets, Slots slots) except -1

    @cython.locals(place=Py_ssize_t)
    cdef list _edges_of(self, Py_ssize_t slot)

    @cython.locals(pending=Integers, edge=Py_ssize_t)
    cdef list _order(self)

    @cython.locals(node=Tensor, nodes=list, grads=list, pending=Integers, ready=Integers, slot=Py_ssize_t,
                   edge=Py_ssize_t, start=Py_ssize_t, place=Py_ssize_t, runs=bint)
    cdef list _walk(self)

    @cython.locals(node=Tensor)
    cpdef list finish(self)

    cdef bint _runs(self, Py_ssize_t slot) except -1

    @cython.locals(node=Tensor, slot=Py_ssize_t)
    cdef int _drop_values(self) except -1

    @cython.locals(node=Tensor, nodes=list, slot=Py_ssize_t)
    cdef list _unseen(self)

    @cython.locals(op=Op, operand=Tensor, inputs=tuple, grads=list, index=Py_ssize_t, slot=Py_ssize_t,
                   as_given=cython.longlong)
    cdef int _propagate(self, Tensor node, grad, Py_ssize_t start) except -1

    @cython.locals(slot=Py_ssize_t, fits=bint)
    cdef bint _puts(self, Tensor node, grad, Py_ssize_t start) except -1

    cdef bint _is_ours(self, array) except -1
    cdef int _accumulate(self, Tensor node, grad) except -1
    cdef Tensor _own(self, grad)
    cdef int _seed(self, Tensor root, gradient, Py_ssize_t slot) except -1


cdef int _tell(error, Tensor node) except -1


cdef object _misfit(Tensor node, Py_ssize_t index, Tensor operand, gradient, kind)


cdef tuple _references(array)


cdef tuple _count_unshared(array)
