"""Exceptions that travel from a worker to the main process, with their class, arguments and traceback."""

import pickle
import traceback
from typing import Any, NamedTuple

from treadle.data.errors import WorkerError

__all__ = ["Failure", "failure_of"]


class Failure(NamedTuple):
    """An exception as bytes (None where it cannot travel), the name of its class, and its traceback as text."""

    content: bytes | None
    name: str
    text: str

    def exception(self, worker: str) -> BaseException:
        """The exception again, with the worker's traceback in a note; a WorkerError where it could not travel."""
        error: Any = None
        if self.content is not None:
            try:
                error = pickle.loads(self.content)
            except Exception:  # its class can be imported in the worker only
                error = None
        if not isinstance(error, BaseException):
            return WorkerError(f"{self.name} in {worker}:\n\n{self.text}")
        error.add_note(f"raised in {worker}:\n\n{self.text}")
        return error


def failure_of(error: BaseException) -> Failure:
    """What travels of an exception: the whole of it, or its class, arguments and attributes."""
    text = "".join(traceback.format_exception(error)).rstrip()
    notes = getattr(error, "__notes__", [])
    if hasattr(error, "__notes__"):
        error.__notes__ = []  # they stand in the text
    try:
        for candidate in (error, _Bare(error)):
            content = _checked(candidate, type(error))
            if content is not None:
                return Failure(content, type(error).__name__, text)
    finally:
        if notes:
            error.__notes__ = notes
    return Failure(None, type(error).__name__, text)


class _Bare:
    """Pickles as an exception that is made without a call of its ``__init__``, which may want other arguments."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Any:
        return _without_init, (type(self._error), self._error.args, dict(vars(self._error)))


def _without_init(kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(attributes)
    return error


def _checked(candidate: Any, kind: type[BaseException]) -> bytes | None:
    try:
        content = pickle.dumps(candidate)
        return content if type(pickle.loads(content)) is kind else None
    except Exception:
        return None
