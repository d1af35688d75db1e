"""Elementwise ops: the cost of a call on few elements, and the speed of the kernels on many."""

import functools
from collections.abc import Callable
from types import ModuleType

from benchmarks.case import Case

__all__ = ["CASES"]

Work = Callable[[], object]


def _treadle() -> ModuleType:
    import treadle.ndarray

    return treadle.ndarray


def _numpy() -> ModuleType:
    import numpy

    return numpy


def _add(library: Callable[[], ModuleType], size: int) -> Work:
    xp = library()
    a, b = xp.ones((size,), dtype=xp.float32), xp.ones((size,), dtype=xp.float32)
    return lambda: a + b


def _add_torch(size: int) -> Work:
    import torch

    a, b = torch.ones(size), torch.ones(size)
    return lambda: a + b


def _exp(library: Callable[[], ModuleType], size: int) -> Work:
    xp = library()
    x = xp.linspace(-5.0, 5.0, size, dtype=xp.float32)
    return lambda: xp.exp(x)


def _add_case(size: int, goal: float | None) -> Case:
    return Case(
        f"a + b, {size:,} float32",
        {
            "treadle": functools.partial(_add, _treadle, size),
            "numpy": functools.partial(_add, _numpy, size),
            "torch": functools.partial(_add_torch, size),
        },
        goal=("numpy", goal) if goal else None,
    )


CASES = [
    _add_case(16, 0.5),
    _add_case(1_000_000, None),
    Case(
        "exp(x), 100,000 float32",
        {"treadle": functools.partial(_exp, _treadle, 100_000), "numpy": functools.partial(_exp, _numpy, 100_000)},
    ),
]
