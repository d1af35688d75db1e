"""A list of modules."""

from collections.abc import Iterable

from treadle.nn.layers.container import ListContainer
from treadle.nn.module import Module

__all__ = ["ModuleList"]


class ModuleList(ListContainer):
    """Holds modules in a list. A plain list in an attribute serves as well; this one can stand alone.

    >>> import treadle.nn as nn
    >>> layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self._reset(modules if modules is not None else ())

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> "ModuleList":
        self.extend(other)
        return self

    def __repr__(self) -> str:
        """Equal neighbours share a line: ``(0-2): 3 x Linear(...)``."""
        if not self._items:
            return f"{type(self).__name__}()"
        runs: list[tuple[int, int, str]] = []
        for position, module in enumerate(self):
            text = repr(module).replace("\n", "\n  ")
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        body = "\n  ".join(lines)
        return f"{type(self).__name__}(\n  {body}\n)"
