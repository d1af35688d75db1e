"""Training steps against PyTorch's: gradients to None, forward, loss, backward, update; their time and their memory.

The models stand in ``benchmarks/models.py``. Memory is measured in a process of its own: the peak of a step above what
the process held before it (after a first step, with caches emptied), and the peak of the whole process.
"""

import ctypes
import functools
import subprocess
import sys
from pathlib import Path

from benchmarks.case import Case, Goal, Measurement, Statement, Work
from benchmarks.models import MODELS, library

__all__ = ["CASES"]

INFERENCE = "MLP 784-128-10, batch 1"
MOST = {  # of PyTorch's time, with 1 and with 2 threads
    "MLP 784-128-10, batch 64, SGD": (0.5, 0.6),
    "MLP 784-128-10, batch 64, Adam": (0.5, 0.6),
    "MLP 784-512-512-10, batch 256, Adam": (0.85, 0.95),
    "CNN 1-32-64, 28x28, batch 64": (0.8, 0.9),
    "conv 64-64, 32x32, BatchNorm, ReLU, batch 32": (0.9, 1.0),
    "LSTM 64-128, 32 steps, batch 32": (0.7, 0.8),
    "GPT 2 layers, d 128, 4 heads, 64 tokens, batch 16": (0.9, 1.0),
    INFERENCE: (0.3, 0.3),
}


def _timed(name: str, model: str, threads: int) -> Work:
    made, chosen = library(name, threads), MODELS[model]
    return Statement("run()", {"run": chosen.inference(made) if model == INFERENCE else chosen.step(made)})


def _status(field: str) -> float:
    """A figure of /proc/self/status in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1e3


def _peaks(name: str, model: str) -> tuple[float, float]:
    """MB of two steps above what stands before them, and of the whole process."""
    made = library(name, 1)
    step = MODELS[model].step(made)
    step()
    made.empty_cache()
    ctypes.CDLL(None).malloc_trim(0)  # what the C library caches, which is where PyTorch's memory goes
    before, whole = _status("VmRSS"), _status("VmHWM")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    step()
    step()
    peak = _status("VmHWM")
    return peak - before, max(whole, peak)


@functools.cache
def _measured(name: str, model: str) -> tuple[float, ...]:
    """:func:`_peaks` in a process of its own, once: the figures hardly vary."""
    command = [sys.executable, "-m", "benchmarks.areas.training", name, model]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(float(each) for each in answer.split())


def _memory(name: str, model: str, which: int) -> Work:
    if name == "torch":
        import torch  # noqa: F401 - to tell that it is not installed
    return Measurement(lambda: _measured(name, model)[which])


CASES = [
    *(
        Case(
            ", ".join([model, "inference" if model == INFERENCE else "step", *["2 threads"] * (threads - 1)]),
            {name: functools.partial(_timed, name, model, threads) for name in ("treadle", "torch")},
            (Goal("torch", 1 / most[threads - 1]),),
            threads,
        )
        for model, most in MOST.items()
        for threads in (1, 2)
    ),
    *(
        Case(
            f"{model}, {what}",
            {name: functools.partial(_memory, name, model, which) for name in ("treadle", "torch")},
            (Goal("torch", least),),
            unit="MB",
            note="memory: PyTorch's over treadle's, each in a process of its own",
        )
        for model in MOST
        if model != INFERENCE
        for which, what, least in ((0, "peak above", 1.0), (1, "whole process", 2.0))
    ),
]

if __name__ == "__main__":
    print(*_peaks(sys.argv[1], sys.argv[2]))
