"""The program that a callable over tensors amounts to: array functions in order, on values of known shapes.

A :class:`Value` is an array of the program, a :class:`Call` the array function that computes it. Views compute nothing:
such a value names the base whose memory it shares, and an offset and strides there, in elements. What depends on no
input has been computed already and is a constant.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from treadle.autograd._location import Location, Scope
from treadle.ndarray import DType, NDArray

__all__ = ["Call", "Origin", "Program", "Role", "Value", "values_in"]


class Role(StrEnum):
    """Where the numbers of a value come from."""

    INPUT = "input"
    CONSTANT = "constant"
    STATE = "state"  # kept from call to call, and written: parameters and moments while training
    COMPUTED = "computed"


@dataclass(frozen=True, slots=True)
class Origin:
    """The op of the graph that a call belongs to, the user's line that made it, and the call of a module it lies in."""

    label: str
    location: Location | None = None
    scope: Scope | None = None


class Value:
    """An array of the program."""

    __slots__ = ("base", "call", "example", "name", "number", "offset", "role", "strides", "symbol")

    def __init__(self, number: int, role: Role, example: NDArray, name: str = "") -> None:
        self.number = number
        self.role = role
        self.example = example
        self.name = name
        self.symbol = ""  # its name in C, of an input or a state
        self.call: Call | None = None
        self.base: Value = self
        self.offset = 0
        self.strides = dense_strides(example.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.example.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.example.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.example.size

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, which for a view lie in its base."""
        return self.size * self.dtype.itemsize

    @property
    def is_view(self) -> bool:
        """Whether it shares the memory of another value."""
        return self.base is not self

    @property
    def is_dense(self) -> bool:
        """Whether its elements lie one after another, from the start of its base."""
        return self.offset == 0 and self.strides == dense_strides(self.shape)

    def views(self, base: "Value", offset: int, strides: tuple[int, ...]) -> None:
        """Become a view of ``base``."""
        self.base, self.offset, self.strides = base, offset, strides

    def __repr__(self) -> str:
        return f"<%{self.number} {self.role} {self.shape} {self.dtype.name}>"


@dataclass(slots=True)
class Call:
    """One array function with its arguments, in which values stand for arrays, and its results."""

    function: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    results: list[Value]
    origin: Origin

    @property
    def operands(self) -> list[Value]:
        """The values among the arguments, in order."""
        return [*values_in(self.arguments), *values_in(tuple(self.options.values()))]


@dataclass(slots=True)
class Program:
    """Calls in order, from inputs and states to outputs and the states' new values."""

    inputs: list[Value]
    outputs: list[Value]
    calls: list[Call]
    states: list[Value] = field(default_factory=list)
    updates: list[tuple[Value, Value]] = field(default_factory=list)  # (state, its value after a run)
    gradients: list[Value] = field(default_factory=list)  # of the trained parameters, while they are compared

    def without_dead_calls(self) -> "Program":
        """The same program without calls whose results nothing uses."""
        wanted = {id(each) for each in (*self.outputs, *(new for _, new in self.updates))}
        wanted |= {id(each.base) for each in (*self.outputs, *(new for _, new in self.updates))}
        kept: list[Call] = []
        for call in reversed(self.calls):
            if any(id(each) in wanted for each in call.results):
                kept.append(call)
                for each in call.operands:
                    wanted |= {id(each), id(each.base)}
        return replace(self, calls=kept[::-1])

    def share_constants(self) -> None:
        """Let constants of equal shape and elements be one."""
        first: dict[tuple[Any, ...], Value] = {}
        same: dict[int, Value] = {}
        for value in self.constants:
            if not value.is_view:
                digest = hashlib.sha256(value.example.numpy().tobytes()).digest()
                same[id(value)] = first.setdefault((value.dtype.name, value.shape, digest), value)
        for call in self.calls:
            call.arguments = _replaced(call.arguments, same)
            call.options = {name: _replaced(each, same) for name, each in call.options.items()}

    @property
    def constants(self) -> list[Value]:
        """The constants that calls read, each once."""
        found = {id(each): each for call in self.calls for each in call.operands if each.role is Role.CONSTANT}
        found.update({id(each): each for each in self.outputs if each.role is Role.CONSTANT})
        return list(found.values())


def _replaced(item: Any, by: dict[int, Value]) -> Any:
    """The item with values in it exchanged."""
    if isinstance(item, Value):
        return by.get(id(item), item)
    return type(item)(_replaced(each, by) for each in item) if type(item) in (tuple, list) else item


def values_in(item: Any) -> Iterator[Value]:
    """The values in nested tuples, lists and slices."""
    if isinstance(item, Value):
        yield item
    elif isinstance(item, tuple | list):
        for each in item:
            yield from values_in(each)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array in C order."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))
