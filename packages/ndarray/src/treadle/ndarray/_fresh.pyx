"""Fresh arrays of the cpu from plain Python values, without a detour through Python code."""

from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t
from libc.string cimport memset

from treadle.ndarray._operands cimport fill
from treadle.ndarray._shapes cimport read_shape
from treadle.ndarray._strided cimport Strided, allocate, cpu_device
from treadle.ndarray._types cimport TD_f32, TD_i64, Device, DType, dtype_from_id, td_view

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1


def filled(shape, object value, DType dtype, Device device, str op):
    """An array with every element the Python scalar."""
    cdef td_view view
    cdef Strided out
    read_shape(shape, &view, op)
    out = allocate(dtype, device, &view)
    if device.is_cpu and PyLong_CheckExact(value) and not value:
        memset(out.view.data, 0, out.size * dtype.itemsize)
    else:
        fill(out, value)
    return out


def from_plain_list(list values):
    """A 1-D float32 or int64 array of a list of nothing but floats, or of ints; else None."""
    cdef td_view shape
    cdef Strided out
    cdef int64_t i
    cdef int64_t size = len(values)
    cdef int beyond = 0
    shape.ndim = 1
    shape.shape[0] = size
    if size and PyFloat_CheckExact(values[0]):
        out = allocate(dtype_from_id(TD_f32), cpu_device, &shape)
        for i in range(size):
            if not PyFloat_CheckExact(values[i]):
                return None
            (<float *>out.view.data)[i] = <double>values[i]
        return out
    if size and PyLong_CheckExact(values[0]):
        out = allocate(dtype_from_id(TD_i64), cpu_device, &shape)
        for i in range(size):
            if not PyLong_CheckExact(values[i]):
                return None
            (<int64_t *>out.view.data)[i] = PyLong_AsLongLongAndOverflow(values[i], &beyond)
            if beyond:
                return None
        return out
    return None
