"""Operands before and after a kernel: scalars become arrays, dtypes meet, elements are copied and moved."""

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from libc.stdint cimport int64_t, uint64_t

from treadle.ndarray._elementwise cimport copy_view, slots
from treadle.ndarray._layout cimport broadcast_view, overlaps, same_shape, same_view
from treadle.ndarray._strided cimport Strided, allocate, cpu_device
from treadle.ndarray._types cimport (
    TD_bool, TD_c64, TD_c128, TD_f32, TD_f64, TD_i64, TD_u8, TD_u64, Device, DType, dtype_from_id, is_complex,
    is_floating, is_inexact, td_view,
)

from treadle.ndarray.errors import BufferReadOnlyError, DeviceError, DTypeError, RangeError


cdef bint is_array(object value):
    return isinstance(value, Strided)


cdef object _python_scalar(object value):
    """A bool, int, float or complex for a Python or NumPy scalar; None for anything else."""
    if PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item") and not hasattr(value, "__dlpack__"):
        value = value.item()
        if PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
            return value
    return None


cdef int weak_dtype(object value, int dtype) except -2:
    """The dtype of an array of ``dtype`` with a Python scalar: the array's, unless the scalar is of a higher kind."""
    if PyBool_Check(value):
        return dtype
    if PyLong_Check(value):
        return TD_i64 if dtype == TD_bool else dtype
    if PyComplex_Check(value):
        return dtype if is_complex(dtype) else TD_c128 if dtype == TD_f64 else TD_c64
    return dtype if is_inexact(dtype) else TD_f32


cdef bint fits(object value, int dtype) except -1:
    """Whether an int can be an element; anything else may try."""
    cdef DType kind = dtype_from_id(dtype)
    if not PyLong_Check(value) or dtype == TD_bool or is_inexact(dtype):
        return True
    return kind.lowest <= value <= kind.largest


cdef int store(object value, int dtype, char *data) except -1:
    """Write a Python scalar as an element; integers out of range raise OverflowError, as in NumPy."""
    cdef double real
    cdef double[2] both
    cdef int64_t signed
    cdef uint64_t unsigned
    cdef DType kind = dtype_from_id(dtype)
    if dtype == TD_bool:
        data[0] = bool(value)
    elif is_complex(dtype):
        both[0], both[1] = value.real, value.imag
        slots.cast[TD_c128][dtype](1, <const char *>both, 16, data, 16)
    elif PyComplex_Check(value):
        raise DTypeError(f"cannot store the complex number {value!r} as {kind.name}; take its real or imag")
    elif is_floating(dtype):
        real = value
        slots.cast[TD_f64][dtype](1, <const char *>&real, 8, data, 8)
    else:
        if PyFloat_Check(value):
            if value != value or value in (float("inf"), float("-inf")):
                raise DTypeError(f"cannot store {value!r} as {kind.name}")
            value = int(value)
        if not kind.lowest <= value <= kind.largest:
            raise RangeError(f"{value} is out of range for {kind.name}")
        if dtype == TD_u64:
            unsigned = value
            (<uint64_t *>data)[0] = unsigned
        else:
            signed = value
            slots.cast[TD_i64][dtype](1, <const char *>&signed, 8, data, 8)
    return 0


cdef Strided scalar_array(object value, int dtype, Device device):
    """A 0-d array."""
    cdef td_view shape
    cdef Strided out
    shape.ndim = 0
    out = allocate(dtype_from_id(dtype), device, &shape)
    if device.is_cpu:
        store(value, dtype, out.view.data)
    else:
        fill(out, value)
    return out


cdef Strided operand(str op, object value, Strided like):
    """A scalar beside an array, as a 0-d array of the dtype they meet in; None if value is no scalar."""
    cdef object scalar = _python_scalar(value)
    if scalar is None:
        return None
    try:
        return scalar_array(scalar, weak_dtype(scalar, like.view.dtype), like.device)
    except RangeError as error:
        raise RangeError(f"{op}: {error}") from None


cdef object no_array(str op, object other):
    cdef object kind = type(other)
    cdef str named = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    cdef str way = "take its filled(value), and " if hasattr(other, "filled") else ""
    return DTypeError(f"{op}: {named} is no array of treadle's; {way}convert it with treadle.ndarray.asarray")


cdef object foreign(str op, object other):
    """What an operator answers to an operand that is no array: that it is its turn. NumPy's would not take it."""
    if hasattr(other, "__array_interface__"):
        raise no_array(op, other)
    return NotImplemented


cdef int must_share_device(Strided x, Strided y, str op) except -1:
    if x.device is not y.device:
        raise DeviceError(f"{op}: operands on {x.device} and {y.device}; move one with to_device")
    return 0


cdef Strided converted(Strided x, int dtype):
    """x with another dtype; x itself if it has it already."""
    cdef Strided out
    if x.view.dtype == dtype:
        return x
    out = allocate(dtype_from_id(dtype), x.device, &x.view)
    copy_into(x, out)
    return out


cdef Strided broadcast(Strided x, const td_view *shape):
    """x as a view of that shape, to which it is known to broadcast."""
    cdef Strided out
    if same_shape(&x.view, shape):
        return x
    out = x.alias()
    broadcast_view(&out.view, &x.view, shape)
    out.size = 1
    cdef int axis
    for axis in range(shape.ndim):
        out.size *= shape.shape[axis]
    out.dense = False
    return out


cdef int check_writable(Strided out, str op) except -1:
    if not out.writable:
        raise BufferReadOnlyError(f"{op}: the array of shape {out.shape_tuple()} is read-only (broadcast, or foreign "
                                  "read-only memory); write into a copy()")
    return 0


cdef int copy_into(Strided source, Strided out) except -1:
    """out[...] = source for arrays of one shape (or source broadcasting) on one device, with conversion."""
    cdef Strided x = broadcast(source, &out.view)
    if is_complex(x.view.dtype) and not is_complex(out.view.dtype) and out.view.dtype != TD_bool:
        raise DTypeError(f"{x.dtype.name} is not converted to {out.dtype.name}, which would drop the imaginary parts; "
                         "take real(), imag() or abs()")
    if out.size == 0:
        return 0
    if (overlaps(&x.view, x.dtype.itemsize, &out.view, out.dtype.itemsize)
            and not same_view(&x.view, &out.view)):
        x = broadcast(copied(source), &out.view)
    if not out.device.is_cpu:
        out.device.backend.copy(x, out)
    elif out.size * out.dtype.itemsize < KEEP_GIL:
        copy_view(&x.view, &out.view, out.dtype.itemsize)
    else:
        with nogil:
            copy_view(&x.view, &out.view, out.dtype.itemsize)
    return 0


cdef Strided copied(Strided x):
    """A fresh dense array with x's elements."""
    cdef Strided out = allocate(x.dtype, x.device, &x.view)
    copy_into(x, out)
    return out


cdef int fill(Strided out, object value) except -1:
    """Every element becomes the Python scalar."""
    cdef Strided element
    cdef double[2] storage
    if out.device.is_cpu:
        element = scalar_array(value, out.view.dtype, out.device)
        copy_into(element, out)
        return 0
    store(value, out.view.dtype, <char *>storage)  # for its range check
    if out.size:
        out.device.backend.fill(out, value)
    return 0


cdef Strided on_device(Strided x, Device device):
    """x on another device; x itself if it is there."""
    cdef Strided out
    if x.device is device:
        return x
    if not x.dense:
        x = copied(x)
    out = allocate(x.dtype, device, &x.view)
    if x.device.is_cpu:
        device.backend.from_host(x, out)
    elif device.is_cpu:
        x.device.backend.to_host(x, out)
    else:
        out = on_device(on_device(x, cpu_device), device)
    return out


def octets_of(Strided x not None):
    """The memory of a bool array as uint8: foreign memory may hold more than 0 and 1."""
    cdef Strided out = x.alias()
    out.dtype = dtype_from_id(TD_u8)
    out.view.dtype = TD_u8
    return out
