"""NDArray: the strided array with indexing, conversions and exchange; the other methods are in ``_operators.pyx``."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE,
)
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.slice cimport PySlice_Check
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
    is_inexact, must_have, td_view,
)

from treadle.ndarray._operators import set_package
from treadle.ndarray._types import dtype_named
from treadle.ndarray.errors import DeviceError, DTypeError, ShapeError

cdef object _functions = None


def set_functions(module):
    """The package, whose functions the methods of the same names are."""
    global _functions
    _functions = module
    set_package(module)


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
    >>> x.shape, x.ndim, x.size, x.dtype, x.device
    ((2, 2), 2, 4, treadle.float32, device('cpu'))
    >>> x.T.strides, x.itemsize, x.nbytes, x.T.is_contiguous
    ((4, 8), 4, 16, False)
    >>> x.fill(0.0)
    >>> x.version, x.readonly, x.data_pointer % 64, x.buffer.nbytes
    (1, False, 0, 16)
    """

    cdef object __weakref__
    __array_ufunc__ = None  # NumPy's operators then leave mixed expressions to ours

    def __init__(self, *arguments, **keywords):
        raise DTypeError("NDArray is not called directly; use treadle.ndarray.asarray, zeros, ...")

    # --- indexing -------------------------------------------------------------------------------------------------
    def __getitem__(self, key):
        cdef tuple items
        if self.view.ndim > 0:
            if PySlice_Check(key):
                return self.first_sliced(key)
            if PyLong_CheckExact(key):
                return self.first_taken(key)
        items = key if PyTuple_CheckExact(key) else (key,)
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

    # --- conversions ------------------------------------------------------------------------------------------------
    def astype(self, dtype, *, copy=True):
        """The elements converted to another dtype; with ``copy=False`` the array itself if it has it already.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([1.7, -1.7]).astype(nd.int32).tolist()
        [1, -1]
        """
        cdef DType target = dtype_named(dtype)
        if target is self.dtype:
            return copied(self) if copy else self
        return converted(self, target.id)

    def to_device(self, device, /, *, stream=None):
        """The array on another device; itself if it is there already. There are no streams to name: None.

        >>> import treadle.ndarray as nd
        >>> nd.zeros(2).to_device("numpy").device
        device('numpy')
        """
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
        """A NumPy array: of the same memory on the devices cpu and numpy, a copy from any other.

        >>> import treadle.ndarray as nd
        >>> x = nd.zeros(2)
        >>> x.numpy()[0] = 7
        >>> x.tolist()
        [7.0, 0.0]
        """
        import numpy
        if self.device.is_cpu or self.device.type == "numpy":
            return numpy.asarray(memoryview(self))
        return numpy.asarray(memoryview(on_device(self, cpu_device)))

    def __array__(self, dtype=None, copy=None):
        import numpy
        if not (self.device.is_cpu or self.device.type == "numpy"):
            raise TypeError(f"an array on {self.device} is not converted to NumPy implicitly; call its numpy()")
        return numpy.array(memoryview(self), dtype=dtype, copy=copy)

    def __array_function__(self, function, types, arguments, keywords):
        from treadle.ndarray.numpy_functions import call
        return call(function, arguments, keywords)

    def item(self):
        """The only element, as a Python bool, int, float or complex; ShapeError if there is not just one.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([[2.5]]).item()
        2.5
        """
        return _item(self)

    def tolist(self):
        """Nested lists of Python scalars; the scalar itself for a 0-d array.

        >>> import treadle.ndarray as nd
        >>> nd.eye(2, dtype=nd.int8).tolist()
        [[1, 0], [0, 1]]
        """
        cdef Strided x = on_device(self, cpu_device)
        return _nested(x.view.data, &x.view, 0)

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"the truth of an array of shape {self.shape_tuple()} is ambiguous; use any() or all()")
        return bool(_item(self))

    def __int__(self):
        return int(_item(self))

    def __float__(self):
        return float(_item(self))

    def __complex__(self):
        return complex(_item(self))

    def __index__(self):
        if self.view.ndim != 0 or is_inexact(self.view.dtype) or self.view.dtype == TD_bool:
            raise TypeError(f"only a 0-d integer array is an index, not shape {self.shape_tuple()} of "
                            f"{self.dtype.name}")
        return _item(self)

    def __repr__(self):
        from treadle.ndarray.printing import array_repr
        return array_repr(self)

    def __str__(self):
        from treadle.ndarray.printing import array_str
        return array_str(self)

    def __format__(self, specification):
        """The text of the array, or with a specification of its only element."""
        return format(_item(self), specification) if specification else str(self)

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

    @property
    def __cuda_array_interface__(self):
        """The memory of an array on a GPU, for libraries without DLPack; AttributeError on other devices."""
        if self.device.type != "cuda":
            raise AttributeError(f"__cuda_array_interface__: the array is on {self.device}")
        return self.device.backend.array_interface(self)

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
            if not self.transposed().dense and (
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
        if self.writable:
            self.buffer.lent()

    def __releasebuffer__(self, Py_buffer *buffer):
        PyMem_Free(buffer.internal)
        if self.writable:
            self.buffer.returned()


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


cdef object _item(Strided x):
    if x.size != 1:
        raise ShapeError(f"item: shape {x.shape_tuple()} has {x.size} elements, not 1")
    x = on_device(x, cpu_device)
    return _element(x.view.data, x.view.dtype)


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
    return x.in_shape(shape, (), copy is not False, bool(copy))


def from_memory(object owner, DType dtype, Device device=None):
    """An array over the memory of a :class:`ForeignBuffer`, or of what describes memory of a device alike, whose layout
    is known to be of the dtype and aligned."""
    cdef Strided out = blank()
    cdef int axis
    if len(owner.shape) > TD_MAX_NDIM:
        raise ShapeError(f"asarray: {len(owner.shape)} dimensions; at most {TD_MAX_NDIM} are possible")
    out.buffer = wrap(<void *><uintptr_t>owner.pointer, owner.nbytes, owner)
    out.buffer.borrowed = True
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
    out.device = cpu_device if device is None else device
    must_have(out.device, dtype)
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
