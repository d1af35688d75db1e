"""The array library's C functions: what ``_arrays.py`` does by Python calls."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t

from treadle.ndarray import _native

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(object value)

ctypedef object (*BinaryFunction)(int, object, object)
ctypedef object (*UnaryFunction)(int, object)
ctypedef object (*LinearFunction)(object, object, object)
ctypedef bint (*Comparison)(object, object) noexcept
ctypedef int64_t (*Counter)(object) noexcept
ctypedef int (*Letter)(object) noexcept


cdef void *_taken(str name, const char *signature) except NULL:
    return PyCapsule_GetPointer(_native.__pyx_capi__[name], signature)


cdef BinaryFunction _binary = <BinaryFunction>_taken("binary", b"PyObject *(int, PyObject *, PyObject *)")
cdef UnaryFunction _unary = <UnaryFunction>_taken("unary", b"PyObject *(int, PyObject *)")
cdef LinearFunction _linear = <LinearFunction>_taken("linear", b"PyObject *(PyObject *, PyObject *, PyObject *)")
cdef Comparison _alike = <Comparison>_taken("alike", b"int (PyObject *, PyObject *)")
cdef Counter _nbytes = <Counter>_taken("nbytes", b"int64_t (PyObject *)")
cdef Counter _version = <Counter>_taken("version", b"int64_t (PyObject *)")
cdef Letter _inexact_kind = <Letter>_taken("inexact_kind", b"int (PyObject *)")


cpdef object binary(int op, x, y):
    return _binary(op, x, y)


cpdef object unary(int op, x):
    return _unary(op, x)


cpdef object linear(x, weight, bias):
    return _linear(x, weight, bias)


cpdef bint alike(x, y):
    return _alike(x, y)


cpdef bint differentiable(x):
    return _inexact_kind(x) != 0


cpdef long long total_version(tuple saved) except -1:
    cdef long long total = 0
    for value in saved:
        total += _version(value)
    return total


cpdef long long version(value) except -1:
    return _version(value)


cpdef long long nbytes(value):
    return _nbytes(value)


cpdef int untrack(value) except -1:
    PyObject_GC_UnTrack(value)
    return 0
