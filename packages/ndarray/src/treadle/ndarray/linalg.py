"""The array API standard's extension for linear algebra: ``treadle.ndarray.linalg``.

Products and norms run on own kernels, decompositions through LAPACK (:mod:`treadle.ndarray.decompositions`).
"""

import builtins
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.ndarray._array import NDArray
from treadle.ndarray._edge import guard_all
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.complex_parts import conj
from treadle.ndarray.creation import DTypeLike, as_array, eye
from treadle.ndarray.data_types import finfo
from treadle.ndarray.decompositions import (
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from treadle.ndarray.decompositions import (
    matrices as _matrices,
)
from treadle.ndarray.elementwise import abs, greater_equal, isnan, pow, sqrt, square, where
from treadle.ndarray.errors import LinearAlgebraError, ShapeError
from treadle.ndarray.hints import LINEAR_ALGEBRA, no_name
from treadle.ndarray.linear_systems import LstsqResult, chain, condition, least_squares, triangular_solution
from treadle.ndarray.manipulation import (
    broadcast_arrays,
    broadcast_to,
    matrix_transpose,
    moveaxis,
    stack,
)
from treadle.ndarray.matrix_functions import array_functions, exponential, reflections
from treadle.ndarray.products import matmul, outer, tensordot, vecdot
from treadle.ndarray.reductions import Axis, all, any, max, min, sum
from treadle.ndarray.searching import count_nonzero
from treadle.ndarray.windows import diagonal as _diagonal

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv",
    "lstsq", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot",
    "outer", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip


def cross(x1: NDArray, x2: NDArray, /, *, axis: int = -1) -> NDArray:
    """The cross products of vectors of length 3 along an axis; the other axes broadcast.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.cross(nd.asarray([1, 0, 0]), nd.asarray([0, 1, 0]))
    array([0, 0, 1])
    """
    x, y = as_array(x1), as_array(x2)
    lengths = [each.shape[normalize_axis(axis, each.ndim, "cross")] for each in (x, y)]
    if lengths != [3, 3]:
        raise ShapeError(f"cross: shapes {x.shape} and {y.shape} need length 3 along axis {axis}")
    x, y = broadcast_arrays(x, y)
    along = normalize_axis(axis, x.ndim, "cross")
    a, b = moveaxis(x, along, 0), moveaxis(y, along, 0)
    parts = [a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3] for i in range(3)]
    return stack(parts, axis=along)


def diagonal(x: NDArray, /, *, offset: int = 0) -> NDArray:
    """The diagonals of matrices (..., m, n), as a view: :func:`treadle.ndarray.diagonal` of the last two axes.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.diagonal(nd.asarray([[1, 2], [3, 4]]), offset=1)
    array([2])
    """
    return _diagonal(x, offset=offset)


def trace(x: NDArray, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> NDArray:
    """The sums of the diagonals of matrices (..., m, n); dtypes as in :func:`treadle.ndarray.sum`.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.trace(nd.asarray([[1, 2], [3, 4]])).item()
    5
    """
    return sum(_diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matrix_power(x: NDArray, n: int, /) -> NDArray:
    """n-fold products of matrices (..., m, m) with themselves; the identity for 0, powers of the inverse below.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.matrix_power(nd.asarray([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    array = as_array(x)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ShapeError(f"matrix_power: shape {array.shape} is no square matrix, and no stack of them")
    if n == 0:
        return broadcast_to(eye(array.shape[-1], dtype=array.dtype, device=array.device), array.shape).copy()
    base, exponent = (inv(array), -n) if n < 0 else (array, n)
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else matmul(result, base)
        exponent >>= 1
        base = matmul(base, base) if exponent else base
    assert result is not None
    return result.copy() if result is array else result


def matrix_exp(x: NDArray, /) -> NDArray:
    """The exponentials 1 + x + x @ x / 2 + ... of matrices (..., n, n); halves are computed in float32.

    Higham 2005, "The scaling and squaring method for the matrix exponential revisited".

    >>> import treadle.ndarray as nd
    >>> nd.linalg.matrix_exp(nd.asarray([[0.0, 2.0], [0.0, 0.0]])).tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """
    array = _matrices(x, "matrix_exp", square=True)
    if array.itemsize == 2:
        return matrix_exp(array.astype("float32")).astype(array.dtype)
    result: NDArray = exponential(array_functions(), _itself, array, array)
    return result


def householder_product(x: NDArray, tau: NDArray, /) -> NDArray:
    """The first n columns of the product of the reflections 1 - tau_i v_i v_i*, for x (..., m, n) and tau (..., k).

    v_i is what column i of x has below the diagonal, after a 1 on it, as LAPACK's geqrf leaves it; k <= n <= m.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.householder_product(nd.asarray([[0.0], [1.0]]), nd.asarray([1.0])).tolist()
    [[0.0], [-1.0]]
    """
    array, factors = _matrices(x, "householder_product"), as_array(tau)
    if array.itemsize == 2:
        wide = householder_product(array.astype("float32"), factors.astype("float32"))
        return wide.astype(array.dtype)
    result: NDArray = reflections(array_functions(), _itself, array, factors.astype(array.dtype, copy=False))
    return result


def solve_triangular(
    a: NDArray, b: NDArray, /, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> NDArray:
    """The x with a @ x = b for triangular a (..., n, n) and b (..., n, k); with ``left=False`` that with x @ a = b.

    Only the triangle that ``upper`` names is read, and with ``unitriangular`` its diagonal counts as 1. Raises
    LinearAlgebraError for a singular one. By elimination, which costs more than substitution alone.

    >>> import treadle.ndarray as nd
    >>> a, b = nd.asarray([[2.0, 9.0], [4.0, 1.0]]), nd.asarray([[2.0], [5.0]])
    >>> nd.linalg.solve_triangular(a, b, upper=False).tolist()
    [[1.0], [1.0]]
    """
    matrices, right = _matrices(a, "solve_triangular", square=True), as_array(b)
    result: NDArray = triangular_solution(array_functions(), _itself, matrices, right, upper, left, unitriangular)
    return result


def lstsq(a: NDArray, b: NDArray, /, rcond: float | None = None) -> LstsqResult:
    """(solution, residuals, rank, singular_values) of the shortest x with the smallest norm(b - a @ x).

    a is (..., m, n), b (..., m, k) or (m,). Singular values up to ``rcond`` times the largest count as 0; None:
    max(m, n) times the dtype's eps. ``residuals`` are the sums of squares of b - a @ x, none where m <= n or the
    rank is below n.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.lstsq(nd.asarray([[1.0], [1.0]]), nd.asarray([1.0, 3.0])).solution.numpy().round(4).tolist()
    [2.0]
    """
    matrices = _matrices(a, "lstsq")
    return least_squares(array_functions(), _itself, matrices, as_array(b), matrices, rcond)


def cond(x: NDArray, /, p: int | float | str | None = None) -> NDArray:
    """The condition numbers norm(x) norm(inv(x)) of matrices (..., n, n), infinite for singular ones.

    ``p`` is an order of :func:`matrix_norm`; None and 2 are the ratio of the largest and the smallest singular value,
    which matrices (..., m, n) have as well.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.cond(nd.asarray([[2.0, 0.0], [0.0, 8.0]])).item()
    4.0
    """
    array = _matrices(x, "cond", square=p not in (None, 2, -2))
    result: NDArray = condition(array_functions(), _itself, array, array, p)
    return result


def multi_dot(arrays: Sequence[NDArray], /) -> NDArray:
    """The product of two or more matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors, as in matmul.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.multi_dot([nd.asarray([[1.0, 2.0]]), nd.asarray([[1.0], [1.0]]), nd.asarray([2.0])]).tolist()
    [6.0]
    """
    result: NDArray = chain(array_functions(), [as_array(each) for each in arrays])
    return result


def _itself(array: NDArray) -> NDArray:
    return array


def vector_norm(x: NDArray, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2) -> NDArray:
    """The norms of vectors along axes, or of all elements: sum(abs(x) ** ord) ** (1 / ord).

    ``inf`` and ``-inf`` give the largest and smallest magnitude (0 is the largest of nothing), 0 the number of elements
    that are not 0. Integers become float32 first.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.vector_norm(nd.asarray([3.0, 4.0])).item()
    5.0
    """
    array = as_array(x)
    array = array if array.dtype.kind in "fc" else array.astype("float32")
    if array.itemsize == 2:  # halves: in float32, rounded once
        return vector_norm(array.astype("float32"), axis=axis, keepdims=keepdims, ord=ord).astype(array.dtype)
    if ord == math.inf:
        return (max if array.size else sum)(abs(array), axis=axis, keepdims=keepdims)  # 0 is the largest of nothing
    if ord == -math.inf:
        return min(abs(array), axis=axis, keepdims=keepdims)
    if ord == 0:
        return count_nonzero(array, axis=axis, keepdims=keepdims).astype(finfo(array.dtype).dtype)
    if ord == 1:
        return sum(abs(array), axis=axis, keepdims=keepdims)
    array = abs(array) if array.dtype.kind == "c" else array
    if ord == 2:
        return _length(array, axis, keepdims)
    if -1 < ord < 1:  # powers come closer to 1
        return pow(sum(pow(abs(array), float(ord)), axis=axis, keepdims=keepdims), 1.0 / ord)
    scale = _scale(array, axis, max if ord > 0 else min)
    length = pow(sum(pow(abs(array) / scale, float(ord)), axis=axis, keepdims=keepdims), 1.0 / ord)
    return length * scale.reshape(length.shape)


def _length(array: NDArray, axis: Axis, keepdims: bool) -> NDArray:
    """The root of the sum of squares; once more, over the largest magnitude, where squares overflowed or vanished."""
    on_host = array.device.type in ("cpu", "numpy")
    if not on_host and array.itemsize == 4:  # there no square overflows or vanishes, and no element comes to the host
        return sqrt(sum(square(array.astype("float64")), axis=axis, keepdims=keepdims)).astype(array.dtype)
    length = sqrt(sum(square(array), axis=axis, keepdims=keepdims))
    least = 1e-18 if array.itemsize == 4 else 1e-153  # squares of less are subnormal
    right = (length >= least) & (length < math.inf)
    if not array.size or (on_host and bool(all(right))):
        return length
    scale = _scale(array, axis)
    scaled = sqrt(sum(square(array / scale), axis=axis, keepdims=keepdims)) * scale.reshape(length.shape)
    return scaled if on_host else where(right, length, scaled)


def _scale(array: NDArray, axis: Axis, fold: Any = max) -> NDArray:
    """The largest magnitude, in which no power of the others overflows, or the smallest; 1 where it is no measure."""
    if not array.size:
        return sum(array, axis=axis, keepdims=True) + 1.0
    extreme = fold(abs(array), axis=axis, keepdims=True)
    return where((extreme > 0.0) & (extreme < math.inf), extreme, 1.0)


def matrix_norm(x: NDArray, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> NDArray:
    """The norms of matrices (..., m, n): ``fro`` (or None), ``nuc``, 1, -1, 2, -2, inf, -inf, as NumPy defines them.

    Raises ValueError for another ``ord``.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.matrix_norm(nd.asarray([[3.0, 0.0], [0.0, 4.0]]), ord=2).item()
    4.0
    """
    array = _matrices(x, "matrix_norm")
    if array.itemsize == 2 and array.dtype.kind == "f":
        return matrix_norm(array.astype("float32"), keepdims=keepdims, ord=ord).astype(array.dtype)
    if ord in ("fro", None):
        return vector_norm(array, axis=(-2, -1), keepdims=keepdims)
    if 0 in array.shape[-2:] and ord in (1, 2, math.inf):  # the largest of nothing
        return sum(abs(array), axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, int | float) and ord in (1, -1, math.inf, -math.inf):
        summed, chosen = (-2, -1) if ord in (1, -1) else (-1, -2)
        totals = sum(abs(array), axis=summed, keepdims=True)
        norms = (max if ord > 0 else min)(totals, axis=chosen, keepdims=True)
    elif ord in (2, -2, "nuc"):
        values = svdvals(array)
        fold: Any = {2: max, -2: min, "nuc": sum}[ord]
        norms = fold(values, axis=-1, keepdims=True)[..., None]
    else:
        raise ValueError(f"matrix_norm: no norm {ord!r}; there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf")
    return norms if keepdims else norms.view_squeezed((-2, -1))


def _vanishing(op: str, values: NDArray, shape: tuple[int, ...], rtol: float | NDArray | None) -> NDArray:
    """Which singular values count as zero. ``values`` must not be empty."""
    if rtol is None:
        rtol = builtins.max(shape[-2:]) * finfo(values.dtype).eps
    elif not all(greater_equal(rtol, 0)):
        raise ValueError(f"{op}: rtol must be 0 or more, not {rtol}")
    elif isinstance(rtol, NDArray):
        rtol = rtol[..., None]
    return values <= max(values, axis=-1, keepdims=True) * rtol


def matrix_rank(x: NDArray, /, *, rtol: float | NDArray | None = None) -> NDArray:
    """How many singular values of matrices (..., m, n) exceed ``rtol`` times the largest, as int64.

    ``rtol`` may be an array for the stack; None: max(m, n) times the dtype's eps. Raises ValueError for one that is
    negative or NaN, LinearAlgebraError for singular values that are NaN.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.matrix_rank(nd.ones((3, 2))).item()
    1
    """
    array = _matrices(x, "matrix_rank")
    values = svdvals(array)
    if values.shape[-1] == 0:
        return count_nonzero(values, axis=-1)
    if any(isnan(values)):
        raise LinearAlgebraError(f"matrix_rank: shape {array.shape}: matrices with NaN or infinities have no rank")
    return count_nonzero(~_vanishing("matrix_rank", values, array.shape, rtol), axis=-1)


def pinv(x: NDArray, /, *, rtol: float | NDArray | None = None) -> NDArray:
    """The pseudo-inverses (..., n, m) of matrices (..., m, n).

    Singular values up to ``rtol`` times the largest count as 0; ``rtol`` as in :func:`matrix_rank`.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.pinv(nd.asarray([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    array = _matrices(x, "pinv")
    if array.size == 0:
        return matrix_transpose(array).copy()
    u, s, vh = svd(array, full_matrices=False)
    inverse = where(_vanishing("pinv", s, array.shape, rtol), 0.0, 1.0 / s)
    return matmul(matrix_transpose(conj(vh)) * inverse[..., None, :], matrix_transpose(conj(u)))


guard_all(globals(), __all__, __name__)

if not TYPE_CHECKING:  # to type checkers it would make every misspelt name a known one

    def __getattr__(name: str) -> Any:
        """Called for what is not there; the error says how it is written here."""
        raise no_name(f"module {__name__!r}", name, LINEAR_ALGEBRA)
