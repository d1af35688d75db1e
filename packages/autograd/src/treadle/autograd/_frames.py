"""What ``_frames.pyx`` is compiled to, in plain Python, for a tree that has not been compiled."""

import sys
import threading
from collections import namedtuple
from collections.abc import Iterable
from typing import Any
from weakref import ref

from treadle.ndarray.errors import TreadleError

__all__ = ["Position", "Scope", "Scoped", "place", "position", "weakly"]

Position = namedtuple("Position", "code instruction scope")
Scope = namedtuple("Scope", "module kind outer")


class _Calls(threading.local):
    scope: Scope | None = None


_calls = _Calls()


class Scoped:
    """Base of what is called and has a ``forward``: the call runs it, and nodes made meanwhile know the call."""

    _has_hooks = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outer = _calls.scope
        _calls.scope = Scope(ref(self), type(self).__name__, outer)
        try:
            if self._has_hooks:
                return self._call_with_hooks(args, kwargs)  # type: ignore[attr-defined]
            return self.forward(*args, **kwargs)  # type: ignore[attr-defined]
        except (TreadleError, AttributeError) as error:
            self._note_place(error)
            raise
        finally:
            _calls.scope = outer

    def _note_place(self, error: Exception) -> None:
        """Say in a note of an error that leaves this call where it came up, or raise a better one; a subclass knows."""

    def named_parts(self) -> Iterable[tuple[str, Any]]:
        """The modules, parameters and buffers below, and their dotted names; a subclass knows."""
        return ()


def weakly(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Weak references to all of them."""
    return tuple([ref(each) for each in values])


def place() -> Position | None:
    """The innermost frame whose module is not treadle's."""
    frame = sys._getframe()
    while str(frame.f_globals.get("__name__", "")).startswith("treadle.") and frame.f_back is not None:
        frame = frame.f_back
    return Position(frame.f_code, frame.f_lasti, None)


def position() -> Position | None:
    """:func:`place`, and the call of a module that it is part of."""
    found = place()
    return found and found._replace(scope=_calls.scope)
