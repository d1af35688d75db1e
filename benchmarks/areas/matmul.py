"""Matrix products: small, large, tall, of transposed views, batched, with a vector; and how steady two threads are."""

import statistics
import time
from collections.abc import Callable

from benchmarks.case import Case, Goal, Measurement, Work, case
from benchmarks.libraries import library, normal

__all__ = ["CASES"]


def _square(size: int, dtype: str, threads: int = 1) -> Case:
    speed = 1.3 if size <= 64 else 0.95 if threads == 2 and size == 2048 else 1.0
    draws = {"a": normal(size, size, dtype=dtype), "b": normal(size, size, dtype=dtype)}
    return case(f"a @ b, {size} x {size} {dtype}", draws, "a @ b", (Goal("numpy", speed),), threads=threads)


def _shaped(
    text: str, left: tuple[int, ...], right: tuple[int, ...], speed: float, dtype: str = "float32", threads: int = 1
) -> Case:
    shapes = f"{' x '.join(map(str, left))} and {' x '.join(map(str, right))}"
    draws = {"a": normal(*left, dtype=dtype), "b": normal(*right, dtype=dtype)}
    return case(f"{text}, {shapes} {dtype}", draws, text, (Goal("numpy", speed),), threads=threads)


SHAPED = (
    ("a @ b", (16384, 64), (64, 64)),
    ("a @ b", (64, 16384), (16384, 64)),
    ("a.T @ b", (512, 512), (512, 512)),
    ("a @ b.T", (512, 512), (512, 512)),
    ("a.T @ b.T", (512, 512), (512, 512)),
    ("a @ b.T", (1024, 1024), (1024, 1024)),
)


def _stability(size: int) -> Case:
    """The slowest of 500 calls over their median, 2 threads."""

    def contender(name: str) -> Callable[[], Work]:
        def prepare() -> Work:
            peer = library(name, 2)
            names = {"a": peer.draw(normal(size, size)), "b": peer.draw(normal(size, size))}

            def take() -> float:
                a, b = names["a"], names["b"]
                times = []
                for _ in range(500):
                    start = time.perf_counter()
                    a @ b
                    times.append(time.perf_counter() - start)
                return max(times) / statistics.median(times)

            return Measurement(take)

        return prepare

    return Case(
        f"a @ b, {size} x {size} float32: slowest of 500 calls over the median, 2 threads",
        {name: contender(name) for name in ("treadle", "numpy")},
        threads=2,
        limit=3.0,
        unit="x",
        note="the slowest of 500 calls says something on a quiet machine only: it counts whatever interrupts one call",
    )


CASES = [
    *(_square(size, dtype) for dtype in ("float32", "float64") for size in (8, 16, 32, 64)),
    *(_square(size, dtype) for dtype in ("float32", "float64") for size in (128, 256, 512, 1024, 2048)),
    *(_shaped(*each, 1.0, dtype) for dtype in ("float32", "float64") for each in SHAPED),
    _shaped("a @ b", (64, 64, 64), (64, 64, 64), 2.0),
    _shaped("a @ b", (64, 784), (784, 128), 1.1),
    _shaped("a @ b", (1024, 1024), (1024,), 1.0),
    _shaped("a @ b", (64, 784), (784,), 1.0),
    _shaped("a.T @ b", (1024, 1024), (1024,), 1.0),
    *(_square(size, dtype, 2) for dtype in ("float32", "float64") for size in (128, 256, 512, 1024, 2048)),
    *(_shaped(*each, 1.0, threads=2) for each in SHAPED),
    *(_stability(size) for size in (256, 512)),
]
