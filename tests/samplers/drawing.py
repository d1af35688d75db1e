"""What samplers draw with, and the dict of them all."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Shape = tuple[int, ...]
Sampler = Callable[["Draw"], "Sample"]


@dataclass
class Sample:
    """A call to check: the op or function, its operands, and which of these have gradients (floating ones)."""

    call: Callable[..., Any]
    operands: list[Any]
    complex: bool = True  # whether complex operands are in order
    flat: bool = True  # whether equal neighbours are no kink
    tolerance: float = 1e-4  # of float32 beside float64, relative to the largest element


class Draw:
    """What samplers draw with."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def flag(self) -> bool:
        return bool(self.draw(st.booleans()))

    def one(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def shape(self, low: int = 0, high: int = 3, least: int = 0, most: int = 3) -> Shape:
        return tuple(self.draw(st.lists(st.integers(least, most), min_size=low, max_size=high)))

    def broadcast(self, count: int) -> list[Shape]:
        """Shapes that broadcast together."""
        whole = self.shape(high=2)
        shapes = []
        for _ in range(count):
            kept = whole[self.number(0, len(whole)) :]
            shapes.append(tuple(1 if self.flag() else length for length in kept))
        return shapes

    def values(self, shape: Shape, low: float = -2.0, high: float = 2.0) -> Any:
        """Pairwise different values, a good way from the ends, and never 0."""
        size = math.prod(shape)
        places = np.random.default_rng(self.number(0, 99)).permutation(size)
        return (low + (high - low) * (places + 0.431) / max(size, 1)).reshape(shape)

    def matrix(self, *shape: int) -> Any:
        """Well-conditioned matrices with distinct singular values."""
        values = self.values(shape, -0.4, 0.4)
        rows, columns = shape[-2:]
        return values + np.eye(rows, columns) * (1.5 + np.arange(columns))

    def axis(self, ndim: int) -> int:
        return self.number(-ndim, ndim - 1)

    def axes(self, ndim: int) -> Any:
        if ndim == 0 or self.flag():
            return None
        axes = self.draw(st.lists(st.integers(-ndim, ndim - 1), unique_by=lambda axis: axis % ndim, max_size=ndim))
        return axes[0] if len(axes) == 1 and self.flag() else tuple(axes)

    def places(self, shape: Shape, length: int) -> Any:
        """Integer indices, repeated ones and negative ones among them."""
        values = [self.number(-length, length - 1) for _ in range(math.prod(shape))]
        return np.array(values, dtype=np.int64).reshape(shape)


SAMPLERS: dict[str, Sampler] = {}


def sampler(function: Sampler) -> Sampler:
    """Enter a sampler under its name, which is the op's class or the function's name (with __ for a dot)."""
    name = function.__name__.replace("__", ".")
    assert name not in SAMPLERS
    SAMPLERS[name] = function
    return function
