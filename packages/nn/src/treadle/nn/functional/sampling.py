"""Images read at places that another tensor names. Jaderberg et al. 2015, "Spatial transformer networks"."""

import math
from collections.abc import Sequence
from itertools import product

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["affine_grid", "grid_sample"]

_CUBIC = -0.75
"""The slope parameter a of Keys 1981 that PyTorch takes."""

Weighted = list[tuple[nd.NDArray, Tensor | float]]
"""Along one axis: places, and what each counts."""


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places of :func:`grid_sample` for an affine map of each image.

    ``theta`` is ``(batch, 2, 3)`` for a ``size`` of (batch, channels, height, width), and the result is ``(batch,
    height, width, 2)``; or ``(batch, 3, 4)`` for a size with depth. Coordinates go from -1 to 1 between the outer edges
    of the image, or with ``align_corners`` between the centres of the outermost pixels; the first is that of the width.

    >>> affine_grid(Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    count = len(size) - 2
    if count not in (2, 3) or theta.shape != (size[0], count, count + 1):
        raise nd.ShapeError(
            f"affine_grid: theta {theta.shape} for size {tuple(size)}; it is (batch, 2, 3) for images, (batch, 3, 4) "
            "for volumes"
        )
    lengths = tuple(size[2:])
    base = nd.ones((*lengths, count + 1), dtype=theta.dtype, device=theta.device)
    for axis, length in enumerate(lengths):
        reach = (length - 1 if align_corners else length) or 1
        along = [(2 * at - (length - 1)) / reach for at in range(length)]
        shape = [1] * count
        shape[axis] = length
        base[..., count - 1 - axis] = nd.asarray(along, dtype=theta.dtype, device=theta.device).reshape(shape)
    rows = Tensor(base.reshape(1, math.prod(lengths), count + 1))
    return autograd.reshape(autograd.matmul(rows, autograd.swapaxes(theta, 1, 2)), (size[0], *lengths, count))


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """``input`` read at the places of ``grid``: ``(batch, channels, *places)``.

    ``input`` is ``(batch, channels, height, width)`` and ``grid`` ``(batch, rows, columns, 2)`` with coordinates as in
    :func:`affine_grid`, x first; or both have a depth, and the grid 3 coordinates. ``mode`` is "bilinear" (linear in
    each direction), "nearest" or, for images, "bicubic". Outside there are "zeros", the pixels of the "border", or the
    image again by "reflection".

    >>> image = Tensor([[[[1.0, 3.0]]]])
    >>> grid_sample(image, Tensor([[[[0.0, 0.0], [1.0, 0.0]]]])).tolist()
    [[[[2.0, 1.5]]]]
    """
    count = input.ndim - 2
    if count not in (2, 3) or grid.ndim != input.ndim or grid.shape[0] != input.shape[0] or grid.shape[-1] != count:
        raise nd.ShapeError(
            f"grid_sample: a grid of shape {grid.shape} for an input of shape {input.shape}; it is (batch, *places, 2) "
            "for images and (batch, *places, 3) for volumes"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and count != 2):
        raise ValueError(f"grid_sample: mode {mode!r} is not known for inputs of {input.ndim} dimensions")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', not {padding_mode!r}")
    lengths = input.shape[2:]
    if 0 in lengths:
        raise nd.ShapeError(f"grid_sample: there are no pixels to read in an input of shape {input.shape}")
    places = grid.shape[1:-1]
    flat = autograd.reshape(grid, (grid.shape[0], math.prod(places), count))
    by_axis = [
        _along(flat[:, :, count - 1 - axis], length, mode, padding_mode, bool(align_corners))
        for axis, length in enumerate(lengths)
    ]
    result = _gathered(input, by_axis, padding_mode)
    return autograd.reshape(result, (*input.shape[:2], *places))


def _along(coordinate: Tensor, length: int, mode: str, padding: str, aligned: bool) -> Weighted:
    """Which pixels along one axis make up each place, with their weights."""
    at = (coordinate + 1.0) * ((length - 1) / 2.0) if aligned else ((coordinate + 1.0) * length - 1.0) * 0.5
    if mode == "bicubic":
        return _cubic(at, length, padding, aligned)
    at = _brought_inside(at, length, padding, aligned)
    if mode == "nearest":
        return [(nd.round(at.data), 1.0)]
    low = nd.floor(at.data)
    part = at - Tensor(low)
    return [(low, 1.0 - part), (low + 1.0, part)]


def _brought_inside(at: Tensor, length: int, padding: str, aligned: bool) -> Tensor:
    if padding == "reflection":
        at = _reflected(at, *((0.0, length - 1.0) if aligned else (-0.5, length - 0.5)))
    return at if padding == "zeros" else _clipped(at, 0.0, length - 1.0)


def _clipped(at: Tensor, low: float, high: float) -> Tensor:
    """Between ``low`` and ``high``, with no gradient where it was not within."""
    within = autograd.logical_and(at.detach() > low, at.detach() < high)
    return autograd.where(within, at, autograd.clip(at.detach(), low, high))


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    span = high - low
    if span == 0.0:
        return at * 0.0
    away = autograd.abs(at - low)
    turns = nd.floor(away.data / span)
    rest = away - Tensor(turns * span)
    even = Tensor(nd.equal(nd.remainder(turns, 2.0), 0.0))
    return autograd.where(even, rest + low, high - rest)


def _cubic(at: Tensor, length: int, padding: str, aligned: bool) -> Weighted:
    """Four pixels a place, each brought inside by itself."""
    low = nd.floor(at.data)
    part = at - Tensor(low)
    weights = [_outer(part + 1.0), _inner(part), _inner(1.0 - part), _outer(2.0 - part)]
    pixels = [_brought_inside(Tensor(low + float(shift)), length, padding, aligned).data for shift in (-1, 0, 1, 2)]
    return list(zip([nd.round(each) for each in pixels], weights, strict=True))


def _inner(x: Tensor) -> Tensor:
    return ((_CUBIC + 2.0) * x - (_CUBIC + 3.0)) * x * x + 1.0


def _outer(x: Tensor) -> Tensor:
    return ((_CUBIC * x - 5.0 * _CUBIC) * x + 8.0 * _CUBIC) * x - 4.0 * _CUBIC


def _gathered(input: Tensor, by_axis: list[Weighted], padding: str) -> Tensor:
    """The sum over all combinations of pixels, ``(batch, channels, places)``."""
    batch, channels, *lengths = input.shape
    flat = autograd.reshape(input, (batch, channels, math.prod(lengths)))
    total: Tensor | None = None
    for pixels in product(*by_axis):
        numbers = nd.zeros(pixels[0][0].shape, dtype="int64", device=input.device)
        inside = nd.ones(numbers.shape, dtype="bool", device=input.device)
        weight: Tensor | float = 1.0
        for (place, share), length in zip(pixels, lengths, strict=True):
            inside = nd.logical_and(inside, nd.logical_and(place >= 0.0, place <= length - 1.0))
            numbers = numbers * length + nd.clip(nd.where(nd.isfinite(place), place, 0.0), 0, length - 1).astype(
                "int64"
            )
            weight = share * weight
        index = Tensor(nd.broadcast_to(nd.expand_dims(numbers, axis=1), (batch, channels, numbers.shape[1])))
        read = autograd.take_along_axis(flat, index, axis=2)
        if isinstance(weight, Tensor):
            read = read * autograd.expand_dims(weight, axis=1)
        if padding == "zeros":
            read = autograd.where(Tensor(nd.expand_dims(inside, axis=1)), read, 0.0)
        total = read if total is None else total + read
    assert total is not None
    return total
