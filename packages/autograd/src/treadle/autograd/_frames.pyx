"""Which line of the user's called: the innermost Python frame outside of treadle."""

cimport cython

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


cdef str _NAME = "__name__"


cdef object _last = None  # the code that was found last: most positions are of one function, and need no look again


@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class Position:
    """A code object and the index of an instruction in it. The garbage collector need not look at it."""


cpdef Position position():
    """The :class:`Position` of the innermost frame whose module is not treadle's, or None.

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


cdef bint _is_ours(PyFrameObject *frame) except -1:
    cdef object name = (<dict>PyFrame_GetGlobals(frame)).get(_NAME)
    return isinstance(name, str) and (<str>name).startswith("treadle.")
