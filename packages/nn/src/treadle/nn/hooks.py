"""Handles of registered hooks."""

from collections.abc import Callable
from itertools import count
from typing import Any

__all__ = ["HookTable", "RemovableHandle"]

_identifiers = count()


class RemovableHandle:
    """Takes a hook away again: by :meth:`remove`, or at the end of a ``with`` block."""

    def __init__(self, table: "HookTable", identifier: int) -> None:
        self._table = table
        self._identifier = identifier

    def remove(self) -> None:
        """Remove the hook; harmless when it is gone already."""
        self._table.hooks.pop(self._identifier, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class HookTable:
    """The hooks of one kind on one module, in the order in which they run."""

    def __init__(self) -> None:
        self.hooks: dict[int, tuple[Callable[..., Any], bool]] = {}

    def __len__(self) -> int:
        return len(self.hooks)

    def add(self, hook: Callable[..., Any], prepend: bool, with_kwargs: bool) -> RemovableHandle:
        """Add ``hook`` last, or first with ``prepend``."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        identifier = next(_identifiers)
        entry = {identifier: (hook, with_kwargs)}
        self.hooks = {**entry, **self.hooks} if prepend else {**self.hooks, **entry}
        return RemovableHandle(self, identifier)

    def entries(self) -> list[tuple[Callable[..., Any], bool]]:
        """The hooks and whether each wants the keyword arguments; a copy, so that a hook may remove itself."""
        return list(self.hooks.values())
