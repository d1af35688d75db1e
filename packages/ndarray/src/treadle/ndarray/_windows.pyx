"""Sliding windows over the trailing axes, as views."""

from libc.stdint cimport int64_t

from treadle.ndarray._layout cimport is_dense
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
        out.view.strides[axis] = x.view.strides[axis] * <int64_t>stride[each]
        out.view.shape[x.view.ndim + each] = kernel[each]
        out.view.strides[x.view.ndim + each] = x.view.strides[axis] * <int64_t>dilation[each]
    out.size = 1
    for axis in range(out.view.ndim):
        out.size *= out.view.shape[axis]
    out.dense = is_dense(&out.view, x.dtype.itemsize)
    out.writable = False
    return out
