"""Hooks around ``step``: with its first one an optimizer gets a class that calls them, so that none cost nothing."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.nn.hooks import RemovableHandle
    from treadle.optim.optimizer import Optimizer

__all__ = ["add_step_hook"]


def add_step_hook(optimizer: "Optimizer", when: str, hook: Callable[..., Any]) -> "RemovableHandle":
    """Have ``hook`` called "before" or "after" each step, behind those that are there."""
    from treadle.nn.hooks import HookTable  # here: nothing else of optimizers needs layers

    tables: dict[str, HookTable] | None = vars(optimizer).get("_step_hooks")
    if tables is None:
        tables = {"before": HookTable(), "after": HookTable()}
    handle = tables[when].add(hook, False, False)
    if "_step_hooks" not in vars(optimizer):
        vars(optimizer)["_step_hooks"] = tables
        optimizer.__class__ = _hooked(type(optimizer))
    return handle


@cache
def _hooked(kind: "type[Optimizer]") -> "type[Optimizer]":
    """One class for all optimizers of a kind: a copy of an optimizer shares it."""

    def step(self: Any, *arguments: Any, **keywords: Any) -> Any:
        given: tuple[Any, ...] = (self, *arguments)
        for hook, _ in self._step_hooks["before"].entries():
            changed = hook(self, given, keywords)
            if changed is not None:
                given, keywords = _checked(changed)
        result = kind.step(*given, **keywords)
        for hook, _ in self._step_hooks["after"].entries():
            hook(self, given, keywords)
        return result

    def reduce(self: Any, protocol: Any) -> Any:
        return _empty, (kind,), *kind.__reduce_ex__(self, protocol)[2:]

    body = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__qualname__": kind.__qualname__}
    step.__doc__ = kind.step.__doc__
    make: Any = type(kind)
    made: type[Optimizer] = make(kind.__name__, (kind,), {**body, "step": step, "__reduce_ex__": reduce})
    return made


def _empty(kind: "type[Optimizer]") -> Any:
    """What pickling begins with, since no module has that class under a name."""
    made = _hooked(kind)
    return made.__new__(made)


def _checked(changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(changed, tuple) or len(changed) != 2:
        raise RuntimeError(f"a step pre hook must return None or (new_args, new_kwargs), not {changed!r}")
    arguments, keywords = changed
    return arguments, keywords
