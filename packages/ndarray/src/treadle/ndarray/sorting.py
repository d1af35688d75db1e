"""Sorting: own stable kernels on the cpu; a backend without a sort of its own has its arrays sorted on the host.

NaN comes last, in ascending and in descending order. 0.0 and -0.0 are equal and keep their order.
"""

import operator
from typing import NamedTuple

from treadle.ndarray import _sorting
from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.complex_parts import imag, real
from treadle.ndarray.creation import as_array
from treadle.ndarray.elementwise import isnan
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.indexing import take_along_axis

__all__ = ["argsort", "sort", "topk"]


class TopK(NamedTuple):
    """What :func:`topk` gives."""

    values: NDArray
    indices: NDArray


def sort(x: NDArray, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> NDArray:
    """A copy of x whose elements are in order along an axis; equal elements keep their order, in both directions.

    NaN comes last in both directions. Complex numbers are ordered by their real, then by their imaginary parts. Every
    sort of the cpu is stable; ``stable=False`` lets other devices choose. Raises ShapeError for a wrong axis.

    >>> import treadle.ndarray as nd
    >>> nd.sort(nd.asarray([3, 1, 2]), descending=True)
    array([3, 2, 1])
    """
    array = as_array(x)
    if array.dtype.kind == "c":
        return sort_with_places(array, axis, descending, "sort")[0]
    values, _ = _sorting.sort("sort", array, axis, descending, stable, True, False)
    assert values is not None
    return values


def argsort(x: NDArray, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> NDArray:
    """The int64 indices along an axis that :func:`sort` takes the elements from.

    >>> import treadle.ndarray as nd
    >>> nd.argsort(nd.asarray([3, 1, 2]))
    array([1, 2, 0])
    """
    array = as_array(x)
    if array.dtype.kind == "c":
        return _complex_order(array, axis, descending)
    _, places = _sorting.sort("argsort", array, axis, descending, stable, False, True)
    assert places is not None
    return places


def _complex_order(x: NDArray, axis: int, descending: bool) -> NDArray:
    """Complex numbers by their real, then by their imaginary parts; last those with NaN in the imaginary part, in the
    real one, in both (NumPy's order). One stable sort for each key, the least one first."""
    order = argsort(imag(x), axis=axis, descending=descending)
    absent = isnan(real(x)).astype("int8") * 2 + isnan(imag(x)).astype("int8")
    for key, backwards in ((real(x), descending), (absent, False)):
        step = argsort(take_along_axis(key, order, axis=axis), axis=axis, descending=backwards)
        order = take_along_axis(order, step, axis=axis)
    return order


def sort_with_places(x: NDArray, axis: int, descending: bool, op: str) -> tuple[NDArray, NDArray]:
    """Sorted values and the places they came from, in one pass."""
    if x.dtype.kind == "c":
        order = _complex_order(x, axis, descending)
        return take_along_axis(x, order, axis=axis), order
    values, places = _sorting.sort(op, x, axis, descending, True, True, True)
    assert values is not None and places is not None
    return values, places


def topk(x: NDArray, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
    """The k largest elements along an axis, descending, or the k smallest, ascending, and their indices.

    Of equal elements the first ones win; NaN is chosen only where nothing else is left. Raises ShapeError when k is
    negative or more than the axis has.

    >>> import treadle.ndarray as nd
    >>> nd.topk(nd.asarray([3, 1, 5]), 2)
    TopK(values=array([5, 3]), indices=array([2, 0]))
    """
    array = as_array(x)
    along = normalize_axis(axis, array.ndim, "topk")
    if not 0 <= operator.index(k) <= array.shape[along]:
        raise ShapeError(f"topk: k is {k}, and axis {axis} of shape {array.shape} has {array.shape[along]} elements")
    if array.device.type == "cpu" and array.dtype.kind != "c":
        return TopK(*_sorting.top(array, along, k, largest))
    values, places = sort_with_places(array, along, largest, "topk")
    chosen = (slice(None),) * along + (slice(k),)
    return TopK(values[chosen].copy(), places[chosen].copy())
