"""Element types and devices: what an array is made of, apart from its memory."""

from libc.stdint cimport int8_t

import struct

from treadle.ndarray.errors import DTypeError

cdef object _DTYPES = [None] * TD_DTYPE_COUNT
cdef int8_t _promotion[32][32]
cdef bint _complete = False


cdef class DType:
    """The type of an array's elements.

    ``name`` is the array API's ("float32"), ``kind`` is "b", "i", "u", "f" or "c", ``itemsize`` is in bytes, ``id`` is
    the number of the type in ``include/treadle/types.h`` and ``format`` its code in the buffer protocol, which has none
    for bfloat16: "".

    >>> import treadle.ndarray as nd
    >>> nd.float32.name, nd.float32.kind, nd.float32.itemsize, nd.float32.id, nd.float32.format
    ('float32', 'f', 4, 11, 'f')
    """

    def __init__(self, str name, str kind, int id, str format):
        if _complete:
            raise DTypeError("a dtype is named, not made: treadle.ndarray.float32, or dtype('float32')")
        self.name = name
        self.kind = kind
        self.id = id
        self.format = format
        self.format_bytes = format.encode()
        self.itemsize = struct.calcsize(format.lstrip("Z") or "H") * (2 if kind == "c" else 1)
        bits = int(8 * self.itemsize - (kind == "i"))
        self.lowest = -(1 << bits) if kind == "i" else 0
        self.largest = (1 << bits) - 1

    def __repr__(self):
        return f"treadle.{self.name}"

    def __str__(self):
        return self.name

    def __eq__(self, other):
        if isinstance(other, str):
            return self.name == other
        return self is other

    def __hash__(self):
        return hash(self.name)

    def __reduce__(self):
        return dtype_named, (self.name,)


cdef class Device:
    """Where an array's memory lies: ``cpu``, ``numpy``, ``cuda:0``, ``cuda_emulated``.

    Equal to its name: ``x.device == "cpu"``. Made by :func:`treadle.ndarray.device`. ``type`` and ``index`` make the
    name, ``is_cpu`` says whether the compiled kernels serve it, and ``backend`` is what serves it otherwise.

    >>> import treadle.ndarray as nd
    >>> nd.device("cpu") == "cpu", nd.device("numpy").type, nd.device("numpy").index, nd.device("numpy").is_cpu
    (True, 'numpy', 0, False)
    >>> nd.device("cpu").backend is None
    True
    """

    def __init__(self, str type, int index, object backend):
        self.type = type
        self.index = index
        self.backend = backend
        self.is_cpu = backend is None
        self.dtypes = -1
        if backend is not None and getattr(backend, "dtypes", None) is not None:
            self.dtypes = 0
            for name in backend.dtypes:
                self.dtypes |= 1 << dtype_named(name).id

    def __str__(self):
        return f"{self.type}:{self.index}" if self.type == "cuda" or self.index else self.type

    def __repr__(self):
        return f"device('{self}')"

    def __eq__(self, other):
        if isinstance(other, str):
            return str(self) == other or (self.index == 0 and self.type == other)
        return self is other

    def __hash__(self):
        return hash(str(self))

    def __reduce__(self):
        from treadle.ndarray.devices import device
        return device, (str(self),)


cdef int must_have(Device device, DType dtype) except -1:
    """Raise DTypeError where the device has no such dtype."""
    if not device.dtypes >> dtype.id & 1:
        known = ", ".join([each.name for each in all_dtypes() if device.dtypes >> (<DType>each).id & 1])
        raise DTypeError(f"{device} has no {dtype.name} yet; the dtypes it has are {known}: convert with astype on the "
                         "cpu")
    return 0


cdef DType dtype_from_id(int dtype):
    return <DType>_DTYPES[dtype]


cdef bint is_floating(int dtype) noexcept nogil:
    """Whether it is a real floating dtype."""
    return TD_f16 <= dtype <= TD_f64


cdef bint is_half(int dtype) noexcept nogil:
    return dtype == TD_f16 or dtype == TD_bf16


cdef bint is_complex(int dtype) noexcept nogil:
    return dtype >= TD_c64


cdef bint is_inexact(int dtype) noexcept nogil:
    """Whether it is a real or complex floating dtype."""
    return dtype >= TD_f16


cdef int part_dtype(int dtype) noexcept nogil:
    """The dtype of a complex number's parts; a real dtype itself."""
    return TD_f32 if dtype == TD_c64 else TD_f64 if dtype == TD_c128 else dtype


cdef bint is_unsigned(int dtype) noexcept nogil:
    return TD_u8 <= dtype <= TD_u64


cdef int promote(int x, int y) noexcept nogil:
    return _promotion[x][y]


def result_dtype(DType x not None, DType y not None):
    """The dtype that operands of dtypes x and y meet in; :func:`result_type` takes arrays and scalars too.

    >>> import treadle.ndarray as nd
    >>> nd.result_dtype(nd.int8, nd.uint8), nd.result_dtype(nd.int64, nd.float32)
    (treadle.int16, treadle.float32)
    """
    return dtype_from_id(_promotion[x.id][y.id])


def dtype_named(object name):
    """The DType of a name, a DType, or a Python type (bool, int, float, complex).

    Raises DTypeError for anything else.

    >>> import treadle.ndarray as nd
    >>> nd.dtype("int8")
    treadle.int8
    """
    cdef DType each
    if isinstance(name, DType):
        return name
    if name is bool:
        name = "bool"
    elif name is int:
        name = "int64"
    elif name is float:
        name = "float32"
    elif name is complex:
        name = "complex64"
    for each in _DTYPES:
        if each is not None and each.name == name:
            return each
    name = getattr(name, "name", getattr(name, "__name__", name))  # numpy.dtype("float32") and numpy.float32
    for each in _DTYPES:
        if each is not None and each.name == name:
            return each
    known = ", ".join([(<DType>each).name for each in _DTYPES if each is not None])
    raise DTypeError(f"no dtype {name!r}; there are {known}")


def all_dtypes():
    """Every DType, in the order of their ids."""
    return [each for each in _DTYPES if each is not None]


cdef int _promote_rule(DType x, DType y):
    cdef DType low = x
    cdef DType high = y
    if x.id == y.id:
        return x.id
    order = "buifc"  # low to high
    if order.index(x.kind) > order.index(y.kind):
        low, high = y, x
    if low.kind == high.kind:
        if low.itemsize == high.itemsize:
            return TD_f32  # float16 has more digits, bfloat16 more range
        return low.id if low.itemsize > high.itemsize else high.id
    if low.id == TD_f64 and high.kind == "c":
        return TD_c128
    if low.kind == "u" and high.kind == "i":
        if low.itemsize < high.itemsize:
            return high.id
        return TD_f64 if low.itemsize == 8 else TD_i8 + low.id - TD_u8 + 1
    return high.id  # bool with anything, integers with a float, narrow floats with a complex: the higher kind decides


cdef void _build():
    cdef DType x, y
    for name, kind, id, format in (
        ("bool", "b", TD_bool, "?"), ("int8", "i", TD_i8, "b"), ("int16", "i", TD_i16, "h"),
        ("int32", "i", TD_i32, "i"), ("int64", "i", TD_i64, "q"), ("uint8", "u", TD_u8, "B"),
        ("uint16", "u", TD_u16, "H"), ("uint32", "u", TD_u32, "I"), ("uint64", "u", TD_u64, "Q"),
        ("float16", "f", TD_f16, "e"), ("bfloat16", "f", TD_bf16, ""), ("float32", "f", TD_f32, "f"),
        ("float64", "f", TD_f64, "d"), ("complex64", "c", TD_c64, "Zf"), ("complex128", "c", TD_c128, "Zd"),
    ):
        _DTYPES[id] = DType(name, kind, id, format)
    for x in all_dtypes():
        for y in all_dtypes():
            _promotion[x.id][y.id] = _promote_rule(x, y)


_build()
_complete = True
