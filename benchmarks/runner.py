"""Interleaved measurement: one process a library, bursts in turn, ratios with their spread.

Two libraries in one process disturb each other (a spinning thread pool halves its neighbour's speed), and a machine's
clock drifts over a run. So each library has its own process, which is stopped while another one is measured, and every
ratio is between bursts of the same round.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from benchmarks.case import Case
from benchmarks.rows import Row, Spread

__all__ = ["Worker", "Workers", "measure"]

SETTINGS = ("OPENBLAS_", "OMP_", "MKL_", "GOMP_", "KMP_")
"""Variables that bend how a library computes (its kernels, its threads' waiting): no worker inherits them."""
THREADS = (
    "TREADLE_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def environment(threads: int) -> dict[str, str]:
    """What a worker sees: no settings but the number of threads."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    return kept | dict.fromkeys(THREADS, str(threads))


class Worker:
    """A library's process. Between requests it is stopped, so that no idle pool of threads spins beside the others."""

    def __init__(self, library: str, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(threads),
        )

    def burst(self, module: str, case: str, seconds: float) -> float | None:
        """The value of one burst, or None where the library has no such case or is not installed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.write(json.dumps({"module": module, "case": case, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker process ended during {module}: {case}; its error stands above")
        self._process.send_signal(signal.SIGSTOP)
        value: float | None = json.loads(answer)["value"]
        return value

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


class Workers:
    """The processes of all libraries with the same number of threads, started when first asked for."""

    def __init__(self) -> None:
        self._running: dict[str, Worker] = {}
        self._threads = 0

    def get(self, library: str, threads: int) -> Worker:
        if threads != self._threads:
            self.close()
            self._threads = threads
        if library not in self._running:
            self._running[library] = Worker(library, threads)
        return self._running[library]

    def close(self) -> None:
        while self._running:
            self._running.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def measure(
    workers: Workers, module: str, case: Case, *, rounds: int, seconds: float, peers: Iterable[str] | None = None
) -> Row | None:
    """A case's row, with the peers that are installed, all or those named; None where treadle has nothing to show."""
    asked = [name for name in case.peers if peers is None or name in peers]
    bursts: dict[str, list[float]] = {}
    for library in ("treadle", *asked):  # the first burst warms up, and tells who is here
        if workers.get(library, case.threads).burst(module, case.name, seconds) is not None:
            bursts[library] = []
    if "treadle" not in bursts:
        return None
    for turn in range(rounds):
        order = list(bursts)
        for library in order[turn % len(order) :] + order[: turn % len(order)]:
            value = workers.get(library, case.threads).burst(module, case.name, seconds)
            assert value is not None
            bursts[library].append(value)
    mine = bursts["treadle"]
    return Row(
        area=module.rpartition(".")[2],
        case=case.name,
        threads=case.threads,
        unit=case.unit,
        values={library: statistics.median(taken) for library, taken in bursts.items()},
        speeds={
            peer: Spread.of([other / own for other, own in zip(taken, mine, strict=True)])
            for peer, taken in bursts.items()
            if peer != "treadle"
        },
        goals=case.goals,
        missing=tuple(peer for peer in case.peers if peer not in bursts),
        limit=case.limit,
        note=case.note,
    )
