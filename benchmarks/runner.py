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
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

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


@dataclass(frozen=True)
class Burst:
    """What a worker answers: the value, how long the burst lasted, and how often it was preempted."""

    value: float
    wall: float
    switches: int


class Worker:
    """A library's process. Between requests it is stopped, so that no idle pool of threads spins beside the others."""

    def __init__(self, library: str, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(threads),
            process_group=0,  # a stopped process in the runner's own group gets that group hung up, once it is orphaned
        )

    def burst(self, module: str, case: str, seconds: float) -> Burst | None:
        """One burst, or None where the library has no such case or is not installed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.write(json.dumps({"module": module, "case": case, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker process ended during {module}: {case}; its error stands above")
        self._process.send_signal(signal.SIGSTOP)
        read: dict[str, Any] = json.loads(answer)
        if read["value"] is None:
            return None
        return Burst(**read)

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
    workers: Workers,
    module: str,
    case: Case,
    *,
    rounds: int,
    seconds: float,
    longest: float = float("inf"),
    peers: Iterable[str] | None = None,
) -> Row | None:
    """A case's row, with the peers that are installed, all or those named; None where treadle has nothing to show.

    After ``longest`` seconds there are no further rounds, once three are done.
    """
    asked = [name for name in case.peers if peers is None or name in peers]
    bursts: dict[str, list[Burst]] = {}
    for library in ("treadle", *asked):  # the first burst warms up, and tells who is here
        if workers.get(library, case.threads).burst(module, case.name, seconds) is not None:
            bursts[library] = []
    if "treadle" not in bursts:
        return None
    start, order = time.perf_counter(), list(bursts)
    for turn in range(rounds):
        if turn >= 3 and time.perf_counter() - start > longest:
            break
        for library in order[turn % len(order) :] + order[: turn % len(order)]:
            burst = workers.get(library, case.threads).burst(module, case.name, seconds)
            assert burst is not None
            bursts[library].append(burst)
    return _row(module.rpartition(".")[2], case, bursts)


def _row(area: str, case: Case, bursts: dict[str, list[Burst]]) -> Row:
    values = {library: [burst.value for burst in taken] for library, taken in bursts.items()}
    return Row(
        area=area,
        case=case.name,
        threads=case.threads,
        unit=case.unit,
        values={library: statistics.median(taken) for library, taken in values.items()},
        speeds={peer: Spread.of(taken, values["treadle"]) for peer, taken in values.items() if peer != "treadle"},
        goals=case.goals,
        missing=tuple(peer for peer in case.peers if peer not in bursts),
        limit=case.limit,
        preempted=max(
            sum(burst.switches for burst in taken) / max(sum(burst.wall for burst in taken), 1e-9)
            for taken in bursts.values()
        ),
        note=case.note,
    )
