"""Differences and comparisons within a tolerance (``all`` and ``any``: reductions)."""

from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.creation import as_array, asarray
from treadle.ndarray.data_types import result_type
from treadle.ndarray.elementwise import isfinite, isnan, not_equal
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.manipulation import concat
from treadle.ndarray.reductions import all

__all__ = ["allclose", "diff", "isclose"]


def diff(
    x: NDArray, /, *, axis: int = -1, n: int = 1, prepend: NDArray | None = None, append: NDArray | None = None
) -> NDArray:
    """The n-th differences of neighbours along an axis, which is shorter by n; for booleans, whether they differ.

    ``prepend`` and ``append`` are joined to x first. Raises ShapeError for a 0-d x and a negative n.

    >>> import treadle.ndarray as nd
    >>> nd.diff(nd.asarray([1, 4, 9]))
    array([3, 5])
    """
    array = as_array(x)
    along = normalize_axis(axis, array.ndim, "diff")
    if n < 0:
        raise ShapeError(f"diff: n is {n}; it must not be negative")
    parts = [each for each in (prepend, array, append) if each is not None]
    result = concat(parts, axis=along) if len(parts) > 1 else array
    whole = (slice(None),) * along
    for _ in range(min(n, result.shape[along])):  # more leave nothing too
        upper, lower = result[(*whole, slice(1, None))], result[(*whole, slice(None, -1))]
        result = not_equal(upper, lower) if result.dtype.kind == "b" else upper - lower
    return result.copy() if result is x else result


def isclose(
    x1: NDArray,
    x2: NDArray | int | float | complex,
    /,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> NDArray:
    """Whether abs(x1 - x2) <= atol + rtol * abs(x2), element by element: NumPy's isclose, in which x2 is the reference.

    Infinities are close only to themselves, NaN to nothing, or to NaN with ``equal_nan``. Beside an integer
    array all is compared in float64.

    >>> import treadle.ndarray as nd
    >>> nd.isclose(nd.asarray([1.0, 1.0]), nd.asarray([1.000001, 1.1]))
    array([ True, False])
    """
    x = as_array(x1)
    if isinstance(x2, int | float | complex):
        dtype = result_type(x, x2) if isinstance(x2, complex) or x.dtype.kind in "fc" else "float64"
        y = asarray(x2, dtype=dtype, device=x.device)
    else:
        y = as_array(x2)
    if "c" not in (x.dtype.kind, y.dtype.kind) and (x.dtype.kind != "f" or y.dtype.kind != "f"):
        x, y = x.astype("float64", copy=False), y.astype("float64", copy=False)
    if x.dtype.kind == "f" and x.itemsize == 2:  # the tolerances are below what halves can tell apart
        x, y = x.astype("float32"), y.astype(result_type(y, "float32"), copy=False)
    near = (abs(x - y) <= atol + rtol * abs(y)) & isfinite(y)
    close = near | (x == y)
    return close | (isnan(x) & isnan(y)) if equal_nan else close


def allclose(
    x1: NDArray,
    x2: NDArray | int | float | complex,
    /,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Whether every element :func:`isclose`.

    >>> import treadle.ndarray as nd
    >>> nd.allclose(nd.ones(3), 1.0)
    True
    """
    return bool(all(isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)))
