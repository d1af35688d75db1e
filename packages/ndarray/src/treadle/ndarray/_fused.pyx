"""Fused primitives of the cpu, from checked arguments to a kernel; None where the composition has to serve.

reductions.py has the public functions, and the compositions.
"""

from treadle.ndarray._elementwise cimport (
    TD_LOG_SOFTMAX, TD_LOGSUMEXP, TD_SOFTMAX, slots, td_reduction, td_softmax_loop, td_squares,
)
from treadle.ndarray._families cimport reduced_shape, without
from treadle.ndarray._lines cimport softmax_view
from treadle.ndarray._operands cimport KEEP_GIL
from treadle.ndarray._reduce cimport variance_view
from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._types cimport td_view

from treadle.ndarray._elementwise import REDUCE_NAMES

cdef int _SUM = REDUCE_NAMES.index("sum")
cdef dict _SOFTMAX_FORMS = {"softmax": TD_SOFTMAX, "log_softmax": TD_LOG_SOFTMAX, "logsumexp": TD_LOGSUMEXP}


def variance(Strided x not None, tuple axes, double correction, bint keepdims):
    """The fused variance of a floating array; None where there is none for its device or dtype."""
    cdef td_view shape
    cdef const td_reduction *total = &slots.reduce[_SUM][x.view.dtype]
    cdef const td_squares *squares = &slots.squares[x.view.dtype]
    cdef Strided out
    cdef double divisor
    if not x.device.is_cpu or squares.row == NULL:
        return None
    divisor = max(0.0, <double>reduced_shape(x, axes, &shape) - correction)
    out = allocate(x.dtype, x.device, &shape)
    if out.size and x.size < KEEP_GIL:
        variance_view(total, squares, &x.view, &out.view, divisor)
    elif out.size:
        with nogil:
            variance_view(total, squares, &x.view, &out.view, divisor)
    return out if keepdims else without(out, axes)


def softmax(str op, Strided x not None, int axis):
    """softmax, log_softmax or logsumexp, which keeps the axis; None where device, dtype or layout has no kernel."""
    cdef int form = _SOFTMAX_FORMS[op]
    cdef td_softmax_loop kernel = slots.softmax[x.view.dtype]
    cdef td_view shape = x.view
    cdef Strided out
    if not x.device.is_cpu:
        kernel = NULL
    if kernel == NULL or x.size == 0 or x.view.strides[axis] != x.dtype.itemsize:
        return None
    if form == TD_LOGSUMEXP:
        shape.shape[axis] = 1
    out = allocate(x.dtype, x.device, &shape)
    if form != TD_LOGSUMEXP and out.view.strides[axis] != x.dtype.itemsize:
        return None
    if x.size < KEEP_GIL >> 4:
        softmax_view(kernel, &x.view, axis, &out.view, form)
    else:
        with nogil:
            softmax_view(kernel, &x.view, axis, &out.view, form)
    return out
