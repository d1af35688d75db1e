"""Elementwise mathematical functions on 1,000,000 float32. NumPy has no erf: that of SciPy stands in where it is."""

import functools
from collections.abc import Callable

from benchmarks.case import Case, Goal, Statement, Work, case
from benchmarks.libraries import Draw, library, normal, uniform

__all__ = ["CASES"]

SIZE = 1_000_000
GOALS = (Goal("numpy", 3.0), Goal("torch", 1.5))


def _with_scipy(text: str) -> Callable[[], Work]:
    def prepare() -> Work:
        from scipy.special import erf  # type: ignore[import-untyped, unused-ignore]

        return Statement(text, {"x": library("numpy", 1).draw(normal(SIZE)), "erf": erf})

    return prepare


def _function(name: str, draw: Draw, *, threads: int = 1, numpy: str | None = "", torch: str = "") -> Case:
    draws = {"x": draw}
    return case(f"{name}, 1e6 float32", draws, f"xp.{name}(x)", GOALS, threads=threads, numpy=numpy, torch=torch)


def _with_error_function(name: str, numpy: str, torch: str = "") -> Case:
    made = _function(name, normal(SIZE), numpy=None, torch=torch)
    return Case(
        made.name, {**made.contenders, "numpy": _with_scipy(numpy)}, GOALS, note="NumPy's erf is scipy.special's"
    )


_plain = functools.partial(_function, draw=normal(SIZE))

CASES = [
    _plain("exp"),
    _function("log", uniform(SIZE, low=0.01, high=100.0)),
    _plain("tanh"),
    _plain("sigmoid", numpy="1.0 / (1.0 + xp.exp(-x))"),
    _with_error_function("erf", "erf(x)"),
    _with_error_function("gelu", "0.5 * x * (1.0 + erf(x * 0.70710677))", "xp.nn.functional.gelu(x)"),
    _function("sin", uniform(SIZE, low=-10.0, high=10.0)),
    _function("cos", uniform(SIZE, low=-10.0, high=10.0)),
    _plain("exp", threads=2),
    _plain("tanh", threads=2),
]
