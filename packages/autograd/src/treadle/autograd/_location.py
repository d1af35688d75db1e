"""The user's line that built a node: taken cheaply, read when somebody asks."""

import dis
import linecache
import sys
from collections import namedtuple
from dataclasses import dataclass

__all__ = ["Location", "locate", "position"]

try:
    from treadle.autograd._frames import Position, position
except ImportError:  # not compiled
    Position = namedtuple("Position", "code instruction")  # type: ignore[no-redef]

    def position() -> Position | None:
        """The innermost frame whose module is not treadle's."""
        frame = sys._getframe()
        while str(frame.f_globals.get("__name__", "")).startswith("treadle.") and frame.f_back is not None:
            frame = frame.f_back
        return Position(frame.f_code, frame.f_lasti)  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True)
class Location:
    """A line of source: file, number, function and text (empty where the source is not to be had)."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def locate(place: Position | None) -> Location | None:
    """The line of a position."""
    if place is None:
        return None
    code, instruction = place.code, place.instruction
    line = code.co_firstlineno
    for offset, number in dis.findlinestarts(code):
        if offset > instruction:
            break
        line = number or line
    return Location(code.co_filename, line, code.co_qualname, linecache.getline(code.co_filename, line).strip())
