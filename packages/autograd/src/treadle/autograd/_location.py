"""The user's line that built a node: taken cheaply, read when somebody asks."""

import dis
import linecache
from dataclasses import dataclass
from functools import lru_cache
from os.path import basename
from types import CodeType

from treadle.autograd._frames import Position, Scope, Scoped, position

__all__ = ["Location", "Scope", "Scoped", "locate", "position"]


@dataclass(frozen=True, slots=True)
class Location:
    """A line of source: file, number, function and text (empty where the source is not to be had)."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """The file's name without its folders, and the line."""
        return f"{basename(self.file)}:{self.line}"


def locate(place: Position | None) -> Location | None:
    """The line of a position."""
    if place is None:
        return None
    return _read(place.code, place.instruction)


@lru_cache(maxsize=1024)
def _read(code: CodeType, instruction: int) -> Location:
    line = code.co_firstlineno
    for offset, number in dis.findlinestarts(code):
        if offset > instruction:
            break
        line = number or line
    return Location(code.co_filename, line, code.co_qualname, linecache.getline(code.co_filename, line).strip())
