"""Gather, scatter and nonzero, from checked arguments to a kernel or the backend; indexing.py calls these."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from treadle.ndarray._elementwise cimport TD_BINARY_add, slots
from treadle.ndarray._indexing cimport (
    accumulate_view, add_offsets, count_nonzero, gather_view, nonzero_view, scatter_view,
)
from treadle.ndarray._layout cimport broadcast_shape, overlaps, same_shape
from treadle.ndarray._operands cimport broadcast, check_writable, converted, copy_into, must_share_device
from treadle.ndarray._shapes cimport view_shape
from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._types cimport (
    TD_bf16, TD_bool, TD_c64, TD_c128, TD_f16, TD_f32, TD_f64, TD_i64, DType, dtype_from_id, td_view,
)

from treadle.ndarray.errors import IndexingError, ShapeError

cdef dict _SUMMED_WIDE = {TD_f16: TD_f64, TD_bf16: TD_f64, TD_f32: TD_f64, TD_c64: TD_c128}


cdef Strided _offsets(Strided x, list indices):
    """The byte offset in x of every place that the index arrays, of one shape, select in x's first axes."""
    cdef Strided first = indices[0]
    cdef Strided offsets = allocate(dtype_from_id(TD_i64), x.device, &first.view)
    cdef Strided each
    cdef int axis
    cdef int64_t wrong = 0
    memset(offsets.view.data, 0, offsets.size * sizeof(int64_t))
    for axis, each in enumerate(indices):
        if add_offsets(&each.view, &offsets.view, x.view.shape[axis], x.view.strides[axis], &wrong) != 0:
            raise IndexingError(f"index {wrong} is out of bounds for an axis of length {x.view.shape[axis]} "
                                f"(shape {x.shape_tuple()})")
    return offsets


cdef bint _checked_there(Strided x, list indices) except -1:
    """Whether there are indices, and the backend alone checks them."""
    return (<Strided>indices[0]).size and getattr(x.device.backend, "checks_indices", False)


cdef int _selected_shape(Strided x, list indices, td_view *shape) except -1:
    """The shape of a selection: that of the index arrays, then x's axes behind the indexed ones."""
    cdef Strided first = indices[0]
    cdef int axis
    shape.ndim = first.view.ndim
    for axis in range(shape.ndim):
        shape.shape[axis] = first.view.shape[axis]
    for axis in range(<int>len(indices), x.view.ndim):
        if shape.ndim == 32:
            raise IndexingError("index: the result has more than 32 dimensions")
        shape.shape[shape.ndim] = x.view.shape[axis]
        shape.ndim += 1
    return 0


def gather(Strided x not None, list indices):
    """x[i0, ..., ik]: int64 index arrays of one shape and x's device, for x's first axes."""
    cdef td_view shape
    cdef Strided out, offsets
    cdef int indexed = <int>len(indices)
    _selected_shape(x, indices, &shape)
    out = allocate(x.dtype, x.device, &shape)
    if not x.device.is_cpu:
        if out.size or _checked_there(x, indices):
            x.device.backend.gather(x, tuple(indices), out)
        return out
    offsets = _offsets(x, indices)
    if out.size:
        with nogil:
            gather_view(&x.view, indexed, <const int64_t *>offsets.view.data, offsets.size, &out.view,
                        x.dtype.itemsize)
    return out


def scatter(Strided out not None, list indices, Strided values not None, bint accumulate):
    """out[i0, ..., ik] = values (or += with repeats counted), for values that broadcast and convert."""
    cdef td_view shape
    cdef Strided offsets
    cdef int indexed = <int>len(indices)
    check_writable(out, "index assignment")
    must_share_device(out, values, "index assignment")
    _selected_shape(out, indices, &shape)
    values = _fitted(values, out, &shape)
    if not out.device.is_cpu:
        if values.size or _checked_there(out, indices):
            out.device.backend.scatter(out, tuple(indices), values, accumulate)
    else:
        offsets = _offsets(out, indices)
        if values.size:
            if accumulate and out.view.dtype in _SUMMED_WIDE and _accumulate(out, indexed, offsets, values):
                out.buffer.version += 1
                return
            with nogil:
                scatter_view(&out.view, indexed, <const int64_t *>offsets.view.data, offsets.size, &values.view,
                             slots.binary[TD_BINARY_add][out.view.dtype] if accumulate else NULL, out.dtype.itemsize)
    out.buffer.version += 1


cdef bint _accumulate(Strided out, int indexed, Strided offsets, Strided values):
    """Whether there was memory for sums in double precision."""
    cdef DType wide = dtype_from_id(_SUMMED_WIDE[out.view.dtype])
    cdef int status
    with nogil:
        status = accumulate_view(&out.view, indexed, <const int64_t *>offsets.view.data, offsets.size, &values.view,
                                 wide.id, out.dtype.itemsize, wide.itemsize)
    return status == 0


cdef Strided _fitted(Strided values, Strided out, const td_view *shape):
    """values as a dense array of out's dtype and of the selection's shape, apart from out's memory."""
    cdef td_view widened = shape[0]
    cdef Strided fitted
    if broadcast_shape(&widened, &values.view) != 0 or not same_shape(&widened, shape):
        raise ShapeError(f"index assignment: values of shape {values.shape_tuple()} do not broadcast to the "
                         f"selection's {view_shape(shape)}")
    fitted = broadcast(values, shape)
    if (fitted.view.dtype == out.view.dtype and fitted.dense
            and not overlaps(&fitted.view, fitted.dtype.itemsize, &out.view, out.dtype.itemsize)):
        return fitted
    values = allocate(out.dtype, out.device, shape)
    copy_into(fitted, values)
    return values


def nonzero(Strided x not None):
    """The (n, ndim) int64 indices of the non-zero elements, in C order."""
    cdef Strided mask = converted(x, TD_bool)
    cdef td_view shape
    cdef Strided out
    if not x.device.is_cpu:
        return x.device.backend.nonzero(mask)
    shape.ndim = 2
    shape.shape[0] = count_nonzero(&mask.view)
    shape.shape[1] = mask.view.ndim
    out = allocate(dtype_from_id(TD_i64), x.device, &shape)
    nonzero_view(&mask.view, <int64_t *>out.view.data)
    return out
