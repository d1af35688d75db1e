"""What a benchmark is: one piece of work, written for treadle and for its peers."""

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """One row of the result table.

    ``contenders`` maps a library to a function that prepares the work and returns the callable to be timed; it runs
    in that library's own process. ``treadle`` is one of them, the others are its peers. Where ``timed`` is set, the
    callable measures itself and returns seconds. ``goal`` is the ratio treadle / peer that the project promises,
    as (peer, at most); ``limit`` the promised time of treadle itself, in seconds.
    """

    name: str
    contenders: dict[str, Callable[[], Callable[[], object]]]
    goal: tuple[str, float] | None = None
    threads: int = 1
    timed: bool = False
    limit: float | None = field(default=None, kw_only=True)
    note: str = field(default="", kw_only=True)
