"""Convolution of floating arrays on the cpu by one kernel, where convolution.py composes it from other functions.

The gradient with respect to the input is itself a convolution of the result's gradient, with the kernel turned round.
With a stride, positions of the input of equal remainder meet the same taps: one convolution without a stride for each
remainder.
"""

import itertools
import math
from typing import NamedTuple

from treadle.ndarray import _convolution
from treadle.ndarray._array import NDArray
from treadle.ndarray.creation import empty, zeros
from treadle.ndarray.geometry import Geometry

__all__ = ["convolve", "differentiate_input", "differentiate_weight", "serves", "takes"]


def serves(x: NDArray, weight_shape: tuple[int, ...]) -> bool:
    """Whether these functions do: on the cpu, for float32 and float64, one to three axes, nothing empty."""
    return (
        x.device.type == "cpu" and x.dtype.name in ("float32", "float64") and x.ndim <= 5 and x.size > 0
        and math.prod(weight_shape) > 0
    )  # fmt: skip


def takes(bias: NDArray, x: NDArray) -> bool:
    """Whether :func:`convolve` adds the bias too."""
    return bias.dtype is x.dtype and bias.device is x.device and bias.is_contiguous


def convolve(
    x: NDArray,
    weight: NDArray,
    geometry: Geometry,
    places: tuple[int, ...],
    groups: int,
    out: NDArray | None = None,
    bias: NDArray | None = None,
) -> NDArray:
    """The convolution of x with weight, both of one dtype, perhaps into a view; bias as :func:`takes` says."""
    outputs = weight.shape[0]
    if out is None:
        out = empty((x.shape[0], outputs, *places), dtype=x.dtype)
    weight = weight if weight.is_contiguous else weight.copy()
    if out.size:
        geometry = _bounded(geometry, x, places)
        _convolution.convolve(x, weight, bias, out, outputs // groups, groups, geometry, places)
    return out


def differentiate_weight(
    gradient: NDArray, x: NDArray, shape: tuple[int, ...], geometry: Geometry, places: tuple[int, ...], groups: int
) -> NDArray:
    """The gradient with respect to the weight, of ``shape``."""
    outputs, taps = shape[0] // groups, math.prod(shape[1:])
    if not gradient.size:
        return zeros(shape, dtype=x.dtype)
    gradient = gradient if gradient.is_contiguous else gradient.copy()
    geometry = _bounded(geometry, x, places)
    direct = _convolution.is_direct(outputs)
    out = empty((groups, outputs, taps) if direct else (groups, taps, outputs), dtype=x.dtype)
    _convolution.differentiate(x, gradient, out, outputs, groups, geometry, places)
    return (out if direct else out.mT).reshape(shape)


def differentiate_input(
    gradient: NDArray, weight: NDArray, shape: tuple[int, ...], geometry: Geometry, groups: int
) -> NDArray:
    """The gradient with respect to the input, of ``shape``."""
    outputs, channels = weight.shape[0] // groups, weight.shape[1]
    turned = weight.reshape(groups, outputs, channels, *geometry.kernel).swapaxes(1, 2)
    turned = turned.reshape(groups * channels, outputs, *geometry.kernel)
    parts = [
        [_part(rest, axis, geometry, shape[2 + axis], gradient.shape[2 + axis]) for rest in _met(geometry, axis)]
        for axis in range(len(geometry.stride))
    ]
    complete = all(
        len(along) == stride and all(part is not None for part in along)
        for along, stride in zip(parts, geometry.stride, strict=True)
    )
    out = (empty if complete else zeros)(shape, dtype=gradient.dtype)
    for chosen in itertools.product(*parts):
        met = [each for each in chosen if each is not None]
        if len(met) == len(chosen):
            _write_part(gradient, turned, met, groups, out)
    return out


def _bounded(geometry: Geometry, x: NDArray, places: tuple[int, ...]) -> Geometry:
    """The same windows, without steps that lead nowhere: of a stride with one place, a dilation with one tap.

    Raises MemoryError for padding beyond any memory.
    """
    lengths = [sum(pad) + length for pad, length in zip(geometry.padding, x.shape[2:], strict=True)]
    if math.prod(lengths) > 1 << 48:
        raise MemoryError(f"conv: an input of shape {x.shape} with padding {geometry.padding} is beyond any memory")
    return geometry._replace(
        stride=tuple(step if number > 1 else 1 for step, number in zip(geometry.stride, places, strict=True)),
        dilation=tuple(step if size > 1 else 1 for step, size in zip(geometry.dilation, geometry.kernel, strict=True)),
    )


def _met(geometry: Geometry, axis: int) -> list[int]:
    """The remainders of positions modulo the stride that a tap meets."""
    stride, dilation = geometry.stride[axis], geometry.dilation[axis]
    return sorted({tap * dilation % stride for tap in range(geometry.kernel[axis])})


class _Part(NamedTuple):
    """Along one axis: which taps meet which elements of the gradient, and what they make."""

    taps: slice
    dilation: int
    source: slice
    padding: tuple[int, int]
    target: slice
    places: int


def _write_part(gradient: NDArray, turned: NDArray, parts: list[_Part], groups: int, out: NDArray) -> None:
    """The elements of the input that have one remainder along each axis."""
    kernel = turned[(..., *(each.taps for each in parts))]
    ones = (1,) * len(parts)
    inner = Geometry(
        kernel.shape[2:], ones, tuple(each.padding for each in parts), tuple(each.dilation for each in parts)
    )
    source = gradient[(..., *(each.source for each in parts))]
    target = out[(..., *(each.target for each in parts))]
    convolve(source, kernel, inner, tuple(each.places for each in parts), groups, target)


def _part(rest: int, axis: int, geometry: Geometry, length: int, places: int) -> _Part | None:
    """Input position i meets tap t and place p where i + before = p * stride + t * dilation; rest is it modulo stride.

    With u = (i + before - rest) / stride, every tap t = first + m * step of this remainder meets p = u - shift - m * d.
    """
    stride, dilation, before = geometry.stride[axis], geometry.dilation[axis], geometry.padding[axis][0]
    taps = [tap for tap in range(geometry.kernel[axis]) if tap * dilation % stride == rest]
    low, high = -((rest - before) // stride), (before + length - 1 - rest) // stride
    if not taps or high < low:
        return None
    common = math.gcd(stride, dilation)
    step, spread = stride // common, dilation // common
    shift = (taps[0] * dilation - rest) // stride
    start, end = low - shift - (len(taps) - 1) * spread, high - shift + 1  # of the places that are met
    source = slice(max(start, 0), min(end, places))
    if source.stop <= source.start:
        return None
    padding = (max(-start, 0), max(end - places, 0))
    first = low * stride + rest - before
    backwards = slice(taps[-1], taps[0] - 1 if taps[0] else None, -step)
    return _Part(backwards, spread, source, padding, slice(first, None, stride), high - low + 1)
