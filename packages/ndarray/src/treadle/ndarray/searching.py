"""Finding places in sorted data, and what is not zero (``argmax``, ``argmin``: reductions; ``where``: elementwise)."""

from collections.abc import Sequence
from typing import Literal

from treadle.ndarray import _sorting
from treadle.ndarray._array import NDArray
from treadle.ndarray._families import normal_axes
from treadle.ndarray._types import DType, result_dtype
from treadle.ndarray.creation import as_array, asarray, type_of, zeros
from treadle.ndarray.data_types import result_type
from treadle.ndarray.elementwise import isnan, less, less_equal, logical_or, minimum, where
from treadle.ndarray.errors import DeviceError, ShapeError
from treadle.ndarray.indexing import take
from treadle.ndarray.reductions import sum

__all__ = ["count_nonzero", "searchsorted"]


def count_nonzero(x: NDArray, /, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> NDArray:
    """How many elements over axis are not zero, as int64; NaN is not.

    >>> import treadle.ndarray as nd
    >>> nd.count_nonzero(nd.asarray([[0, 1], [2, 3]]), axis=1)
    array([1, 2])
    """
    array = as_array(x)
    normal_axes("count_nonzero", array, axis)
    return sum(array.astype("bool", copy=False), axis=axis, keepdims=keepdims)


def common_dtype(x: DType, y: DType) -> DType:
    """Where dtypes meet to be compared: integers and floats in float64, which tells more integers apart."""
    if "c" not in (x.kind, y.kind) and (x.kind == "f") != (y.kind == "f"):
        return type_of["float64"]
    return result_dtype(x, y)


def contiguous(x: NDArray) -> NDArray:
    return x if x.is_contiguous else x.copy()


def _goes_before(element: NDArray, value: NDArray, side: str) -> NDArray:
    """Whether an element stands before the place of a value, in the order that has NaN last."""
    if element.dtype.kind != "f":
        return less(element, value) if side == "left" else less_equal(element, value)
    if side == "right":
        return logical_or(less_equal(element, value), isnan(value))
    return logical_or(less(element, value), isnan(value) & ~isnan(element))


def searchsorted(
    x1: NDArray,
    x2: NDArray | int | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: NDArray | None = None,
) -> NDArray:
    """Where each value of x2 would have to be put into x1, 1-D and ascending, to keep it so: int64, of x2's shape.

    ``left`` gives the first such place (x1[i-1] < v <= x1[i]), ``right`` the last (x1[i-1] <= v < x1[i]). NaN stands
    behind all numbers, as :func:`sort` puts it. ``sorter`` holds the indices that sort x1. A binary search, all values
    side by side. Raises ShapeError, DeviceError, ValueError for another side.

    >>> import treadle.ndarray as nd
    >>> nd.searchsorted(nd.asarray([1, 3, 3, 5]), nd.asarray([0, 3, 9]))
    array([0, 1, 4])
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    haystack = as_array(x1)
    if haystack.ndim != 1:
        raise ShapeError(f"searchsorted: x1 of shape {haystack.shape} must be 1-D")
    if isinstance(x2, int | float | complex):
        x2 = asarray(x2, dtype=result_type(haystack, x2), device=haystack.device)
    values = as_array(x2)
    if values.device is not haystack.device:
        raise DeviceError(f"searchsorted: x1 is on {haystack.device}, x2 on {values.device}; move one with to_device")
    if sorter is not None:
        if sorter.shape != haystack.shape:
            raise ShapeError(f"searchsorted: sorter of shape {sorter.shape} does not fit x1 of {haystack.shape}")
        haystack = take(haystack, sorter)
    dtype = common_dtype(haystack.dtype, values.dtype)
    if dtype.kind == "f" and dtype.itemsize == 2:
        dtype = type_of["float32"]  # which holds the halves
    haystack, values = haystack.astype(dtype, copy=False), values.astype(dtype, copy=False)
    if haystack.device.type == "cpu" and dtype.kind != "c":
        return _sorting.search(contiguous(haystack), contiguous(values), side == "right")
    before = zeros(values.shape, dtype="int64", device=values.device)
    step = 1 << haystack.size.bit_length()
    while step > 1 and values.size:  # `before` elements are known to stand before the value; try to add a step
        step //= 2
        further = before + step
        last = take(haystack, minimum(further, haystack.size) - 1)
        before = where((further <= haystack.size) & _goes_before(last, values, side), further, before)
    return before
