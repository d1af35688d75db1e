"""The public edge of functions: calls pass straight through, and one that failed is explained.

Explaining is Python's, in ``arguments.py``, which is imported by the first failure: valid calls pay for no check.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

cdef extern from "Python.h":
    object PyMethod_New(object function, object instance)
    ctypedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *) noexcept
    PyObject *PyObject_Vectorcall(PyObject *function, PyObject *const *arguments, size_t count, PyObject *names)
    Py_ssize_t PyVectorcall_NARGS(size_t count)

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
        self.call = <vectorcallfunc>_call
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


cdef PyObject *_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names) except NULL:
    cdef PyObject *result = PyObject_Vectorcall((<Guarded>self).function, arguments, count, names)
    return result if result != NULL else _failed(<Guarded>self, arguments, PyVectorcall_NARGS(count), names)


cdef int _raise() except -1:
    """Make the error that C code has set one of Cython's."""
    return -1


cdef PyObject *_failed(Guarded guarded, PyObject *const *arguments, Py_ssize_t count, PyObject *names) except NULL:
    try:
        _raise()
    except Exception as error:
        failure = error
    result = _explained(guarded, arguments, count, names, failure)
    Py_INCREF(result)
    return <PyObject *>result


cdef object _explained(Guarded guarded, PyObject *const *arguments, Py_ssize_t count, PyObject *names, object failure):
    cdef Py_ssize_t each
    from treadle.ndarray.arguments import explained
    cdef bint raised
    positional = tuple([<object>arguments[each] for each in range(count)])
    keywords = {}
    if names != NULL:
        for each, name in enumerate(<tuple>names):
            keywords[name] = <object>arguments[count + each]
    raised, result = explained(guarded.__wrapped__, positional, keywords, failure)
    if raised:
        raise result
    return result


cdef Py_ssize_t _offset():
    cdef Guarded one = Guarded.__new__(Guarded)
    return <char *>&one.call - <char *><PyObject *>one


td_call_by_vector(<PyObject *>Guarded, _offset())


def guard_all(dict scope, names, str module):
    """Guard the functions of those names in the namespace of a module or class; what is no function stays."""
    for name in names:
        if type(scope[name]).__name__ in ("function", "cython_function_or_method"):
            scope[name] = Guarded(scope[name], module)
