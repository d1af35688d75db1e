"""NDArray: the strided array with its conversions and methods; the operators are in ``_operators.pyx``."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE,
)
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.tuple cimport PyTuple_CheckExact
from libc.stdint cimport int64_t, uint64_t, uintptr_t

from treadle.ndarray._elementwise cimport slots
from treadle.ndarray._layout cimport broadcast_shape, checked_size, is_dense, same_shape
from treadle.ndarray._memory cimport wrap
from treadle.ndarray._operators cimport Operators
from treadle.ndarray._operands cimport (
    check_writable, converted, copied, copy_into, is_array, on_device, scalar_array, store,
)
from treadle.ndarray._shapes cimport read_shape
from treadle.ndarray._strided cimport Strided, allocate, blank, cpu_device, set_array_type
from treadle.ndarray._types cimport (
    TD_MAX_NDIM, TD_bool, TD_c128, TD_f64, TD_i64, TD_u64, Device, DType, is_complex, is_floating,
    is_inexact, td_view,
)

from treadle.ndarray._operators import set_matmul
from treadle.ndarray._types import dtype_named
from treadle.ndarray.errors import DeviceError, DTypeError, ShapeError

cdef object _functions = None


def set_functions(module):
    """The package, whose functions the methods of the same names are."""
    global _functions
    _functions = module
    set_matmul(module.matmul)


@cython.final
@cython.no_gc
cdef class NDArray(Operators):
    """A strided N-dimensional array of one dtype on one device.

    Made by :func:`treadle.ndarray.asarray` and its like, not by calling the class. Indexing, transposing, reshaping and
    broadcasting give views that share the memory wherever strides can express them.

    >>> import treadle.ndarray as nd
    >>> x = nd.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> (x @ x.T).tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    """

    cdef object __weakref__
    __array_ufunc__ = None  # NumPy's operators then leave mixed expressions to ours

    def __init__(self, *arguments, **keywords):
        raise DTypeError("NDArray is not called directly; use treadle.ndarray.asarray, zeros, ...")

    # --- indexing -------------------------------------------------------------------------------------------------
    def __getitem__(self, key):
        cdef tuple items = key if PyTuple_CheckExact(key) else (key,)
        if _is_basic(items):
            return self.sliced(items)
        return _functions.get_advanced(self, items)

    def __setitem__(self, key, value):
        cdef tuple items = key if PyTuple_CheckExact(key) else (key,)
        cdef Strided values
        check_writable(self, "index assignment")
        if is_array(value):
            values = <Strided>value
        elif isinstance(value, (int, float, complex)):
            values = scalar_array(value, self.view.dtype, self.device)
        else:
            values = _functions.asarray(value, device=self.device)
        if values.device is not self.device:
            raise DeviceError(f"index assignment: the array is on {self.device}, the value on {values.device}; "
                              "move one with to_device")
        if not _is_basic(items):
            _functions.set_advanced(self, items, values)
            return
        assign(self.sliced(items), values)

    def __len__(self):
        if self.view.ndim == 0:
            raise TypeError("len() of a 0-d array")
        return self.view.shape[0]

    def __iter__(self):
        cdef int64_t i
        if self.view.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        for i in range(self.view.shape[0]):
            yield self.sliced((i,))

    def __contains__(self, value):
        return bool(_functions.any(self == value))

    # --- views ----------------------------------------------------------------------------------------------------
    @property
    def T(self):
        """The axes in reverse order, a view."""
        return self.view_transposed()

    @property
    def mT(self):
        """The last two axes exchanged, a view."""
        return self.view_matrix_transposed()

    def reshape(self, *shape, copy=None):
        """:func:`treadle.ndarray.reshape`; the shape may be given as separate ints."""
        return self.in_shape(shape[0] if len(shape) == 1 else shape, copy is not False, bool(copy))

    def transpose(self, *axes):
        """The axes in another order, a view; without arguments in reverse."""
        if not axes or axes == (None,):
            return self.view_transposed()
        return self.view_permuted(axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)

    def swapaxes(self, axis1, axis2):
        """:func:`treadle.ndarray.swapaxes`."""
        return _functions.swapaxes(self, axis1, axis2)

    def squeeze(self, axis=None):
        """Without axes of length 1, a view."""
        return self.view_squeezed(axis)

    def flatten(self):
        """A 1-D copy in C order."""
        return copied(self).in_shape(-1, True, False)

    def ravel(self):
        """1-D in C order, a view where possible."""
        return self.in_shape(-1, True, False)

    # --- arithmetic as methods -------------------------------------------------------------------------------------
    def sum(self, axis=None, *, dtype=None, keepdims=False):
        """:func:`treadle.ndarray.sum`."""
        return _functions.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis=None, *, dtype=None, keepdims=False):
        """:func:`treadle.ndarray.prod`."""
        return _functions.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.mean`."""
        return _functions.mean(self, axis=axis, keepdims=keepdims)

    def var(self, axis=None, *, correction=0.0, keepdims=False):
        """:func:`treadle.ndarray.var`."""
        return _functions.var(self, axis=axis, correction=correction, keepdims=keepdims)

    def std(self, axis=None, *, correction=0.0, keepdims=False):
        """:func:`treadle.ndarray.std`."""
        return _functions.std(self, axis=axis, correction=correction, keepdims=keepdims)

    def max(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.max`."""
        return _functions.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.min`."""
        return _functions.min(self, axis=axis, keepdims=keepdims)

    def any(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.any`."""
        return _functions.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.all`."""
        return _functions.all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.argmax`."""
        return _functions.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.argmin`."""
        return _functions.argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis=None):
        """:func:`treadle.ndarray.cumsum`."""
        return _functions.cumsum(self, axis=axis)

    def clip(self, min=None, max=None):
        """:func:`treadle.ndarray.clip`."""
        return _functions.clip(self, min, max)

    def sort(self, axis=-1, *, descending=False, stable=True):
        """:func:`treadle.ndarray.sort`: a sorted copy, not in place."""
        return _functions.sort(self, axis=axis, descending=descending, stable=stable)

    def argsort(self, axis=-1, *, descending=False, stable=True):
        """:func:`treadle.ndarray.argsort`."""
        return _functions.argsort(self, axis=axis, descending=descending, stable=stable)

    # --- copies and conversions ------------------------------------------------------------------------------------
    def copy(self):
        """A fresh C-contiguous array with the same elements."""
        return copied(self)

    def fill(self, value):
        """Set every element to a scalar, in place."""
        self[...] = value

    def astype(self, dtype, *, copy=True):
        """The elements converted to another dtype; with ``copy=False`` the array itself if it has it already."""
        cdef DType target = dtype_named(dtype)
        if target is self.dtype:
            return copied(self) if copy else self
        return converted(self, target.id)

    def to_device(self, device, /, *, stream=None):
        """The array on another device; itself if it is there already. There are no streams to name: None."""
        if stream is not None:
            raise DeviceError(f"to_device: a stream cannot be named, and is {stream!r}")
        return on_device(self, _functions.device(device))

    def __array_namespace__(self, /, *, api_version=None):
        """The package, as the array API standard asks for it; the version that it follows is the only one."""
        if api_version is not None and api_version not in _functions.SUPPORTED_VERSIONS:
            known = ", ".join(_functions.SUPPORTED_VERSIONS)
            raise ValueError(f"version {api_version!r} of the array API standard is none of those followed: {known}")
        return _functions

    def numpy(self):
        """A NumPy array: of the same memory on the devices cpu and numpy, a copy from any other."""
        import numpy
        if self.device.is_cpu or self.device.type == "numpy":
            return numpy.asarray(memoryview(self))
        return numpy.asarray(memoryview(on_device(self, cpu_device)))

    def __array__(self, dtype=None, copy=None):
        import numpy
        if not (self.device.is_cpu or self.device.type == "numpy"):
            raise TypeError(f"an array on {self.device} is not converted to NumPy implicitly; call its numpy()")
        return numpy.array(memoryview(self), dtype=dtype, copy=copy)

    def item(self):
        """The only element, as a Python bool, int, float or complex; ShapeError if there is not just one."""
        cdef Strided x
        if self.size != 1:
            raise ShapeError(f"item: shape {self.shape_tuple()} has {self.size} elements, not 1")
        x = on_device(self, cpu_device)
        return _element(x.view.data, x.view.dtype)

    def tolist(self):
        """Nested lists of Python scalars; the scalar itself for a 0-d array."""
        cdef Strided x = on_device(self, cpu_device)
        return _nested(x.view.data, &x.view, 0)

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"the truth of an array of shape {self.shape_tuple()} is ambiguous; use any() or all()")
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())

    def __index__(self):
        if self.view.ndim != 0 or is_inexact(self.view.dtype) or self.view.dtype == TD_bool:
            raise TypeError(f"only a 0-d integer array is an index, not shape {self.shape_tuple()} of "
                            f"{self.dtype.name}")
        return self.item()

    def __repr__(self):
        from treadle.ndarray.printing import array_repr
        return array_repr(self)

    def __str__(self):
        from treadle.ndarray.printing import array_str
        return array_str(self)

    def __copy__(self):
        return copied(self)

    def __deepcopy__(self, memo):
        return copied(self)

    # --- interchange ----------------------------------------------------------------------------------------------
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule over the memory; BufferError where it cannot be shared as asked."""
        from treadle.ndarray.dlpack import export
        return export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """DLPack's device type and number: (1, 0) for host memory, (2, N) for cuda:N."""
        from treadle.ndarray.dlpack import device_pair
        return device_pair(self.device)

    def __reduce_ex__(self, protocol):
        from treadle.ndarray.buffers import reduced
        return reduced(self, protocol)

    # --- buffer protocol ------------------------------------------------------------------------------------------
    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef int axis
        cdef Py_ssize_t *layout
        if not (self.device.is_cpu or self.device.type == "numpy"):
            raise BufferError(f"memory on {self.device} cannot be shared; use to_device('cpu')")
        if not self.dtype.format:
            raise BufferError(f"the buffer protocol has no format for {self.dtype.name}; share it by DLPack, or "
                              "convert it with astype('float32')")
        if flags & PyBUF_WRITABLE and not self.writable:
            raise BufferError("the array is read-only")
        if not self.dense and (not flags & PyBUF_STRIDES == PyBUF_STRIDES or flags & PyBUF_C_CONTIGUOUS
                               == PyBUF_C_CONTIGUOUS):
            raise BufferError("the array is not C-contiguous; ask for strides, or copy()")
        if flags & (PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES:
            if not (<Strided>self.view_transposed()).dense and (
                    not self.dense or flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS):
                raise BufferError("the array is not contiguous in the order asked for; ask for strides, or copy()")
        layout = <Py_ssize_t *>PyMem_Malloc((2 * self.view.ndim + 1) * sizeof(Py_ssize_t))
        if layout == NULL:
            raise MemoryError()
        for axis in range(self.view.ndim):
            layout[axis] = self.view.shape[axis]
            layout[self.view.ndim + axis] = self.view.strides[axis]
        buffer.buf = self.view.data
        buffer.obj = self
        buffer.len = self.size * self.dtype.itemsize
        buffer.itemsize = self.dtype.itemsize
        buffer.readonly = not self.writable
        buffer.ndim = self.view.ndim
        buffer.format = PyBytes_AS_STRING(self.dtype.format_bytes) if flags & PyBUF_FORMAT else NULL
        buffer.shape = layout if flags & PyBUF_ND else NULL
        buffer.strides = layout + self.view.ndim if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL
        buffer.internal = layout

    def __releasebuffer__(self, Py_buffer *buffer):
        PyMem_Free(buffer.internal)


set_array_type(NDArray)


cdef bint _is_basic(tuple key):
    for each in key:
        if not (each is None or each is Ellipsis or isinstance(each, slice)
                or (isinstance(each, int) and not isinstance(each, bool))):
            return False
    return True


def assign(Strided target not None, Strided values not None):
    """target[...] = values, which broadcast to its shape; leading axes of length 1 may be too many."""
    cdef td_view shape
    while values.view.ndim > target.view.ndim and values.view.shape[0] == 1:
        values = values.view_squeezed(0)
    shape = target.view
    if broadcast_shape(&shape, &values.view) != 0 or not same_shape(&shape, &target.view):
        raise ShapeError(f"index assignment: a value of shape {values.shape_tuple()} does not broadcast to "
                         f"{target.shape_tuple()}")
    copy_into(values, target)
    target.buffer.version += 1


cdef object _element(const char *data, int dtype):
    cdef double real = 0
    cdef double[2] both
    cdef int64_t signed = 0
    if dtype == TD_bool:
        return data[0] != 0
    if is_complex(dtype):
        slots.cast[dtype][TD_c128](1, data, 16, <char *>both, 16)
        return complex(both[0], both[1])
    if is_floating(dtype):
        slots.cast[dtype][TD_f64](1, data, 8, <char *>&real, 8)
        return real
    if dtype == TD_u64:
        return (<const uint64_t *>data)[0]
    slots.cast[dtype][TD_i64](1, data, 8, <char *>&signed, 8)
    return signed


cdef object _nested(const char *data, const td_view *view, int axis):
    cdef int64_t i
    if axis == view.ndim:
        return _element(data, view.dtype)
    return [_nested(data + i * view.strides[axis], view, axis + 1) for i in range(view.shape[axis])]


def empty(shape, DType dtype, Device device):
    """Uninitialised."""
    cdef td_view view
    read_shape(shape, &view, "empty")
    return allocate(dtype, device, &view)


def reshape(Strided x not None, /, shape, *, copy=None):
    """The same elements in C order under another shape; one length may be -1 and follows from the rest.

    A view where strides can express it; ``copy=True`` always copies, ``copy=False`` raises ValueError where it must.
    Raises ShapeError when the sizes differ.

    >>> import treadle.ndarray as nd
    >>> nd.reshape(nd.arange(6), (2, -1)).shape
    (2, 3)
    """
    return x.in_shape(shape, copy is not False, bool(copy))


def from_memory(object owner, DType dtype):
    """An array over the memory of a :class:`ForeignBuffer`, whose layout is known to be of the dtype and aligned."""
    cdef Strided out = blank()
    cdef int axis
    if len(owner.shape) > TD_MAX_NDIM:
        raise ShapeError(f"asarray: {len(owner.shape)} dimensions; at most {TD_MAX_NDIM} are possible")
    out.buffer = wrap(<void *><uintptr_t>owner.pointer, owner.nbytes, owner)
    out.view.data = out.buffer.data
    out.view.dtype = dtype.id
    out.view.ndim = len(owner.shape)
    for axis in range(out.view.ndim):
        out.view.shape[axis] = owner.shape[axis]
        out.view.strides[axis] = owner.strides[axis]
    out.size = checked_size(&out.view)
    if out.size < 0:
        raise ShapeError(f"asarray: shape {owner.shape} has more elements than can be counted")
    out.dtype = dtype
    out.device = cpu_device
    out.writable = not owner.readonly
    out.dense = is_dense(&out.view, dtype.itemsize)
    return out


def store_scalars(Strided out, list scalars):
    """The elements of a dense cpu array, from as many Python scalars."""
    cdef int64_t i
    if len(scalars) != out.size or not out.dense:
        raise ShapeError(f"asarray: ragged sequence: {len(scalars)} numbers for shape {out.shape_tuple()}")
    for i, value in enumerate(scalars):
        store(value, out.view.dtype, out.view.data + i * out.dtype.itemsize)
