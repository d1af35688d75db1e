"""Shapes and order: views wherever strides can express them, copies only where not."""

import operator
from collections.abc import Sequence
from itertools import pairwise

from treadle.ndarray._array import NDArray, assign, reshape
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray._types import result_dtype
from treadle.ndarray.creation import DeviceLike, DTypeLike, Shape, as_array, empty
from treadle.ndarray.errors import DeviceError, ShapeError

__all__ = [
    "array_split", "astype", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "copy", "expand_dims",
    "flip", "matrix_transpose", "moveaxis", "permute_dims", "reshape", "roll", "rot90", "split", "squeeze", "stack",
    "swapaxes", "tile", "unstack",
]  # fmt: skip


def permute_dims(x: NDArray, /, axes: Sequence[int]) -> NDArray:
    """The axes in the order of ``axes``, which names each once. A view.

    >>> import treadle.ndarray as nd
    >>> nd.permute_dims(nd.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return x.view_permuted(axes)


def matrix_transpose(x: NDArray, /) -> NDArray:
    """The last two axes exchanged. A view.

    >>> import treadle.ndarray as nd
    >>> nd.matrix_transpose(nd.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    return x.view_matrix_transposed()


def swapaxes(x: NDArray, axis1: int, axis2: int, /) -> NDArray:
    """Two axes exchanged. A view.

    >>> import treadle.ndarray as nd
    >>> nd.swapaxes(nd.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    order = list(range(x.ndim))
    first, second = normalize_axis(axis1, x.ndim, "swapaxes"), normalize_axis(axis2, x.ndim, "swapaxes")
    order[first], order[second] = order[second], order[first]
    return x.view_permuted(order)


def moveaxis(x: NDArray, source: int | Sequence[int], destination: int | Sequence[int], /) -> NDArray:
    """Axes moved to other places, the rest in their order. A view.

    >>> import treadle.ndarray as nd
    >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources = [normalize_axis(each, x.ndim, "moveaxis") for each in ([source] if isinstance(source, int) else source)]
    targets = [
        normalize_axis(each, x.ndim, "moveaxis")
        for each in ([destination] if isinstance(destination, int) else destination)
    ]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError(f"moveaxis: {source} to {destination}: as many of each, and none twice")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return x.view_permuted(order)


def broadcast_to(x: NDArray, /, shape: Shape) -> NDArray:
    """x stretched to a shape by repetition: a read-only view with zero strides. Raises ShapeError.

    >>> import treadle.ndarray as nd
    >>> nd.broadcast_to(nd.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return x.view_broadcast(shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all the shapes broadcast to. Raises ShapeError where there is none.

    >>> import treadle.ndarray as nd
    >>> nd.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    result: list[int] = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        for axis in range(-len(shape), 0):
            if shape[axis] == result[axis] or shape[axis] == 1:
                continue
            if result[axis] != 1:
                raise ShapeError(f"broadcast_shapes: {', '.join(str(tuple(each)) for each in shapes)} do not broadcast")
            result[axis] = shape[axis]
    return tuple(result)


def broadcast_arrays(*arrays: NDArray) -> tuple[NDArray, ...]:
    """All arrays stretched to their common shape, as read-only views.

    >>> import treadle.ndarray as nd
    >>> [each.shape for each in nd.broadcast_arrays(nd.zeros((2, 1)), nd.zeros(3))]
    [(2, 3), (2, 3)]
    """
    shape = broadcast_shapes(*(each.shape for each in arrays))
    return tuple(each.view_broadcast(shape) for each in arrays)


def expand_dims(x: NDArray, /, axis: int | Sequence[int] = 0) -> NDArray:
    """A new axis of length 1 at ``axis`` of the result, or at each of several. A view.

    >>> import treadle.ndarray as nd
    >>> nd.expand_dims(nd.zeros(3), 0).shape, nd.expand_dims(nd.zeros(3), (0, -1)).shape
    ((1, 3), (1, 3, 1))
    """
    if isinstance(axis, int):
        return x.view_expanded(axis)
    places = sorted(normalize_axis(each, x.ndim + len(axis), "expand_dims") for each in axis)
    if len(set(places)) != len(places):
        raise ShapeError(f"expand_dims: {tuple(axis)} names an axis twice")
    for each in places:
        x = x.view_expanded(each)
    return x


def squeeze(x: NDArray, /, axis: int | Sequence[int] | None = None) -> NDArray:
    """Without the named axes, each of which must have length 1; None drops all such. A view.

    >>> import treadle.ndarray as nd
    >>> nd.squeeze(nd.zeros((1, 3)), 0).shape
    (3,)
    """
    return x.view_squeezed(axis)


def flip(x: NDArray, /, axis: int | Sequence[int] | None = None) -> NDArray:
    """Backwards along the axes, or all of them. A view.

    >>> import treadle.ndarray as nd
    >>> nd.flip(nd.arange(3))
    array([2, 1, 0])
    """
    return x.view_flipped(axis)


def concat(arrays: Sequence[NDArray], /, axis: int | None = 0) -> NDArray:
    """Arrays joined along an axis; with None each is flattened first. Their dtypes meet in one.

    Raises ShapeError where the other lengths differ, DeviceError for mixed devices.

    >>> import treadle.ndarray as nd
    >>> nd.concat([nd.asarray([1]), nd.asarray([2, 3])])
    array([1, 2, 3])
    """
    parts = [as_array(each) for each in arrays]
    if not parts:
        raise ShapeError("concat: no arrays")
    if axis is None:
        parts, axis = [reshape(each, (-1,)) for each in parts], 0
    first = parts[0]
    along = normalize_axis(axis, first.ndim, "concat")
    dtype = first.dtype
    for each in parts[1:]:
        if each.device is not first.device:
            raise DeviceError(f"concat: arrays on {first.device} and {each.device}; move one with to_device")
        if each.ndim != first.ndim or any(
            a != b for at, (a, b) in enumerate(zip(each.shape, first.shape, strict=True)) if at != along
        ):
            raise ShapeError(f"concat: shapes {[part.shape for part in parts]} differ apart from axis {axis}")
        dtype = result_dtype(dtype, each.dtype)
    shape = list(first.shape)
    shape[along] = sum(each.shape[along] for each in parts)
    out = empty(shape, dtype=dtype, device=first.device)
    at = 0
    for each in parts:
        end = at + each.shape[along]
        assign(out[(slice(None),) * along + (slice(at, end),)], each)
        at = end
    return out


def stack(arrays: Sequence[NDArray], /, axis: int = 0) -> NDArray:
    """Arrays of one shape joined along a new axis.

    >>> import treadle.ndarray as nd
    >>> nd.stack([nd.asarray([1, 2]), nd.asarray([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    parts = [as_array(each) for each in arrays]
    if not parts:
        raise ShapeError("stack: no arrays")
    if any(each.shape != parts[0].shape for each in parts):
        raise ShapeError(f"stack: shapes {[each.shape for each in parts]} differ")
    return concat([each.view_expanded(axis) for each in parts], axis=axis)


def astype(x: NDArray, dtype: DTypeLike, /, *, copy: bool = True, device: DeviceLike | None = None) -> NDArray:
    """The elements converted: floats to integers by truncation, anything to bool by being non-zero.

    On every device a float beyond an integer's range gives the nearest integer of the dtype, and NaN 0; integers wrap.
    With ``copy=False`` x itself, if it has the dtype and is on the device already. ``device`` moves the result.

    >>> import treadle.ndarray as nd
    >>> nd.astype(nd.asarray([1.7, -1.7]), "int64")
    array([ 1, -1])
    >>> nd.astype(nd.asarray([300.0, -1.0, nd.nan]), "uint8").tolist()
    [255, 0, 0]
    """
    x = as_array(x)
    result = x.astype(dtype, copy=False)
    if device is not None:
        result = result.to_device(device)
    return result.copy() if copy and result is x else result


def copy(x: NDArray, /) -> NDArray:
    """A fresh C-contiguous array with x's elements.

    >>> import treadle.ndarray as nd
    >>> nd.copy(nd.arange(2))
    array([0, 1])
    """
    return as_array(x).copy()


def unstack(x: NDArray, /, axis: int = 0) -> tuple[NDArray, ...]:
    """The slices along an axis, which is gone from each: views. The reverse of :func:`stack`.

    >>> import treadle.ndarray as nd
    >>> nd.unstack(nd.asarray([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    x = as_array(x)
    along = normalize_axis(axis, x.ndim, "unstack")
    return tuple(x[(slice(None),) * along + (place,)] for place in range(x.shape[along]))


def _parts(x: NDArray, ends: Sequence[int], along: int) -> list[NDArray]:
    """x cut at places along an axis."""
    bounds = [0, *ends, x.shape[along]]
    return [x[(slice(None),) * along + (slice(a, b),)] for a, b in pairwise(bounds)]


def array_split(x: NDArray, sections: int | Sequence[int], /, axis: int = 0) -> list[NDArray]:
    """x cut along an axis, as views: into so many parts, or before each of the places listed.

    Where it does not go evenly the first parts are longer by one.

    >>> import treadle.ndarray as nd
    >>> nd.array_split(nd.arange(3), 2)
    [array([0, 1]), array([2])]
    """
    x = as_array(x)
    along = normalize_axis(axis, x.ndim, "array_split")
    if not isinstance(sections, int):
        return _parts(x, sections, along)
    if sections < 1:
        raise ShapeError(f"array_split: {sections} parts; at least 1 is needed")
    if sections >> 28:  # a view each, empty ones too: tens of gigabytes, and minutes until they are missed
        raise MemoryError(f"array_split: {sections} parts, an array each, are beyond any memory")
    length, longer = divmod(x.shape[along], sections)
    return _parts(x, [length * part + min(part, longer) for part in range(1, sections)], along)


def split(x: NDArray, sections: int | Sequence[int], /, axis: int = 0) -> list[NDArray]:
    """:func:`array_split` that raises ShapeError where the parts would not be equally long.

    >>> import treadle.ndarray as nd
    >>> nd.split(nd.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    x = as_array(x)
    along = normalize_axis(axis, x.ndim, "split")
    if isinstance(sections, int) and (sections < 1 or x.shape[along] % sections):
        raise ShapeError(f"split: axis {axis} of shape {x.shape} gives no {sections} equal parts; see array_split")
    return array_split(x, sections, axis=axis)


def roll(x: NDArray, /, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> NDArray:
    """The elements moved on by ``shift`` places along axes; those that fall off the end come in at the front. A copy.

    None rolls the elements in C order. Several shifts belong to as many axes; one shift goes for all axes named.

    >>> import treadle.ndarray as nd
    >>> nd.roll(nd.arange(4), 1)
    array([3, 0, 1, 2])
    """
    if axis is None:
        if not isinstance(shift, int):
            raise ShapeError("roll: several shifts need as many axes")
        return reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    if len(shifts) != len(axes):
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    result = x
    for by, each in zip(shifts, axes, strict=True):
        along = normalize_axis(each, x.ndim, "roll")
        if x.shape[along] and by % x.shape[along]:
            first, second = _parts(result, [x.shape[along] - by % x.shape[along]], along)
            result = concat([second, first], axis=along)
    return result.copy() if result is x else result


def tile(x: NDArray, repetitions: Sequence[int], /) -> NDArray:
    """x laid side by side, so many times along each axis. Missing axes, of either, lead with length 1. A copy.

    >>> import treadle.ndarray as nd
    >>> nd.tile(nd.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    times = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    if any(each < 0 for each in times):
        raise ShapeError(f"tile: repetitions {times} must not be negative")
    apart = reshape(x, [each for length in shape for each in (1, length)])
    spread = apart.view_broadcast([each for pair in zip(times, shape, strict=True) for each in pair])
    return reshape(spread.copy(), [a * b for a, b in zip(times, shape, strict=True)])


def rot90(x: NDArray, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> NDArray:
    """Turned k times by 90 degrees, from the first towards the second of two axes. A view.

    >>> import treadle.ndarray as nd
    >>> nd.rot90(nd.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    if len(axes) != 2 or normalize_axis(axes[0], x.ndim, "rot90") == normalize_axis(axes[1], x.ndim, "rot90"):
        raise ShapeError(f"rot90: axes {tuple(axes)} of shape {x.shape} are no two different ones")
    first, second = axes
    turns = operator.index(k) % 4
    if turns in (1, 2):
        x = flip(x, axis=second)
    if turns == 1:
        return swapaxes(x, first, second)
    if turns == 3:
        x = flip(swapaxes(x, first, second), axis=second)
    return flip(x, axis=first) if turns == 2 else x
