"""Products of vectors, matrices and arrays."""

import math
from collections.abc import Sequence

from treadle.ndarray import _families
from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray._types import result_dtype
from treadle.ndarray.complex_parts import conj
from treadle.ndarray.creation import as_array
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.manipulation import broadcast_arrays, moveaxis, reshape

__all__ = ["dot", "kron", "matmul", "outer", "tensordot", "vecdot"]


def matmul(x: NDArray, y: NDArray, /, *, out: NDArray | None = None) -> NDArray:
    """The matrix product of the last two axes, (..., m, k) @ (..., k, n) -> (..., m, n); leading axes broadcast.

    A 1-D operand is a row on the left and a column on the right, and its axis is gone from the result. Transposed,
    sliced and broadcast views are read where they lie, without a copy. k = 0 gives zeros. The dtypes meet in one;
    integers wrap. ``out`` must have the result's shape and dtype.

    Raises ShapeError, DTypeError, DeviceError.

    >>> import treadle.ndarray as nd
    >>> nd.matmul(nd.asarray([[1, 2]]), nd.asarray([[3], [4]])).tolist()
    [[11]]
    """
    x, y = as_array(x), as_array(y)
    if x.dtype is not y.dtype:
        dtype = result_dtype(x.dtype, y.dtype)
        x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"matmul: shapes {x.shape} and {y.shape}: a 0-d operand has no axis to sum; use *")
    if out is not None and (x.ndim == 1 or y.ndim == 1):
        raise ShapeError("matmul: out needs operands of two dimensions or more")
    return _families.matmul(x, y, out)


def vecdot(x1: NDArray, x2: NDArray, /, *, axis: int = -1) -> NDArray:
    """The scalar products of vectors along an axis, counted from the end; the other axes broadcast. x1 is conjugated.

    Raises ShapeError where the lengths along the axis differ: that axis does not broadcast.

    >>> import treadle.ndarray as nd
    >>> nd.vecdot(nd.asarray([[1, 2], [3, 4]]), nd.asarray([10, 1]))
    array([12, 34])
    """
    x, y = as_array(x1), as_array(x2)
    shortest = min(x.ndim, y.ndim)
    if not -shortest <= axis < 0 and x.ndim != y.ndim:
        raise ShapeError(f"vecdot: axis {axis} of shapes {x.shape} and {y.shape} must be in [{-shortest}, 0)")
    normalize_axis(axis, shortest, "vecdot")
    if x.shape[axis] != y.shape[axis]:
        raise ShapeError(f"vecdot: shapes {x.shape} and {y.shape} differ in length along axis {axis}")
    x, y = broadcast_arrays(conj(x) if x.dtype.kind == "c" else x, y)
    rows, columns = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    return matmul(rows.view_expanded(-2), columns.view_expanded(-1)).view_squeezed((-2, -1))


def tensordot(x1: NDArray, x2: NDArray, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> NDArray:
    """The sum of products over axes of both arrays; the rest of x1's axes, then of x2's, are left.

    ``axes`` is how many of the last of x1 meet as many of the first of x2, or the two lists of axes that meet. Raises
    ShapeError where lengths differ.

    >>> import treadle.ndarray as nd
    >>> nd.tensordot(nd.ones((2, 3, 4)), nd.ones((3, 4, 5))).shape
    (2, 5)
    """
    x, y = as_array(x1), as_array(x2)
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ShapeError(f"tensordot: {axes} axes of shapes {x.shape} and {y.shape}")
        axes = (range(x.ndim - axes, x.ndim), range(axes))
    first, second = axes
    left = [normalize_axis(each, x.ndim, "tensordot") for each in _listed(first)]
    right = [normalize_axis(each, y.ndim, "tensordot") for each in _listed(second)]
    lengths = [x.shape[each] for each in left]
    if lengths != [y.shape[each] for each in right] or len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ShapeError(f"tensordot: axes {left} of shape {x.shape} do not meet axes {right} of shape {y.shape}")
    x_rest = [each for each in range(x.ndim) if each not in left]
    y_rest = [each for each in range(y.ndim) if each not in right]
    x_shape, y_shape = [x.shape[each] for each in x_rest], [y.shape[each] for each in y_rest]
    inner = math.prod(lengths)
    rows = reshape(x.view_permuted(x_rest + left), (math.prod(x_shape), inner))
    columns = reshape(y.view_permuted(right + y_rest), (inner, math.prod(y_shape)))
    return reshape(matmul(rows, columns), x_shape + y_shape)


def _listed(axes: int | Sequence[int]) -> Sequence[int]:
    return (axes,) if isinstance(axes, int) else axes


def outer(x1: NDArray, x2: NDArray, /) -> NDArray:
    """Every product of an element of one vector with one of the other: shape (n, m).

    >>> import treadle.ndarray as nd
    >>> nd.outer(nd.asarray([1, 2]), nd.asarray([10, 1])).tolist()
    [[10, 1], [20, 2]]
    """
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"outer: shapes {x.shape} and {y.shape} must be 1-D")
    return x.view_expanded(1) * y.view_expanded(0)


def dot(x1: NDArray, x2: NDArray, /) -> NDArray:
    """NumPy's dot: the product with a scalar, the scalar product of vectors, the matrix product.

    Beyond that, the sum of products over x1's last axis and x2's last but one.

    >>> import treadle.ndarray as nd
    >>> nd.dot(nd.asarray([1, 2]), nd.asarray([10, 1])).item()
    12
    """
    x, y = as_array(x1), as_array(x2)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return tensordot(x, y, axes=((-1,), (max(-2, -y.ndim),)))


def kron(x1: NDArray, x2: NDArray, /) -> NDArray:
    """The Kronecker product: every element of x1 replaced by its product with x2. Missing axes lead, with length 1.

    >>> import treadle.ndarray as nd
    >>> nd.kron(nd.asarray([1, 10]), nd.asarray([1, 2]))
    array([ 1,  2, 10, 20])
    """
    x, y = as_array(x1), as_array(x2)
    ndim = max(x.ndim, y.ndim)
    x_shape = (1,) * (ndim - x.ndim) + x.shape
    y_shape = (1,) * (ndim - y.ndim) + y.shape
    spread = reshape(x, [each for length in x_shape for each in (length, 1)])
    repeated = reshape(y, [each for length in y_shape for each in (1, length)])
    return reshape(spread * repeated, [a * b for a, b in zip(x_shape, y_shape, strict=True)])
