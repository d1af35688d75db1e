"""The process of one library: prepares the cases it is asked for and times bursts of them.

Reads one JSON object a line, {"area", "case", "seconds"}, and answers each with {"time"}: seconds a call, the best
of a few stretches of the burst. {"time": null} says that the library or the case is not there.
"""

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.case import Case

__all__ = ["burst", "main"]

STRETCHES = 5


def burst(work: Callable[[], object], seconds: float) -> float:
    """Seconds a call: the least mean of some stretches that together last about ``seconds``."""
    calls, wanted = 1, seconds / STRETCHES
    while (elapsed := _time(work, calls)) < wanted:
        calls = 10 * calls if elapsed < wanted / 100 else max(2 * calls, int(calls * wanted / elapsed))
    return min([elapsed, *(_time(work, calls) for _ in range(STRETCHES - 1))]) / calls


def _time(work: Callable[[], object], calls: int) -> float:
    repeat = range(calls)
    start = time.perf_counter()
    for _ in repeat:
        work()
    return time.perf_counter() - start


def _prepare(library: str, case: Case) -> Callable[[], object] | None:
    if library not in case.contenders:
        return None
    try:
        return case.contenders[library]()
    except ImportError:
        return None


def main(library: str) -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    prepared: dict[tuple[str, str], tuple[Case, Callable[[], object] | None]] = {}
    gc.disable()
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        key = request["area"], request["case"]
        if key not in prepared:
            cases: list[Case] = importlib.import_module(f"benchmarks.areas.{key[0]}").CASES
            case = next(each for each in cases if each.name == key[1])
            prepared[key] = case, _prepare(library, case)
        case, work = prepared[key]
        measured: Any = None
        if work is not None:
            measured = work() if case.timed else burst(work, request["seconds"])
        print(json.dumps({"time": measured}), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
