"""What ``_recording.pyx`` is compiled to, in plain Python, for a tree that has not been compiled."""

import threading

__all__ = ["record", "recording", "serve", "serving"]


class _Mode(threading.local):
    recording = True
    serving = 0  # the inference_mode blocks that the thread is in


_mode = _Mode()


def recording() -> bool:
    """Whether ops of this thread record a graph."""
    return _mode.recording


def record(wanted: bool) -> None:
    """Let ops of this thread record a graph, or not."""
    _mode.recording = wanted


def serving() -> bool:
    """Whether this thread is in an inference_mode block."""
    return _mode.serving > 0


def serve(step: int) -> None:
    """Enter (1) or leave (-1) such a block."""
    _mode.serving += step
