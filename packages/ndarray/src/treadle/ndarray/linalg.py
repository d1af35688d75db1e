"""Matrix products."""

from treadle.ndarray import _families
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import result_dtype
from treadle.ndarray.creation import as_array
from treadle.ndarray.errors import ShapeError

__all__ = ["matmul"]


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
    if x.ndim > 1 and y.ndim > 1:
        return _families.matmul(x, y, out)
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"matmul: shapes {x.shape} and {y.shape}: a 0-d operand has no axis to sum; use *")
    if out is not None:
        raise ShapeError("matmul: out needs operands of two dimensions or more")
    row, column = x.ndim == 1, y.ndim == 1
    if row and column and x.shape != y.shape:
        raise ShapeError(f"matmul: shapes {x.shape} and {y.shape}: the inner lengths differ")
    result = _families.matmul(x.view_expanded(0) if row else x, y.view_expanded(1) if column else y, None)
    dropped = (-2,) * row + (-1,) * column
    return result.view_squeezed(dropped)
