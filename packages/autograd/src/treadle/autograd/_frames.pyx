"""Where an op was called: the innermost Python frame outside of treadle, and the module whose call it is part of."""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM
from cpython.weakref cimport PyWeakref_NewRef

from treadle.ndarray.errors import TreadleError

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define TREADLE_THREAD_LOCAL __declspec(thread)
    #else
    #define TREADLE_THREAD_LOCAL __thread
    #endif
    static TREADLE_THREAD_LOCAL PyObject *treadle_scope = NULL;
    """
    PyObject *treadle_scope  # the call that this thread is in, an owned reference; NULL outside of any

cdef extern from "Python.h":
    ctypedef struct PyThreadState
    ctypedef struct PyFrameObject
    ctypedef struct PyCodeObject
    PyThreadState *PyThreadState_Get()
    PyFrameObject *PyThreadState_GetFrame(PyThreadState *state)  # a new reference, as are the next three
    PyFrameObject *PyFrame_GetBack(PyFrameObject *frame)
    PyCodeObject *PyFrame_GetCode(PyFrameObject *frame)
    object PyFrame_GetGlobals(PyFrameObject *frame)
    int PyFrame_GetLasti(PyFrameObject *frame)
    void Py_DECREF(void *object)


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Scope:
    """One call of a module: the module (weakly, so that no node keeps it alive), its class's name, the call around."""


cdef Scope _kept(Scope scope):
    """The call for a node to keep: it and those around, all of them running, get to know their modules weakly."""
    cdef Scope each = scope
    while each is not None and each.module is None:
        each.module = PyWeakref_NewRef(<object>each.running, None)
        each.kind = type(<object>each.running).__name__
        each = each.outer
    return scope


cdef class Scoped:
    """Base of what is called and has a ``forward``: the call runs it, and nodes made meanwhile know the call.

    ``_has_hooks`` sends the call through ``_call_with_hooks(args, kwargs)`` instead. No Python frame is spent on it.
    """

    _has_hooks = False

    def __call__(self, *args, **kwargs):
        global treadle_scope
        cdef Scope scope = Scope.__new__(Scope)
        cdef PyObject *outer = treadle_scope
        scope.running = <PyObject *>self
        if outer != NULL:
            scope.outer = <Scope>outer
        Py_INCREF(scope)
        treadle_scope = <PyObject *>scope
        try:
            if self._has_hooks:
                return self._call_with_hooks(args, kwargs)
            if len(args) == 1 and not kwargs:
                return self.forward(args[0])  # as most calls are: neither tuple nor dict is handed on
            return self.forward(*args, **kwargs)
        except (TreadleError, AttributeError) as error:
            self._note_place(error)
            raise
        finally:
            Py_XDECREF(treadle_scope)
            treadle_scope = outer

    def _note_place(self, error):
        """Say in a note of an error that leaves this call where it came up, or raise a better one; a subclass knows."""

    def named_parts(self):
        """The modules, parameters and buffers below, and their dotted names; a subclass knows."""
        return ()


cdef str _NAME = "__name__"


cdef object _last = None  # the code that was found last: most positions are of one function, and need no look again


@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class Position:
    """A code object, an instruction in it, and the call of a module. The garbage collector need not look at it."""


cpdef tuple weakly(tuple values):
    """Weak references to all of them."""
    cdef Py_ssize_t index
    cdef tuple references = PyTuple_New(len(values))
    cdef object reference
    for index in range(len(values)):
        reference = PyWeakref_NewRef(<object>PyTuple_GET_ITEM(values, index), None)
        Py_INCREF(reference)
        PyTuple_SET_ITEM(references, index, reference)
    return references


cpdef Position place():
    """The :class:`Position` of the innermost frame whose module is not treadle's, or None; without a module's call.

    Looking the line number up is left to the reader: most positions are never read.
    """
    global _last
    cdef PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get())
    cdef PyFrameObject *outer
    cdef PyCodeObject *code
    cdef Position result
    if frame == NULL:
        return None
    while True:
        code = PyFrame_GetCode(frame)
        if <void *>code == <void *>_last or not _is_ours(frame):
            break
        outer = PyFrame_GetBack(frame)
        if outer == NULL:
            break
        Py_DECREF(code)
        Py_DECREF(frame)
        frame = outer
    result = Position.__new__(Position)
    result.code = <object>code
    result.instruction = PyFrame_GetLasti(frame)
    _last = <object>code
    Py_DECREF(code)
    Py_DECREF(frame)
    return result


cpdef Position position():
    """:func:`place`, and the call of a module that it is part of."""
    cdef Position result = place()
    if result is not None and treadle_scope != NULL:
        result.scope = _kept(<Scope>treadle_scope)
    return result


cdef bint _is_ours(PyFrameObject *frame) except -1:
    cdef object name = (<dict>PyFrame_GetGlobals(frame)).get(_NAME)
    return isinstance(name, str) and (<str>name).startswith("treadle.")
