"""What a benchmark is: one piece of work, written for treadle and for its peers, with the goal it is held to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.libraries import Draw, Names, library

__all__ = ["BEST", "Case", "Goal", "Measurement", "Statement", "Work", "case"]

BEST = "best"
"""The peer of a goal that is to be reached against every peer."""


@dataclass(frozen=True)
class Goal:
    """A promise: ``at_least`` so many times the speed of ``peer`` (``numpy``, ``torch``, ``best``: the faster one)."""

    peer: str
    at_least: float


@dataclass(frozen=True)
class Statement:
    """Source text to be timed, as by ``timeit``: no call stands between the loop and the work."""

    text: str
    names: Names


@dataclass(frozen=True)
class Measurement:
    """Work that measures itself: each call gives one value."""

    take: Callable[[], float]


Work = Statement | Measurement


@dataclass(frozen=True)
class Case:
    """One row of the result table.

    ``contenders`` maps a library to a function that prepares the work; it runs in that library's own process, and
    raises ImportError where something is not installed, which leaves the library out. ``treadle`` is one of them, the
    others are its peers. ``limit`` is the most that treadle's own value may be, in ``unit``: seconds, or what a
    :class:`Measurement` gives.
    """

    name: str
    contenders: Mapping[str, Callable[[], Work]]
    goals: tuple[Goal, ...] = ()
    threads: int = 1
    limit: float | None = field(default=None, kw_only=True)
    unit: str = field(default="s", kw_only=True)
    note: str = field(default="", kw_only=True)

    @property
    def peers(self) -> list[str]:
        return [name for name in self.contenders if name != "treadle"]


def case(
    name: str,
    draws: Mapping[str, Draw],
    text: str,
    goals: tuple[Goal, ...] = (),
    *,
    threads: int = 1,
    note: str = "",
    numpy: str | None = "",
    torch: str | None = "",
) -> Case:
    """A case of one statement over arrays drawn in each library.

    The statement sees the arrays and the library as ``xp``. ``numpy=`` and ``torch=`` give it where it reads otherwise
    there, or None where there is no such function.
    """

    def contender(name: str, text: str) -> Callable[[], Work]:
        def prepare() -> Work:
            peer = library(name, threads)
            return Statement(text, {"xp": peer.namespace, **{key: peer.draw(each) for key, each in draws.items()}})

        return prepare

    written = {"treadle": text, "numpy": text if numpy == "" else numpy, "torch": text if torch == "" else torch}
    contenders = {each: contender(each, own) for each, own in written.items() if own is not None}
    return Case(name if threads == 1 else f"{name}, {threads} threads", contenders, goals, threads, note=note)
