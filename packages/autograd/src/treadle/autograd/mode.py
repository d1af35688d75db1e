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
from treadle.autograd._recording import RecordingBlock, recording, serve, serving

__all__ = [
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "is_lazy", "lazy", "no_grad",
    "set_grad_enabled",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")


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
        block = self._again
        stepped = next((each for asks, each in _STEPPED if asks(function)), None)

        @functools.wraps(function)
        def wrapped(*arguments: P.args, **keywords: P.kwargs) -> Any:
            with block():
                result: Any = function(*arguments, **keywords)
            return result if stepped is None else stepped(result, block)

        return wrapped


def _stepped(body: Any, block: Callable[[], AbstractContextManager[None]]) -> Generator[Any, Any, Any]:
    """A generator, or a coroutine, in the mode while its own body runs, and outside of it while it waits."""
    resume, value = body.send, None
    while True:
        try:
            with block():
                item = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            value = None  # an error thrown in would keep itself alive: its traceback holds this frame
        try:
            resume, value = body.send, (yield item)
        except BaseException as error:  # thrown in, or GeneratorExit
            resume, value = body.throw, error


async def _awaited(body: Any, block: Callable[[], AbstractContextManager[None]]) -> Any:
    return await types.coroutine(_stepped)(body, block)


async def _stepped_and_awaited(
    body: Any, block: Callable[[], AbstractContextManager[None]]
) -> AsyncGenerator[Any, Any]:
    """An asynchronous generator in the mode while its own body runs."""
    resume, value = body.asend, None
    while True:
        try:
            item = await _awaited(resume(value), block)
        except StopAsyncIteration:
            return
        finally:
            value = None
        try:
            resume, value = body.asend, (yield item)
        except BaseException as error:
            resume, value = body.athrow, error


_STEPPED: Any = (
    (inspect.isgeneratorfunction, _stepped),
    (inspect.iscoroutinefunction, _awaited),
    (inspect.isasyncgenfunction, _stepped_and_awaited),
)


class _Block(_Decorator, RecordingBlock):
    def _again(self) -> AbstractContextManager[None]:
        return self  # it may be entered again, and from several threads


class set_grad_enabled(_Block):
    """Record a graph, or not, inside a ``with`` block or a decorated function; in this thread only.

    >>> import treadle.autograd as ag
    >>> with ag.set_grad_enabled(False):
    ...     ag.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._wanted = mode


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
        self._active = mode

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
        self._wanted = mode
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
