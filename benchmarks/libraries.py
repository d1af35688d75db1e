"""The libraries that are compared, with the arrays that each draws for itself.

The values differ from library to library, their distribution does not. A library is imported only here and only in
its own process: NumPy in treadle's process would bring a second pool of threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

__all__ = ["Draw", "Names", "library", "normal", "uniform"]

Names = Mapping[str, Any]
SEED = 0


@dataclass(frozen=True)
class Draw:
    """An array to be drawn: normal (0, 1), or uniform in [low, high); as bool, whether that is positive."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float | None = None
    high: float = 1.0


def normal(*shape: int, dtype: str = "float32") -> Draw:
    return Draw(shape, dtype)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Draw:
    return Draw(shape, dtype, low, high)


class Treadle:
    def __init__(self) -> None:
        import treadle.ndarray

        self.namespace: ModuleType = treadle.ndarray
        self._generator = treadle.ndarray.random.Generator(SEED)

    def draw(self, wanted: Draw) -> Any:
        if wanted.low is None:
            drawn = self._generator.normal(0.0, 1.0, wanted.shape)
        else:
            drawn = self._generator.uniform(wanted.low, wanted.high, wanted.shape)
        return drawn > 0 if wanted.dtype == "bool" else drawn.astype(wanted.dtype)


class NumPy:
    def __init__(self) -> None:
        import numpy

        self.namespace: ModuleType = numpy
        self._generator = numpy.random.default_rng(SEED)

    def draw(self, wanted: Draw) -> Any:
        if wanted.low is None:
            drawn: Any = self._generator.standard_normal(wanted.shape, dtype="float32")
        else:
            drawn = self._generator.uniform(wanted.low, wanted.high, wanted.shape)
        return drawn > 0 if wanted.dtype == "bool" else drawn.astype(wanted.dtype)


class Torch:
    def __init__(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(SEED)
        self.namespace: ModuleType = torch

    def draw(self, wanted: Draw) -> Any:
        xp = self.namespace
        if wanted.low is None:
            drawn = xp.randn(wanted.shape)
        else:
            drawn = xp.rand(wanted.shape) * (wanted.high - wanted.low) + wanted.low
        return drawn > 0 if wanted.dtype == "bool" else drawn.to(getattr(xp, wanted.dtype))


def library(name: str, threads: int) -> Treadle | NumPy | Torch:
    """A library by name, with its own bound on threads set; ImportError where it is not installed."""
    if name == "torch":
        return Torch(threads)
    return NumPy() if name == "numpy" else Treadle()
