"""What the samples are made of: shapes and configurations by Hypothesis, the elements from a seed that it draws."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

__all__ = ["Case", "Draws", "collect", "collect_values", "nasty"]

NASTY = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e-45, -1e-40, 3e38, -3e38, 0.5, -2.5, 88.0, 1e6)


@dataclass
class Case:
    """A callable over tensors and its operands.

    ``exact``: every bit is Python's. ``per_element``: the error is measured against each element, not against the
    largest. ``linear``: linear in each operand, so that its value at the magnitudes is the sum of magnitudes.
    ``nasty``: it is also run on NaN, infinities, subnormal and huge numbers.
    """

    function: Callable[..., Any]
    operands: list[np.ndarray]
    exact: bool = False
    per_element: bool = False
    linear: bool = False
    nasty: bool = False
    differentiable: bool = True
    constants: tuple[int, ...] = field(default=())  # operands that are constants of the program
    layouts: tuple[str, ...] = field(default=())
    seed: int = 0


class Draws:
    """Hypothesis's choices for one case."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.seed = draw(st.integers(0, 2**32 - 1))
        self.random = np.random.default_rng(self.seed)

    def of(self, *choices: Any) -> Any:
        """One of the choices."""
        return self.draw(st.sampled_from(choices))

    def integer(self, low: int, high: int) -> int:
        """An integer of the closed interval."""
        return self.draw(st.integers(low, high))

    def shape(self, low: int = 0, high: int = 3, least: int = 0, most: int = 4) -> tuple[int, ...]:
        """A shape; now and then with one long axis."""
        shape = self.draw(hnp.array_shapes(min_dims=low, max_dims=high, min_side=least, max_side=most))
        if shape and self.integer(0, 3) == 0:
            at = self.integer(0, len(shape) - 1)
            shape = (*shape[:at], self.of(7, 8, 9, 16, 131), *shape[at + 1 :])
        return shape

    def shapes(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Shapes that broadcast together."""
        strategy = hnp.mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_side=4, max_dims=3)
        return tuple(self.draw(strategy).input_shapes)

    def axis(self, shape: Sequence[int]) -> int:
        """An axis, counted from either end."""
        return self.integer(-len(shape), len(shape) - 1)

    def axes(self, shape: Sequence[int]) -> Any:
        """None, an axis, or several."""
        if not shape or self.integer(0, 2) == 0:
            return None
        if self.integer(0, 1):
            return self.axis(shape)
        chosen = [at for at in range(len(shape)) if self.integer(0, 1)]
        return tuple(at - len(shape) if self.integer(0, 1) else at for at in chosen)

    def floats(self, shape: Sequence[int], low: float = -3.0, high: float = 3.0, dtype: str = "float32") -> np.ndarray:
        """Numbers of an interval."""
        return self.random.uniform(low, high, tuple(shape)).astype(dtype)

    def whole(self, shape: Sequence[int], below: int, dtype: str = "int64", least: int = 0) -> np.ndarray:
        """Whole numbers from ``least`` to below ``below``."""
        return self.random.integers(least, max(below, least + 1), tuple(shape)).astype(dtype)

    def values(self, shape: Sequence[int], dtype: str, low: float = -10.0, high: float = 10.0) -> np.ndarray:
        """Elements of any dtype."""
        if dtype.startswith("float"):
            return self.floats(shape, low, high, dtype)
        if dtype == "bool":
            return self.random.integers(0, 2, tuple(shape)).astype("bool")
        limits = np.iinfo(dtype)
        if self.integer(0, 1):
            return self.random.integers(limits.min, limits.max, tuple(shape), dtype=dtype, endpoint=True)
        return self.random.integers(max(limits.min, int(low)), int(high) + 1, tuple(shape)).astype(dtype)

    def finish(self, case: Case, constants: bool = True) -> Case:
        """Choose layouts of the operands, and which of them are constants."""
        case.seed = self.seed
        case.layouts = tuple(self.of("plain", "plain", "reversed", "transposed", "strided") for _ in case.operands)
        if constants and len(case.operands) > 1:
            case.constants = self.of((), (), (0,), (len(case.operands) - 1,))
        return case


def nasty(array: np.ndarray, seed: int) -> np.ndarray:
    """The array with nasty elements among its own."""
    if array.dtype.kind != "f":
        return array
    random = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        chosen = random.choice(np.array(NASTY), array.shape).astype(array.dtype)
    return np.where(random.random(array.shape) < 0.6, chosen, array)


def collect(sampler: Callable[[Draws], Case], count: int, *, constants: bool = True) -> list[Case]:
    """So many cases of a sampler."""
    found: list[Case] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data: Any) -> None:
        draws = Draws(data.draw)
        found.append(draws.finish(sampler(draws), constants))

    run()
    return found


def collect_values(count: int, length: int) -> list[list[int]]:
    """Lists of small integers."""
    found: list[list[int]] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(st.integers(0, 1000), min_size=length, max_size=length))
    def run(numbers: list[int]) -> None:
        found.append(numbers)

    run()
    return found
