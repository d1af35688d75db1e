"""Contenders with known speeds, for the tests of the benchmark runner. No library is imported."""

import functools
import os
import time

from benchmarks.case import Case, Goal, Measurement, Statement, Work

__all__ = ["CASES"]


def constant(value: float) -> Work:
    return Measurement(lambda: value)


def sleeping(seconds: float) -> Work:
    return Statement("sleep(seconds)", {"sleep": time.sleep, "seconds": seconds})


def missing() -> Work:
    raise ImportError("not installed")


def threads_seen() -> Work:
    return Measurement(lambda: float(os.environ["OMP_NUM_THREADS"]))


def settings_seen() -> Work:
    return Measurement(lambda: float(sum(name in os.environ for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"))))


def failing() -> Work:
    raise ValueError("on purpose")


def _constants(treadle: float, **peers: float) -> dict[str, functools.partial[Work]]:
    return {name: functools.partial(constant, value) for name, value in {"treadle": treadle, **peers}.items()}


CASES = [
    Case("constants", _constants(2.0, numpy=6.0, torch=3.0), (Goal("numpy", 3.0), Goal("best", 1.5))),
    Case("slower than one", _constants(2.0, numpy=6.0, torch=1.0), (Goal("best", 1.0),)),
    Case(
        "one is missing",
        {**_constants(2.0, numpy=6.0), "torch": missing},
        (Goal("best", 1.0),),
        note="torch is missing",
    ),
    Case("over its limit", _constants(2.0), limit=1.0, unit="MB"),
    Case("treadle is missing", {"treadle": missing, "numpy": functools.partial(constant, 1.0)}),
    Case("sleep", {"treadle": functools.partial(sleeping, 0.001), "numpy": functools.partial(sleeping, 0.02)}),
    Case("threads", {"treadle": threads_seen, "numpy": threads_seen}, threads=2),
    Case("settings", {"treadle": settings_seen}),
    Case("failing", {"treadle": failing}),
]
