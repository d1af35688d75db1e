"""The one path of every elementwise call: check, promote, broadcast, allocate, call the kernel.

On the cpu the call goes through the slot table; on another device the backend's method is the last step. What an op
accepts and returns is read from the op table at import.
"""

cimport cython
from libc.stdint cimport int64_t

import operator as python_operator

from treadle.ndarray._elementwise cimport (
    TD_TERNARY_clip, TD_TERNARY_where, run_binary, run_dense_binary, run_ternary, run_unary, slots, td_binary_loop,
    td_ternary_loop, td_unary_loop,
)
from treadle.ndarray._layout cimport broadcast_shape, overlaps, same_shape, same_view
from treadle.ndarray._operands cimport (
    KEEP_GIL, broadcast, check_writable, converted, copy_into, fill, fits, foreign, is_array, must_share_device,
    no_array, operand, scalar_array,
)
from treadle.ndarray._shapes cimport view_shape
from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._types cimport (
    TD_bool, TD_f32, TD_i8, TD_i64, TD_u64, Device, DType, dtype_from_id, is_complex,
    is_inexact, part_dtype, promote, td_view,
)

from treadle.ndarray._elementwise import BINARY_NAMES, TERNARY_NAMES, UNARY_NAMES
from treadle.ndarray.errors import DTypeError, ShapeError, TreadleError
from treadle.ndarray.opset import OPS, Accepts, Result

cdef enum:
    MOST_OPS = 128

cdef struct Rule:
    bint floats  # integers are converted to the default float first
    bint gives_bool

cdef Rule unary_rules[MOST_OPS]
cdef Rule binary_rules[MOST_OPS]
cdef list unary_names = UNARY_NAMES
cdef list binary_names = BINARY_NAMES
cdef list ternary_names = TERNARY_NAMES
cdef object _asarray = None

cdef int ADD = binary_names.index("add")
cdef int SUBTRACT = binary_names.index("subtract")
cdef int MULTIPLY = binary_names.index("multiply")
cdef int DIVIDE = binary_names.index("divide")
cdef int FLOOR_DIVIDE = binary_names.index("floor_divide")
cdef int REMAINDER = binary_names.index("remainder")
cdef int POW = binary_names.index("pow")
cdef int EQUAL = binary_names.index("equal")
cdef int NOT_EQUAL = binary_names.index("not_equal")
cdef int LESS = binary_names.index("less")
cdef int LESS_EQUAL = binary_names.index("less_equal")
cdef int GREATER = binary_names.index("greater")
cdef int GREATER_EQUAL = binary_names.index("greater_equal")
cdef int BITWISE_AND = binary_names.index("bitwise_and")
cdef int BITWISE_OR = binary_names.index("bitwise_or")
cdef int BITWISE_XOR = binary_names.index("bitwise_xor")
cdef int BITWISE_LEFT_SHIFT = binary_names.index("bitwise_left_shift")
cdef int BITWISE_RIGHT_SHIFT = binary_names.index("bitwise_right_shift")
cdef int NEGATIVE = unary_names.index("negative")
cdef int POSITIVE = unary_names.index("positive")
cdef int ABS = unary_names.index("abs")
cdef int BITWISE_INVERT = unary_names.index("bitwise_invert")


cdef dict _COMPARISONS = {
    EQUAL: "eq", NOT_EQUAL: "ne", LESS: "lt", LESS_EQUAL: "le", GREATER: "gt", GREATER_EQUAL: "ge",
}


cdef void _read_rules():
    for number, name in enumerate(unary_names):
        unary_rules[number].floats = OPS[name].accepts is Accepts.FLOATING
        unary_rules[number].gives_bool = OPS[name].result is Result.BOOL
    for number, name in enumerate(binary_names):
        binary_rules[number].floats = OPS[name].accepts is Accepts.FLOATING
        binary_rules[number].gives_bool = OPS[name].result is Result.BOOL


_read_rules()


def set_asarray(function):
    """The conversion that functions, not operators, apply to operands that are no arrays."""
    global _asarray
    _asarray = function


cdef object _undefined(str op, DType dtype):
    if is_complex(dtype.id):
        return DTypeError(f"{op} is not defined for {dtype.name} (real dtypes only); take real(), imag() or abs()")
    return DTypeError(f"{op} is not defined for {dtype.name} ({OPS[op].accepts.value} dtypes only); "
                      "convert with astype")


cdef object _no_fit(str op, operands):
    shapes = " and ".join([str((<Strided>each).shape_tuple()) for each in operands])
    return ShapeError(f"{op}: shapes {shapes} do not broadcast; compared from the last axis, lengths must be equal "
                      "or 1")


cdef Strided _output(object given, DType dtype, Strided like, const td_view *shape, str op):
    """A fresh output, or the given one once it is known to fit."""
    cdef Strided out
    if given is None:
        return allocate(dtype, like.device, shape)
    if not is_array(given):
        raise DTypeError(f"{op}: out must be an array, not {type(given).__name__}")
    out = <Strided>given
    must_share_device(like, out, op)
    check_writable(out, op)
    if not same_shape(&out.view, shape):
        raise ShapeError(f"{op}: the result has shape {view_shape(shape)}, out has {out.shape_tuple()}")
    if "buifc".index(out.dtype.kind) < "buifc".index(dtype.kind):
        raise DTypeError(f"{op}: the result is {dtype.name}, which out of dtype {out.dtype.name} cannot hold; "
                         "convert with astype")
    return out


cdef bint _clashes(Strided x, Strided out):
    """Whether writing out would spoil x while it is read."""
    return (overlaps(&x.view, x.dtype.itemsize, &out.view, out.dtype.itemsize)
            and not same_view(&x.view, &out.view))


cdef object binary(int op, object left, object right, object given, bint from_operator):
    """left op right. From an operator, NotImplemented stands for a foreign operand."""
    cdef Strided x, y, out
    cdef DType result
    cdef td_binary_loop loop
    cdef object other
    cdef str name
    cdef int dtype
    if is_array(left):
        x = <Strided>left
        if is_array(right):
            y = <Strided>right
        elif op in _COMPARISONS and not fits(right, x.view.dtype):
            return _beyond_range(op, x, right, True)
        else:
            y = operand(binary_names[op], right, x)
    elif is_array(right):
        y = <Strided>right
        if op in _COMPARISONS and not fits(left, y.view.dtype):
            return _beyond_range(op, y, left, False)
        x = operand(binary_names[op], left, y)
    else:
        x = y = None
    if x is None or y is None:
        if from_operator:
            other = right if is_array(left) else left
            if op in (EQUAL, NOT_EQUAL) and isinstance(other, (list, tuple)):
                raise no_array(binary_names[op], other)  # which is never False for unequal data
            return foreign(binary_names[op], other)
        name = binary_names[op]
        return binary(op, _coerced(name, left, right), _coerced(name, right, left), given, False)
    if x.device is not y.device:
        must_share_device(x, y, binary_names[op])
    dtype = x.view.dtype
    if y.view.dtype != dtype:
        if binary_rules[op].gives_bool and (dtype == TD_u64 or y.view.dtype == TD_u64) and op in _COMPARISONS:
            if TD_i8 <= dtype <= TD_i64 or TD_i8 <= y.view.dtype <= TD_i64:
                return _compared_with_u64(op, x, y, given)
        dtype = promote(dtype, y.view.dtype)
    if binary_rules[op].floats and not is_inexact(dtype):
        dtype = TD_f32
    loop = slots.binary[op][dtype]
    if loop == NULL:
        raise _undefined(binary_names[op], dtype_from_id(dtype))
    if x.view.dtype != dtype:
        x = converted(x, dtype)
    if y.view.dtype != dtype:
        y = converted(y, dtype)
    result = dtype_from_id(TD_bool) if binary_rules[op].gives_bool else x.dtype
    if given is None and x.device.is_cpu:
        if x.dense and (y.view.ndim == 0 or (y.dense and same_shape(&x.view, &y.view))):
            out = allocate(result, x.device, &x.view)
            _run_dense(loop, x, y, out)
            return out
        if x.view.ndim == 0 and y.dense:
            out = allocate(result, x.device, &y.view)
            _run_dense(loop, x, y, out)
            return out
    return _binary_general(op, loop, x, y, result, given)


cdef object _beyond_range(int op, Strided x, object scalar, bint scalar_is_right):
    """The comparison of integers with an int that their dtype cannot hold: the same for every element."""
    cdef Strided out = allocate(dtype_from_id(TD_bool), x.device, &x.view)
    sides = (0, 1 if scalar > 0 else -1) if scalar_is_right else (1 if scalar > 0 else -1, 0)
    fill(out, getattr(python_operator, _COMPARISONS[op])(*sides))
    return out


cdef object _compared_with_u64(int op, Strided x, Strided y, object given):
    """The comparison of signed integers with uint64, whose common dtype would not hold them all: of the bits, which
    differ in meaning for the negative ones only; those are smaller than anything."""
    cdef bint signed_left = y.view.dtype == TD_u64
    cdef Strided signed = x if signed_left else y
    cdef object zero = scalar_array(0, signed.view.dtype, signed.device)
    cdef object bits = converted(signed, TD_u64)
    bits = binary(op, bits, y, None, False) if signed_left else binary(op, x, bits, None, False)
    if getattr(python_operator, _COMPARISONS[op])(-1 if signed_left else 0, 0 if signed_left else -1):
        return binary(BITWISE_OR, bits, binary(LESS, signed, zero, None, False), given, False)
    return binary(BITWISE_AND, bits, binary(GREATER_EQUAL, signed, zero, None, False), given, False)


cdef inline void _run_dense(td_binary_loop loop, Strided x, Strided y, Strided out):
    cdef int64_t n = out.size
    cdef int64_t x_step = 0 if x.view.ndim == 0 else x.dtype.itemsize
    cdef int64_t y_step = 0 if y.view.ndim == 0 else y.dtype.itemsize
    if n * x.dtype.itemsize < KEEP_GIL:
        loop(n, x.view.data, x_step, y.view.data, y_step, out.view.data, out.dtype.itemsize)
    else:
        _run_large(loop, n, x, x_step, y, y_step, out)


cdef void _run_large(td_binary_loop loop, int64_t n, Strided x, int64_t x_step, Strided y, int64_t y_step, Strided out):
    cdef int64_t itemsize = out.dtype.itemsize
    with nogil:
        run_dense_binary(loop, n, x.view.data, x_step, y.view.data, y_step, out.view.data, itemsize)


cdef object _binary_general(int op, td_binary_loop loop, Strided x, Strided y, DType result, object given):
    cdef td_view shape = x.view
    cdef str name = binary_names[op]
    cdef Strided out, target
    if broadcast_shape(&shape, &y.view) != 0:
        raise _no_fit(name, (x, y))
    out = _output(given, result, x, &shape, name)
    x, y = broadcast(x, &shape), broadcast(y, &shape)
    target = out
    if given is not None and (out.dtype is not result or _clashes(x, out) or _clashes(y, out)):
        target = allocate(result, x.device, &shape)
    if out.size:
        if not x.device.is_cpu:
            x.device.backend.binary(name, x, y, target)
        elif target.size * target.dtype.itemsize < KEEP_GIL:
            run_binary(loop, &x.view, &y.view, &target.view)
        else:
            with nogil:
                run_binary(loop, &x.view, &y.view, &target.view)
    return _finished(target, out, given)


cdef object _finished(Strided target, Strided out, object given):
    if given is None:
        return target
    if target is not out:
        copy_into(target, out)
    out.buffer.version += 1
    return out


cdef object _coerced(str op, object value, object beside):
    """An operand of a function: arrays and scalars pass, lists and foreign arrays are converted."""
    if is_array(value) or (isinstance(value, (int, float, complex)) and not isinstance(beside, (int, float, complex))):
        return value
    return _made(op, value, (<Strided>beside).device if is_array(beside) else None)


cdef object _made(str op, object value, Device device):
    """The array of what stands for an operand."""
    try:
        return _asarray(value, device=device)
    except TreadleError as error:
        error.args = (f"{op}: {error}",)
        raise


cdef object unary(int op, object value, object given):
    cdef Strided x, out, target
    cdef DType result
    cdef td_unary_loop loop
    cdef int dtype
    if not is_array(value):
        value = _made(unary_names[op], value, None)
    x = <Strided>value
    dtype = x.view.dtype
    if unary_rules[op].floats and not is_inexact(dtype):
        dtype = TD_f32
    loop = slots.unary[op][dtype]
    if loop == NULL:
        raise _undefined(unary_names[op], x.dtype)
    if x.view.dtype != dtype:
        x = converted(x, dtype)
    result = dtype_from_id(TD_bool if unary_rules[op].gives_bool else part_dtype(dtype) if op == ABS else dtype)
    out = _output(given, result, x, &x.view, unary_names[op])
    target = out
    if given is not None and (out.dtype is not result or _clashes(x, out)):
        target = allocate(result, x.device, &x.view)
    if out.size:
        if not x.device.is_cpu:
            x.device.backend.unary(unary_names[op], x, target)
        elif x.size * x.dtype.itemsize >= KEEP_GIL:
            with nogil:
                run_unary(loop, &x.view, &target.view)
        elif x.dense and target.dense:
            loop(x.size, x.view.data, x.dtype.itemsize, target.view.data, target.dtype.itemsize)
        else:
            run_unary(loop, &x.view, &target.view)
    return _finished(target, out, given)


cdef object _ternary(int op, Strided x, Strided y, Strided z, object given):
    """Operands of the right dtypes on one device; where's condition is x."""
    cdef td_ternary_loop loop = slots.ternary[op][y.view.dtype]
    cdef td_view shape = x.view
    cdef str name = ternary_names[op]
    cdef Strided out, target
    if loop == NULL:
        raise _undefined(name, y.dtype)
    if broadcast_shape(&shape, &y.view) != 0 or broadcast_shape(&shape, &z.view) != 0:
        raise _no_fit(name, (x, y, z))
    out = _output(given, y.dtype, y, &shape, name)
    x, y, z = broadcast(x, &shape), broadcast(y, &shape), broadcast(z, &shape)
    target = out
    if given is not None and (out.dtype is not y.dtype or _clashes(x, out) or _clashes(y, out) or _clashes(z, out)):
        target = allocate(y.dtype, y.device, &shape)
    if out.size:
        if not y.device.is_cpu:
            y.device.backend.ternary(name, x, y, z, target)
        elif target.size * target.dtype.itemsize < KEEP_GIL:
            run_ternary(loop, &x.view, &y.view, &z.view, &target.view)
        else:
            with nogil:
                run_ternary(loop, &x.view, &y.view, &z.view, &target.view)
    return _finished(target, out, given)


def where(condition, x, y, /, *, out=None):
    """x where the condition holds, y elsewhere; all three broadcast.

    ``condition`` is a boolean array, or is compared with zero. x and y meet in one dtype; at most one may be a Python
    scalar beside an array. Raises ShapeError, DTypeError, DeviceError.

    >>> import treadle.ndarray as nd
    >>> nd.where(nd.asarray([True, False]), nd.asarray([1, 2]), 0)
    array([1, 0])
    """
    cdef Strided c, a, b
    cdef int dtype
    c = <Strided>(condition if is_array(condition) else _made("where", condition, None))
    if not is_array(x) and not is_array(y):
        x = _made("where", x, c.device)
    x, y = _coerced("where", x, y), _coerced("where", y, x)
    a = <Strided>x if is_array(x) else operand("where", x, <Strided>y)
    b = <Strided>y if is_array(y) else operand("where", y, a)
    must_share_device(a, b, "where")
    must_share_device(c, a, "where")
    dtype = promote(a.view.dtype, b.view.dtype)
    return _ternary(TD_TERNARY_where, converted(c, TD_bool), converted(a, dtype), converted(b, dtype), out)


def clip(x, /, min=None, max=None, *, out=None):
    """x cut to the interval from min to max; None leaves an end open.

    The bounds broadcast against x and are arrays or Python scalars. The result has the dtype of x and the bounds
    together; a Python int below or above all that an integer dtype holds leaves that end open. NaN, in x or a bound,
    stays. If min > max, the result is max. Raises ShapeError, DTypeError, DeviceError.

    >>> import treadle.ndarray as nd
    >>> nd.clip(nd.asarray([1, 5, 9]), 2, 6)
    array([2, 5, 6])
    """
    cdef Strided a, low, high
    cdef int dtype
    a = <Strided>(x if is_array(x) else _made("clip", x, None))
    if (type(min) is int or type(max) is int) and a.dtype.kind in "iu":
        bits = 8 * a.dtype.itemsize - (a.dtype.kind == "i")
        min = None if type(min) is int and min <= (-(1 << bits) if a.dtype.kind == "i" else 0) else min
        max = None if type(max) is int and max >= (1 << bits) - 1 else max
    if min is None and max is None:
        return unary(POSITIVE, a, out)
    if max is None:
        return binary(binary_names.index("maximum"), a, min, out, False)
    if min is None:
        return binary(binary_names.index("minimum"), a, max, out, False)
    low = <Strided>min if is_array(min) else operand("clip", min, a)
    high = <Strided>max if is_array(max) else operand("clip", max, a)
    if low is None or high is None:
        return clip(a, _made("clip", min, a.device), _made("clip", max, a.device), out=out)
    must_share_device(a, low, "clip")
    must_share_device(a, high, "clip")
    dtype = promote(promote(a.view.dtype, low.view.dtype), high.view.dtype)
    return _ternary(TD_TERNARY_clip, converted(a, dtype), converted(low, dtype), converted(high, dtype), out)


@cython.final
cdef class UnaryFunction:
    """A public elementwise function of one operand, made from its row in the op table."""

    cdef int op
    cdef dict __dict__

    def __init__(self, str name):
        self.op = unary_names.index(name)

    def __call__(self, x, /, *, out=None):
        return unary(self.op, x, out)

    def __repr__(self):
        return f"<function treadle.ndarray.{self.__name__}>"


@cython.final
cdef class BinaryFunction:
    """A public elementwise function of two operands, made from its row in the op table."""

    cdef int op
    cdef dict __dict__

    def __init__(self, str name):
        self.op = binary_names.index(name)

    def __call__(self, x, y, /, *, out=None):
        return binary(self.op, x, y, out, False)

    def __repr__(self):
        return f"<function treadle.ndarray.{self.__name__}>"
