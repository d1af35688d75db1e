"""The process of one library: prepares the cases it is asked for and times bursts of them.

Reads one JSON object a line, {"module", "case", "seconds"}, and answers each with {"value"}: seconds a call, the best
of a few stretches of the burst, or what a measurement gave, with {"wall"}: seconds that the burst lasted, and
{"switches"}: how often another task took a processor from it meanwhile. {"value": null} says that the library or the
case is not there. Only the case asked for last is kept.
"""

import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import timeit
from typing import Any

from benchmarks.case import Case, Measurement, Statement

__all__ = ["Burst", "main"]

STRETCHES = 5
PR_SET_PDEATHSIG = 1  # of linux/prctl.h


class Burst:
    """Times a statement; how many calls make a stretch is found once."""

    def __init__(self, statement: Statement) -> None:
        self._timer = timeit.Timer(statement.text, globals=dict(statement.names))
        self._calls = 0

    def __call__(self, seconds: float) -> float:
        """Seconds a call: the least mean of some stretches that together last about ``seconds``."""
        if not self._calls:
            self._calls = self._count(seconds / STRETCHES)
        best, spent = float("inf"), 0.0
        for _ in range(STRETCHES):
            elapsed = self._timer.timeit(self._calls)
            best, spent = min(best, elapsed), spent + elapsed
            if spent >= seconds:
                break
        return best / self._calls

    def _count(self, wanted: float) -> int:
        calls = 1
        while (elapsed := self._timer.timeit(calls)) < wanted:
            calls = 10 * calls if elapsed < wanted / 100 else max(2 * calls, int(calls * wanted / elapsed))
        return max(1, int(calls * wanted / elapsed))


def _find(module: str, name: str) -> Case:
    cases: list[Case] = importlib.import_module(module).CASES
    return next(each for each in cases if each.name == name)


def _prepare(library: str, case: Case) -> Burst | Measurement | None:
    if library not in case.contenders:
        return None
    try:
        work = case.contenders[library]()
    except ImportError:
        return None
    return work if isinstance(work, Measurement) else Burst(work)


def _switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _end_with_parent() -> None:
    """Ask Linux to end this process with the runner, even while it is stopped and sees no end of its input."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(library: str) -> None:
    """Answer requests until the input ends."""
    _end_with_parent()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    prepared, work = ("", ""), None
    gc.disable()
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        key = request["module"], request["case"]
        if key != prepared:
            work = None
            gc.collect()
            prepared, work = key, _prepare(library, _find(*key))
        value, start, switches = None, time.perf_counter(), _switches()
        if work is not None:
            value = work.take() if isinstance(work, Measurement) else work(request["seconds"])
        wall, switches = time.perf_counter() - start, _switches() - switches
        print(json.dumps({"value": value, "wall": wall, "switches": switches}), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
