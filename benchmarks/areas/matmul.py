"""Square float32 matrix products on one thread."""

import functools
from collections.abc import Callable

from benchmarks.case import Case

__all__ = ["CASES"]

Work = Callable[[], object]


def _treadle(size: int) -> Work:
    import treadle.ndarray as nd

    generator = nd.random.Generator(0)
    a, b = (generator.normal(0.0, 1.0, (size, size), dtype=nd.float32) for _ in range(2))
    return lambda: a @ b


def _numpy(size: int) -> Work:
    import numpy as np

    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    return lambda: a @ b


CASES = [
    Case(
        f"a @ b, {size} x {size} float32, one thread",
        {"treadle": functools.partial(_treadle, size), "numpy": functools.partial(_numpy, size)},
        goal=("numpy", 1 / 0.8) if size >= 256 else None,
        note="at least 0.8 of NumPy's speed" if size >= 256 else "",
    )
    for size in (16, 64, 256, 512, 1024)
]
