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


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Position:
    """A code object and the index of an instruction in it. The garbage collector need not look at it."""

    cdef readonly object code
    cdef readonly int instruction


def position():
    """The :class:`Position` of the innermost frame whose module is not treadle's, or None.

    Looking the line number up is left to the reader: most positions are never read.
    """
    cdef PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get())
    cdef PyFrameObject *outer
    cdef PyCodeObject *code
    cdef object name
    cdef Position result
    if frame == NULL:
        return None
    while True:
        name = (<dict>PyFrame_GetGlobals(frame)).get(_NAME)
        if not isinstance(name, str) or not (<str>name).startswith("treadle."):
            break
        outer = PyFrame_GetBack(frame)
        if outer == NULL:
            break
        Py_DECREF(frame)
        frame = outer
    code = PyFrame_GetCode(frame)
    result = Position.__new__(Position)
    result.code = <object>code
    result.instruction = PyFrame_GetLasti(frame)
    Py_DECREF(code)
    Py_DECREF(frame)
    return result
