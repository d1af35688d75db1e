"""Linear algebra on tensors: the functions of ``treadle.ndarray.linalg`` that have gradients, under the same names."""

import math
from collections.abc import Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.ops import decompositions as _d
from treadle.autograd.ops._common import axis_from_the_end
from treadle.autograd.ops.complex_parts import conj
from treadle.autograd.ops.contractions import outer, tensordot, vecdot
from treadle.autograd.ops.linalg import matmul
from treadle.autograd.ops.manipulation import matrix_transpose
from treadle.autograd.ops.rearranging import diagonal, roll, trace
from treadle.autograd.ops.reductions import norm
from treadle.ndarray import ShapeError
from treadle.ndarray._edge import guard_all
from treadle.ndarray.linear_systems import LstsqResult, chain, condition, least_squares, triangular_solution
from treadle.ndarray.matrix_functions import exponential, reflections

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv",
    "lstsq", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot", "outer", "pinv",
    "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

EigResult, EighResult, QRResult, SVDResult, SlogdetResult = (
    _d.EigResult,
    _d.EighResult,
    _d.QRResult,
    _d.SVDResult,
    _d.SlogdetResult,
)


def inv(x: Tensor, /) -> Tensor:
    """The inverses of matrices (..., n, n). Raises LinearAlgebraError for a singular one.

    >>> import treadle.autograd as ag
    >>> ag.linalg.inv(ag.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _d.Inv()(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The x with x1 @ x = x2, for x1 (..., n, n) and x2 (n,) or (..., n, k).

    >>> import treadle.autograd as ag
    >>> ag.linalg.solve(ag.Tensor([[2.0, 0.0], [0.0, 4.0]]), ag.Tensor([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    return _d.Solve()(x1, x2)


def det(x: Tensor, /) -> Tensor:
    """The determinants of matrices (..., n, n); the first derivative exists for singular ones as well.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    >>> ag.linalg.det(x).backward()
    >>> [[round(each, 4) for each in row] for row in x.grad.tolist()]
    [[4.0, -2.0], [-2.0, 1.0]]
    """
    return _d.Det()(x)


def slogdet(x: Tensor, /) -> _d.SlogdetResult:
    """(sign, logabsdet) of the determinants of matrices (..., n, n); a real sign has no gradient.

    >>> import treadle.autograd as ag
    >>> ag.linalg.slogdet(ag.Tensor([[1.0, 0.0], [0.0, -1.0]])).sign.item()
    -1.0
    """
    sign, logabsdet = _d.SlogDet()(x)
    return SlogdetResult(sign if x.dtype.kind == "c" else sign.detach(), logabsdet)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L @ L.mT equal to x, or the upper L.mT, for symmetric positive definite x.

    >>> import treadle.autograd as ag
    >>> ag.linalg.cholesky(ag.Tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    lower = _d.Cholesky()(x)
    return _adjoint(lower) if upper else lower


def eig(x: Tensor, /) -> _d.EigResult:
    """(eigenvalues, eigenvectors) of square matrices (..., n, n), in no order, complex whether x is or not.

    >>> import treadle.autograd as ag
    >>> ag.linalg.eig(ag.Tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.tolist()
    [1j, -1j]
    """
    result: _d.EigResult = _d.Eig()(x)
    return result


def eigvals(x: Tensor, /) -> Tensor:
    """The eigenvalues of :func:`eig`.

    >>> import treadle.autograd as ag
    >>> ag.linalg.eigvals(ag.Tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [(2+0j), (1+0j)]
    """
    return eig(x).eigenvalues


def eigh(x: Tensor, /) -> _d.EighResult:
    """(eigenvalues, eigenvectors) of symmetric matrices (..., n, n), ascending; only the lower triangle is read.

    >>> import treadle.autograd as ag
    >>> ag.linalg.eigh(ag.Tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    result: _d.EighResult = _d.Eigh()(x)
    return result


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of :func:`eigh`.

    >>> import treadle.autograd as ag
    >>> ag.linalg.eigvalsh(ag.Tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 2.0]
    """
    return eigh(x).eigenvalues


def qr(x: Tensor, /, *, mode: str = "reduced") -> _d.QRResult:
    """(Q, R) of matrices (..., m, n) with orthonormal columns of Q and upper triangular R.

    >>> import treadle.autograd as ag
    >>> q, r = ag.linalg.qr(ag.Tensor([[3.0], [4.0]]))
    >>> round(abs(r.item()), 4)
    5.0
    """
    result: _d.QRResult = _d.QR(mode)(x)
    return result


def svd(x: Tensor, /, *, full_matrices: bool = True) -> _d.SVDResult:
    """(U, S, Vh) of matrices (..., m, n), with S descending. Gradients of U and Vh need ``full_matrices=False``.

    >>> import treadle.autograd as ag
    >>> ag.linalg.svd(ag.Tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    result: _d.SVDResult = _d.SVD(full_matrices)(x)
    return result


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of :func:`svd`.

    >>> import treadle.autograd as ag
    >>> ag.linalg.svdvals(ag.Tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [4.0, 3.0]
    """
    return svd(x, full_matrices=False).S


def pinv(x: Tensor, /, *, rtol: float | None = None) -> Tensor:
    """The Moore-Penrose inverses of matrices (..., m, n); singular values below ``rtol`` times the largest count as 0.

    >>> import treadle.autograd as ag
    >>> ag.linalg.pinv(ag.Tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    return _d.Pinv(rtol)(x)


def _adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    return conj(matrix_transpose(x)) if x.dtype.kind == "c" else matrix_transpose(x)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """x @ x @ ... n times, by squaring; of the inverse for n < 0, the identity for n = 0.

    >>> import treadle.autograd as ag
    >>> ag.linalg.matrix_power(ag.Tensor([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
    [[1.0, 5.0], [0.0, 1.0]]
    """
    if n < 0:
        return matrix_power(inv(x), -n)
    result: Tensor | None = None
    square = x
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return constant(nd.linalg.matrix_power(x.data, 0)) if result is None else result


def matrix_exp(x: Tensor, /) -> Tensor:
    """The exponentials 1 + x + x @ x / 2 + ... of matrices (..., n, n), as in the array's linalg.

    >>> import treadle.autograd as ag
    >>> ag.linalg.matrix_exp(ag.Tensor([[0.0, 2.0], [0.0, 0.0]])).tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """
    import treadle.autograd as f

    _d._square(x.shape, "matrix_exp")
    if x.dtype.kind not in "fc" or x.dtype.itemsize == 2:  # halves: in float32, rounded once
        wide = matrix_exp(f.astype(x, nd.float32))
        return f.astype(wide, x.dtype) if x.dtype.kind == "f" else wide
    result: Tensor = exponential(f, constant, x, x.data)
    return result


def householder_product(x: Tensor, tau: Tensor, /) -> Tensor:
    """The first n columns of a product of reflections, for x (..., m, n) and tau (..., k), as in the array's linalg.

    >>> import treadle.autograd as ag
    >>> ag.linalg.householder_product(ag.Tensor([[0.0], [1.0]]), ag.Tensor([1.0])).tolist()
    [[0.0], [-1.0]]
    """
    import treadle.autograd as f

    if x.dtype.kind == "f" and x.dtype.itemsize == 2:
        return f.astype(householder_product(f.astype(x, nd.float32), f.astype(tau, nd.float32)), x.dtype)
    result: Tensor = reflections(f, constant, x, tau)
    return result


def solve_triangular(a: Tensor, b: Tensor, /, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The x with a @ x = b for triangular a (..., n, n) and b (..., n, k); with ``left=False`` that with x @ a = b.

    Only the triangle that ``upper`` names is read, and with ``unitriangular`` its diagonal counts as 1. Raises
    LinearAlgebraError for a singular one. By elimination, which costs more than substitution alone.

    >>> import treadle.autograd as ag
    >>> a, b = ag.Tensor([[2.0, 9.0], [4.0, 1.0]]), ag.Tensor([[2.0], [5.0]])
    >>> ag.linalg.solve_triangular(a, b, upper=False).tolist()
    [[1.0], [1.0]]
    """
    import treadle.autograd as f

    _d._square(a.shape, "solve_triangular")
    result: Tensor = triangular_solution(f, constant, a, b, upper, left, unitriangular)
    return result


def lstsq(a: Tensor, b: Tensor, /, rcond: float | None = None) -> LstsqResult:
    """(solution, residuals, rank, singular_values) of the shortest x with the smallest norm(b - a @ x).

    a is (..., m, n), b (..., m, k) or (m,). Singular values up to ``rcond`` times the largest count as 0; None:
    max(m, n) times the dtype's eps. ``residuals`` are the sums of squares of b - a @ x, none where m <= n or the
    rank is below n.

    >>> import treadle.autograd as ag
    >>> ag.linalg.lstsq(ag.Tensor([[1.0], [1.0]]), ag.Tensor([1.0, 3.0])).solution.numpy().round(4).tolist()
    [2.0]
    """
    import treadle.autograd as f

    return least_squares(f, constant, a, b, a.data, rcond)


def cond(x: Tensor, /, p: int | float | str | None = None) -> Tensor:
    """The condition numbers norm(x) norm(inv(x)) of matrices (..., n, n), infinite for singular ones.

    ``p`` is an order of :func:`matrix_norm`; None and 2 are the ratio of the largest and the smallest singular value,
    which matrices (..., m, n) have as well.

    >>> import treadle.autograd as ag
    >>> ag.linalg.cond(ag.Tensor([[2.0, 0.0], [0.0, 8.0]])).item()
    4.0
    """
    import treadle.autograd as f

    if p not in (None, 2, -2):
        _d._square(x.shape, "cond")
    result: Tensor = condition(f, constant, x, x.data, p)
    return result


def multi_dot(arrays: Sequence[Tensor], /) -> Tensor:
    """The product of two or more matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors, as in matmul.

    >>> import treadle.autograd as ag
    >>> ag.linalg.multi_dot([ag.Tensor([[1.0, 2.0]]), ag.Tensor([[1.0], [1.0]]), ag.Tensor([2.0])]).tolist()
    [6.0]
    """
    import treadle.autograd as f

    for number, each in enumerate(arrays):
        if not isinstance(each, Tensor):
            raise TypeError(f"multi_dot: operand {number} is a {type(each).__name__}, not a tensor")
    result: Tensor = chain(f, arrays)
    return result


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of 3 elements along an axis; the other axes broadcast.

    >>> import treadle.autograd as ag
    >>> ag.linalg.cross(ag.Tensor([1.0, 0.0, 0.0]), ag.Tensor([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    axis = axis_from_the_end(axis, x1, x2, "cross")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ShapeError(f"cross: shapes {x1.shape} and {x2.shape}: there must be 3 elements along axis {axis}")
    return roll(x1, -1, axis=axis) * roll(x2, 1, axis=axis) - roll(x1, 1, axis=axis) * roll(x2, -1, axis=axis)


def vector_norm(
    x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """The norm of order ``ord`` over axes: :func:`treadle.autograd.norm` for 2, else (sum |x|^ord)^(1/ord), and max or
    min of |x| for the infinities. The norm of a zero vector has the gradient 0, and so has the number of elements that
    are not 0, the norm of order 0, everywhere.

    >>> import treadle.autograd as ag
    >>> ag.linalg.vector_norm(ag.Tensor([3.0, -4.0]), ord=1).item()
    7.0
    """
    from treadle.autograd import functions as f

    if ord == 2:
        return norm(x, axis=axis, keepdims=keepdims)
    if x.dtype.kind == "f" and x.dtype.itemsize == 2:  # halves: in float32, rounded once
        return f.astype(vector_norm(f.astype(x, nd.float32), axis=axis, keepdims=keepdims, ord=ord), x.dtype)
    size = f.abs(x)
    if ord == float("inf"):
        return (f.max if size.size else f.sum)(size, axis=axis, keepdims=keepdims)  # 0 is the largest of nothing
    if ord == float("-inf"):
        return f.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        counted = f.not_equal(x, 0.0)
        return f.sum(f.where(counted, 1.0, f.abs(f.where(counted, 0.0, x))), axis=axis, keepdims=keepdims)
    if ord == 1:
        return f.sum(size, axis=axis, keepdims=keepdims)
    nothing, endless = (0.0, math.inf) if ord > 0 else (math.inf, 0.0)  # of a sum of 0, and of an infinite one
    unit: Any = 1.0
    if abs(ord) >= 1 and size.size:  # over the extreme magnitude no power overflows
        unit = (f.max if ord > 0 else f.min)(size.detach(), axis=axis, keepdims=True)
        unit = f.where(f.logical_and(unit > 0.0, f.isfinite(unit)), unit, 1.0)
        size = size / unit
    still = f.equal(size, 0.0)
    total = f.sum(f.where(still, nothing, f.where(still, 1.0, size) ** ord), axis=axis, keepdims=keepdims)
    empty, full = f.equal(total, 0.0), f.isinf(total)
    root = f.where(f.logical_or(empty, full), 1.0, total) ** (1.0 / ord)
    length = f.where(empty, nothing, f.where(full, endless, root))
    return length if isinstance(unit, float) else length * f.reshape(unit, length.shape)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> Tensor:
    """The norm of matrices (..., m, n): "fro", "nuc", 1, -1, 2, -2, inf or -inf, as in the array's linalg.

    >>> import treadle.autograd as ag
    >>> ag.linalg.matrix_norm(ag.Tensor([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    from treadle.autograd import functions as f

    if ord in ("fro", None):
        return norm(x, axis=(-2, -1), keepdims=keepdims)
    if 0 in x.shape[-2:] and ord in (1, 2, math.inf):  # the largest of nothing
        return f.sum(f.abs(x), axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        pick = {"nuc": f.sum, 2: f.max, -2: f.min}[ord]
        result = pick(values, axis=-1)
        return f.expand_dims(f.expand_dims(result, axis=-1), axis=-1) if keepdims else result
    if ord in (1, -1, float("inf"), float("-inf")):
        rows = ord in (1, -1)
        sums = f.sum(f.abs(x), axis=-2 if rows else -1, keepdims=True)
        pick = f.max if float(ord) > 0 else f.min
        result = pick(sums, axis=-1 if rows else -2, keepdims=True)
        return result if keepdims else f.squeeze(result, (-2, -1))
    raise ValueError(f"matrix_norm: no order {ord!r}")


guard_all(globals(), __all__, "treadle.autograd.linalg")
