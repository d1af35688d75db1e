"""A strided array without arithmetic: memory, dtype, shape, strides, device, and every view of it.

A view shares the buffer and copies nothing. This logic is the same on every device, because it never touches the
elements. The public class, with operators and conversions, is :class:`treadle.ndarray.NDArray` in ``_array.pyx``.
"""

cimport cython
from cpython.exc cimport PyErr_Clear
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy

from treadle.ndarray._layout cimport (
    broadcast_shape, broadcast_view, checked_size, dense_strides, is_dense, reshape_strides, view_size,
)
from treadle.ndarray._memory cimport allocate_host, wrap
from treadle.ndarray._shapes cimport normal_axis, read_lengths, read_shape, shape_argument, view_shape
from treadle.ndarray._types cimport TD_MAX_NDIM, Device, DType, must_have, td_view

from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.errors import IndexingError, ShapeError

cdef extern from "Python.h":
    bint PySlice_Check(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    int PySlice_Unpack(object slice, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step)
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t step)

cdef extern from "kernels/objects.h":
    object td_new(PyObject *type)
    int td_recycle(PyObject *type, size_t view_from, size_t view_end) except -1

cdef type _array_type = None
cdef Device cpu_device = Device("cpu", 0, None)


def get_cpu_device():
    return cpu_device


cdef int set_array_type(type array_type) except -1:
    """The class of the arrays that are made here; it is defined in a module above this one."""
    global _array_type
    cdef Strided one = Strided.__new__(Strided)
    cdef size_t view_from = <char *>&one.view - <char *><PyObject *>one
    _array_type = array_type
    td_recycle(<PyObject *>array_type, view_from, view_from + sizeof(td_view))
    return 0


cdef Strided blank():
    return <Strided>td_new(<PyObject *>_array_type)


cdef inline Strided _shapeless(Strided x):
    cdef Strided out = blank()  # for the memory of x
    out.view.data = x.view.data
    out.view.dtype = x.view.dtype
    out.size = x.size
    out.dense = x.dense
    out.writable = x.writable
    out.dtype = x.dtype
    out.device = x.device
    out.buffer = x.buffer
    return out


cdef Strided allocate(DType dtype, Device device, const td_view *shape):
    """A fresh dense array with the shape of ``shape``; its elements are whatever was in the memory."""
    cdef Strided out = blank()
    cdef int axis
    cdef int64_t size = 1
    cdef int64_t length
    out.view.ndim = shape.ndim
    out.view.dtype = dtype.id
    for axis in range(shape.ndim - 1, -1, -1):
        length = shape.shape[axis]
        out.view.shape[axis] = length
        out.view.strides[axis] = size * dtype.itemsize
        if length and size > (<int64_t>1 << 56) // length:
            raise MemoryError(f"an array of shape {view_shape(shape)} and dtype {dtype.name} is beyond any memory")
        size *= length
    if size == 0:
        dense_strides(&out.view, dtype.itemsize)
    out.dtype = dtype
    out.device = device
    if device.is_cpu:
        out.buffer = allocate_host(size * dtype.itemsize)
    else:
        must_have(device, dtype)
        allocation = device.backend.allocate(size * dtype.itemsize, device.index)
        out.buffer = wrap(<void *><uintptr_t>allocation.pointer, size * dtype.itemsize, allocation)
    out.view.data = out.buffer.data
    out.size = size
    out.dense = True
    out.writable = True
    return out


cdef tuple _axes_tuple(axes):
    try:
        return tuple(axes)
    except TypeError:
        raise ShapeError(f"permute_dims: axes is a sequence of ints, not {axes!r}") from None


@cython.no_gc
cdef class Strided:
    """Buffer + dtype + shape + strides + device."""

    cdef tuple shape_tuple(self):
        return view_shape(&self.view)

    @property
    def shape(self):
        """The lengths of the axes, a tuple of ints."""
        return view_shape(&self.view)

    @property
    def strides(self):
        """The steps between neighbours along each axis, in bytes."""
        cdef int axis
        return tuple([self.view.strides[axis] for axis in range(self.view.ndim)])

    @property
    def ndim(self):
        """The number of axes."""
        return self.view.ndim

    @property
    def size(self):
        """The number of elements."""
        return self.size

    @property
    def itemsize(self):
        """Bytes an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements; a broadcast view counts each repetition."""
        return self.size * self.dtype.itemsize

    @property
    def data_pointer(self):
        """The address of the first element, of the device's memory."""
        return <uintptr_t>self.view.data

    @property
    def is_contiguous(self):
        """Whether the elements lie in C order without gaps."""
        return self.dense

    @property
    def readonly(self):
        """Whether writing is refused: the memory is foreign and read-only, or elements are broadcast."""
        return not self.writable

    @property
    def version(self):
        """How often the buffer was written in place; what borrowers wrote between two readings counts once."""
        return self.buffer.settled_version()

    cdef Strided alias(self):
        """A new array object for the same memory; the caller changes its view before anyone sees it."""
        cdef Strided out = _shapeless(self)
        out.view.ndim = self.view.ndim
        memcpy(out.view.shape, self.view.shape, self.view.ndim * sizeof(int64_t))
        memcpy(out.view.strides, self.view.strides, self.view.ndim * sizeof(int64_t))
        return out

    cdef Strided reshaped(self, const td_view *shape):
        """A view with another shape of the same size, or None where strides cannot express it."""
        cdef Strided out = _shapeless(self)
        out.view.ndim = shape.ndim
        memcpy(out.view.shape, shape.shape, shape.ndim * sizeof(int64_t))
        if self.dense:
            dense_strides(&out.view, self.dtype.itemsize)
            return out
        if reshape_strides(&self.view, &out.view, self.dtype.itemsize) != 0:
            return None
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    def view_permuted(self, axes):
        """The axes in another order: ``permute_dims``."""
        cdef Strided out
        cdef int axis
        cdef int place = 0
        cdef unsigned int seen = 0
        if not PyTuple_CheckExact(axes):
            axes = _axes_tuple(axes)
        out = self.alias()
        for each in <tuple>axes:
            axis = normal_axis(each, &self.view, "permute_dims")
            if seen >> axis & 1:
                break
            seen |= 1u << axis
            out.view.shape[place] = self.view.shape[axis]
            out.view.strides[place] = self.view.strides[axis]
            place += 1
        if place != self.view.ndim or place != len(<tuple>axes):
            raise ShapeError(f"permute_dims: {axes} does not name each of the {self.view.ndim} axes once")
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    cdef Strided transposed(self):
        cdef Strided out = self.alias()
        cdef int axis
        for axis in range(self.view.ndim):
            out.view.shape[axis] = self.view.shape[self.view.ndim - 1 - axis]
            out.view.strides[axis] = self.view.strides[self.view.ndim - 1 - axis]
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    def view_matrix_transposed(self):
        """The last two axes exchanged."""
        cdef int last = self.view.ndim - 1
        if last < 1:
            raise ShapeError(f"matrix_transpose: shape {self.shape_tuple()} has no two axes")
        cdef Strided out = self.alias()
        out.view.shape[last], out.view.shape[last - 1] = self.view.shape[last - 1], self.view.shape[last]
        out.view.strides[last], out.view.strides[last - 1] = self.view.strides[last - 1], self.view.strides[last]
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    def view_broadcast(self, shape):
        """Stretched to a shape, read-only: ``broadcast_to``."""
        cdef td_view target
        cdef td_view widened
        cdef Strided out
        read_shape(shape, &target, "broadcast_to")
        widened = target
        if (self.view.ndim > target.ndim or broadcast_shape(&widened, &self.view) != 0
                or view_shape(&widened) != view_shape(&target)):
            raise ShapeError(f"broadcast_to: shape {self.shape_tuple()} does not broadcast to {view_shape(&target)}")
        out = self.alias()
        broadcast_view(&out.view, &self.view, &target)
        out.size = checked_size(&target)
        if out.size < 0:
            raise ShapeError(f"broadcast_to: {view_shape(&target)} has more elements than can be counted")
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        out.writable = self.writable and out.size == self.size
        return out

    def view_expanded(self, axis):
        """With a new axis of length 1: ``expand_dims``."""
        cdef int place = normalize_axis(axis, self.view.ndim + 1, "expand_dims")
        cdef int each
        cdef Strided out
        if self.view.ndim == TD_MAX_NDIM:
            raise ShapeError(f"expand_dims: more than {TD_MAX_NDIM} dimensions")
        out = self.alias()
        for each in range(self.view.ndim, place, -1):
            out.view.shape[each] = self.view.shape[each - 1]
            out.view.strides[each] = self.view.strides[each - 1]
        out.view.ndim += 1
        out.view.shape[place] = 1
        out.view.strides[place] = self.dtype.itemsize
        return out

    def view_squeezed(self, axes):
        """Without the named axes, each of length 1; None names all such: ``squeeze``."""
        cdef Strided out = self.alias()
        cdef int axis
        if axes is None:
            dropped = {axis for axis in range(self.view.ndim) if self.view.shape[axis] == 1}
        else:
            axes = axes if isinstance(axes, (tuple, list)) else (axes,)
            dropped = {normal_axis(each, &self.view, "squeeze") for each in axes}
            if len(dropped) != len(axes):
                raise ShapeError(f"squeeze: {axes} names an axis twice")
        out.view.ndim = 0
        for axis in range(self.view.ndim):
            if axis not in dropped:
                out.view.shape[out.view.ndim] = self.view.shape[axis]
                out.view.strides[out.view.ndim] = self.view.strides[axis]
                out.view.ndim += 1
            elif self.view.shape[axis] != 1:
                raise ShapeError(f"squeeze: axis {axis} of shape {self.shape_tuple()} has length "
                                 f"{self.view.shape[axis]}, not 1")
        return out

    def view_flipped(self, axes):
        """Backwards along the named axes; None names all: ``flip``."""
        cdef Strided out = self.alias()
        cdef int axis
        if axes is None:
            axes = range(self.view.ndim)
        elif not isinstance(axes, (tuple, list)):
            axes = (axes,)
        flipped = {normal_axis(each, &self.view, "flip") for each in axes}
        if len(flipped) != len(axes):
            raise ShapeError(f"flip: {axes} names an axis twice")
        for axis in flipped:
            if self.view.shape[axis] > 0:
                out.view.data += (self.view.shape[axis] - 1) * self.view.strides[axis]
            out.view.strides[axis] = -self.view.strides[axis]
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    cdef Strided first_sliced(self, slice each):
        """Basic indexing with one slice: the commonest kind."""
        cdef Py_ssize_t start, stop, step
        cdef int64_t length = self.view.shape[0]
        cdef int64_t stride = self.view.strides[0]
        cdef Strided out
        if PySlice_Unpack(each, &start, &stop, &step) < 0:
            _raise_slice_error(each)
        out = self.alias()
        out.view.shape[0] = PySlice_AdjustIndices(length, &start, &stop, step)
        if out.view.shape[0]:
            out.view.data += start * stride
            if out.view.shape[0] > 1:
                out.view.strides[0] = step * stride
            out.size = self.size // length * out.view.shape[0]
        else:
            out.size = 0
        if step != 1 or not self.dense:
            out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    cdef Strided first_taken(self, object index):
        """Basic indexing with one int."""
        cdef int64_t place = self._place(index, 0)
        cdef Strided out = self.alias()
        out.view.ndim -= 1
        out.view.data += place * self.view.strides[0]
        memcpy(out.view.shape, &self.view.shape[1], out.view.ndim * sizeof(int64_t))
        memcpy(out.view.strides, &self.view.strides[1], out.view.ndim * sizeof(int64_t))
        out.size = self.size // self.view.shape[0]
        if not self.dense or self.size == 0:
            out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    cdef Strided sliced(self, tuple key):
        """Basic indexing: ints, slices, None and one Ellipsis. The key holds nothing else."""
        cdef Strided out = self.alias()
        cdef int axis = 0
        cdef int taken = 0
        cdef int dots = 0
        cdef int skipped
        cdef Py_ssize_t start, stop, step, length
        for each in key:
            if each is Ellipsis:
                dots += 1
            elif each is not None:
                taken += 1
        if taken > self.view.ndim:
            raise IndexingError(f"index: {taken} indices for shape {self.shape_tuple()} of {self.view.ndim} dimensions")
        if dots > 1:
            raise IndexingError("index: more than one Ellipsis ('...')")
        out.view.ndim = 0
        skipped = self.view.ndim - taken
        for each in key:
            if each is None:
                self._keep(out, 1, self.dtype.itemsize)
            elif each is Ellipsis:
                axis = self._keep_axes(out, axis, skipped)
            elif PySlice_Check(each):
                if PySlice_Unpack(each, &start, &stop, &step) < 0:
                    _raise_slice_error(each)
                length = PySlice_AdjustIndices(self.view.shape[axis], &start, &stop, step)
                if length:
                    out.view.data += start * self.view.strides[axis]
                self._keep(out, length, step * self.view.strides[axis] if length > 1 else self.view.strides[axis])
                axis += 1
            else:
                out.view.data += self._place(each, axis) * self.view.strides[axis]
                axis += 1
        if dots == 0:
            self._keep_axes(out, axis, skipped)
        out.size = view_size(&out.view)
        out.dense = is_dense(&out.view, self.dtype.itemsize)
        return out

    cdef int _keep_axes(self, Strided out, int axis, int count) except -1:
        """Keep axes as they are; returns the one behind them."""
        cdef int each
        for each in range(axis, axis + count):
            self._keep(out, self.view.shape[each], self.view.strides[each])
        return axis + count

    cdef int _keep(self, Strided out, int64_t length, int64_t stride) except -1:
        if out.view.ndim == TD_MAX_NDIM:
            raise IndexingError(f"index: the result has more than {TD_MAX_NDIM} dimensions")
        out.view.shape[out.view.ndim] = length
        out.view.strides[out.view.ndim] = stride
        out.view.ndim += 1
        return 0

    cdef int64_t _place(self, object index, int axis) except -1:
        cdef int64_t length = self.view.shape[axis]
        cdef int beyond = 0
        cdef int64_t place = PyLong_AsLongLongAndOverflow(index, &beyond)
        if beyond:
            place = -length - 1
        if place < -length or place >= length:
            raise IndexingError(f"index {index} is out of bounds for axis {axis} of length {length} "
                                f"(shape {self.shape_tuple()})")
        return place + length if place < 0 else place

    cdef Strided in_shape(self, shape, tuple more, bint may_copy, bint must_copy):
        """The elements under another shape (``more``: behind its first length), one of -1: a view if possible."""
        cdef td_view view
        cdef Strided out
        cdef int64_t size = 1
        cdef int64_t length
        cdef int unknown = -1
        cdef int axis
        read_lengths(shape, &view, "reshape", more)
        for axis in range(view.ndim):
            length = view.shape[axis]
            if length == -1 and unknown < 0:
                unknown = axis
            elif length < 0 or length > <int64_t>1 << 56 or (
                    (length | size) >> 28 and length and size > (<int64_t>1 << 56) // length):
                raise self._no_reshape(shape, more)
            else:
                size *= length
        if unknown >= 0:
            if size == 0 or self.size % size != 0:
                raise self._no_reshape(shape, more)
            view.shape[unknown] = self.size // size
        elif size != self.size:
            raise self._no_reshape(shape, more)
        out = None if must_copy else self.reshaped(&view)
        if out is None:
            if not may_copy:
                raise ValueError(f"reshape: shape {self.shape_tuple()} with strides {self.strides} has no view of "
                                 f"shape {(shape, *more) if more else shape_argument(shape)}")
            out = (<Strided>(<object>self).copy()).reshaped(&view)
        return out

    cdef object _no_reshape(self, shape, tuple more):
        shape = (shape,) + more if more else shape_argument(shape)
        return ShapeError(f"reshape: {self.size} elements of shape {self.shape_tuple()} do not fit {shape}")


cdef int _raise_slice_error(object each) except -1:
    PyErr_Clear()
    if each.step == 0:
        raise IndexingError(f"index: the step of {each!r} is zero") from None
    raise IndexingError(f"index: a slice is made of ints, not {each!r}") from None
