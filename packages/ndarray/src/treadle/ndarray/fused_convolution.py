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

__all__ = ["convolve", "differentiate_input", "differentiate_weight", "serves"]


def serves(x: NDArray, weight_shape: tuple[int, ...]) -> bool:
    """Whether these functions do: on the cpu, for float32 and float64, one to three axes, nothing empty."""
    return (
        x.device.type == "cpu" and x.dtype.name in ("float32", "float64") and x.ndim <= 5 and x.size > 0
        and math.prod(weight_shape) > 0
    )  # fmt: skip


def convolve(x: NDArray, weight: NDArray, geometry: Geometry, places: tuple[int, ...], groups: int) -> NDArray:
    """The convolution of x with weight, both of one dtype."""
    outputs = weight.shape[0]
    out = empty((x.shape[0], outputs, *places), dtype=x.dtype)
    weight = weight if weight.is_contiguous else weight.copy()
    if out.size:
        _convolution.convolve(x, weight, out, outputs // groups, groups, geometry, places)
    return out


def differentiate_weight(
    gradient: NDArray, x: NDArray, shape: tuple[int, ...], geometry: Geometry, places: tuple[int, ...], groups: int
) -> NDArray:
    """The gradient with respect to the weight, of ``shape``."""
    outputs, taps = shape[0] // groups, math.prod(shape[1:])
    if not gradient.size:
        return zeros(shape, dtype=x.dtype)
    gradient = gradient if gradient.is_contiguous else gradient.copy()
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
    if all(each == 1 for each in geometry.stride):
        found = _of_remainders(gradient, turned, (0,) * len(geometry.stride), shape, geometry, groups)
        return zeros(shape, dtype=gradient.dtype) if found is None else found[1]
    out = zeros(shape, dtype=gradient.dtype)
    for remainders in itertools.product(*(range(each) for each in geometry.stride)):
        found = _of_remainders(gradient, turned, remainders, shape, geometry, groups)
        if found is not None:
            out[found[0]] = found[1]
    return out


class _Part(NamedTuple):
    """Along one axis: which taps meet which elements of the gradient, and what they make."""

    taps: slice
    dilation: int
    source: slice
    padding: tuple[int, int]
    target: slice
    places: int


def _of_remainders(
    gradient: NDArray,
    turned: NDArray,
    remainders: tuple[int, ...],
    shape: tuple[int, ...],
    geometry: Geometry,
    groups: int,
) -> tuple[tuple[object, ...], NDArray] | None:
    """The key of these elements of the input, and their gradient; None where it is zero."""
    parts = [
        _part(rest, axis, geometry, shape[2 + axis], gradient.shape[2 + axis]) for axis, rest in enumerate(remainders)
    ]
    met = [each for each in parts if each is not None]
    if len(met) < len(parts):
        return None
    kernel = turned[(..., *(each.taps for each in met))]
    ones = (1,) * len(met)
    inner = Geometry(kernel.shape[2:], ones, tuple(each.padding for each in met), tuple(each.dilation for each in met))
    source = gradient[(..., *(each.source for each in met))]
    found = convolve(source, kernel, inner, tuple(each.places for each in met), groups)
    return (..., *(each.target for each in met)), found


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
