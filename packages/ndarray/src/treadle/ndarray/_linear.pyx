"""x @ weight.T + bias on the cpu, in one call: the affine layer, whose bias is added where the product is stored."""

from treadle.ndarray._matmul cimport matmul_onto
from treadle.ndarray._operands cimport KEEP_GIL
from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._types cimport TD_f32, TD_f64, td_view


cdef bint _fits(Strided x, Strided weight, Strided bias):
    """Whether the shapes and dtypes are those of a layer; what does not fit is explained by the ops it is made of."""
    cdef int dtype = x.view.dtype
    if not x.device.is_cpu or weight.device is not x.device or weight.view.dtype != dtype or weight.view.ndim != 2:
        return False
    if dtype != TD_f32 and dtype != TD_f64 or x.size == 0 or weight.size == 0:
        return False
    if x.view.ndim == 0 or x.view.shape[x.view.ndim - 1] != weight.view.shape[1]:
        return False
    if bias is None:
        return True
    return (bias.device is x.device and bias.view.dtype == dtype and bias.view.ndim == 1 and bias.dense
            and bias.view.shape[0] == weight.view.shape[0])


cpdef Strided linear(Strided x, Strided weight, Strided bias=None):
    """(..., k), (n, k) and (n,) or None to (..., n); None where the ops it is made of have to serve."""
    cdef td_view a, b, shape
    cdef Strided out
    cdef const char *row = NULL if bias is None else bias.view.data
    cdef int failed, axis
    cdef int last = x.view.ndim - 1
    if not _fits(x, weight, bias):
        return None
    a, shape = x.view, x.view
    shape.shape[last] = weight.view.shape[0]
    out = allocate(x.dtype, x.device, &shape)
    shape = out.view
    if last == 0:  # a row
        last = 1
        a.ndim = shape.ndim = 2
        a.shape[1], a.strides[1], shape.shape[1], shape.strides[1] = (
            a.shape[0], a.strides[0], shape.shape[0], shape.strides[0])
        a.shape[0] = shape.shape[0] = 1
    b = weight.view
    b.ndim = a.ndim
    for axis in range(last - 1):
        b.shape[axis], b.strides[axis] = a.shape[axis], 0
    b.shape[last - 1], b.strides[last - 1] = weight.view.shape[1], weight.view.strides[1]
    b.shape[last], b.strides[last] = weight.view.shape[0], weight.view.strides[0]
    if out.size + x.size + weight.size < KEEP_GIL >> 2:
        failed = matmul_onto(&a, &b, row, &shape)
    else:
        with nogil:
            failed = matmul_onto(&a, &b, row, &shape)
    if failed:
        raise MemoryError("linear: no memory for the packed operands")
    return out
