"""Selecting by integer and boolean arrays, in get and set."""

import operator
from typing import Any

from treadle.ndarray import _selection
from treadle.ndarray._array import NDArray, assign
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.creation import arange, asarray
from treadle.ndarray.elementwise import where
from treadle.ndarray.errors import DeviceError, DTypeError, IndexingError, ShapeError
from treadle.ndarray.manipulation import broadcast_arrays, broadcast_shapes, moveaxis
from treadle.ndarray.reductions import any as any_of

__all__ = ["nonzero", "put_along_axis", "scatter_add", "take", "take_along_axis"]


def _index_array(item: Any, x: NDArray) -> NDArray:
    """An item of a key as an int64 or bool array on x's device."""
    array = item if isinstance(item, NDArray) else asarray(item, device=x.device)
    if array.size == 0 and not isinstance(item, NDArray) and not hasattr(item, "dtype"):
        array = array.astype("int64")
    if array.device is not x.device:
        raise DeviceError(f"index: the array is on {x.device}, an index on {array.device}; move one with to_device")
    if array.dtype.kind == "f":
        raise IndexingError(f"index: an index array is of integers or booleans, not {array.dtype.name}")
    return array if array.dtype.kind == "b" else array.astype("int64", copy=False)


def _expand_mask(mask: NDArray, x: NDArray, axis: int) -> list[NDArray]:
    """A boolean mask as one index array for each axis it covers."""
    covered = x.shape[axis : axis + mask.ndim]
    fits = len(covered) == mask.ndim and all(  # a mask may be 0 long where x is not, as the standard has it
        length in (other, 0) for length, other in zip(mask.shape, covered, strict=True)
    )
    if not fits:
        raise IndexingError(f"index: a mask of shape {mask.shape} does not fit axes {covered} of shape {x.shape}")
    places = _selection.nonzero(mask)
    return [places[:, each] for each in range(mask.ndim)]


def _split_key(x: NDArray, key: tuple[Any, ...]) -> tuple[NDArray, list[int], list[NDArray]]:
    """The view of the key's basic part, the axes in it that index arrays select in, and those arrays."""
    items = [each if each is None or each is Ellipsis or isinstance(each, slice) else _item(each, x) for each in key]
    taken = sum(_axes_taken(each) for each in items)
    if taken > x.ndim:
        raise IndexingError(f"index: {taken} indices for shape {x.shape} of {x.ndim} dimensions")
    dots = [at for at, each in enumerate(items) if each is Ellipsis]
    if len(dots) > 1:
        raise IndexingError("index: more than one Ellipsis ('...')")
    whole = [slice(None)] * (x.ndim - taken)
    at = dots[0] if dots else len(items)
    items[at : at + len(dots)] = whole
    basic: list[Any] = []
    axes: list[int] = []
    indices: list[NDArray] = []
    source = 0
    has_arrays = any(isinstance(each, NDArray) for each in items)
    for item in items:
        if isinstance(item, int) and has_arrays:  # beside arrays an int broadcasts with them, as in NumPy
            item = asarray(_checked(item, x, source), device=x.device)
        if isinstance(item, NDArray):
            expanded = _expand_mask(item, x, source) if item.dtype.kind == "b" else [item]
            if item.dtype.kind == "b" and item.ndim == 0:
                basic.append(None)
                axes.append(len(basic) - 1)
                indices.append(arange(int(bool(item)), device=x.device).astype("int64") * 0)
                continue
            for array in expanded:
                axes.append(len(basic))
                basic.append(slice(None))
                indices.append(array)
            source += len(expanded)
        else:
            basic.append(item)
            source += item is not None
    return x[tuple(basic)], axes, indices


def _item(item: Any, x: NDArray) -> int | NDArray:
    if not isinstance(item, bool | list | tuple | NDArray) and getattr(item, "shape", ()) == ():
        try:
            return operator.index(item)
        except TypeError:
            if not hasattr(item, "dtype"):
                raise IndexingError(
                    f"index: ints, slices, None, '...', and arrays of integers or booleans, not {type(item).__name__}"
                ) from None
    return _index_array(item, x)


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, NDArray) and item.dtype.kind == "b" else 1


def _checked(index: int, x: NDArray, axis: int) -> int:
    if not -x.shape[axis] <= index < x.shape[axis]:
        raise IndexingError(
            f"index {index} is out of bounds for axis {axis} of length {x.shape[axis]} (shape {x.shape})"
        )
    return index


def _prepared(view: NDArray, axes: list[int], indices: list[NDArray]) -> tuple[NDArray, list[NDArray], int]:
    """The view with its indexed axes first, index arrays of one shape, and where the selection's axes belong."""
    try:
        shape = broadcast_shapes(*(each.shape for each in indices))
    except ShapeError:
        shapes = " and ".join(str(each.shape) for each in indices)
        raise IndexingError(f"index: index arrays of shapes {shapes} do not broadcast") from None
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    front = view.view_permuted(axes + [each for each in range(view.ndim) if each not in axes])
    arrays = [each.view_broadcast(shape) for each in indices]
    if not (view.device.is_cpu or getattr(view.device.backend, "checks_indices", False)):  # the cpu's kernel does
        arrays = [_within(each, front.shape[at]) for at, each in enumerate(arrays)]
    return front, arrays, axes[0] if together else 0


def _within(indices: NDArray, length: int) -> NDArray:
    """Indices counted from the start, once known to be in bounds."""
    if any_of((indices < -length) | (indices >= length)):
        raise IndexingError(f"an index is out of bounds for an axis of length {length}")
    return where(indices < 0, indices + length, indices)


def get_advanced(x: NDArray, key: tuple[Any, ...]) -> NDArray:
    """x[key] for a key with index arrays or masks: a copy."""
    view, axes, indices = _split_key(x, key)
    if not indices:
        return view
    front, arrays, place = _prepared(view, axes, indices)
    out = _selection.gather(front, arrays)
    depth = arrays[0].ndim
    if place == 0 or depth == 0:
        return out
    return moveaxis(out, tuple(range(depth)), tuple(range(place, place + depth)))


def set_advanced(x: NDArray, key: tuple[Any, ...], values: NDArray) -> None:
    """x[key] = values for a key with index arrays or masks; of repeated places the last value stays."""
    _scatter(x, key, values, accumulate=False)


def _scatter(x: NDArray, key: tuple[Any, ...], values: NDArray, accumulate: bool) -> None:
    view, axes, indices = _split_key(x, key)
    if not indices:
        assign(view, view + values if accumulate else values)
        return
    front, arrays, place = _prepared(view, axes, indices)
    rest, selected = front.shape[len(axes) :], arrays[0].shape
    shape = rest[:place] + selected + rest[place:]
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values.view_squeezed(0)
    try:
        values = values.view_broadcast(shape)
    except ShapeError:
        raise ShapeError(
            f"index assignment: values of shape {values.shape} do not broadcast to the selection's {shape}"
        ) from None
    depth = len(selected)
    if place and depth:
        values = moveaxis(values, tuple(range(place, place + depth)), tuple(range(depth)))
    _selection.scatter(front, arrays, values, accumulate)


def take(x: NDArray, indices: NDArray, /, axis: int | None = None) -> NDArray:
    """Elements, or whole slices along ``axis``, in the order of integer indices of any shape.

    The index axes stand where ``axis`` was. None needs a 1-D x. Negative indices count from the end. Raises
    IndexingError for an index out of bounds.

    >>> import treadle.ndarray as nd
    >>> nd.take(nd.asarray([10, 20, 30]), nd.asarray([2, 0, 2]))
    array([30, 10, 30])
    """
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"take: shape {x.shape} needs an axis")
        axis = 0
    along = normalize_axis(axis, x.ndim, "take")
    array = _index_array(indices, x)
    if array.dtype.kind == "b":
        raise DTypeError("take: indices must be integers, not bool")
    if along == 0 and x.device.is_cpu and array.dtype.name == "int64":  # the rows of a batch
        return _selection.gather(x, [array])
    return get_advanced(x, (slice(None),) * along + (array,))


def _along_axis(x: NDArray, indices: NDArray, axis: int, op: str) -> tuple[NDArray, ...]:
    along = normalize_axis(axis, x.ndim, op)
    if indices.ndim != x.ndim:
        raise ShapeError(f"{op}: indices of shape {indices.shape} need as many dimensions as {x.shape}")
    shape = list(indices.shape)
    key = []
    for each in range(x.ndim):
        if each == along:
            key.append(_index_array(indices, x))
            continue
        if shape[each] not in (1, x.shape[each]):
            raise ShapeError(
                f"{op}: indices of shape {indices.shape} do not broadcast with {x.shape} beside axis {axis}"
            )
        steps = arange(x.shape[each], device=x.device)
        key.append(steps[(..., *(None,) * (x.ndim - 1 - each))])
    return tuple(broadcast_arrays(*key))


def take_along_axis(x: NDArray, indices: NDArray, /, axis: int = -1) -> NDArray:
    """out[..., i, ...] = x[..., indices[..., i, ...], ...] along ``axis``: what argmax and argsort give fits here.

    >>> import treadle.ndarray as nd
    >>> x = nd.asarray([[1, 5], [7, 2]])
    >>> nd.take_along_axis(x, nd.argmax(x, axis=1, keepdims=True), axis=1).tolist()
    [[5], [7]]
    """
    return get_advanced(x, _along_axis(x, indices, axis, "take_along_axis"))


def put_along_axis(x: NDArray, indices: NDArray, values: Any, /, axis: int = -1) -> None:
    """x[..., indices[..., i, ...], ...] = values[..., i, ...] along ``axis``, in place.

    >>> import treadle.ndarray as nd
    >>> x = nd.zeros((2, 2))
    >>> nd.put_along_axis(x, nd.asarray([[0], [1]]), 5, axis=1)
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    x[_along_axis(x, indices, axis, "put_along_axis")] = values


def scatter_add(x: NDArray, indices: Any, values: NDArray, /, *, axis: int = 0) -> NDArray:
    """A copy of x with values added at integer indices along ``axis``; every repetition counts.

    On cpu and numpy devices, floats are summed in float64, so that a place may be named often: cpu rounds the sum after
    4,096 updates, or fewer of long slices.
    ``values`` broadcast to the shape of ``take(x, indices, axis=axis)``. With a tuple for ``indices`` it is any key of
    advanced indexing, and ``axis`` is not used.

    >>> import treadle.ndarray as nd
    >>> nd.scatter_add(nd.zeros(3), nd.asarray([0, 0, 2]), nd.asarray([1.0, 10.0, 100.0]))
    array([ 11.,   0., 100.])
    """
    out = x.copy()
    if isinstance(indices, tuple):
        key = indices
    else:
        key = (slice(None),) * normalize_axis(axis, x.ndim, "scatter_add") + (_index_array(indices, x),)
    _scatter(out, key, values, accumulate=True)
    return out


def nonzero(x: NDArray, /) -> tuple[NDArray, ...]:
    """The int64 indices of the non-zero elements in C order, one array an axis.

    >>> import treadle.ndarray as nd
    >>> nd.nonzero(nd.asarray([0, 3, 0, 4]))
    (array([1, 3]),)
    """
    if x.ndim == 0:
        raise ShapeError("nonzero: a 0-d array has no indices; reshape it to (1,)")
    places = _selection.nonzero(x)
    return tuple(places[:, each] for each in range(x.ndim))
