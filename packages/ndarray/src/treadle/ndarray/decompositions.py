"""Matrix decompositions and what follows from them, by LAPACK through NumPy.

They and :mod:`treadle.ndarray.fft` are what the cpu device leaves to NumPy: arrays of the devices cpu and numpy are
handed over and taken back without a copy (LAPACK makes its own), those of other devices travel through the host.
Integers become float32; halves are computed in float32 and rounded. LAPACK's pivots pass over NaN: a matrix with NaN
could have a determinant of 0, so that det, slogdet, inv, solve, eigh and eigvalsh give NaN for such a one of a stack.
"""

from typing import Any, NamedTuple

from treadle.ndarray._array import NDArray
from treadle.ndarray.complex_parts import conj
from treadle.ndarray.creation import as_array, asarray
from treadle.ndarray.data_types import result_type
from treadle.ndarray.errors import DeviceError, LinearAlgebraError, ShapeError
from treadle.ndarray.manipulation import broadcast_shapes

__all__ = ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "qr", "slogdet", "solve", "svd", "svdvals"]


class EigResult(NamedTuple):
    """What :func:`eig` gives."""

    eigenvalues: NDArray
    eigenvectors: NDArray


class EighResult(NamedTuple):
    """What :func:`eigh` gives."""

    eigenvalues: NDArray
    eigenvectors: NDArray


class QRResult(NamedTuple):
    """What :func:`qr` gives."""

    Q: NDArray
    R: NDArray


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` gives."""

    sign: NDArray
    logabsdet: NDArray


class SVDResult(NamedTuple):
    """What :func:`svd` gives."""

    U: NDArray
    S: NDArray
    Vh: NDArray


def matrices(x: NDArray, op: str, *, square: bool = False) -> NDArray:
    """x with a floating dtype, once its last two axes are known to be a matrix."""
    array = as_array(x)
    if array.ndim < 2 or (square and array.shape[-1] != array.shape[-2]):
        raise ShapeError(f"{op}: shape {array.shape} is no {'square ' * square}matrix, and no stack of them")
    return array if array.dtype.kind in "fc" else array.astype("float32")


_LOWER = ("eigh", "eigvalsh")
_PASSING_OVER_NAN = ("det", "slogdet", "inv", "solve", *_LOWER)


def _with_undefined(op: str, compute: Any, x: Any, *others: Any) -> Any:
    """The results of a NumPy function, NaN for the matrices of x, in whose place it is given others, that have NaN."""
    import numpy

    undefined = numpy.isnan(numpy.tril(x) if op in _LOWER else x).any(axis=(-2, -1))
    if not undefined.any():
        return compute(x, *others)
    results = compute(numpy.where(undefined[..., None, None], numpy.eye(x.shape[-1], dtype=x.dtype), x), *others)
    parts = []
    for part in results if isinstance(results, tuple) else (results,):
        trailing = min(numpy.ndim(part) - undefined.ndim, 2)  # solve's others may have further leading axes
        at = undefined[(..., *(None,) * trailing)]
        nan = complex(numpy.nan, numpy.nan) if numpy.iscomplexobj(part) else numpy.nan
        parts.append(numpy.where(at, numpy.asarray(nan, part.dtype), part))
    return tuple(parts)


def _by_lapack(op: str, *operands: NDArray, to_complex: bool = False, **options: Any) -> tuple[NDArray, ...]:
    """The results of NumPy's function of that name, on the operands' device."""
    import numpy

    device, narrow = operands[0].device, None
    if operands[0].itemsize == 2:
        narrow, operands = operands[0].dtype, tuple(each.astype("float32") for each in operands)
    try:
        with numpy.errstate(all="ignore"):
            compute, values = getattr(numpy.linalg, op), [each.numpy() for each in operands]
            passes = op in _PASSING_OVER_NAN
            results = _with_undefined(op, compute, *values) if passes else compute(*values, **options)
    except numpy.linalg.LinAlgError as error:
        raise LinearAlgebraError(f"{op}: shape {operands[0].shape}: {error}") from None
    parts = [numpy.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]
    if to_complex:
        parts = [each.astype(numpy.result_type(each, numpy.complex64), copy=False) for each in parts]
    arrays = tuple(asarray(each, device=device) for each in parts)
    return arrays if narrow is None or to_complex else tuple(each.astype(narrow) for each in arrays)


def cholesky(x: NDArray, /, *, upper: bool = False) -> NDArray:
    """The lower triangular L with L @ L.mT equal to x, or the upper triangular L.mT.

    x has shape (..., n, n), is symmetric (only its lower triangle is read) and positive definite: LinearAlgebraError
    otherwise.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.cholesky(nd.asarray([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    (lower,) = _by_lapack("cholesky", matrices(x, "cholesky", square=True))
    return conj(lower.mT) if upper else lower


def det(x: NDArray, /) -> NDArray:
    """The determinants of matrices (..., n, n).

    >>> import treadle.ndarray as nd
    >>> nd.linalg.det(nd.asarray([[2.0, 0.0], [0.0, 3.0]])).item()
    6.0
    """
    return _by_lapack("det", matrices(x, "det", square=True))[0]


def slogdet(x: NDArray, /) -> SlogdetResult:
    """The sign of the determinants of matrices (..., n, n), and the logarithm of their magnitude (-inf for 0).

    >>> import treadle.ndarray as nd
    >>> nd.linalg.slogdet(nd.asarray([[1.0, 0.0], [0.0, -1.0]])).sign.item()
    -1.0
    """
    return SlogdetResult(*_by_lapack("slogdet", matrices(x, "slogdet", square=True)))


def eig(x: NDArray, /) -> EigResult:
    """The eigenvalues (..., n), in no order, and the eigenvectors, columns of (..., n, n), of matrices (..., n, n).

    Both are complex, whether x is or not: complex64 of float32 and halves, complex128 of float64. Raises
    LinearAlgebraError without convergence, and for NaN and infinities.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.eig(nd.asarray([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    array([0.+1.j, 0.-1.j])
    """
    return EigResult(*_by_lapack("eig", matrices(x, "eig", square=True), to_complex=True))


def eigvals(x: NDArray, /) -> NDArray:
    """The eigenvalues of :func:`eig`.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.eigvals(nd.asarray([[2.0, 0.0], [0.0, 1.0]]))
    array([2.+0.j, 1.+0.j])
    """
    return _by_lapack("eigvals", matrices(x, "eigvals", square=True), to_complex=True)[0]


def eigh(x: NDArray, /) -> EighResult:
    """The eigenvalues (..., n), ascending, and the eigenvectors, columns of (..., n, n), of symmetric matrices.

    Only the lower triangle is read. Raises LinearAlgebraError without convergence.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.eigh(nd.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    array([1., 2.])
    """
    return EighResult(*_by_lapack("eigh", matrices(x, "eigh", square=True)))


def eigvalsh(x: NDArray, /) -> NDArray:
    """The eigenvalues of :func:`eigh`.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.eigvalsh(nd.asarray([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    return _by_lapack("eigvalsh", matrices(x, "eigvalsh", square=True))[0]


def inv(x: NDArray, /) -> NDArray:
    """The inverses of matrices (..., n, n). Raises LinearAlgebraError for a singular one.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.inv(nd.asarray([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _by_lapack("inv", matrices(x, "inv", square=True))[0]


def solve(x1: NDArray, x2: NDArray, /) -> NDArray:
    """The x with x1 @ x equal to x2: for x1 (..., n, n), and x2 of shape (n,) or (..., n, k).

    Raises ShapeError, DeviceError, LinearAlgebraError for a singular x1.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.solve(nd.asarray([[2.0, 0.0], [0.0, 4.0]]), nd.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    a, b = matrices(x1, "solve", square=True), as_array(x2)
    if a.device is not b.device:
        raise DeviceError(f"solve: operands on {a.device} and {b.device}; move one with to_device")
    if b.ndim == 0 or b.shape[-1 if b.ndim == 1 else -2] != a.shape[-1]:
        raise ShapeError(f"solve: shapes {a.shape} and {b.shape} do not fit")
    dtype = result_type(a, b)
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    columns = b.view_expanded(1) if b.ndim == 1 else b
    try:
        broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    except ShapeError:
        raise ShapeError(f"solve: the leading axes of shapes {a.shape} and {b.shape} do not broadcast") from None
    (result,) = _by_lapack("solve", a, columns)
    return result.view_squeezed(-1) if b.ndim == 1 else result


def qr(x: NDArray, /, *, mode: str = "reduced") -> QRResult:
    """Q with orthonormal columns and the upper triangular R with Q @ R equal to x, of shape (..., m, n).

    ``reduced``: Q is (..., m, k), R is (..., k, n), k = min(m, n); ``complete``: (..., m, m) and (..., m, n).

    >>> import treadle.ndarray as nd
    >>> nd.linalg.qr(nd.ones((3, 2))).Q.shape
    (3, 2)
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is 'reduced' or 'complete', not {mode!r}")
    return QRResult(*_by_lapack("qr", matrices(x, "qr"), mode=mode))


def svd(x: NDArray, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition: U, S and Vh with (U * S) @ Vh equal to x of shape (..., m, n).

    The columns of U and the rows of Vh are orthonormal, S descends. U is (..., m, m) and Vh (..., n, n); without
    ``full_matrices`` (..., m, k) and (..., k, n), k = min(m, n). Raises LinearAlgebraError without convergence.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.svd(nd.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    array([4., 3.])
    """
    return SVDResult(*_by_lapack("svd", matrices(x, "svd"), full_matrices=full_matrices))


def svdvals(x: NDArray, /) -> NDArray:
    """The singular values of :func:`svd`.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.svdvals(nd.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])
    """
    return _by_lapack("svd", matrices(x, "svdvals"), compute_uv=False)[0]
