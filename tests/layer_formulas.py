"""Layers by their definitions in NumPy, for the tests of the kernels of several backends."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def normal_slope(x: Any) -> Any:
    below = 0.5 + 0.5 * np.vectorize(math.erf)(x * math.sqrt(0.5))
    return below + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def tanh_slope(x: Any) -> Any:
    u, slope = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3), math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * (1 + np.tanh(u)) + 0.5 * x * slope / np.cosh(u) ** 2


SLOPES: dict[str, Callable[[Any], Any]] = {
    "gelu": normal_slope,
    "gelu_tanh": tanh_slope,
    "sigmoid": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y * y,
    "relu": lambda y: np.where(y <= 0, 0.0, 1.0),
}
"""The derivatives of activations, by the name of the op, in its operand (gelu, gelu_tanh) or its result."""


def windows_by_hand(x: Any, kernel: int, stride: int, padding: int, dilation: int) -> tuple[Any, Any]:
    """The definition of two-dimensional max pooling, a window at a time."""
    places = [(n + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1 for n in x.shape[2:]]
    values, indices = np.empty((*x.shape[:2], *places), x.dtype), np.empty((*x.shape[:2], *places), "i8")
    for at in np.ndindex(values.shape):
        best, where = -math.inf, -1
        for tap in np.ndindex(kernel, kernel):
            row, column = (place * stride + t * dilation - padding for place, t in zip(at[2:], tap, strict=True))
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                value = x[at[0], at[1], row, column]
                if where < 0 or value > best or (value != value and best == best):
                    best, where = value, row * x.shape[3] + column
        values[at], indices[at] = best, where
    return values, indices
