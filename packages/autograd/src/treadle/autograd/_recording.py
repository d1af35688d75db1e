"""What ``_recording.pyx`` is compiled to, in plain Python, for a tree that has not been compiled."""

import threading
from types import TracebackType
from typing import Never

__all__ = ["RecordingBlock", "depth", "record", "recording", "serve", "serving"]


class _Mode(threading.local):
    def __init__(self) -> None:
        self.recording = True
        self.serving = 0  # the inference_mode blocks that the thread is in
        self.before: list[bool] = []  # the mode outside of each block that the thread is in


_mode = _Mode()


def recording() -> bool:
    """Whether ops of this thread record a graph."""
    return _mode.recording


def serving() -> bool:
    """Whether this thread is in an inference_mode block."""
    return _mode.serving > 0


def serve(step: int) -> None:
    """Enter (1) or leave (-1) such a block."""
    _mode.serving += step


def record(wanted: bool) -> None:
    """Have ops of this thread record a graph from now on, unless it is in an inference_mode block, or not."""
    _mode.recording = wanted and not serving()


def depth() -> int:
    """The number of blocks that this thread is in."""
    return len(_mode.before)


class RecordingBlock:
    """Base of the context managers: ``_wanted`` says whether ops inside record. Threads may share an object."""

    _wanted = True

    def __init__(self, *arguments: Never) -> None:
        if arguments:
            name = type(self).__name__
            raise TypeError(f"{name}() takes no argument; as a decorator it is written @{name}(), with parentheses")

    def __enter__(self) -> None:
        _mode.before.append(_mode.recording)
        record(self._wanted)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not _mode.before:
            raise RuntimeError(f"{type(self).__name__}: this thread leaves a block that it has not entered")
        _mode.recording = _mode.before.pop()
