"""Sets: the distinct elements of an array, by sorting. What is equal is the same, so every NaN is distinct."""

from typing import NamedTuple

from treadle.ndarray import _sorting
from treadle.ndarray._array import NDArray
from treadle.ndarray.creation import as_array, asarray, empty, full, ones, zeros
from treadle.ndarray.data_types import result_type
from treadle.ndarray.elementwise import equal, logical_not, minimum, not_equal
from treadle.ndarray.errors import DTypeError
from treadle.ndarray.indexing import nonzero, take
from treadle.ndarray.manipulation import concat, reshape
from treadle.ndarray.reductions import cumsum
from treadle.ndarray.searching import common_dtype, searchsorted
from treadle.ndarray.sorting import sort, sort_with_places

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """What :func:`unique_all` gives."""

    values: NDArray
    indices: NDArray
    inverse_indices: NDArray
    counts: NDArray


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` gives."""

    values: NDArray
    counts: NDArray


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` gives."""

    values: NDArray
    inverse_indices: NDArray


def _groups(ordered: NDArray, places: NDArray | None = None) -> tuple[NDArray, NDArray | None]:
    """Where each run of equal sorted elements starts; with places, the run of each element before it was sorted."""
    if ordered.dtype.kind == "f" and ordered.itemsize == 2:
        ordered = ordered.astype("float32")  # which holds the halves
    if ordered.device.type == "cpu" and ordered.dtype.kind != "c":
        return _sorting.groups(ordered, places)
    begins = ones(ordered.shape, dtype="bool", device=ordered.device)
    begins[1:] = not_equal(ordered[1:], ordered[:-1])
    (starts,) = nonzero(begins)
    if places is None:
        return starts, None
    inverse = empty(ordered.shape, dtype="int64", device=ordered.device)
    inverse[places] = cumsum(begins.astype("int64")) - 1
    return starts, inverse


def _counts(starts: NDArray, size: int) -> NDArray:
    ends = concat([starts[1:], full((min(1, starts.size),), size, dtype="int64", device=starts.device)])
    return ends - starts


def unique_all(x: NDArray, /) -> UniqueAll:
    """The distinct elements, ascending; where each is first; which of them each element of x is; how many there are.

    ``inverse_indices`` has x's shape: ``take(values, inverse_indices)`` is x again. Indices and counts are int64.

    >>> import treadle.ndarray as nd
    >>> found = nd.unique_all(nd.asarray([5, 3, 5]))
    >>> [each.tolist() for each in found]
    [[3, 5], [1, 0], [1, 0, 1], [1, 2]]
    """
    array = as_array(x)
    ordered, places = sort_with_places(reshape(array, (-1,)), 0, False, "unique_all")
    starts, inverse = _groups(ordered, places)
    assert inverse is not None
    return UniqueAll(
        take(ordered, starts), take(places, starts), reshape(inverse, array.shape), _counts(starts, array.size)
    )


def unique_counts(x: NDArray, /) -> UniqueCounts:
    """The distinct elements in ascending order, and how often each occurs.

    >>> import treadle.ndarray as nd
    >>> nd.unique_counts(nd.asarray([5, 3, 5])).counts
    array([1, 2])
    """
    array = as_array(x)
    ordered = sort(reshape(array, (-1,)))
    starts, _ = _groups(ordered)
    return UniqueCounts(take(ordered, starts), _counts(starts, array.size))


def unique_inverse(x: NDArray, /) -> UniqueInverse:
    """The distinct elements in ascending order, and which of them each element of x is.

    >>> import treadle.ndarray as nd
    >>> nd.unique_inverse(nd.asarray([5, 3, 5])).inverse_indices
    array([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: NDArray, /) -> NDArray:
    """The distinct elements in ascending order.

    >>> import treadle.ndarray as nd
    >>> nd.unique_values(nd.asarray([5, 3, 5]))
    array([3, 5])
    """
    ordered = sort(reshape(as_array(x), (-1,)))
    return take(ordered, _groups(ordered)[0])


def isin(
    x1: NDArray | int | float | complex, x2: NDArray | int | float | complex, /, *, invert: bool = False
) -> NDArray:
    """Whether each element of x1 is equal to one of x2 (or to none, with ``invert``): bool, of x1's shape.

    One of the two may be a Python scalar. NaN is equal to nothing. Raises DTypeError for two scalars, DeviceError.

    >>> import treadle.ndarray as nd
    >>> nd.isin(nd.asarray([1, 2, 3]), nd.asarray([3, 1]))
    array([ True, False,  True])
    """
    elements, test = _beside(x1, x2), _beside(x2, x1)
    if "c" in (elements.dtype.kind, test.dtype.kind):
        return _complex_isin(elements, test, invert)
    dtype = common_dtype(elements.dtype, test.dtype)
    ordered = sort(reshape(test.astype(dtype, copy=False), (-1,)))
    elements = elements.astype(dtype, copy=False)
    if ordered.size == 0:
        return full(elements.shape, invert, dtype="bool", device=elements.device)
    found = equal(take(ordered, minimum(searchsorted(ordered, elements), ordered.size - 1)), elements)
    return logical_not(found) if invert else found


def _complex_isin(elements: NDArray, test: NDArray, invert: bool) -> NDArray:
    """By the numbers of the distinct elements of both together, since there is no binary search."""
    _, numbers = unique_inverse(concat([elements, test], axis=None))
    present = zeros((numbers.size,), dtype="bool", device=elements.device)
    present[numbers[elements.size :]] = True
    found = reshape(take(present, numbers[: elements.size]), elements.shape)
    return logical_not(found) if invert else found


def _beside(value: NDArray | int | float | complex, other: NDArray | int | float | complex) -> NDArray:
    if isinstance(value, int | float | complex):
        if isinstance(other, int | float | complex):
            raise DTypeError("isin: at least one of x1 and x2 must be an array")
        like = as_array(other)
        return asarray(value, dtype=result_type(like, value), device=like.device)
    return as_array(value)
