"""Hooks on the gradients that flow through a module: two ops that do nothing, around its inputs and its outputs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.autograd import Tensor, TupleOp
from treadle.nn.hooks import HookTable

if TYPE_CHECKING:
    from treadle.nn.module import Module

__all__ = ["BackwardHooks"]

Gradients = tuple[Tensor | None, ...]


class GradientGate(TupleOp):
    """Several tensors, unchanged; their gradients pass through ``change``."""

    def __init__(self, owner: str, change: Callable[[Gradients], Gradients]) -> None:
        self.owner = owner
        self.change = change

    def __repr__(self) -> str:
        return f"GradientGate({self.owner})"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return arrays, ()

    def flops(self, shapes: tuple[tuple[int, ...], ...], out: tuple[int, ...]) -> int:
        """None."""
        return 0

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        plain = xp is nd
        given = tuple(None if each is None else Tensor(each) if plain else each for each in grads)
        found = []
        for gradient, operand in zip(self.change(given), node.inputs, strict=True):
            if gradient is None:
                gradient = Tensor(nd.zeros(operand.shape, dtype=operand.dtype, device=operand.device))
            found.append(gradient.data if plain else gradient)
        return tuple(found)


class BackwardHooks:
    """The hooks of one call of a module: gates for its arguments and for its result."""

    def __init__(self, module: "Module", before: HookTable | None, after: HookTable | None) -> None:
        self.module = module
        self.before = before
        self.after = after
        self.outputs: Gradients | None = None  # those of the results, until the hooks have seen them
        self.count = 0
        self.places: list[int] = []

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments behind a gate; those without gradient stay as they are."""
        self.count = len(args)
        self.places = [at for at, each in enumerate(args) if isinstance(each, Tensor) and each.requires_grad]
        if not self.places or not self.after:
            return args
        gate = GradientGate(type(self.module).__name__, self._leaving)
        passed = list(args)
        for at, tensor in zip(self.places, gate(*[args[at] for at in self.places]), strict=True):
            passed[at] = tensor
        return tuple(passed)

    def leave(self, result: Any) -> Any:
        """The result behind a gate: a tensor, or a tuple or list of them."""
        items = list(result) if isinstance(result, (tuple, list)) else [result]
        places = [at for at, each in enumerate(items) if isinstance(each, Tensor) and each.requires_grad]
        if not places:
            return result

        def arriving(grads: Gradients) -> Gradients:
            every: list[Tensor | None] = [None] * len(items)
            for at, gradient in zip(places, grads, strict=True):
                every[at] = gradient
            changed = self._arriving(tuple(every))
            return tuple(changed[at] for at in places)

        gate = GradientGate(type(self.module).__name__, arriving)
        for at, tensor in zip(places, gate(*[items[at] for at in places]), strict=True):
            items[at] = tensor
        return type(result)(items) if type(result) in (tuple, list) else items[0] if len(items) == 1 else tuple(items)

    def _arriving(self, grads: Gradients) -> Gradients:
        """Run the hooks before the module's own gradients."""
        for hook, _ in self.before.entries() if self.before else ():
            grads = _replaced(grads, hook(self.module, grads), "a backward pre-hook")
        self.outputs = grads
        if self.after and not self.places:
            for hook, _ in self.after.entries():
                hook(self.module, (None,) * self.count, grads)
        return grads

    def _leaving(self, grads: Gradients) -> Gradients:
        """Run the hooks behind the module's own gradients.

        A second derivative comes here without having passed the results; then there is nothing for the hooks.
        """
        if self.outputs is None:
            return grads
        every: list[Tensor | None] = [None] * self.count
        for at, gradient in zip(self.places, grads, strict=True):
            every[at] = gradient
        found = tuple(every)
        for hook, _ in self.after.entries() if self.after else ():
            found = _replaced(found, hook(self.module, found, self.outputs), "a backward hook")
        self.outputs = None
        return tuple(found[at] for at in self.places)


def _replaced(grads: Gradients, changed: Any, what: str) -> Gradients:
    """What a hook returned instead of the gradients; None keeps them."""
    if changed is None:
        return grads
    given = changed if isinstance(changed, tuple) else (changed,)
    if len(given) != len(grads):
        raise ValueError(f"{what} returned {len(given)} gradients for {len(grads)}")
    return given
