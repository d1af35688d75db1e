"""Quantiles, percentiles and medians, from sorted data; with NaN as the answer to NaN, or with NaN left out."""

from collections.abc import Sequence

from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.creation import as_array, asarray, empty, full
from treadle.ndarray.elementwise import ceil, equal, floor, isfinite, isnan, maximum, minimum, remainder, round, where
from treadle.ndarray.errors import DTypeError, ShapeError
from treadle.ndarray.indexing import take_along_axis
from treadle.ndarray.manipulation import reshape, stack
from treadle.ndarray.reductions import Axis, sum
from treadle.ndarray.sorting import sort

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""alpha and beta of Hyndman and Fan, "Sample quantiles in statistical packages" (1996), types 4 to 9."""
_STEPS = {"inverted_cdf": 0.0, "averaged_inverted_cdf": 0.0, "closest_observation": -0.5}
"""m of their types 1 to 3, which jump from element to element."""
_ROUNDED = {"lower": floor, "higher": ceil, "nearest": round, "midpoint": None}


def _lines(x: NDArray, axis: Axis, op: str) -> tuple[NDArray, tuple[int, ...]]:
    """x with the chosen axes as one last axis, and the result's shape with the chosen axes kept."""
    named = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    chosen = [normalize_axis(each, x.ndim, op) for each in named]
    if len(set(chosen)) != len(chosen):
        raise ShapeError(f"{op}: axis {axis} names an axis twice")
    rest = [each for each in range(x.ndim) if each not in chosen]
    length = 1
    for each in chosen:
        length *= x.shape[each]
    lines = reshape(x.view_permuted(rest + chosen), [*(x.shape[each] for each in rest), length])
    return lines, tuple(1 if each in chosen else x.shape[each] for each in range(x.ndim))


def _place(count: NDArray, q: float, method: str) -> tuple[NDArray, NDArray, NDArray]:
    """The places below and above the quantile among ``count`` sorted elements, and how far between them it lies."""
    if method in _STEPS:
        return _step(count, q, method)
    alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
    virtual = count * q + (alpha + q * (1.0 - alpha - beta)) - 1.0
    rounding = _ROUNDED.get(method)
    if rounding is not None:
        virtual = rounding(virtual)
    virtual = minimum(maximum(virtual, 0.0), maximum(count - 1.0, 0.0))
    below = floor(virtual)
    between = virtual - below
    if method == "midpoint":
        between = where(between > 0.0, 0.5, between)
    above = minimum(below + 1.0, maximum(count - 1.0, 0.0))
    return below.astype("int64"), above.astype("int64"), between


def _step(count: NDArray, q: float, method: str) -> tuple[NDArray, NDArray, NDArray]:
    """:func:`_place` of the methods that jump: an element, or where it falls on one exactly, as the method has it."""
    virtual = count * q - 1.0 + _STEPS[method]
    place = floor(virtual)
    exact = equal(virtual, place)
    last = maximum(count - 1.0, 0.0)
    low, high = (minimum(maximum(each, 0.0), last).astype("int64") for each in (place, place + 1.0))
    stays = exact & equal(remainder(place, 2.0), 1.0) if method == "closest_observation" else exact
    below = where(stays, low, high)
    if method == "averaged_inverted_cdf":
        return below, high, where(exact, 0.5, 0.0)
    return below, below, virtual * 0.0


def _between(low: NDArray, high: NDArray, share: NDArray) -> NDArray:
    """low + (high - low) * share, from the nearer end; exact at the ends and between equal numbers."""
    share = share.astype(low.dtype)
    span = high - low
    result = where(share < 0.5, low + span * share, high - span * (1.0 - share))
    far = low * (1.0 - share) + high * share  # where the difference overflows
    result = where(isfinite(span), result, where(equal(share, 1.0), high, far))
    return where(equal(low, high) | equal(share, 0.0), low, result)


def _quantiles(
    op: str, x: NDArray, fractions: list[float], axis: Axis, method: str, keepdims: bool, skip_nan: bool
) -> list[NDArray]:
    methods = (*_CONTINUOUS, *_STEPS, *_ROUNDED)
    if method not in methods:
        raise ValueError(f"{op}: no method {method!r}; there are {', '.join(methods)}")
    if any(not 0.0 <= each <= 1.0 for each in fractions):
        raise ValueError(f"{op}: {fractions} must lie between 0 and 1 (percentiles between 0 and 100)")
    array = as_array(x)
    array = array if array.dtype.kind == "f" else array.astype("float32")
    if array.itemsize == 2:  # halves: in float32, rounded once
        wide = _quantiles(op, array.astype("float32"), fractions, axis, method, keepdims, skip_nan)
        return [each.astype(array.dtype) for each in wide]
    lines, kept = _lines(array, axis, op)
    shape = kept if keepdims else lines.shape[:-1]
    if lines.shape[-1] == 0:
        return [full(shape, float("nan"), dtype=array.dtype, device=array.device) for _ in fractions]
    ordered = sort(lines)
    numbers = sum(~isnan(ordered), axis=-1, keepdims=True)
    length = ordered.shape[-1]
    undefined = numbers == 0 if skip_nan else numbers < length
    count = (numbers if skip_nan else maximum(numbers, length)).astype("float64")
    results = []
    for q in fractions:
        below, above, share = _place(count, q, method)
        low, high = take_along_axis(ordered, below, axis=-1), take_along_axis(ordered, above, axis=-1)
        result = where(undefined, float("nan"), _between(low, high, share))
        results.append(reshape(result, shape))
    return results


def _for_each(
    op: str, x: NDArray, q: float | Sequence[float] | NDArray, scale: float, axis: Axis, method: str, keepdims: bool,
    skip_nan: bool,
) -> NDArray:  # fmt: skip
    if isinstance(q, int | float):
        return _quantiles(op, x, [q / scale], axis, method, keepdims, skip_nan)[0]
    asked = q if isinstance(q, NDArray) else asarray(q, dtype="float64")
    if asked.dtype.kind == "c":
        raise DTypeError(f"{op}: q is {asked.dtype.name}; fractions are real numbers")
    fractions = [each / scale for each in reshape(asked, (-1,)).tolist()]
    results = _quantiles(op, x, fractions, axis, method, keepdims, skip_nan)
    if not results:  # the shape of one, and none of it
        one = _quantiles(op, x, [0.0], axis, method, keepdims, skip_nan)[0]
        return empty((*asked.shape, *one.shape), dtype=one.dtype, device=one.device)
    return reshape(stack(results), (*asked.shape, *results[0].shape))


def quantile(
    x: NDArray,
    q: float | Sequence[float] | NDArray,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> NDArray:
    """The value below which the fraction q of the elements over axes lies, interpolated between neighbours.

    q may be a sequence: its axes then lead the result's. ``method`` is one of NumPy's: linear, lower, higher, nearest,
    midpoint, inverted_cdf, averaged_inverted_cdf, closest_observation, interpolated_inverted_cdf, hazen, weibull,
    median_unbiased, normal_unbiased. NaN where an element is, and
    of nothing. Integers become float32 first. Raises ShapeError; ValueError for q outside [0, 1] and another method.

    >>> import treadle.ndarray as nd
    >>> nd.quantile(nd.asarray([1.0, 2.0, 4.0]), 0.75).item()
    3.0
    """
    return _for_each("quantile", x, q, 1.0, axis, method, keepdims, False)


def percentile(
    x: NDArray,
    q: float | Sequence[float] | NDArray,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> NDArray:
    """:func:`quantile` of q / 100.

    >>> import treadle.ndarray as nd
    >>> nd.percentile(nd.asarray([1.0, 2.0, 4.0]), [0, 100])
    array([1., 4.])
    """
    return _for_each("percentile", x, q, 100.0, axis, method, keepdims, False)


def median(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The middle element over axes, or the mean of the two in the middle: :func:`quantile` of 0.5.

    >>> import treadle.ndarray as nd
    >>> nd.median(nd.asarray([3.0, 1.0, 2.0, 9.0])).item()
    2.5
    """
    return _for_each("median", x, 0.5, 1.0, axis, "linear", keepdims, False)


def nanquantile(
    x: NDArray,
    q: float | Sequence[float] | NDArray,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> NDArray:
    """:func:`quantile` of the elements that are not NaN; NaN where there are none.

    >>> import treadle.ndarray as nd
    >>> nd.nanquantile(nd.asarray([1.0, nd.nan, 3.0]), 0.5).item()
    2.0
    """
    return _for_each("nanquantile", x, q, 1.0, axis, method, keepdims, True)


def nanpercentile(
    x: NDArray,
    q: float | Sequence[float] | NDArray,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> NDArray:
    """:func:`nanquantile` of q / 100.

    >>> import treadle.ndarray as nd
    >>> nd.nanpercentile(nd.asarray([1.0, nd.nan, 3.0]), 100).item()
    3.0
    """
    return _for_each("nanpercentile", x, q, 100.0, axis, method, keepdims, True)


def nanmedian(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """:func:`median` of the elements that are not NaN; NaN where there are none.

    >>> import treadle.ndarray as nd
    >>> nd.nanmedian(nd.asarray([1.0, nd.nan, 3.0])).item()
    2.0
    """
    return _for_each("nanmedian", x, 0.5, 1.0, axis, "linear", keepdims, True)
