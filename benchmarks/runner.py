"""Interleaved measurement: one process a library, bursts in turn, ratios with their spread.

Two libraries in one process disturb each other (a spinning thread pool halves its neighbour's speed), and a machine's
clock drifts over a run. So each library has its own process, and every ratio is between bursts that stand side by side.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from benchmarks.case import Case

__all__ = ["Row", "Worker", "measure"]


@dataclass(frozen=True)
class Row:
    """One case against one peer: times in seconds, ratios treadle / peer."""

    area: str
    case: str
    peer: str
    treadle_time: float
    peer_time: float
    ratio: float
    lower_quartile: float
    upper_quartile: float
    goal: float | None
    limit: float | None
    note: str

    @property
    def reached(self) -> bool | None:
        """Whether the goal and the limit are kept; None where there is neither."""
        kept = [
            value <= bound
            for value, bound in ((self.ratio, self.goal), (self.treadle_time, self.limit))
            if bound is not None
        ]
        return all(kept) if kept else None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "reached": self.reached}


class Worker:
    """A library's process."""

    def __init__(self, library: str, threads: int) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        for name in ("TREADLE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[name] = str(threads)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def time(self, area: str, case: str, seconds: float) -> float | None:
        """Seconds a call in one burst, or None where the library has no such case or is not installed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"area": area, "case": case, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker process ended during {area}: {case}; its error stands above")
        measured: float | None = json.loads(answer)["time"]
        return measured

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


def measure(area: str, case: Case, rounds: int, seconds: float) -> Iterable[Row]:
    """Rows of a case, one a peer that is installed."""
    for peer in (name for name in case.contenders if name != "treadle"):
        with Worker("treadle", case.threads) as ours, Worker(peer, case.threads) as theirs:
            if theirs.time(area, case.name, seconds) is None:
                continue
            ours.time(area, case.name, seconds)
            pairs = [
                (ours.time(area, case.name, seconds), theirs.time(area, case.name, seconds)) for _ in range(rounds)
            ]
        yield _row(area, case, peer, [(x, y) for x, y in pairs if x is not None and y is not None])


def _row(area: str, case: Case, peer: str, pairs: list[tuple[float, float]]) -> Row:
    lower, middle, upper = statistics.quantiles((mine / other for mine, other in pairs), n=4, method="inclusive")
    return Row(
        area=area,
        case=case.name,
        peer=peer,
        treadle_time=statistics.median(mine for mine, _ in pairs),
        peer_time=statistics.median(other for _, other in pairs),
        ratio=middle,
        lower_quartile=lower,
        upper_quartile=upper,
        goal=case.goal[1] if case.goal and case.goal[0] == peer else None,
        limit=case.limit,
        note=case.note,
    )
