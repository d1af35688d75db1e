"""Shapes and axes between Python and the view struct: tuples out, checked numbers in."""

from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_New
from libc.stdint cimport int64_t

import operator

from treadle.ndarray._types cimport TD_MAX_NDIM, td_view

from treadle.ndarray.errors import AxisError, ShapeError

cdef extern from "Python.h":
    bint PyLong_CheckExact(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    PyObject *PyLong_FromLongLong(long long value)
    void PyTuple_SET_ITEM(object tuple, Py_ssize_t place, PyObject *item)


cdef tuple view_shape(const td_view *view):
    cdef int axis
    cdef tuple shape = PyTuple_New(view.ndim)
    for axis in range(view.ndim):
        PyTuple_SET_ITEM(shape, axis, PyLong_FromLongLong(view.shape[axis]))  # takes the reference over
    return shape


cdef tuple shape_argument(object shape):
    return tuple(shape) if hasattr(shape, "__iter__") and getattr(shape, "ndim", 1) else (shape,)


cdef int _add_length(object length, td_view *view, str op) except -1:
    cdef int beyond = 0
    cdef int64_t value
    if not PyLong_CheckExact(length):
        try:
            length = operator.index(None if isinstance(length, bool) else length)
        except TypeError:
            raise ShapeError(f"{op}: a shape is an int or a sequence of ints, not one of {length!r}") from None
    value = PyLong_AsLongLongAndOverflow(length, &beyond)
    view.shape[view.ndim] = (<int64_t>1 << 62) * beyond if beyond else value
    view.ndim += 1
    return 0


cdef int read_lengths(object shape, td_view *view, str op, tuple more=()) except -1:
    """Read an int or a sequence of ints, of any sign, into view.shape and view.ndim. Too large ones are cut.

    Where ``more`` has lengths, the shape is its first one only.
    """
    cdef Py_ssize_t first = 0
    view.ndim = 0
    if more:
        first = 1
        _add_length(shape, view, op)
        shape = more
    elif not PyTuple_CheckExact(shape):
        shape = shape_argument(shape)
    if len(<tuple>shape) + first > TD_MAX_NDIM:
        raise ShapeError(f"{op}: {len(shape) + first} dimensions; at most {TD_MAX_NDIM} are possible")
    for each in <tuple>shape:
        _add_length(each, view, op)
    return 0


cdef int read_shape(object shape, td_view *view, str op) except -1:
    """Read a shape (an int or a sequence of ints, none negative) into view; strides and data stay as they are."""
    cdef int axis
    read_lengths(shape, view, op)
    for axis in range(view.ndim):
        if view.shape[axis] < 0 or view.shape[axis] >= <int64_t>1 << 62:
            raise ShapeError(f"{op}: shape {shape_argument(shape)} has the impossible length "
                             f"{shape_argument(shape)[axis]}")
    return 0


cdef str _described(str op, object axis):
    """What stands where an axis should; a second operand is most likely meant for another function."""
    cdef str meant
    if not getattr(axis, "shape", ()):
        return repr(axis)
    meant = {"max": "; the larger of two is maximum(x, y)", "min": "; the smaller of two is minimum(x, y)",
             "concat": "; the arrays are given as one list"}.get(op, "")
    return f"an array of shape {axis.shape}{meant}"


cdef int axis_number(object axis, int ndim, str op) except -2:
    """An axis as a number in [0, ndim); -1 where it is out of bounds."""
    cdef int64_t number
    cdef int beyond = 0
    if not PyLong_CheckExact(axis):
        try:
            axis = operator.index(None if isinstance(axis, bool) else axis)
        except TypeError:
            raise ShapeError(f"{op}: an axis is an int, not {_described(op, axis)}") from None
    number = PyLong_AsLongLongAndOverflow(axis, &beyond)
    if beyond or number < -ndim or number >= ndim:
        return -1
    return <int>(number + ndim if number < 0 else number)


cdef int normal_axis(object axis, const td_view *view, str op) except -1:
    """An axis of a view as a number in [0, ndim); raises AxisError."""
    cdef int number = axis_number(axis, view.ndim, op)
    if number < 0:
        raise AxisError(f"{op}: axis {axis} is out of bounds for shape {view_shape(view)} of "
                        f"{view.ndim} dimensions; it must be in "
                        f"[{-view.ndim}, {view.ndim})")
    return number


def normalize_axis(axis, int ndim, str op):
    """An axis as a number in [0, ndim); raises AxisError that names the op."""
    cdef int number = axis_number(axis, ndim, op)
    if number < 0:
        raise AxisError(f"{op}: axis {axis} is out of bounds for {ndim} dimensions; it must be in [{-ndim}, {ndim})")
    return number
