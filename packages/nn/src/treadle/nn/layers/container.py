"""What the containers of modules share: ordered names, access by attribute, and renumbering."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from treadle.nn.module import Module

__all__ = ["Container", "ListContainer"]


class Container(Module):
    """Keeps modules under names of their own, so that they appear as ``0.weight`` and not ``_items.0.weight``."""

    def __init__(self) -> None:
        self._items: dict[str, Module] = {}

    def _parts(self) -> Iterable[tuple[str, Any]]:
        yield from self._items.items()
        yield from ((name, value) for name, value in vars(self).items() if name != "_items")

    def __getattr__(self, name: str) -> Module:
        items = self.__dict__.get("_items", {})
        if name in items:
            module: Module = items[name]
            return module
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        items = self.__dict__.get("_items")
        if items is not None and (name in items or isinstance(value, Module)):  # a module is one of the items, always
            items[name] = self._checked(value)
        else:
            super().__setattr__(name, value)

    def _checked(self, module: Any) -> Module:
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__} holds modules, not {type(module).__name__}")
        return module

    def __len__(self) -> int:
        return len(self._items)


class ListContainer(Container):
    """A container whose modules have positions: ``0``, ``1``, ... unless they were given names."""

    def _reset(self, modules: Iterable[Any]) -> None:
        self._items = {str(position): self._checked(module) for position, module in enumerate(modules)}

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items.values())

    def _name_at(self, index: int) -> str:
        names = list(self._items)
        if not -len(names) <= index < len(names):
            raise IndexError(f"index {index} is out of range for {type(self).__name__} of {len(names)} modules")
        return names[index]

    def __getitem__(self, index: Any) -> Any:
        """The module at ``index``, or a container of the same kind for a slice."""
        if isinstance(index, slice):
            return self._from_items(dict(list(self._items.items())[index]))
        return self._items[self._name_at(index)]

    def _from_items(self, items: Mapping[str, Module]) -> "ListContainer":
        part = type(self).__new__(type(self))
        part._items = dict(items)
        return part

    def __setitem__(self, index: int, module: Module) -> None:
        self._items[self._name_at(index)] = self._checked(module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._reset(modules)

    def append(self, module: Module) -> "ListContainer":
        """Add ``module`` at the end."""
        self._items[str(len(self))] = self._checked(module)
        return self

    def extend(self, modules: Iterable[Module]) -> "ListContainer":
        """Add ``modules`` at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> "ListContainer":
        """Put ``module`` before position ``index``; the modules are numbered anew."""
        modules = list(self)
        modules.insert(index, module)
        self._reset(modules)
        return self

    def pop(self, index: int = -1) -> Module:
        """Remove and return the module at ``index``."""
        module: Module = self[index]
        del self[index]
        return module
