"""Reductions that leave NaN out. Integers and booleans have none: there they are the plain reductions.

A complex number is NaN where either part is; those that choose the largest or smallest refuse complex numbers.
"""

from treadle.ndarray import reductions
from treadle.ndarray._array import NDArray
from treadle.ndarray.complex_parts import imag, real
from treadle.ndarray.creation import DTypeLike, as_array
from treadle.ndarray.elementwise import divide, equal, isnan, sqrt, square, where
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.reductions import Axis

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]


def nansum(x: NDArray, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> NDArray:
    """The sum over axis of the elements that are not NaN, 0 of none; otherwise :func:`treadle.ndarray.sum`.

    >>> import treadle.ndarray as nd
    >>> nd.nansum(nd.asarray([1.0, nd.nan, 2.0])).item()
    3.0
    """
    return reductions.sum(_filled(x, 0.0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(x: NDArray, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> NDArray:
    """The product over axis of the elements that are not NaN; 1 where there are none.

    >>> import treadle.ndarray as nd
    >>> nd.nanprod(nd.asarray([2.0, nd.nan, 3.0])).item()
    6.0
    """
    return reductions.prod(_filled(x, 1.0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanmax(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The largest element over axis that is not NaN; NaN where all are. Raises ShapeError of nothing.

    >>> import treadle.ndarray as nd
    >>> nd.nanmax(nd.asarray([1.0, nd.nan, 2.0])).item()
    2.0
    """
    largest = reductions.max(_filled(x, float("-inf")), axis=axis, keepdims=keepdims)
    return _undefined_without_numbers(largest, x, axis, keepdims)


def nanmin(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The smallest element over axis that is not NaN; NaN where all are. Raises ShapeError of nothing.

    >>> import treadle.ndarray as nd
    >>> nd.nanmin(nd.asarray([1.0, nd.nan, 2.0])).item()
    1.0
    """
    smallest = reductions.min(_filled(x, float("inf")), axis=axis, keepdims=keepdims)
    return _undefined_without_numbers(smallest, x, axis, keepdims)


def nanargmax(x: NDArray, /, axis: int | None = None, *, keepdims: bool = False) -> NDArray:
    """The int64 index of the first largest element that is not NaN, along axis or in C order over all.

    Raises ShapeError where there is none.

    >>> import treadle.ndarray as nd
    >>> nd.nanargmax(nd.asarray([1.0, nd.nan, 2.0])).item()
    2
    """
    return _index("argmax", x, axis, keepdims)


def nanargmin(x: NDArray, /, axis: int | None = None, *, keepdims: bool = False) -> NDArray:
    """The int64 index of the first smallest element that is not NaN, as :func:`nanargmax`.

    >>> import treadle.ndarray as nd
    >>> nd.nanargmin(nd.asarray([1.0, nd.nan, 2.0])).item()
    0
    """
    return _index("argmin", x, axis, keepdims)


def nanmean(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The mean over axis of the elements that are not NaN; NaN where there are none. Integers become float32 first.

    >>> import treadle.ndarray as nd
    >>> nd.nanmean(nd.asarray([1.0, nd.nan, 2.0])).item()
    1.5
    """
    array = _floating(x)
    if array.itemsize == 2:  # halves: in float32, rounded once
        return nanmean(array.astype("float32"), axis=axis, keepdims=keepdims).astype(array.dtype)
    total = reductions.sum(_filled(array, 0.0), axis=axis, keepdims=keepdims)
    return divide(total, reductions.sum(~isnan(array), axis=axis, keepdims=keepdims).astype(array.dtype))


def nanvar(x: NDArray, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> NDArray:
    """The variance over axis of the elements that are not NaN; NaN of no more than ``correction``.

    >>> import treadle.ndarray as nd
    >>> nd.nanvar(nd.asarray([1.0, nd.nan, 3.0])).item()
    1.0
    """
    array = _floating(x)
    if array.itemsize == 2:
        wide = array.astype("float32")
        return nanvar(wide, axis=axis, correction=correction, keepdims=keepdims).astype(array.dtype)
    deviations = array - nanmean(array, axis=axis, keepdims=True)
    squares = square(real(deviations)) + square(imag(deviations)) if array.dtype.kind == "c" else square(deviations)
    squares = reductions.sum(_filled(squares, 0.0, at=array), axis=axis, keepdims=keepdims)
    count = reductions.sum(~isnan(array), axis=axis, keepdims=keepdims).astype(squares.dtype)
    return where(count > correction, divide(squares, count - correction), float("nan"))


def nanstd(x: NDArray, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> NDArray:
    """The standard deviation over axis of the elements that are not NaN: the root of :func:`nanvar`.

    >>> import treadle.ndarray as nd
    >>> nd.nanstd(nd.asarray([1.0, nd.nan, 3.0])).item()
    1.0
    """
    array = _floating(x)
    wide = array.astype("float32") if array.itemsize == 2 else array
    deviation = sqrt(nanvar(wide, axis=axis, correction=correction, keepdims=keepdims))
    return deviation.astype(array.dtype) if array.itemsize == 2 else deviation


def _index(op: str, x: NDArray, axis: int | None, keepdims: bool) -> NDArray:
    array = as_array(x)
    choose = reductions.argmax if op == "argmax" else reductions.argmin
    if array.dtype.kind != "f":
        return choose(array, axis=axis, keepdims=keepdims)
    numbers = ~isnan(array)
    if not reductions.all(reductions.any(numbers, axis=axis)):
        raise ShapeError(f"nan{op}: shape {array.shape}, axis {axis}: among NaN alone there is nothing to choose")
    worst = float("-inf") if op == "argmax" else float("inf")
    filled = _filled(array, worst)
    best = (reductions.max if op == "argmax" else reductions.min)(filled, axis=axis, keepdims=keepdims)
    first = reductions.argmax(numbers, axis=axis, keepdims=keepdims)  # where the numbers are infinite as the filling is
    return where(equal(best, worst), first, choose(filled, axis=axis, keepdims=keepdims))


def _floating(x: NDArray) -> NDArray:
    array = as_array(x)
    return array if array.dtype.kind in "fc" else array.astype("float32")


def _filled(x: NDArray, value: float, at: NDArray | None = None) -> NDArray:
    """x with a value where it, or ``at``, is NaN."""
    array = as_array(x)
    return where(isnan(array if at is None else at), value, array) if array.dtype.kind in "fc" else array


def _undefined_without_numbers(chosen: NDArray, x: NDArray, axis: Axis, keepdims: bool) -> NDArray:
    array = as_array(x)
    if array.dtype.kind != "f":
        return chosen
    return where(reductions.all(isnan(array), axis=axis, keepdims=keepdims), float("nan"), chosen)
