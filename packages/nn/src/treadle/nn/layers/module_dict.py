"""A dict of modules."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from treadle.nn.layers.container import Container
from treadle.nn.module import Module, check_name

__all__ = ["ModuleDict"]


class ModuleDict(Container):
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
        pairs: Any = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for name, module in list(pairs):
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        return self._items[name]

    def __setitem__(self, name: str, module: Module) -> None:
        check_name(name)
        self._items[name] = self._checked(module)

    def __delitem__(self, name: str) -> None:
        del self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._items.keys()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._items.values()

    def items(self) -> ItemsView[str, Module]:
        """The names and modules."""
        return self._items.items()

    def pop(self, name: str) -> Module:
        """Remove and return the module called ``name``."""
        return self._items.pop(name)

    def clear(self) -> None:
        """Remove all modules."""
        self._items.clear()
