"""What the first import costs, each time in a fresh interpreter, and what is downloaded for it."""

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.case import Case, Measurement

__all__ = ["CASES"]

DIST = Path(__file__).parents[2] / "dist"


def _importing(module: str) -> Callable[[], float]:
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    environment = dict(os.environ)
    if module.startswith("treadle"):  # a source tree's: an installer has compiled what is installed
        environment["PYTHONPYCACHEPREFIX"] = _bytecode().name
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def take() -> float:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return float(done.stdout)

    take()  # writes the bytecode
    return take


@functools.cache
def _bytecode() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


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
        note="the import statement in a fresh interpreter, from bytecode; NumPy is imported only when it is needed",
    ),
    Case(
        "size of the wheel",
        {"treadle": _wheel},
        limit=5.0,
        unit="MB",
        note="the wheel is the newest in dist/, where the nox sessions build it, or the one that TREADLE_WHEEL names",
    ),
]
