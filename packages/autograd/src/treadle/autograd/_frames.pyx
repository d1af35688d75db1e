"""Which line of the user's called: the innermost Python frame outside of treadle."""

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


def position():
    """(code object, index of the instruction) of the innermost frame whose module is not treadle's, or None.

    Looking the line number up is left to the reader: most positions are never read.
    """
    cdef PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get())
    cdef PyFrameObject *outer
    cdef PyCodeObject *code
    cdef object name
    cdef tuple result
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
    result = (<object>code, PyFrame_GetLasti(frame))
    Py_DECREF(code)
    Py_DECREF(frame)
    return result
