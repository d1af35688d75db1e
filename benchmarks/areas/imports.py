"""What the first import costs, each time in a fresh interpreter, and what is downloaded for it."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.case import Case, Measurement

__all__ = ["CASES"]

DIST = Path(__file__).parents[2] / "dist"


def _importing(module: str) -> Callable[[], float]:
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"

    def take() -> float:
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    return take


def _import(module: str) -> Measurement:
    if module != "treadle.ndarray":
        __import__(module)  # ImportError where it is not installed
    return Measurement(_importing(module))


def _wheel() -> Measurement:
    named = os.environ.get("TREADLE_WHEEL")
    built = (
        [Path(named)] if named else sorted(DIST.glob("treadle_ndarray-*/*.whl"), key=lambda path: path.stat().st_mtime)
    )
    if not built:
        raise ImportError("no wheel has been built")
    return Measurement(lambda: built[-1].stat().st_size / 1e6)


CASES = [
    Case(
        "import, over bare Python",
        {
            "treadle": functools.partial(_import, "treadle.ndarray"),
            "numpy": functools.partial(_import, "numpy"),
            "torch": functools.partial(_import, "torch"),
        },
        limit=0.030,
        note="the import statement in a fresh interpreter; treadle.ndarray imports NumPy only when it is needed",
    ),
    Case(
        "size of the wheel",
        {"treadle": _wheel},
        limit=5.0,
        unit="MB",
        note="the wheel is the newest in dist/, where the nox sessions build it, or the one that TREADLE_WHEEL names",
    ),
]
