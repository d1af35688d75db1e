# The types of _node.py.
cimport cython

from treadle.autograd._arrays cimport total_version, untrack
from treadle.autograd._frames cimport place, position, weakly


cdef class State:
    cdef public Py_ssize_t live
    cdef public Py_ssize_t lazy_blocks
    cdef public object watcher

cdef State STATE
cdef object _realize
cdef object _array_type


@cython.trashcan(True)
cdef class Node:
    cdef object __weakref__
    cdef object _data
    cdef object _grad
    cdef object _hooks
    cdef object _op_hooks
    cdef tuple _breaks
    cdef tuple _spec
    cdef tuple _waiting
    cdef object _op
    cdef tuple _inputs
    cdef tuple _saved
    cdef long long _versions
    cdef long long _first_version
    cdef long long _exchanges
    cdef long long _exchanges_seen
    cdef object _position
    cdef object _name
    cdef bint _counted
    cdef bint _requires_grad
    cdef bint _retain_grad

    cdef int _start(self, data) except -1
    cdef int _record(self, op, tuple inputs, tuple saved) except -1

    @cython.locals(node=Node, inputs=tuple)
    cdef object _owner(self, value)
    cpdef _value(self)

    @cython.locals(each=Node)
    cdef int _defer(self, op, tuple inputs, tuple spec, bint requires_grad) except -1
    cpdef _arrive(self, data, tuple saved)
    cpdef int _break(self, reason, tuple sources) except -1
    cdef int _inherit(self, Node operand) except -1
    cpdef _release(self)
    cpdef _check_saved(self)

    @cython.locals(node=Node, inputs=tuple)
    cpdef bint needs_grad(self, Py_ssize_t index) except -1


@cython.locals(total="long long", node=Node)
cdef long long _total_exchanges(tuple inputs) except -1


@cython.locals(each=Node)
cpdef broken(Node tensor, reason, tuple sources)


cdef class GraphView:
    cdef Node _node
    cdef object _constant
    cdef public object op
    cdef public object inputs
    cdef public object shape
    cdef public object dtype
