"""Whether ops record a graph: a mode of the thread, changed by context managers that always restore it."""

import functools
import inspect
import os
import threading
import types
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar

from treadle.autograd._node import STATE
from treadle.autograd._recording import RecordingBlock, depth, record, recording, serve, serving

__all__ = [
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "is_lazy", "lazy", "no_grad",
    "set_grad_enabled",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")
_Enter = Callable[[], AbstractContextManager[None]]


_LAZY = os.environ.get("TREADLE_LAZY", "0") not in ("", "0")
STATE.lazy_blocks = int(_LAZY)


class _Mode(threading.local):
    def __init__(self) -> None:
        self.lazy = _LAZY


_mode = _Mode()
_lock = threading.Lock()


def is_grad_enabled() -> bool:
    """Whether ops of this thread record a graph.

    >>> import treadle.autograd as ag
    >>> with ag.no_grad():
    ...     ag.is_grad_enabled()
    False
    """
    return recording()


class _Decorator:
    """A mode as a decorator: each call is in a block of its own."""

    def _again(self) -> AbstractContextManager[None]:
        """A block like this one."""
        raise NotImplementedError

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        if not callable(function):
            raise TypeError(f"{type(self).__name__}: a mode decorates functions, not a {type(function).__name__}")
        wrapped: Any = _wrapped(function, self._again)
        return functools.wraps(function)(wrapped)


def _wrapped(function: Callable[..., Any], block: _Enter) -> Callable[..., Any]:
    """A function of the same kind, as frameworks ask for the kind, that runs in the mode."""

    def plain(*arguments: Any, **keywords: Any) -> Any:
        with block():
            return function(*arguments, **keywords)

    def steps(*arguments: Any, **keywords: Any) -> Any:
        return (yield from _stepped(function(*arguments, **keywords), block))

    async def waits(*arguments: Any, **keywords: Any) -> Any:
        return await _awaited(function(*arguments, **keywords), block)

    if inspect.isgeneratorfunction(function):
        return steps
    if inspect.iscoroutinefunction(function):
        return waits
    if inspect.isasyncgenfunction(function):
        return _iterating(function, block)
    return plain


def _stepped(body: Any, block: _Enter) -> Generator[Any, Any, Any]:
    """A generator, or what is awaited, in the mode while its own body runs, and outside of it while it waits."""
    resume, value = body.send, None
    items: list[Any] = []  # what was yielded is not kept here
    while True:
        try:
            with block():
                items.append(resume(value))
        except StopIteration as stop:
            return stop.value
        finally:
            value = None  # an error that was thrown in holds this frame
        try:
            resume, value = body.send, (yield items.pop())
        except BaseException as error:  # thrown in, or GeneratorExit
            resume, value = body.throw, error


_awaited = types.coroutine(_stepped)


def _iterating(function: Callable[..., Any], block: _Enter) -> Callable[..., Any]:
    """Asynchronous generators, likewise."""

    async def iterates(*arguments: Any, **keywords: Any) -> AsyncGenerator[Any, Any]:
        body = function(*arguments, **keywords)
        resume, value = body.asend, None
        items: list[Any] = []
        while True:
            try:
                items.append(await _awaited(resume(value), block))
            except StopAsyncIteration:
                return
            finally:
                value = None
            try:
                resume, value = body.asend, (yield items.pop())
            except BaseException as error:
                resume, value = body.athrow, error

    return iterates


def _flag(kind: str, mode: Any) -> bool:
    if callable(mode):
        raise TypeError(f"{kind}() takes a bool; as a decorator it is written @{kind}(), with parentheses")
    return bool(mode)


class _Block(RecordingBlock, _Decorator):  # in this order, so that it can be copied
    def _again(self) -> AbstractContextManager[None]:
        return self  # it may be entered again, and from several threads


class set_grad_enabled(_Block):
    """Record a graph from now on, or not; as a ``with`` block or a decorator until its end only. In this thread only.

    As in PyTorch a call by itself stays in force: until the next such call, or the end of the block that it is in.

    >>> import treadle.autograd as ag
    >>> with ag.set_grad_enabled(False):
    ...     ag.is_grad_enabled()
    False
    >>> before = ag.set_grad_enabled(False)
    >>> ag.is_grad_enabled()
    False
    >>> after = ag.set_grad_enabled(True)
    """

    def __init__(self, mode: bool) -> None:
        self._wanted = _flag("set_grad_enabled", mode)
        self._made: tuple[int, int, bool] | None = (threading.get_ident(), depth(), recording())
        record(self._wanted)

    def __enter__(self) -> None:
        self._undo()
        super().__enter__()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        self._undo()
        return super().__call__(function)

    def _undo(self) -> None:
        """Take back what the call did by itself, once it turns out to be of a block or a decorator, in that place."""
        made, self._made = self._made, None
        if made is not None and made[:2] == (threading.get_ident(), depth()):
            record(made[2])

    def __getstate__(self) -> dict[str, Any]:
        return {"_wanted": self._wanted, "_made": None}


class no_grad(_Block):
    """Record no graph inside the ``with`` block or decorated function: results are constants.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0], requires_grad=True)
    >>> with ag.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    _wanted = False


class inference_mode(no_grad):
    """Record no graph, whatever is asked for inside: :class:`enable_grad` has no effect in such a block.

    Meant for serving, where a graph that somebody builds by mistake only costs memory. As a ``with`` block or a
    decorator, in this thread only. ``inference_mode(False)`` does nothing, so that a flag may decide.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0], requires_grad=True)
    >>> with ag.inference_mode(), ag.enable_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, mode: bool = True) -> None:
        self._active = _flag("inference_mode", mode)

    def __enter__(self) -> None:
        if self._active:
            super().__enter__()
            serve(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> None:
        if self._active:
            serve(-1)
            super().__exit__(kind, error, traceback)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in an :class:`inference_mode` block."""
    return serving()


class enable_grad(_Block):
    """Record a graph again, inside a :class:`no_grad` block.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0], requires_grad=True)
    >>> with ag.no_grad(), ag.enable_grad():
    ...     (x * 2).requires_grad
    True
    """


def is_lazy() -> bool:
    """Whether ops of this thread are put off until their values are asked for."""
    return _mode.lazy


class lazy(_Decorator):
    """Put ops off inside a ``with`` block or a decorated function: a node has shape and dtype, and no value yet.

    A value is computed when something asks for it (``.data``, ``.item()``, printing, ``backward()``, ``realize()``),
    together with all that it needs, each node once; what nobody asks for is never computed. Errors of shape, dtype and
    device are raised when the node is built. Gradients are those of the eager mode.

    Operands are those of the time of the call; one that was overwritten in place before the op is computed raises
    SavedValueError. An op without ``infer``, a comparison and
    an op with several results are computed at once. ``lazy(False)`` is eager again; the environment variable
    ``TREADLE_LAZY=1`` makes lazy the default. In this thread only.

    >>> import treadle.autograd as ag
    >>> with ag.lazy():
    ...     y = ag.exp(ag.Tensor([0.0])) + 1.0
    >>> y.is_realized, y.shape
    (False, (1,))
    >>> y.item(), y.is_realized
    (2.0, True)
    """

    def __init__(self, mode: bool = True) -> None:
        self._wanted = _flag("lazy", mode)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_mode.lazy)
        with _lock:
            STATE.lazy_blocks += 1  # while it is 0, an op call need not look at the thread's mode
        _mode.lazy = self._wanted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> None:
        _mode.lazy = self._before.pop()
        with _lock:
            STATE.lazy_blocks -= 1

    def _again(self) -> AbstractContextManager[None]:
        return lazy(self._wanted)


class intercepting:
    """In a ``with`` block, op calls look whether an operand is one that :func:`vmap` made."""

    def __enter__(self) -> None:
        with _lock:
            STATE.lazy_blocks += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> None:
        with _lock:
            STATE.lazy_blocks -= 1
