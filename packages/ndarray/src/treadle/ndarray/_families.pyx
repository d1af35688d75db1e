"""The other families of ops, from checked arguments to a kernel: reductions, scans, matmul, random.

The Python modules of the same areas (reductions.py, products.py, random.py, ...) call these; the public signatures and
docstrings are there.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t

from treadle.ndarray._elementwise cimport (
    arange_view, slots, td_arg_reduction, td_reduction,
)
from treadle.ndarray._layout cimport broadcast_shape, overlaps, same_shape
from treadle.ndarray._lines cimport arg_view, scan_view
from treadle.ndarray._matmul cimport matmul as matmul_view
from treadle.ndarray._operands cimport (
    KEEP_GIL, broadcast, check_writable, converted, copied, copy_into, must_share_device,
)
from treadle.ndarray._parts cimport matmul_by_way, part, product
from treadle.ndarray._random cimport DRAW_BERNOULLI, DRAW_BITS, DRAW_INTEGERS, DRAW_NORMAL, DRAW_UNIFORM, draw, shuffle
from treadle.ndarray._reduce cimport reduce_view
from treadle.ndarray._shapes cimport normal_axis, view_shape
from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._types cimport (
    TD_bool, TD_f32, TD_i64, TD_u64, DType, dtype_from_id, is_complex, is_half, is_inexact, is_unsigned, td_view,
)

from treadle.ndarray._elementwise import REDUCE_NAMES
from treadle.ndarray.errors import DTypeError, ShapeError
from treadle.ndarray.opset import OPS, Accepts, Family, Result

cdef dict _DRAWS = {
    "bits": DRAW_BITS, "uniform": DRAW_UNIFORM, "normal": DRAW_NORMAL, "integers": DRAW_INTEGERS,
    "bernoulli": DRAW_BERNOULLI,
}


def normal_axes(str op, Strided x not None, axis):
    """The axes as a sorted tuple of numbers in [0, ndim); raises ShapeError that names the op."""
    return _axes(axis, x, op)


cdef object _axes(object axis, Strided x, str op):
    """Axes as a sorted tuple of numbers in [0, ndim)."""
    if axis is None:
        return tuple(range(x.view.ndim))
    if not isinstance(axis, (tuple, list)):
        return (normal_axis(axis, &x.view, op),)
    axes = sorted([normal_axis(each, &x.view, op) for each in axis])
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{op}: axis {axis} names an axis twice")
    return tuple(axes)


@cython.final
cdef class _Rule:
    """What an op of the table accepts and returns, and its number in the slot table."""

    cdef int number
    cdef bint floats
    cdef bint divides
    cdef bint chooses
    cdef object result

    def __init__(self, name):
        slot = {"mean": "sum", "cumsum": "sum", "cumprod": "prod"}.get(name, name)
        self.number = REDUCE_NAMES.index(slot) if slot in REDUCE_NAMES else -1
        self.floats = OPS[name].accepts is Accepts.FLOATING
        self.divides = name == "mean"
        self.chooses = name in ("max", "min")
        self.result = OPS[name].result

    cdef DType result_dtype(self, int dtype):
        if self.result is _BOOL:
            return dtype_from_id(TD_bool)
        if self.result is _INDEX:
            return dtype_from_id(TD_i64)
        if self.result is _SUM and not is_inexact(dtype):
            return dtype_from_id(TD_u64 if is_unsigned(dtype) else TD_i64)
        return dtype_from_id(dtype)


cdef object _BOOL = Result.BOOL
cdef object _INDEX = Result.INDEX
cdef object _SUM = Result.SUM
cdef dict _RULES = {
    name: _Rule(name) for name, row in OPS.items() if row.family in (Family.REDUCE, Family.ARG_REDUCE, Family.SCAN)
}


def reduce(str op, Strided x not None, axis, bint keepdims):
    """sum, prod, max, min, mean, any, all over axes."""
    cdef _Rule rule = <_Rule>_RULES[op]
    cdef tuple axes = _axes(axis, x, op)
    cdef td_view shape
    cdef const td_reduction *reduction
    cdef Strided out
    cdef int64_t count
    cdef double divisor = 1.0
    if rule.floats and not is_inexact(x.view.dtype):
        x = converted(x, TD_f32)
    if is_complex(x.view.dtype):
        x = _complex_operand(op, x)
    count = reduced_shape(x, axes, &shape)
    out = allocate(rule.result_dtype(x.view.dtype), x.device, &shape)
    if count == 0 and rule.chooses:
        raise ShapeError(f"{op}: no element to choose from: shape {x.shape_tuple()} over axis {axis}")
    if out.size and not x.device.is_cpu:
        x.device.backend.reduce(op, x, axes, out)
    elif out.size and is_complex(x.view.dtype):
        _reduce_complex(op, x, axes, out, <double>count)
    elif out.size:
        if rule.divides:
            divisor = <double>count
        reduction = &slots.reduce[rule.number][x.view.dtype]
        if x.size < KEEP_GIL:
            reduce_view(reduction, &x.view, &out.view, divisor)
        else:
            with nogil:
                reduce_view(reduction, &x.view, &out.view, divisor)
    return out if keepdims else without(out, axes)


cdef Strided _complex_operand(str op, Strided x):
    """A complex operand of a reduction or scan, as it is computed with; DTypeError where there is no such reduction."""
    if op in ("any", "all"):
        return converted(x, TD_bool)
    if op in ("sum", "prod", "mean", "cumsum", "cumprod"):
        return x
    raise DTypeError(f"{op} is not defined for {x.dtype.name}: complex numbers have no order; take real(), imag() or "
                     "abs()")


cdef int _reduce_complex(str op, Strided x, tuple axes, Strided out, double count) except -1:
    cdef const td_reduction *reduction = &slots.reduce[(<_Rule>_RULES["sum"]).number][x.view.dtype]
    cdef double divisor = count if op == "mean" else 1.0
    if op == "prod":
        return product(x, axes, out)
    with nogil:
        reduce_view(reduction, &x.view, &out.view, divisor)
    return 0


cdef Strided without(Strided out, tuple axes):
    """The reduced axes, of length 1, dropped."""
    cdef td_view shape
    cdef int axis
    shape.ndim = 0
    for axis in range(out.view.ndim):
        if axis not in axes:
            shape.shape[shape.ndim] = out.view.shape[axis]
            shape.ndim += 1
    return out.reshaped(&shape)


cdef int64_t reduced_shape(Strided x, tuple axes, td_view *shape):
    """x's shape with 1 at the axes; the number of elements that are reduced into one."""
    cdef int64_t count = 1
    cdef int each
    shape.ndim = x.view.ndim
    for each in range(shape.ndim):
        shape.shape[each] = x.view.shape[each]
    for each in axes:
        count *= shape.shape[each]
        shape.shape[each] = 1
    return count


def arg_reduce(str op, Strided x not None, axis, bint keepdims):
    """argmax, argmin along one axis, or of all elements in C order."""
    cdef td_view shape
    cdef Strided out
    cdef const td_arg_reduction *kernel
    cdef int along
    cdef int ndim = x.view.ndim
    if is_complex(x.view.dtype):
        _complex_operand(op, x)
    if is_half(x.view.dtype) and x.device.is_cpu:
        x = converted(x, TD_f32)  # which has the same order
    if axis is None:
        shape.ndim, shape.shape[0] = 1, x.size
        x = x.reshaped(&shape) if x.dense else copied(x).reshaped(&shape)
        along = 0
    else:
        along = normal_axis(axis, &x.view, op)
    shape = x.view
    shape.shape[along] = 1
    out = allocate(dtype_from_id(TD_i64), x.device, &shape)
    if x.view.shape[along] == 0:
        raise ShapeError(f"{op}: no element to choose from: shape {x.shape_tuple()} over axis {axis}")
    if out.size and not x.device.is_cpu:
        x.device.backend.arg_reduce(op, x, along, out)
    elif out.size:
        kernel = &slots.arg_max[x.view.dtype]
        if op == "argmin":
            kernel = &slots.arg_min[x.view.dtype]
        if x.size < KEEP_GIL:
            arg_view(kernel, &x.view, along, &out.view)
        else:
            with nogil:
                arg_view(kernel, &x.view, along, &out.view)
    if axis is not None:
        return out if keepdims else without(out, (along,))
    shape.ndim = ndim if keepdims else 0
    for along in range(shape.ndim):
        shape.shape[along] = 1
    return out.reshaped(&shape)


def scan(str op, Strided x not None, axis):
    """cumsum, cumprod along one axis."""
    cdef int along = normal_axis(axis, &x.view, op)
    cdef const td_reduction *reduction
    cdef Strided out, line, result
    cdef int each
    x = converted(x, TD_i64) if x.view.dtype == TD_bool else x
    out = allocate((<_Rule>_RULES[op]).result_dtype(x.view.dtype), x.device, &x.view)
    if out.size and not x.device.is_cpu:
        x.device.backend.scan(op, x, along, out)
    elif out.size and is_complex(x.view.dtype) and op == "cumsum":
        for each in range(2):
            line, result = part(x, each), part(out, each)
            scan_view(&slots.reduce[(<_Rule>_RULES[op]).number][line.view.dtype], &line.view, along, &result.view)
    elif out.size:
        reduction = &slots.reduce[(<_Rule>_RULES[op]).number][x.view.dtype]
        if x.size < KEEP_GIL:
            scan_view(reduction, &x.view, along, &out.view)
        else:
            with nogil:
                scan_view(reduction, &x.view, along, &out.view)
    return out


cdef object _matmul_misfit(Strided x, Strided y, str why):
    return ShapeError(f"matmul: shapes {x.shape_tuple()} and {y.shape_tuple()}: {why}")


cdef Strided _as_matrix(Strided x, int axis):
    """A vector as a row (axis 0) or a column (axis 1)."""
    cdef Strided out = x.alias()
    out.view.ndim = 2
    out.view.shape[1 - axis], out.view.strides[1 - axis] = x.view.shape[0], x.view.strides[0]
    out.view.shape[axis], out.view.strides[axis] = 1, x.dtype.itemsize
    return out


cdef Strided _matmul_vectors(Strided x, Strided y):
    """One operand at least is a vector, whose axis is gone from the result."""
    cdef bint row = x.view.ndim == 1
    cdef bint column = y.view.ndim == 1
    cdef Strided out
    if row and column and x.view.shape[0] != y.view.shape[0]:
        raise _matmul_misfit(x, y, "the inner lengths differ")
    out = matmul(_as_matrix(x, 0) if row else x, _as_matrix(y, 1) if column else y, None)
    if row and not column:
        out.view.shape[out.view.ndim - 2] = out.view.shape[out.view.ndim - 1]
        out.view.strides[out.view.ndim - 2] = out.view.strides[out.view.ndim - 1]
    out.view.ndim -= row + column
    return out


cpdef Strided matmul(Strided x, Strided y, Strided given=None):
    """Operands of one dtype, each with at least one axis; with `given`, at least two."""
    cdef td_view shape, batch
    cdef Strided out, target
    cdef int m = x.view.ndim - 2
    cdef int n = y.view.ndim - 1
    cdef int failed
    must_share_device(x, y, "matmul")
    if m < 0 or n < 1:
        return _matmul_vectors(x, y)
    if x.view.shape[m + 1] != y.view.shape[n - 1]:
        raise _matmul_misfit(x, y, f"the inner lengths {x.view.shape[m + 1]} and {y.view.shape[n - 1]} differ")
    shape = x.view
    shape.ndim -= 2
    batch = y.view
    batch.ndim -= 2
    if broadcast_shape(&shape, &batch) != 0:
        raise _matmul_misfit(x, y, "the batch axes do not broadcast")
    x, y = _with_batch(x, &shape), _with_batch(y, &shape)
    shape.shape[shape.ndim] = x.view.shape[x.view.ndim - 2]
    shape.shape[shape.ndim + 1] = y.view.shape[y.view.ndim - 1]
    shape.ndim += 2
    out = target = given
    if given is None:
        out = target = allocate(x.dtype, x.device, &shape)
    else:
        must_share_device(x, given, "matmul")
        check_writable(given, "matmul")
        if given.dtype is not x.dtype:
            raise DTypeError(f"matmul: the result is {x.dtype.name}, out is {given.dtype.name}")
        if not same_shape(&given.view, &shape):
            raise ShapeError(f"matmul: the result has shape {view_shape(&shape)}, out has {given.shape_tuple()}")
        if (overlaps(&x.view, x.dtype.itemsize, &given.view, given.dtype.itemsize)
                or overlaps(&y.view, y.dtype.itemsize, &given.view, given.dtype.itemsize)):
            target = allocate(x.dtype, x.device, &shape)
    if out.size and not x.device.is_cpu:
        x.device.backend.matmul(x, y, target)
    elif out.size and (is_half(x.view.dtype) or is_complex(x.view.dtype)):
        matmul_by_way(x, y, target)
    elif out.size:
        if x.size + y.size + out.size < 2048:
            failed = matmul_view(&x.view, &y.view, &target.view)
        else:
            with nogil:
                failed = matmul_view(&x.view, &y.view, &target.view)
        if failed:
            raise MemoryError("matmul: no memory for the packed operands")
    if target is not out:
        copy_into(target, out)
    if given is not None:
        out.buffer.version += 1
    return out


cdef Strided _with_batch(Strided x, const td_view *batch):
    """x with its leading axes broadcast to the batch shape."""
    cdef td_view shape
    cdef int axis
    cdef int last = x.view.ndim - 2
    shape.ndim = batch.ndim + 2
    for axis in range(batch.ndim):
        shape.shape[axis] = batch.shape[axis]
    shape.shape[batch.ndim] = x.view.shape[last]
    shape.shape[batch.ndim + 1] = x.view.shape[last + 1]
    return broadcast(x, &shape)


def arange(Strided out not None, start, step):
    """out[i] = start + i * step along a 1-D array."""
    if out.size == 0:
        return
    if not out.device.is_cpu:
        out.device.backend.arange(out, start, step)
    elif is_inexact(out.view.dtype):
        arange_view(&out.view, start, step, 0, 0)
    else:
        arange_view(&out.view, 0, 0, start, step)


def random(str kind, uint64_t key, uint64_t counter, tuple parameters, Strided out not None):
    """Fill a dense array from the generator's block ``counter`` on; parameters as in the backend protocol."""
    cdef double first = 0
    cdef double second = 0
    cdef int64_t low = 0
    cdef uint64_t span = 0
    cdef int number = _DRAWS[kind]
    if out.size == 0:
        return
    if not out.device.is_cpu:
        out.device.backend.random(kind, key, counter, parameters, out)
        return
    if kind == "uniform" or kind == "normal":
        first, second = parameters
    elif kind == "integers":
        low, span = parameters
    elif kind == "bernoulli":
        span = parameters[0]
    with nogil:
        draw(number, key, counter, first, second, low, span, &out.view, out.size)


def permutation(Strided bits not None):
    """0, 1, ..., n - 1 in the order that n uint64 draws, on the cpu, decide."""
    cdef Strided out = allocate(dtype_from_id(TD_i64), bits.device, &bits.view)
    with nogil:
        shuffle(<const uint64_t *>bits.view.data, <int64_t *>out.view.data, out.size)
    return out
