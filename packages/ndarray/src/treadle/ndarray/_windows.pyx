"""Sliding windows over the trailing axes, and any other walk over an array's memory, as views."""

from libc.stdint cimport int64_t

import operator

from treadle.ndarray._layout cimport checked_size, is_dense
from treadle.ndarray._shapes cimport read_shape, view_shape
from treadle.ndarray._strided cimport Strided
from treadle.ndarray._types cimport TD_MAX_NDIM

from treadle.ndarray.errors import ShapeError


def windows(Strided x, tuple kernel, tuple stride, tuple dilation):
    """(..., *lengths) -> (..., *places, *kernel): a read-only view that copies nothing.

    Along each of the trailing axes the places are those where a kernel of that length, its taps ``dilation`` apart,
    lies within the axis, ``stride`` apart; none where it does not fit.
    """
    cdef int count = len(kernel)
    cdef int first = x.view.ndim - count
    cdef int each, axis
    cdef int64_t span, places
    cdef Strided out
    if first < 0 or x.view.ndim + count > TD_MAX_NDIM:
        raise ShapeError(f"windows: {count} window axes for shape {x.shape_tuple()}")
    out = x.alias()
    out.view.ndim += count
    for each in range(count):
        axis = first + each
        span = (<int64_t>kernel[each] - 1) * <int64_t>dilation[each] + 1
        places = (x.view.shape[axis] - span) // <int64_t>stride[each] + 1 if x.view.shape[axis] >= span else 0
        out.view.shape[axis] = places
        out.view.strides[axis] = x.view.strides[axis]
        if places > 1:  # else the step, which may be any, leads nowhere
            out.view.strides[axis] *= <int64_t>stride[each]
        out.view.shape[x.view.ndim + each] = kernel[each]
        out.view.strides[x.view.ndim + each] = x.view.strides[axis]
        if places > 0 and kernel[each] > 1:
            out.view.strides[x.view.ndim + each] *= <int64_t>dilation[each]
    out.size = 1
    for axis in range(out.view.ndim):
        out.size *= out.view.shape[axis]
    out.dense = is_dense(&out.view, x.dtype.itemsize)
    out.writable = False
    return out


cdef int64_t _reach(object stride, int64_t length) except? -1:
    """The signed distance in bytes from the first to the last element of an axis, cut to what memory can hold."""
    if length <= 1:
        return 0
    return max(-(1 << 58), min(stride * (length - 1), 1 << 58))


def strided(Strided x, int64_t offset, shape, strides, bint writable):
    """Another walk over the memory between this array's first and last byte, from ``offset`` bytes behind its first
    element on: any shape and strides (bytes) that stay inside and on whole elements."""
    cdef Strided out = x.alias()
    cdef int axis
    cdef int64_t low, high, span
    cdef int64_t first = 0
    cdef int64_t end = x.dtype.itemsize if x.size else 0
    read_shape(shape, &out.view, "as_strided")
    steps = [operator.index(each) for each in strides]
    if len(steps) != out.view.ndim:
        raise ShapeError(f"as_strided: {len(steps)} strides for {out.view.ndim} dimensions")
    for axis in range(x.view.ndim):
        span = x.view.strides[axis] * (x.view.shape[axis] - 1) if x.size else 0
        first, end = first + min(span, 0), end + max(span, 0)
    low, high = offset, offset + x.dtype.itemsize
    out.size = checked_size(&out.view)
    if out.size < 0:
        raise ShapeError(f"as_strided: {view_shape(&out.view)} has more elements than can be counted")
    for axis in range(out.view.ndim):
        if abs(steps[axis]) >= 1 << 56 or steps[axis] % x.dtype.itemsize:
            raise ShapeError(f"as_strided: a stride of {steps[axis]} bytes is no multiple of the item size "
                             f"{x.dtype.itemsize}")
        out.view.strides[axis] = steps[axis]
        span = _reach(steps[axis], out.view.shape[axis])
        low, high = low + min(span, 0), high + max(span, 0)
    if offset % x.dtype.itemsize or (out.size and (low < first or high > end)):
        raise ShapeError(f"as_strided: shape {view_shape(&out.view)}, strides {tuple(steps)}, offset {offset} "
                         f"leaves the array's memory, bytes {first} to {end}")
    if out.size:
        out.view.data += offset
    out.dense = is_dense(&out.view, x.dtype.itemsize)
    out.writable = x.writable and writable
    return out
