"""Handles of registered hooks."""

from typing import Any

__all__ = ["Handle"]


class Handle:
    """What registering a hook gives: ``remove()`` ends the hook, as leaving a ``with`` block over the handle does."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks: dict[int, Any] | None = hooks
        self._key = max(hooks, default=-1) + 1
        hooks[self._key] = hook

    def remove(self) -> None:
        """End the hook; a second time does nothing."""
        if self._hooks is not None:
            self._hooks.pop(self._key, None)
            self._hooks = None

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
