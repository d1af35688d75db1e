"""Maximum and average over sliding windows of the spatial axes, with their gradients.

Layouts are channels first: (batch, channels, *lengths) -> (batch, channels, *places). Without ``ceil_mode`` only
windows that lie within the padded input count; with it a last one may stand out behind, unless it would begin there.
"""

import math
from collections.abc import Sequence
from typing import Any

from treadle.ndarray import _layers
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import DType, dtype_named
from treadle.ndarray.creation import arange, asarray, ones, zeros
from treadle.ndarray.elementwise import where
from treadle.ndarray.errors import DTypeError, ShapeError
from treadle.ndarray.geometry import Geometry, Ints, fold, per_axis, unfold
from treadle.ndarray.indexing import scatter_add, take, take_along_axis
from treadle.ndarray.reductions import any as any_of
from treadle.ndarray.reductions import argmax
from treadle.ndarray.reductions import max as max_of
from treadle.ndarray.reductions import sum as sum_of

__all__ = ["avg_pool", "avg_pool_gradient", "max_pool", "max_pool_gradient"]


def _spatial(op: str, shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) < 3:
        raise ShapeError(f"{op}: shape {tuple(shape)}; it is (batch, channels, *lengths)")
    return tuple(shape[2:])


def _geometry(
    op: str, lengths: tuple[int, ...], kernel: Ints, stride: Ints | None, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Geometry, tuple[int, ...]]:
    """The windows, with the padding behind made to fit the last one, and the padding that was asked for."""
    count = len(lengths)
    sizes = per_axis(kernel, count, "kernel", op)
    steps = sizes if stride is None else per_axis(stride, count, "stride", op)
    spread, asked = per_axis(dilation, count, "dilation", op), per_axis(padding, count, "padding", op, 0)
    if any(2 * pad > size for pad, size in zip(asked, sizes, strict=True)):
        raise ShapeError(f"{op}: padding {asked} is more than half of the kernel {sizes}")
    geometry = Geometry(sizes, steps, tuple((each, each) for each in asked), spread)
    if not ceil_mode:
        return geometry, asked
    behind = []
    for length, span, step, pad in zip(lengths, geometry.spans, steps, asked, strict=True):
        places = -((span - length - 2 * pad) // step) + 1
        if (places - 1) * step >= length + pad:
            places -= 1
        behind.append(max(pad, (places - 1) * step + span - length - pad))
    return geometry._replace(padding=tuple(zip(asked, behind, strict=True))), asked


def max_pool(
    x: NDArray,
    kernel: Ints,
    /,
    *,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
) -> tuple[NDArray, NDArray]:
    """The largest element of every window and where it is: (values, indices), both (batch, channels, *places).

    The int64 indices count the elements of one channel in C order; of equal elements the first counts. A NaN wins.
    Padding, at most half of the kernel, is never chosen. ``stride`` is the kernel's length unless it is given. A window
    that sees only padding has the lowest value of the dtype and the index -1.

    >>> import treadle.ndarray as nd
    >>> values, indices = nd.max_pool(nd.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    >>> values.tolist(), indices.tolist()
    ([[[3.0, 5.0]]], [[[1, 3]]])
    """
    lengths, lowest = _spatial("max_pool", x.shape), _lowest(x.dtype)
    geometry, _ = _geometry("max_pool", lengths, kernel, stride, padding, dilation, ceil_mode)
    found = _layers.max_pool(x, tuple(geometry.places(lengths, "max_pool")), geometry)
    if found is not None:
        return found
    parts = _taps_first(x, geometry, lowest)
    best, values = argmax(parts, axis=0), max_of(parts, axis=0)
    indices = take(_tap_offsets(lengths, geometry, x), best, axis=0) + _origins(lengths, geometry, x)
    if any(before or after for before, after in geometry.padding) and any_of(values == lowest):
        indices = _without_padding(best, indices, lengths, geometry)
    return values, indices


def _taps_first(x: NDArray, geometry: Geometry, value: bool | int | float = 0) -> NDArray:
    """(*lead, *lengths) -> (taps, *lead, *places), a copy: long runs to copy, and to reduce over the first axis."""
    parts = unfold(x, geometry, value)
    count = len(geometry.kernel)
    parts = parts.transpose(*range(parts.ndim - count, parts.ndim), *range(parts.ndim - count))
    return parts.reshape(math.prod(geometry.kernel), *parts.shape[count:])


def _steps(lengths: tuple[int, ...]) -> list[int]:
    """By how much an index in C order grows along each axis."""
    return [math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))]


def _grid(counts: tuple[int, ...], steps: list[int], like: NDArray) -> NDArray:
    """The sum over the axes of position * step: an int64 array of the shape ``counts``."""
    grid = zeros(counts, dtype="int64", device=like.device)
    for axis, (count, step) in enumerate(zip(counts, steps, strict=True)):
        shape = [1] * len(counts)
        shape[axis] = count
        grid += arange(count, dtype="int64", device=like.device).reshape(shape) * step
    return grid


def _tap_offsets(lengths: tuple[int, ...], geometry: Geometry, like: NDArray) -> NDArray:
    """From a window's first tap to each tap, counted in elements of a channel: (taps,)."""
    steps = [step * apart for step, apart in zip(_steps(lengths), geometry.dilation, strict=True)]
    return _grid(geometry.kernel, steps, like).reshape(-1)


def _origins(lengths: tuple[int, ...], geometry: Geometry, like: NDArray) -> NDArray:
    """Where each window's first tap lies, counted as if rows went on before the first: (*places)."""
    steps = [step * apart for step, apart in zip(_steps(lengths), geometry.stride, strict=True)]
    padding = sum(step * before for step, (before, _) in zip(_steps(lengths), geometry.padding, strict=True))
    return _grid(geometry.places(lengths, "max_pool"), steps, like) - padding


def _without_padding(best: NDArray, indices: NDArray, lengths: tuple[int, ...], geometry: Geometry) -> NDArray:
    """Indices with the first real element of a window in place of padding, where all are as low as padding; -1 where
    there is none."""
    number = arange(math.prod(lengths), dtype="int64", device=best.device).reshape(lengths)
    seen = _taps_first(number, geometry, -1)
    first = take_along_axis(seen, argmax(seen >= 0, axis=0, keepdims=True), axis=0)[0]
    lead = (slice(None), *(None,) * (best.ndim - len(lengths)))
    chosen = take_along_axis(seen[lead].view_broadcast((seen.shape[0], *best.shape)), best.view_expanded(0), axis=0)
    return where(chosen[0] < 0, first, indices)


def _lowest(dtype: DType) -> bool | int | float:
    if dtype.kind == "b":
        return False
    if dtype.kind == "f":
        return -math.inf
    if dtype.kind == "c":
        raise DTypeError(f"max_pool: {dtype.name} has no order")
    return 0 if dtype.kind == "u" else -(1 << (8 * dtype.itemsize - 1))


def max_pool_gradient(gradient: NDArray, indices: NDArray, input_shape: Sequence[int], /) -> NDArray:
    """The gradient of :func:`max_pool` with respect to x, of shape ``input_shape``: each element of ``gradient`` is
    added where ``indices`` say that the largest was.

    >>> import treadle.ndarray as nd
    >>> nd.max_pool_gradient(nd.asarray([[[10.0, 20.0]]]), nd.asarray([[[1, 3]]]), (1, 1, 4)).tolist()
    [[[0.0, 10.0, 0.0, 20.0]]]
    """
    shape = tuple(input_shape)
    lengths = _spatial("max_pool_gradient", shape)
    if gradient.shape != indices.shape or gradient.shape[:2] != shape[:2] or gradient.ndim != len(shape):
        raise ShapeError(
            f"max_pool_gradient: a gradient of shape {gradient.shape} and indices of shape {indices.shape} for {shape}"
        )
    if indices.size == 0:
        return zeros(shape, dtype=gradient.dtype, device=gradient.device)
    found = _layers.max_pool_gradient(gradient, indices, shape)
    if found is not None:
        return found
    channels = shape[0] * shape[1]
    at = indices.reshape(channels, -1)
    parts = where(at < 0, asarray(0, dtype=gradient.dtype, device=gradient.device), gradient.reshape(channels, -1))
    row = arange(channels, device=gradient.device)[:, None]
    flat = zeros((channels, math.prod(lengths)), dtype=gradient.dtype, device=gradient.device)
    return scatter_add(flat, (row, where(at < 0, 0, at)), parts).reshape(shape)


def _divisors(
    lengths: tuple[int, ...],
    geometry: Geometry,
    padding: tuple[int, ...],
    count_include_pad: bool,
    divisor_override: int | None,
    like: NDArray,
) -> NDArray:
    """What the sum of each window is divided by: (*places). Padding that was asked for counts if it is to, what stands
    out behind it never."""
    places = geometry.places(lengths, "avg_pool")
    if divisor_override is not None:
        if divisor_override == 0:
            raise ShapeError("avg_pool: divisor_override is 0")
        return ones((1,) * len(places), dtype=like.dtype, device=like.device) * divisor_override
    result = ones((1,) * len(places), dtype=like.dtype, device=like.device)
    for axis, (length, size, step, pad, number) in enumerate(
        zip(lengths, geometry.kernel, geometry.stride, padding, places, strict=True)
    ):
        first, last = (-pad, length + pad) if count_include_pad else (0, length)
        starts = [place * step - pad for place in range(number)]
        counts = [min(start + size, last) - max(start, first) for start in starts]
        shape = [1] * len(places)
        shape[axis] = number
        result = result * asarray(counts, dtype=like.dtype, device=like.device).reshape(shape)
    return result


def _floating(x: NDArray) -> NDArray:
    return x if x.dtype.kind in "fc" else x.astype(dtype_named("float32"))


def avg_pool(
    x: NDArray,
    kernel: Ints,
    /,
    *,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> NDArray:
    """The mean of every window, (batch, channels, *places).

    Zeros of the padding, at most half of the kernel, are counted unless ``count_include_pad`` is False; what stands out
    behind the padding in ``ceil_mode`` never is. ``divisor_override`` divides every sum by the same number instead.
    Integers become float32.

    >>> import treadle.ndarray as nd
    >>> nd.avg_pool(nd.asarray([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), 2, ceil_mode=True).tolist()
    [[[1.5, 3.5, 5.0]]]
    """
    lengths = _spatial("avg_pool", x.shape)
    x = _floating(x)
    if x.itemsize == 2:  # halves: in float32, rounded once
        options: dict[str, Any] = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode}
        options |= {"count_include_pad": count_include_pad, "divisor_override": divisor_override}
        return avg_pool(x.astype("float32"), kernel, **options).astype(x.dtype)
    geometry, asked = _geometry("avg_pool", lengths, kernel, stride, padding, 1, ceil_mode)
    geometry.places(lengths, "avg_pool")
    total = sum_of(_taps_first(x, geometry), axis=0)
    return total / _divisors(lengths, geometry, asked, count_include_pad, divisor_override, x)


def avg_pool_gradient(
    gradient: NDArray,
    input_shape: Sequence[int],
    kernel: Ints,
    /,
    *,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> NDArray:
    """The gradient of :func:`avg_pool` with respect to x, of shape ``input_shape``; the other arguments as there.

    >>> import treadle.ndarray as nd
    >>> nd.avg_pool_gradient(nd.ones((1, 1, 2)), (1, 1, 4), 2).tolist()
    [[[0.5, 0.5, 0.5, 0.5]]]
    """
    op, shape = "avg_pool_gradient", tuple(input_shape)
    lengths = _spatial(op, shape)
    geometry, asked = _geometry(op, lengths, kernel, stride, padding, 1, ceil_mode)
    places = geometry.places(lengths, op)
    if gradient.shape != (*shape[:2], *places):
        raise ShapeError(f"{op}: a gradient of shape {gradient.shape}; the result has shape {(*shape[:2], *places)}")
    gradient = _floating(gradient)
    if gradient.itemsize == 2:
        options: dict[str, Any] = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode}
        options |= {"count_include_pad": count_include_pad, "divisor_override": divisor_override}
        return avg_pool_gradient(gradient.astype("float32"), input_shape, kernel, **options).astype(gradient.dtype)
    shared = gradient / _divisors(lengths, geometry, asked, count_include_pad, divisor_override, gradient)
    return fold(shared.view_broadcast((*geometry.kernel, *shared.shape)), lengths, geometry)
