"""What complex numbers and halves are made of: views of their parts and bits, and what the cpu computes by way of real
types.

A complex sum is the sums of its parts. The matrix product of complex numbers is one of real numbers: a row of x, read
as (re, im, re, im, ...), times each column of y spread over two, ((re, im), (-im, re)) for every element, gives the
parts of the result where they belong. Halves are multiplied in float32, summed there, and rounded once.
"""

from libc.stdint cimport int64_t

from treadle.ndarray._elementwise cimport TD_BINARY_multiply, TD_UNARY_negative, copy_view, run_binary, run_unary, slots
from treadle.ndarray._layout cimport is_dense
from treadle.ndarray._matmul cimport matmul as matmul_view
from treadle.ndarray._operands cimport broadcast, converted, copied, copy_into, scalar_array
from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._types cimport (
    TD_MAX_NDIM, TD_f32, TD_u16, DType, dtype_from_id, is_complex, part_dtype, td_view,
)

from treadle.ndarray.errors import ShapeError


cdef Strided _as(Strided x, int dtype):
    """x's memory read as another dtype; the caller sets what else changes."""
    cdef Strided out = x.alias()
    out.dtype = dtype_from_id(dtype)
    out.view.dtype = dtype
    return out


cpdef Strided part(Strided x, int which):
    """The real (0) or imaginary (1) parts of a complex array, a view."""
    cdef Strided out = _as(x, part_dtype(x.view.dtype))
    out.view.data += which * out.dtype.itemsize
    out.dense = is_dense(&out.view, out.dtype.itemsize)
    return out


cpdef Strided pairs(Strided x):
    """A complex array as a real one, a view with a last axis of (real, imaginary)."""
    cdef Strided out = _as(x, part_dtype(x.view.dtype))
    if x.view.ndim == TD_MAX_NDIM:
        raise ShapeError(f"more than {TD_MAX_NDIM} dimensions")
    out.view.shape[x.view.ndim] = 2
    out.view.strides[x.view.ndim] = out.dtype.itemsize
    out.view.ndim += 1
    out.size *= 2
    return out


cpdef Strided bits(Strided x):
    """A float16 or bfloat16 array as uint16, a view."""
    return _as(x, TD_u16)


cpdef Strided from_bytes(Strided x, DType dtype):
    """A dense 1-D array of bytes, aligned and of whole elements, as another dtype: a view."""
    cdef Strided out = _as(x, dtype.id)
    out.view.shape[0] = x.view.shape[0] // dtype.itemsize
    out.view.strides[0] = dtype.itemsize
    out.size = out.view.shape[0]
    return out


# --- reductions -------------------------------------------------------------------------------------------------------
cdef Strided _piece(Strided x, int axis, int64_t start, int64_t length):
    """A stretch of one axis."""
    cdef Strided out = x.alias()
    out.view.data += start * x.view.strides[axis]
    out.view.shape[axis] = length
    out.size = 0 if x.view.shape[axis] == 0 else x.size // x.view.shape[axis] * length
    out.dense = is_dense(&out.view, x.dtype.itemsize)
    return out


cdef int product(Strided x, tuple axes, Strided out) except -1:
    """The products over axes, which out has with length 1: pair by pair."""
    cdef Strided folded, left, right
    cdef int64_t n, half
    cdef int axis
    cdef td_view shape
    for axis in axes:
        if x.view.shape[axis] == 0:
            copy_into(scalar_array(1, out.view.dtype, out.device), out)
            return 0
        while x.view.shape[axis] > 1:
            n = x.view.shape[axis]
            half = n // 2
            shape = x.view
            shape.shape[axis] = n - half
            folded = allocate(x.dtype, x.device, &shape)
            left, right = _piece(folded, axis, 0, half), _piece(x, axis, half, half)
            copy_into(_piece(x, axis, 0, half), left)
            with nogil:
                run_binary(slots.binary[TD_BINARY_multiply][left.view.dtype], &left.view, &right.view, &left.view)
            if n % 2:
                copy_into(_piece(x, axis, n - 1, 1), _piece(folded, axis, half, 1))
            x = folded
    copy_into(x, out)
    return 0


# --- the matrix product -----------------------------------------------------------------------------------------------
cdef Strided _spread(Strided y):
    """(..., k, n) complex as (..., 2k, 2n) real: every element x + iy as ((x, y), (-y, x))."""
    cdef td_view shape = y.view
    cdef Strided spread, rows, real, imaginary
    cdef int axis
    cdef int k = y.view.ndim - 2
    for axis in range(k):
        if y.view.strides[axis] == 0 and y.view.shape[axis]:
            shape.shape[axis] = 1  # a broadcast batch is spread once
    shape.shape[k + 1] = 2 * y.view.shape[k + 1]
    spread = allocate(y.dtype, y.device, &shape)
    rows = spread.alias()
    rows.view.shape[k + 1] //= 2
    rows.size //= 2
    rows.dense = False
    y = y.alias()
    for axis in range(k):
        y.view.shape[axis] = shape.shape[axis]
    y.size = rows.size
    copy_view(&y.view, &rows.view, y.dtype.itemsize)
    rows.view.data += rows.view.shape[k + 1] * y.dtype.itemsize
    real, imaginary = part(rows, 0), part(rows, 1)
    run_unary(slots.unary[TD_UNARY_negative][real.view.dtype], &part(y, 1).view, &real.view)
    real = part(y, 0)
    copy_view(&real.view, &imaginary.view, imaginary.dtype.itemsize)
    # dense (..., k, 2n) complex is (..., 2k, 2n) real
    real = _as(spread, part_dtype(y.view.dtype))
    real.view.shape[k] *= 2
    for axis in range(k + 1):
        real.view.strides[axis] = spread.view.strides[axis] if axis < k else spread.view.strides[axis] // 2
    real.view.strides[k + 1] = real.dtype.itemsize
    real.size *= 2
    return real


cdef Strided _doubled(Strided x):
    """(..., m, k) complex with adjacent columns as (..., m, 2k) real, a view."""
    cdef Strided out = _as(x, part_dtype(x.view.dtype))
    cdef int last = x.view.ndim - 1
    out.view.shape[last] *= 2
    out.view.strides[last] = out.dtype.itemsize
    out.size *= 2
    return out


cdef int matmul_by_way(Strided x, Strided y, Strided out) except -1:
    """out = x @ y for complex numbers or halves; batch axes are equal, nothing overlaps."""
    cdef Strided real, target
    cdef td_view batch
    cdef int axis, failed
    cdef int last = x.view.ndim - 1
    if is_complex(x.view.dtype):
        if x.view.strides[last] != x.dtype.itemsize and x.view.shape[last] > 1:
            x = copied(x)
        target = out if out.view.strides[last] == out.dtype.itemsize else allocate(out.dtype, out.device, &out.view)
        y = _spread(y)
        x, real = _doubled(x), _doubled(target)
        batch = y.view
        for axis in range(last - 1):
            batch.shape[axis] = x.view.shape[axis]
        y = broadcast(y, &batch)
    else:
        x, y = converted(x, TD_f32), converted(y, TD_f32)
        target = real = allocate(x.dtype, x.device, &out.view)
    with nogil:
        failed = matmul_view(&x.view, &y.view, &real.view)
    if failed:
        raise MemoryError("matmul: no memory for the packed operands")
    if target is not out:
        copy_into(target, out)
    return 0
