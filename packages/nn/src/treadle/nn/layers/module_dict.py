"""A dict of modules."""

from collections.abc import Iterable, Mapping

from treadle.nn.layers.container import Container, NamedItems
from treadle.nn.module import Module

__all__ = ["ModuleDict"]


class ModuleDict(Container, NamedItems[Module]):
    """Holds modules by name, in the order in which they came.

    >>> import treadle.nn as nn
    >>> heads = nn.ModuleDict({"digit": nn.Linear(8, 10), "sign": nn.Linear(8, 2)})
    >>> heads["sign"]
    Linear(in_features=8, out_features=2, bias=True)
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules if modules is not None else {})

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace modules by name."""
        self._take(modules)
