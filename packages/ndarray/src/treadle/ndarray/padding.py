"""Repeating and padding: arrays longer than they were, by taking elements at computed places."""

from collections.abc import Callable, Sequence
from typing import Any

from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.creation import arange, as_array, empty
from treadle.ndarray.elementwise import clip, where
from treadle.ndarray.errors import DTypeError, ShapeError
from treadle.ndarray.indexing import take
from treadle.ndarray.manipulation import reshape
from treadle.ndarray.reductions import cumsum, max, min
from treadle.ndarray.searching import searchsorted

__all__ = ["pad", "repeat"]

Pairs = list[tuple[Any, Any]]


def repeat(x: NDArray, repeats: int | NDArray, /, axis: int | None = None) -> NDArray:
    """Each element, or slice along an axis, several times in a row. None flattens x first. A copy.

    ``repeats`` is one number, or an integer array with a number for each place along the axis. Raises ShapeError for
    numbers that are negative or do not fit the axis.

    >>> import treadle.ndarray as nd
    >>> nd.repeat(nd.asarray([1, 2]), 2), nd.repeat(nd.asarray([1, 2]), nd.asarray([1, 3]))
    (array([1, 1, 2, 2]), array([1, 2, 2, 2]))
    """
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    along = normalize_axis(axis, x.ndim, "repeat")
    length = x.shape[along]
    if not isinstance(repeats, int):
        times = as_array(repeats)
        if times.dtype.kind not in "iu":
            raise DTypeError(f"repeat: the numbers of repetitions are integers, not {times.dtype.name}")
        if times.size != 1:
            return _repeat_each(x, times, along)
        repeats = int(times.item())
    if repeats < 0:
        raise ShapeError(f"repeat: {repeats} repetitions")
    shape = x.shape
    apart = x.view_expanded(along + 1).view_broadcast((*shape[: along + 1], repeats, *shape[along + 1 :]))
    return reshape(apart.copy(), (*shape[:along], length * repeats, *shape[along + 1 :]))


def _repeat_each(x: NDArray, times: NDArray, along: int) -> NDArray:
    if times.shape != (x.shape[along],):
        raise ShapeError(f"repeat: repetitions of shape {times.shape} do not fit axis {along} of shape {x.shape}")
    if times.size and min(times).item() < 0:
        raise ShapeError("repeat: a number of repetitions is negative")
    if times.size and max(times).item() * times.size > 1 << 56:
        raise MemoryError(f"repeat: up to {max(times).item()} repetitions of {times.size} slices are beyond any memory")
    ends = cumsum(times.astype("int64"))
    total = ends[-1].item() if times.size else 0
    return take(x, searchsorted(ends, arange(total, device=x.device), side="right"), axis=along)


def _edge(places: NDArray, length: int) -> NDArray:
    return clip(places, 0, length - 1)


def _wrap(places: NDArray, length: int) -> NDArray:
    return places % length


def _reflect(places: NDArray, length: int) -> NDArray:
    period = 2 * length - 2 if length > 1 else 1
    around = places % period
    return where(around < length, around, period - around)


def _symmetric(places: NDArray, length: int) -> NDArray:
    around = places % (2 * length)
    return where(around < length, around, 2 * length - 1 - around)


_MODES: dict[str, Callable[[NDArray, int], NDArray]] = {
    "edge": _edge,
    "reflect": _reflect,
    "symmetric": _symmetric,
    "wrap": _wrap,
}


def _pairs(value: Any, ndim: int, name: str) -> Pairs:
    """A number, a pair, or a pair for each axis (or one in a list), as a pair for each axis."""
    if isinstance(value, bool | int | float | complex):
        return [(value, value)] * ndim
    try:
        parts = [each if isinstance(each, bool | int | float | complex) else tuple(each) for each in value]
    except TypeError:
        raise ShapeError(f"pad: {name} {value!r} is no number, and no sequence of them") from None
    if all(isinstance(each, bool | int | float | complex) for each in parts) and len(parts) in (1, 2):
        return [(parts[0], parts[-1])] * ndim
    pairs: Pairs = [(each[0], each[-1]) for each in parts if isinstance(each, tuple) and len(each) in (1, 2)]
    if len(pairs) != len(parts) or len(pairs) not in (1, ndim):
        raise ShapeError(f"pad: {name} {value!r} is no number, no pair, and no pair for each of {ndim} axes")
    return pairs * ndim if len(pairs) == 1 else pairs


def pad(
    x: NDArray,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    /,
    *,
    mode: str = "constant",
    constant_values: Any = 0,
) -> NDArray:
    """x with elements added before and after along each axis.

    ``pad_width`` is a number for all, a pair (before, after), or a pair for each axis; ``constant_values``, of mode
    ``constant``, likewise. Other modes: ``edge`` repeats the end, ``reflect`` mirrors at the end's centre,
    ``symmetric`` at its edge, ``wrap`` goes on from the other end. Raises ShapeError for negative widths, and for any
    mode but ``constant`` along an axis of length 0; ValueError for another mode.

    >>> import treadle.ndarray as nd
    >>> nd.pad(nd.asarray([1, 2, 3]), (1, 2)), nd.pad(nd.asarray([1, 2, 3]), 2, mode="reflect")
    (array([0, 1, 2, 3, 0, 0]), array([3, 2, 1, 2, 3, 2, 1]))
    """
    widths = _pairs(pad_width, x.ndim, "pad_width")
    if any(not isinstance(each, int) or each < 0 for pair in widths for each in pair):
        raise ShapeError(f"pad: pad_width {pad_width!r} must be of whole numbers from 0 on")
    if mode == "constant":
        return _pad_constant(x, widths, _pairs(constant_values, x.ndim, "constant_values"))
    if mode not in _MODES:
        raise ValueError(f"pad: no mode {mode!r}; there are constant, {', '.join(_MODES)}")
    result = x
    for axis, (before, after) in enumerate(widths):
        length = x.shape[axis]
        if before == after == 0:
            continue
        if length == 0:
            raise ShapeError(f"pad: axis {axis} of shape {x.shape} has no elements to go on from with mode {mode!r}")
        places = arange(-before, length + after, device=x.device)
        result = take(result, _MODES[mode](places, length), axis=axis)
    return result.copy() if result is x else result


def _pad_constant(x: NDArray, widths: Pairs, constants: Pairs) -> NDArray:
    out = empty(
        [length + before + after for length, (before, after) in zip(x.shape, widths, strict=True)],
        dtype=x.dtype,
        device=x.device,
    )
    out[tuple(slice(before, before + length) for length, (before, _) in zip(x.shape, widths, strict=True))] = x
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, constants, strict=True)):
        inner = tuple(
            slice(a, a + length) for length, (a, _) in zip(x.shape[axis + 1 :], widths[axis + 1 :], strict=True)
        )  # later axes still have their own padding to come
        whole = (slice(None),) * axis
        out[(*whole, slice(0, before), *inner)] = first
        out[(*whole, slice(before + x.shape[axis], before + x.shape[axis] + after), *inner)] = last
    return out
