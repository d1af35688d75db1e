"""What the containers of modules and parameters share: ordered names, access by attribute, and renumbering."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, TypeVar

from treadle.nn.module import Module, check_name

__all__ = ["Container", "Holder", "ListContainer", "NamedItems"]

Item = TypeVar("Item")


class Holder(Module):
    """Keeps items under names of their own, so that they appear as ``0.weight`` and not ``_items.0.weight``."""

    def __init__(self) -> None:
        self._items: dict[str, Any] = {}

    def _parts(self) -> Iterable[tuple[str, Any]]:
        yield from self._items.items()
        yield from ((name, value) for name, value in vars(self).items() if name != "_items")

    def __len__(self) -> int:
        return len(self._items)


class NamedItems(Generic[Item]):
    """The part of a dict's interface that a :class:`Holder` of named items has. It says what may be one of them."""

    _items: dict[str, Item]

    def _checked(self, value: Any) -> Item:
        raise NotImplementedError

    def _take(self, given: Any) -> None:
        """Add or replace items by name, from a mapping or pairs."""
        pairs = given.items() if isinstance(given, (Mapping, NamedItems)) else given
        for name, value in list(pairs):
            self[name] = value

    def __getitem__(self, name: str) -> Item:
        return self._items[name]

    def __setitem__(self, name: str, value: Any) -> None:
        check_name(name)
        self._items[name] = self._checked(value)

    def __delitem__(self, name: str) -> None:
        del self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._items.keys()

    def values(self) -> ValuesView[Item]:
        """The items."""
        return self._items.values()

    def items(self) -> ItemsView[str, Item]:
        """The names and items."""
        return self._items.items()

    def get(self, name: str, default: Any = None) -> Any:
        """The item called ``name``, or ``default``."""
        return self._items.get(name, default)

    def pop(self, name: str) -> Item:
        """Remove and return the item called ``name``."""
        return self._items.pop(name)

    def clear(self) -> None:
        """Remove all items."""
        self._items.clear()


class Container(Holder):
    """A holder of modules, which can be set and asked for as attributes too."""

    def __getattr__(self, name: str) -> Module:
        items = self.__dict__.get("_items", {})
        if name in items:
            module: Module = items[name]
            return module
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        items = self.__dict__.get("_items")
        own = name in self.__dict__ or hasattr(type(self), name)  # as ``training``: an item may be called so, too
        if items is not None and (isinstance(value, Module) or (name in items and not own)):
            items[name] = self._checked(value)
        else:
            super().__setattr__(name, value)

    def _checked(self, module: Any) -> Module:
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__} holds modules, not {type(module).__name__}")
        return module


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
