"""The public edge of functions: calls pass straight through, and one that failed is explained.

Explaining is Python's, in ``arguments.py``, which is imported by the first failure: valid calls pay for no check. What
happens here leaves no line in the traceback that users see.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef extern from "Python.h":
    ctypedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
    object PyMethod_New(object function, object instance)
    PyObject *PyObject_Vectorcall(PyObject *function, PyObject *const *arguments, size_t count, PyObject *names)
    Py_ssize_t PyVectorcall_NARGS(size_t count)
    bint PyErr_ExceptionMatches(object kind)
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **trace)
    void PyErr_NormalizeException(PyObject **kind, PyObject **value, PyObject **trace)
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *trace)
    int PyException_SetTraceback(PyObject *value, PyObject *trace)
    PyObject *PyException_GetTraceback(PyObject *value)

cdef extern from "kernels/edge.h":
    void td_call_by_vector(PyObject *type, Py_ssize_t offset)


@cython.final
cdef class Guarded:
    """A function whose failures :func:`treadle.ndarray.arguments.explained` explains: it gives the error that the user
    is to see, or the result after all."""

    cdef vectorcallfunc call
    cdef PyObject *function  # which __wrapped__ keeps
    cdef dict __dict__

    def __init__(self, function, str module):
        self.call = _call
        self.function = <PyObject *>function
        self.__name__, self.__qualname__, self.__doc__ = function.__name__, function.__qualname__, function.__doc__
        self.__module__ = module
        self.__wrapped__ = function

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __repr__(self):
        return f"<function {self.__module__}.{self.__qualname__}>"

    def __reduce__(self):
        return self.__qualname__


cdef PyObject *_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names) noexcept:
    cdef PyObject *result = PyObject_Vectorcall((<Guarded>self).function, arguments, count, names)
    if result == NULL and PyErr_ExceptionMatches(Exception):
        return _failed(<Guarded>self, arguments, PyVectorcall_NARGS(count), names)
    return result


cdef PyObject *_failed(Guarded guarded, PyObject *const *arguments, Py_ssize_t count, PyObject *names) noexcept:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *trace
    cdef tuple outcome
    PyErr_Fetch(&kind, &value, &trace)
    PyErr_NormalizeException(&kind, &value, &trace)
    if trace != NULL:
        PyException_SetTraceback(value, trace)
    outcome = _outcome(guarded, arguments, count, names, <object>value)
    Py_XDECREF(kind)
    Py_XDECREF(value)
    Py_XDECREF(trace)
    result = outcome[1]
    Py_INCREF(result)
    if not outcome[0]:
        return <PyObject *>result
    sort = type(result)
    Py_INCREF(sort)
    PyErr_Restore(<PyObject *>sort, <PyObject *>result, PyException_GetTraceback(<PyObject *>result))
    return NULL


cdef tuple _outcome(Guarded guarded, PyObject *const *arguments, Py_ssize_t count, PyObject *names, object failure):
    """(whether it is an error, the result or the error)."""
    cdef Py_ssize_t each
    keywords = {}
    try:
        from treadle.ndarray.arguments import explained
        positional = tuple([<object>arguments[each] for each in range(count)])
        if names != NULL:
            for each, name in enumerate(<tuple>names):
                keywords[name] = <object>arguments[count + each]
        return explained(guarded.__wrapped__, positional, keywords, failure)
    except BaseException as error:
        return True, error


cdef Py_ssize_t _offset():
    cdef Guarded one = Guarded.__new__(Guarded)
    return <char *>&one.call - <char *><PyObject *>one


td_call_by_vector(<PyObject *>Guarded, _offset())


def guard_all(dict scope, names, str module):
    """Guard the functions of those names in the namespace of a module or class; what is no function stays."""
    for name in names:
        if type(scope[name]).__name__ in ("function", "cython_function_or_method"):
            scope[name] = Guarded(scope[name], module)
