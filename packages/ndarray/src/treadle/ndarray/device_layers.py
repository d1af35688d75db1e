"""Kernels of layers on other devices than the cpu, by the optional methods of a backend; None (or False) where the
composition has to serve.

The functions are those of ``_layers.pyx``, which calls them with the method first. Arrays are dense and of one floating
dtype; statistics of halves are float32.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treadle.ndarray._array import NDArray
from treadle.ndarray._types import DType, dtype_named
from treadle.ndarray.creation import empty
from treadle.ndarray.reductions import sum as sum_of

if TYPE_CHECKING:
    from treadle.ndarray.geometry import Geometry

__all__ = [
    "activation_gradient", "entropy", "entropy_gradient", "lstm_step", "lstm_step_gradient", "max_pool",
    "max_pool_gradient", "norm_channels", "norm_channels_gradient", "norm_rows", "norm_rows_gradient",
]  # fmt: skip

Method = Callable[..., bool | None]


def _serves(x: NDArray, *others: NDArray | None) -> bool:
    """Whether all are dense floating arrays of one dtype and device, and x is not empty."""
    return x.dtype.kind == "f" and x.size > 0 and x.is_contiguous and all(_is_like(each, x) for each in others)


def _is_like(x: NDArray | None, like: NDArray) -> bool:
    return x is None or (x.device is like.device and x.dtype is like.dtype and x.is_contiguous)


def _of_statistics(x: NDArray) -> DType:
    return dtype_named("float32") if x.dtype.itemsize == 2 else x.dtype


def _statistics(x: NDArray, *shape: int) -> NDArray:
    """A fresh array of numbers of rows or channels."""
    return empty(shape, dtype=_of_statistics(x), device=x.device)


def _holds_statistics(x: NDArray, *given: NDArray | None) -> bool:
    """Whether statistics, which the caller made, are as they are taken."""
    return all(
        each is None or (each.device is x.device and each.dtype is _of_statistics(x) and each.is_contiguous)
        for each in given
    )


def _like(x: NDArray) -> NDArray:
    return empty(x.shape, dtype=x.dtype, device=x.device)


def activation_gradient(method: Method, op: str, gradient: NDArray, saved: NDArray) -> NDArray | None:
    """gradient times the derivative."""
    if not _serves(gradient, saved) or gradient.shape != saved.shape:
        return None
    out = _like(gradient)
    return None if method(op, gradient, saved, out) is False else out


# --- pooling ----------------------------------------------------------------------------------------------------------
def max_pool(method: Method, x: NDArray, places: tuple[int, ...], geometry: "Geometry") -> Any:
    """The values and int64 indices of windows."""
    if not _serves(x) or x.ndim > 5 or 0 in places or math.prod(x.shape[2:]) >= 1 << 30:
        return None
    shape = (*x.shape[:2], *places)
    values = empty(shape, dtype=x.dtype, device=x.device)
    indices = empty(shape, dtype="int64", device=x.device)
    return None if method(x, geometry, values, indices) is False else (values, indices)


def max_pool_gradient(
    method: Method, gradient: NDArray, indices: NDArray, input_shape: Sequence[int]
) -> NDArray | None:
    """The gradient laid where the indices say; None too where one of them says nowhere."""
    if not _serves(gradient) or indices.device is not gradient.device or not indices.is_contiguous:
        return None
    if indices.dtype.name != "int64" or math.prod(input_shape[2:]) >= 1 << 30:
        return None
    out = empty(tuple(input_shape), dtype=gradient.dtype, device=gradient.device)
    return None if method(gradient, indices, out) is False else out


# --- normalisation ----------------------------------------------------------------------------------------------------
def norm_rows(
    method: Method, x: NDArray, width: int, center: bool, eps: float, weight: NDArray | None, bias: NDArray | None
) -> Any:
    """(result, mean or None, scale)."""
    if not _serves(x, weight, bias):
        return None
    rows = x.size // width
    out, scale = _like(x), _statistics(x, rows)
    mean = _statistics(x, rows) if center else None
    return None if method(x, weight, bias, eps, out, mean, scale) is False else (out, mean, scale)


_MOST_PARTS, _ROWS_OF_PART = 128, 32


def norm_rows_gradient(
    method: Method,
    gradient: NDArray,
    x: NDArray,
    width: int,
    mean: NDArray | None,
    scale: NDArray,
    weight: NDArray | None,
    wanted: tuple[bool, ...],
) -> Any:
    """The gradients of x, weight and bias, each None where it is not wanted; those of weight and bias (1, width)."""
    if not _serves(gradient, x, weight) or not _holds_statistics(x, mean, scale):
        return None
    parts = min(-(-scale.size // _ROWS_OF_PART), _MOST_PARTS)
    out = _like(x) if wanted[0] else None
    sums = [_statistics(x, parts, width) if each else None for each in wanted[1:3]]
    if method(gradient, x, mean, scale, weight, out, *sums) is False:
        return None
    return out, *[each if each is None else _in(x.dtype, sum_of(each, axis=0, keepdims=True)) for each in sums]


def _in(dtype: DType, x: NDArray) -> NDArray:
    return x.astype(dtype, copy=False)


def norm_channels(
    method: Method, x: NDArray, mean: NDArray, scale: NDArray, weight: NDArray | None, bias: NDArray | None
) -> NDArray | None:
    """(x - mean) * scale * weight + bias."""
    if not _serves(x, weight, bias) or not _holds_statistics(x, mean, scale):
        return None
    out = _like(x)
    return None if method(x, mean, scale, weight, bias, out) is False else out


def norm_channels_gradient(
    method: Method,
    gradient: NDArray,
    x: NDArray,
    mean: NDArray,
    scale: NDArray,
    weight: NDArray | None,
    wanted: tuple[bool, ...],
) -> Any:
    """The gradients of x, weight and bias, each None where it is not wanted."""
    if not _serves(gradient, x, weight) or not _holds_statistics(x, mean, scale):
        return None
    out = _like(x) if wanted[0] else None
    sums = [_statistics(x, x.shape[1]) if each else None for each in wanted[1:3]]
    if method(gradient, x, mean, scale, weight, out, *sums) is False:
        return None
    return out, *[each if each is None else _in(x.dtype, each) for each in sums]


# --- recurrent --------------------------------------------------------------------------------------------------------
def lstm_step(method: Method, product: NDArray, given: NDArray, before: NDArray, *results: NDArray) -> bool:
    """One step, into gates, cell, tanh(cell) and hidden state."""
    return _serves(product, given, before, *results) and method(product, given, before, *results) is not False


def lstm_step_gradient(
    method: Method,
    gates: NDArray,
    before: NDArray,
    shown: NDArray,
    d_shown: NDArray,
    d_cell: NDArray,
    d_gates: NDArray,
) -> bool:
    """The gradients of a step, into d_cell and d_gates."""
    operands = before, shown, d_shown, d_cell, d_gates
    return _serves(gates, *operands) and method(gates, *operands) is not False


# --- losses -----------------------------------------------------------------------------------------------------------
def _reads_entropy(logits: NDArray, targets: NDArray) -> bool:
    return (
        _serves(logits) and logits.ndim == 2 and targets.device is logits.device and targets.is_contiguous
        and targets.dtype.name == "int64" and targets.shape == logits.shape[:1]
    )  # fmt: skip


def entropy(
    method: Method, op: object, logits: NDArray, targets: NDArray, ignored: int, smoothing: float
) -> NDArray | None:
    """The cross-entropy of each row; None too where a target is no class, which the composition finds."""
    if not _reads_entropy(logits, targets):
        return None
    out = empty(logits.shape[:1], dtype=logits.dtype, device=logits.device)
    return None if method(logits, targets, ignored, smoothing, out) is False else out


def entropy_gradient(
    method: Method, logits: NDArray, targets: NDArray, ignored: int, smoothing: float, scale: NDArray
) -> NDArray | None:
    """The gradient of the logits."""
    if not _reads_entropy(logits, targets) or not _is_like(scale, logits):
        return None
    out = _like(logits)
    return None if method(logits, targets, ignored, smoothing, scale, out) is False else out
