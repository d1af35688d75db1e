"""What the first import costs, each time in a fresh interpreter."""

import functools
import subprocess
import sys
from collections.abc import Callable

from benchmarks.case import Case

__all__ = ["CASES"]


def _importing(module: str) -> Callable[[], float]:
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"

    def measure() -> float:
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    return measure


CASES = [
    Case(
        "import of the array",
        {
            "treadle": functools.partial(_importing, "treadle.ndarray"),
            "numpy": functools.partial(_importing, "numpy"),
            "torch": functools.partial(_importing, "torch"),
        },
        timed=True,
        limit=0.060,
        note="treadle.ndarray imports NumPy only when it is needed",
    )
]
