"""The hooks of modules and optimizers."""

from collections.abc import Callable
from typing import Any

from treadle.autograd._handle import Handle as RemovableHandle

__all__ = ["HookTable", "RemovableHandle"]


class HookTable:
    """The hooks of one kind on one object, in the order in which they run."""

    def __init__(self) -> None:
        self.hooks: dict[int, tuple[Callable[..., Any], bool]] = {}

    def __len__(self) -> int:
        return len(self.hooks)

    def add(self, hook: Callable[..., Any], prepend: bool, with_kwargs: bool) -> RemovableHandle:
        """Add ``hook`` last, or first with ``prepend``."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        before = dict(self.hooks)
        handle = RemovableHandle(self.hooks, (hook, with_kwargs))
        if prepend:
            for key in before:  # behind the new one
                self.hooks[key] = self.hooks.pop(key)
        return handle

    def entries(self) -> list[tuple[Callable[..., Any], bool]]:
        """The hooks and whether each wants the keyword arguments; a copy, so that a hook may remove itself."""
        return list(self.hooks.values())
