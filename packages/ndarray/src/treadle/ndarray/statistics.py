"""Running sums and histograms (``sum``, ``mean``, ``var``, ...: reductions; quantiles have a room of their own)."""

from collections.abc import Sequence
from typing import NamedTuple

from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray._types import dtype_named
from treadle.ndarray.creation import DTypeLike, as_array, asarray, full, linspace, zeros
from treadle.ndarray.elementwise import logaddexp, where
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.indexing import scatter_add
from treadle.ndarray.manipulation import concat, reshape
from treadle.ndarray.reductions import cumprod, cumsum, max, min, sum
from treadle.ndarray.searching import searchsorted

__all__ = ["cumulative_prod", "cumulative_sum", "histogram", "logcumsumexp"]


class Histogram(NamedTuple):
    """What :func:`histogram` gives."""

    counts: NDArray
    edges: NDArray


def _cumulative(op: str, x: NDArray, axis: int | None, dtype: DTypeLike | None, include_initial: bool) -> NDArray:
    array = as_array(x)
    if axis is None:
        if array.ndim != 1:
            raise ShapeError(f"{op}: shape {array.shape} needs an axis")
        axis = 0
    along = normalize_axis(axis, array.ndim, op)
    wanted = None if dtype is None else dtype_named(dtype)
    array = array if wanted is None else array.astype(wanted, copy=False)
    scan, initial = (cumsum, 0) if op == "cumulative_sum" else (cumprod, 1)
    result = scan(array, axis=along)
    result = result if wanted is None else result.astype(wanted, copy=False)
    if not include_initial:
        return result
    first = full((*array.shape[:along], 1, *array.shape[along + 1 :]), initial, dtype=result.dtype, device=array.device)
    return concat([first, result], axis=along)


def cumulative_sum(
    x: NDArray, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> NDArray:
    """The running sum along an axis, which only a 1-D x may leave open; with ``include_initial`` a 0 comes first.

    ``dtype`` converts first and names the result's; otherwise small integers are widened to 64 bits, and floats keep
    their dtype.

    >>> import treadle.ndarray as nd
    >>> nd.cumulative_sum(nd.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: NDArray, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> NDArray:
    """The running product along an axis, as :func:`cumulative_sum`; with ``include_initial`` a 1 comes first.

    >>> import treadle.ndarray as nd
    >>> nd.cumulative_prod(nd.asarray([1, 2, 3]))
    array([1, 2, 6])
    """
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial)


def logcumsumexp(x: NDArray, /, axis: int | None = None) -> NDArray:
    """log(cumsum(exp(x))) along an axis, or over all elements in C order, without overflow or loss of the small terms.

    Integers become float32 first. Sums of twice the length in every step (Hillis and Steele, "Data parallel
    algorithms", 1986): n log n additions.

    >>> import treadle.ndarray as nd
    >>> nd.logcumsumexp(nd.asarray([1000.0, -1000.0]))
    array([1000., 1000.])
    """
    array = as_array(x)
    array = array.copy() if array.dtype.kind == "f" else array.astype("float32")
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    whole = (slice(None),) * normalize_axis(axis, array.ndim, "logcumsumexp")
    step = 1
    while step < array.shape[axis]:
        array[(*whole, slice(step, None))] = logaddexp(
            array[(*whole, slice(step, None))], array[(*whole, slice(None, -step))]
        )
        step *= 2
    return array


def histogram(
    x: NDArray,
    /,
    bins: int | Sequence[float] | NDArray = 10,
    *,
    range: tuple[float, float] | None = None,
    weights: NDArray | None = None,
    density: bool = False,
) -> Histogram:
    """How many elements lie in each bin, and the bins' edges: NumPy's histogram.

    ``bins`` is the number of bins of equal width over ``range`` (by default from the smallest to the largest element),
    or the ascending edges themselves. A bin holds its lower edge, the last one its upper edge too; what lies outside is
    not counted. Counts are int64; the sums of ``weights`` instead, with their dtype; with ``density`` they are divided
    by the total and the width. Edges have x's floating dtype, float64 for integers. Raises ShapeError, ValueError for
    edges that do not ascend or are not finite.

    >>> import treadle.ndarray as nd
    >>> nd.histogram(nd.asarray([0.0, 1.0, 1.5, 2.0]), 2).counts
    array([1, 3])
    """
    values = reshape(as_array(x), (-1,))
    values = values if values.dtype.kind == "f" else values.astype("float64")
    edges = _edges(values, bins, range)
    amounts = None if weights is None else as_array(weights)
    if amounts is not None:
        if amounts.shape != as_array(x).shape:
            raise ShapeError(f"histogram: weights of shape {amounts.shape} for x of shape {as_array(x).shape}")
        amounts = reshape(amounts, (-1,))
    number = edges.size - 1
    inside = (values >= edges[0]) & (values <= edges[-1])
    bin_of = searchsorted(edges, values[inside], side="right") - 1
    bin_of = where(bin_of == number, number - 1, bin_of)  # the last upper edge belongs to the last bin
    ones = full(bin_of.shape, 1, dtype="int64", device=values.device) if amounts is None else amounts[inside]
    counts = scatter_add(zeros((number,), dtype=ones.dtype, device=values.device), bin_of, ones)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / sum(counts)
    return Histogram(counts, edges)


def _edges(values: NDArray, bins: int | Sequence[float] | NDArray, range: tuple[float, float] | None) -> NDArray:
    if not isinstance(bins, int):
        edges = bins if isinstance(bins, NDArray) else asarray(bins, dtype=values.dtype, device=values.device)
        if edges.ndim != 1 or edges.size < 2 or bool((edges[1:] < edges[:-1]).any()):
            raise ValueError(f"histogram: the edges {bins!r} are not at least two numbers in ascending order")
        return edges
    if bins < 1:
        raise ValueError(f"histogram: {bins} bins; at least 1 is needed")
    if range is not None:
        low, high = float(range[0]), float(range[1])
    elif values.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = min(values).item(), max(values).item()
    if not (low <= high and high - low < float("inf")):
        raise ValueError(f"histogram: the range from {low} to {high} is not finite and ascending")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=values.dtype, device=values.device)
