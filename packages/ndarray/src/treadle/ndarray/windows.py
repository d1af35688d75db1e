"""Views that walk the same memory in another way: sliding windows, diagonals, free strides."""

import operator
from collections.abc import Sequence

from treadle.ndarray import _windows
from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.creation import Shape
from treadle.ndarray.errors import ShapeError

__all__ = ["as_strided", "diagonal", "sliding_window_view"]


def as_strided(
    x: NDArray, /, shape: Shape, strides: Sequence[int], *, offset: int = 0, writable: bool = False
) -> NDArray:
    """A view of x's memory with any shape and strides (bytes), the first element ``offset`` bytes behind x's.

    It must stay between the first and the last byte that x reaches, on whole elements: ShapeError otherwise. Elements
    may be seen many times, so the view is read-only unless ``writable`` says otherwise.

    >>> import treadle.ndarray as nd
    >>> x = nd.arange(5)
    >>> nd.as_strided(x, (3, 3), (8, 8)).tolist()
    [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    return _windows.strided(x, offset, shape, strides, writable)


def sliding_window_view(
    x: NDArray, window_shape: int | Sequence[int], /, axis: int | Sequence[int] | None = None, *, writable: bool = False
) -> NDArray:
    """All windows of a shape over x, as a view: the windows' axes stand behind x's, which are shorter by window - 1.

    ``axis`` names the axes that the window's lengths belong to; None: one length for each of x's axes. Raises
    ShapeError for a window longer than its axis.

    >>> import treadle.ndarray as nd
    >>> nd.sliding_window_view(nd.arange(4), 2).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    lengths = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    named = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [normalize_axis(each, x.ndim, "sliding_window_view") for each in named]
    if len(axes) != len(lengths):
        raise ShapeError(f"sliding_window_view: {len(lengths)} window lengths for {len(axes)} axes of shape {x.shape}")
    shape = list(x.shape)
    for along, length in zip(axes, lengths, strict=True):
        if length < 0 or shape[along] < length:
            raise ShapeError(f"sliding_window_view: no window of shape {lengths} over axes {axes} fits shape {x.shape}")
        shape[along] -= length - 1
    strides = (*x.strides, *(x.strides[along] for along in axes))
    return _windows.strided(x, 0, (*shape, *lengths), strides, writable)


def diagonal(x: NDArray, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> NDArray:
    """The diagonal of two axes, by default the last two, as a view: those axes go, and its own comes last.

    ``offset`` > 0 names one above the main diagonal, < 0 one below. Raises ShapeError for x without two axes.

    >>> import treadle.ndarray as nd
    >>> nd.diagonal(nd.asarray([[1, 2], [3, 4]]))
    array([1, 4])
    """
    if x.ndim < 2:
        raise ShapeError(f"diagonal: shape {x.shape} has no two axes")
    first, second = normalize_axis(axis1, x.ndim, "diagonal"), normalize_axis(axis2, x.ndim, "diagonal")
    if first == second:
        raise ShapeError(f"diagonal: axes {axis1} and {axis2} are the same")
    rows, columns, offset = x.shape[first], x.shape[second], operator.index(offset)
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    skip = offset * x.strides[second] if offset >= 0 else -offset * x.strides[first]
    rest = [each for each in range(x.ndim) if each not in (first, second)]
    shape = (*(x.shape[each] for each in rest), length)
    strides = (*(x.strides[each] for each in rest), x.strides[first] + x.strides[second])
    return _windows.strided(x, skip if length else 0, shape, strides, True)
