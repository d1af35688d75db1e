"""Shapes and order: views wherever strides can express them, copies only where not."""

from collections.abc import Sequence

from treadle.ndarray._array import NDArray, assign, reshape
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray._types import result_dtype
from treadle.ndarray.creation import DTypeLike, Shape, as_array, empty
from treadle.ndarray.errors import DeviceError, ShapeError

__all__ = [
    "astype", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "copy", "expand_dims", "flip",
    "matrix_transpose", "moveaxis", "permute_dims", "reshape", "squeeze", "stack", "swapaxes",
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


def broadcast_arrays(*arrays: NDArray) -> list[NDArray]:
    """All arrays stretched to their common shape, as read-only views.

    >>> import treadle.ndarray as nd
    >>> [each.shape for each in nd.broadcast_arrays(nd.zeros((2, 1)), nd.zeros(3))]
    [(2, 3), (2, 3)]
    """
    shape = broadcast_shapes(*(each.shape for each in arrays))
    return [each.view_broadcast(shape) for each in arrays]


def expand_dims(x: NDArray, /, axis: int = 0) -> NDArray:
    """A new axis of length 1 at ``axis`` of the result. A view.

    >>> import treadle.ndarray as nd
    >>> nd.expand_dims(nd.zeros(3), 0).shape
    (1, 3)
    """
    return x.view_expanded(axis)


def squeeze(x: NDArray, /, axis: int | Sequence[int] | None = None) -> NDArray:
    """Without the named axes, each of which must have length 1; None drops all such. A view.

    >>> import treadle.ndarray as nd
    >>> nd.squeeze(nd.zeros((1, 3)), 0).shape
    (3,)
    """
    return x.view_squeezed(axis)


def flip(x: NDArray, /, *, axis: int | Sequence[int] | None = None) -> NDArray:
    """Backwards along the axes, or all of them. A view.

    >>> import treadle.ndarray as nd
    >>> nd.flip(nd.arange(3))
    array([2, 1, 0])
    """
    return x.view_flipped(axis)


def concat(arrays: Sequence[NDArray], /, *, axis: int | None = 0) -> NDArray:
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


def stack(arrays: Sequence[NDArray], /, *, axis: int = 0) -> NDArray:
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


def astype(x: NDArray, dtype: DTypeLike, /, *, copy: bool = True) -> NDArray:
    """The elements converted: floats to integers by truncation, anything to bool by being non-zero.

    >>> import treadle.ndarray as nd
    >>> nd.astype(nd.asarray([1.7, -1.7]), "int64")
    array([ 1, -1])
    """
    return x.astype(dtype, copy=copy)


def copy(x: NDArray, /) -> NDArray:
    """A fresh C-contiguous array with x's elements.

    >>> import treadle.ndarray as nd
    >>> nd.copy(nd.arange(2))
    array([0, 1])
    """
    return x.copy()
