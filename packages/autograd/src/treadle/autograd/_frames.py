"""Which line of the user's called: the innermost Python frame outside of treadle; compiled, ``_frames.pyx``."""

import sys
from collections import namedtuple

__all__ = ["Position", "position"]

Position = namedtuple("Position", "code instruction")


def position() -> Position | None:
    """The :class:`Position` of the innermost frame whose module is not treadle's."""
    frame = sys._getframe()
    while str(frame.f_globals.get("__name__", "")).startswith("treadle.") and frame.f_back is not None:
        frame = frame.f_back
    return Position(frame.f_code, frame.f_lasti)
