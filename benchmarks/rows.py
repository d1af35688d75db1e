"""A measured row: values, speeds with their spread, and whether the goals are met."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from benchmarks.case import BEST, Goal

__all__ = ["Row", "Spread", "markdown", "quantity"]

PEERS = {"numpy": "NumPy", "torch": "PyTorch"}
BUSY = 20.0
"""Preemptions a second above which a row of several threads says more of the machine than of the libraries."""
HEADINGS = ("area", "work", "treadle", "NumPy", "PyTorch", "speed / NumPy", "speed / PyTorch", "goal", "met")


@dataclass(frozen=True)
class Spread:
    """The ratios of all rounds: 10th percentile, median, 90th percentile; and that of the two least values."""

    low: float
    median: float
    high: float
    best: float

    @classmethod
    def of(cls, peer: Sequence[float], mine: Sequence[float]) -> Self:
        """The speeds of a peer's values over ours, round by round."""
        ratios, best = [other / own for other, own in zip(peer, mine, strict=True)], min(peer) / min(mine)
        if len(ratios) == 1:
            return cls(ratios[0], ratios[0], ratios[0], best)
        tenths = statistics.quantiles(ratios, n=10, method="inclusive")
        return cls(tenths[0], statistics.median(ratios), tenths[8], best)

    def __str__(self) -> str:
        return f"{self.median:.2f}x ({self.low:.2f}-{self.high:.2f}, best {self.best:.2f})"


@dataclass(frozen=True)
class Row:
    """One case: each library's median value, and how many times as fast as each peer treadle is.

    ``preempted`` is how often a second other tasks took a processor away, from the library that suffered most.
    """

    area: str
    case: str
    threads: int
    unit: str
    values: dict[str, float]
    speeds: dict[str, Spread]
    goals: tuple[Goal, ...] = ()
    missing: tuple[str, ...] = ()
    limit: float | None = None
    preempted: float = 0.0
    note: str = ""

    def reaches(self, goal: Goal) -> bool | None:
        """Whether the median speed keeps a goal; None where its peer was not measured.

        ``best`` is kept against every peer, so one that was not measured leaves it open unless another already
        decides against it.
        """
        against = (
            self.speeds if goal.peer == BEST else {peer: s for peer, s in self.speeds.items() if peer == goal.peer}
        )
        if any(speed.median < goal.at_least for speed in against.values()):
            return False
        return True if against and not (goal.peer == BEST and self.missing) else None

    @property
    def reached(self) -> bool | None:
        """Whether all goals and the limit are kept; None where there is none, or one is open and none is missed."""
        kept = [self.reaches(goal) for goal in self.goals]
        kept += [] if self.limit is None else [self.values["treadle"] <= self.limit]
        if False in kept:
            return False
        return None if not kept or None in kept else True

    @property
    def busy(self) -> bool:
        """Whether other tasks took the processors from the threads of this row."""
        return self.threads > 1 and self.preempted > BUSY

    @property
    def marker(self) -> str:
        if self.reached is None:
            return "open" if self.goals else ""
        return ("yes" if self.reached else "**no**") + (", busy" if self.busy else "")

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "reached": self.reached}

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> "Row":
        """The row that :meth:`as_dict` wrote."""
        fields = {name: value for name, value in written.items() if name != "reached"}
        fields["speeds"] = {peer: Spread(**each) for peer, each in written["speeds"].items()}
        fields["goals"] = tuple(Goal(**each) for each in written["goals"])
        return cls(**{**fields, "missing": tuple(written["missing"])})

    def cells(self) -> tuple[str, ...]:
        """The row as text, under :data:`HEADINGS`."""
        goals = [f">= {goal.at_least:.2f}x {PEERS.get(goal.peer, 'the better')}" for goal in self.goals]
        goals += [] if self.limit is None else [f"<= {quantity(self.limit, self.unit)}"]
        values = [quantity(self.values.get(name), self.unit) for name in ("treadle", *PEERS)]
        speeds = [str(self.speeds[name]) if name in self.speeds else "" for name in PEERS]
        return self.area, self.case, *values, *speeds, ", ".join(goals), self.marker


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit, seconds in steps of a thousand."""
    if value is None:
        return ""
    if unit != "s":
        return f"{value:.2f}{unit}" if unit == "x" else f"{value:.3g} {unit}"
    for scale, name in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if value * scale >= 1:
            return f"{value * scale:.3g} {name}"
    return f"{value * 1e9:.0f} ns"


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table, with the notes below it."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells() for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    notes = dict.fromkeys(row.note for row in rows if row.note)
    return table + "".join(f"\n- {note}" for note in notes) + ("\n" if notes else "")
