"""Watchers: objects that see every op call and every backward rule while their ``with`` block is open.

Nothing is paid for them when none is active: an op call and an engine run each compare one reference with None.
"""

from threading import Lock, get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from treadle.autograd._node import STATE, Node, broken
from treadle.autograd._op import named
from treadle.autograd.errors import GradientError

if TYPE_CHECKING:
    from treadle.autograd._tensor import Op, Tensor

__all__ = ["Watcher", "about_to_write", "computed", "without_gradient"]

_lock = Lock()


def without_gradient(name: str, tensor: "Tensor", operands: Any, options: dict[str, Any], reason: str) -> "Tensor":
    """The result of an array function that has no gradient, with the reason noted; watchers are shown it."""
    broken(tensor, reason, tuple([each for each in operands if isinstance(each, Node)]))  # type: ignore[misc]
    if STATE.watcher is not None:
        STATE.watcher.plain(tensor, named(name, options), operands)
    return tensor


def computed(tensor: "Tensor", compute: Any, *operands: "Tensor") -> "Tensor":
    """A tensor without a gradient that ``compute(xp, *operands)`` of arrays gives; watchers are shown it."""
    if STATE.watcher is not None:
        STATE.watcher.plain(tensor, compute, operands)
    return tensor


def about_to_write(target: "Tensor", compute: Any, *operands: "Tensor") -> None:
    """Show watchers that a tensor's elements will be overwritten by ``compute(xp, old, *operands)`` of arrays.

    For what a layer keeps from batch to batch, such as running statistics; a ``compute`` of None has no such form.
    """
    if STATE.watcher is not None:
        STATE.watcher.write(target, compute, operands)


class Watcher:
    """Base of the watchers. A subclass overrides what it wants to see; calls of other threads are not shown to it.

    Watchers nest: each hands on to the one that was active before it.
    """

    def __init__(self) -> None:
        self._outer: Any = None
        self._thread = 0

    def on_made(self, tensor: "Tensor", op: "Op", inputs: "tuple[Tensor, ...]") -> None:
        """An op has given a result."""

    def on_plain(self, tensor: "Tensor", compute: Any, operands: tuple[Any, ...]) -> None:
        """A function without a gradient has given a result, as ``compute(xp, *operands)`` does on arrays."""

    def on_write(self, target: "Tensor", compute: Any, operands: "tuple[Tensor, ...]") -> None:
        """What a layer keeps will be ``compute(xp, old, *operands)`` in a moment; see :func:`about_to_write`."""

    def on_realized(self, tensor: "Tensor", op: "Op", inputs: "tuple[Tensor, ...]") -> None:
        """Lazy mode has computed what was called before; the same as :meth:`on_made` unless overridden."""
        self.on_made(tensor, op, inputs)

    def on_gradient(self, node: "Tensor", grad: Any) -> None:
        """The engine has a node's whole gradient (an array, or a tensor under ``create_graph``); its rule runs next."""

    def on_contribution(self, node: "Tensor", index: int, operand: "Tensor", gradient: Any) -> None:
        """A rule's result for operand ``index`` is about to be added to that operand's gradient."""

    def made(self, tensor: "Tensor", op: "Op", inputs: "tuple[Tensor, ...]") -> None:
        """Called by every op call."""
        if self._outer is not None:
            self._outer.made(tensor, op, inputs)
        if get_ident() == self._thread:
            self.on_made(tensor, op, inputs)

    def plain(self, tensor: "Tensor", compute: Any, operands: tuple[Any, ...]) -> None:
        """Called by every function without a gradient."""
        if self._outer is not None:
            self._outer.plain(tensor, compute, operands)
        if get_ident() == self._thread:
            self.on_plain(tensor, compute, operands)

    def write(self, target: "Tensor", compute: Any, operands: "tuple[Tensor, ...]") -> None:
        """Called before a layer writes what it keeps."""
        if self._outer is not None:
            self._outer.write(target, compute, operands)
        if get_ident() == self._thread:
            self.on_write(target, compute, operands)

    def realized(self, tensor: "Tensor", op: "Op", inputs: "tuple[Tensor, ...]") -> None:
        """Called when lazy mode computes a result."""
        if self._outer is not None:
            self._outer.realized(tensor, op, inputs)
        if get_ident() == self._thread:
            self.on_realized(tensor, op, inputs)

    def gradient(self, node: "Tensor", grad: Any) -> None:
        """Called by the engine."""
        if self._outer is not None:
            self._outer.gradient(node, grad)
        if get_ident() == self._thread:
            self.on_gradient(node, grad)

    def contribution(self, node: "Tensor", index: int, operand: "Tensor", gradient: Any) -> None:
        """Called by the engine."""
        if self._outer is not None:
            self._outer.contribution(node, index, operand, gradient)
        if get_ident() == self._thread:
            self.on_contribution(node, index, operand, gradient)

    def __enter__(self) -> Self:
        if self._thread:
            raise GradientError(f"{type(self).__name__}: this one is active already; make another")
        with _lock:
            self._outer, STATE.watcher = STATE.watcher, self
        self._thread = get_ident()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _lock:  # threads leave in any order, so this one may stand in the middle of the chain
            if STATE.watcher is self:
                STATE.watcher = self._outer
            else:
                above = STATE.watcher
                while above is not None and above._outer is not self:
                    above = above._outer
                if above is not None:
                    above._outer = self._outer
        self._outer, self._thread = None, 0
