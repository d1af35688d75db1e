"""The engine's tables. Compiled, ``_tables.pyx`` stands in, which makes no Python object for a number."""

from typing import Any

__all__ = ["Integers", "Slots"]


class Integers:
    """A list of numbers, also a stack."""

    def __init__(self) -> None:
        self._items: list[int] = []

    def push(self, value: int) -> None:
        """Put one behind the others."""
        self._items.append(value)

    def pop(self) -> int:
        """Take the last one off; there must be one."""
        return self._items.pop()

    def at(self, index: int) -> int:
        """The number at an index, which is not checked."""
        return self._items[index]

    def add(self, index: int, amount: int) -> int:
        """Change a number; gives the new one."""
        self._items[index] += amount
        return self._items[index]

    def length(self) -> int:
        """How many there are."""
        return len(self._items)

    def copied(self) -> "Integers":
        """The same numbers again."""
        twin = Integers()
        twin._items = list(self._items)
        return twin


class Slots:
    """The slots of nodes, which are told apart by identity and kept alive by who uses the table."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}

    def find(self, node: Any) -> int:
        """The slot of a node; -1 for one that has none."""
        return self._slots.get(id(node), -1)

    def put(self, node: Any, slot: int) -> None:
        """Give a slot to a node that has none."""
        self._slots[id(node)] = slot
