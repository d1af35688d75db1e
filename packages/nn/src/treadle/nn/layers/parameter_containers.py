"""Lists and dicts of parameters."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from treadle.autograd import Tensor
from treadle.nn.module import Module, check_name
from treadle.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def _parameter(value: Any) -> Any:
    """A tensor as a parameter; other values stay as they are."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class _Parameters(Module):
    """Keeps parameters under names of their own, so that they appear as ``0`` and not ``_items.0``."""

    def __init__(self) -> None:
        self._items: dict[str, Any] = {}

    def _parts(self) -> Iterable[tuple[str, Any]]:
        yield from self._items.items()
        yield from ((name, value) for name, value in vars(self).items() if name != "_items")

    def __len__(self) -> int:
        return len(self._items)

    def extra_repr(self) -> str:
        """The shapes and dtypes."""
        return "\n".join(
            f"({name}): Parameter of shape {value.shape}, {value.dtype}"
            if isinstance(value, Tensor)
            else f"({name}): {value}"
            for name, value in self._items.items()
        )


class ParameterList(_Parameters):
    """Holds parameters in a list; a tensor that is put in becomes one. A plain list in an attribute serves as well.

    >>> import treadle.nn as nn
    >>> weights = nn.ParameterList([Tensor([1.0]), Tensor([2.0, 3.0])])
    >>> [name for name, _ in weights.named_parameters()], weights[1].shape
    (['0', '1'], (2,))
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values if values is not None else ())

    def append(self, value: Any) -> "ParameterList":
        """Add a parameter at the end."""
        self._items[str(len(self))] = _parameter(value)
        return self

    def extend(self, values: Iterable[Any]) -> "ParameterList":
        """Add parameters at the end."""
        for value in list(values):
            self.append(value)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items.values())

    def __iadd__(self, values: Iterable[Any]) -> "ParameterList":
        return self.extend(values)

    def _name_at(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for ParameterList of {len(self)} parameters")
        return str(index % len(self))

    def __getitem__(self, index: int | slice) -> Any:
        """The parameter at ``index``, or a list of those of a slice."""
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        return self._items[self._name_at(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self._items[self._name_at(index)] = _parameter(value)


class ParameterDict(_Parameters):
    """Holds parameters by name; a tensor that is put in becomes one.

    >>> import treadle.nn as nn
    >>> scales = nn.ParameterDict({"left": Tensor([1.0]), "right": Tensor([2.0])})
    >>> scales["right"].requires_grad, list(scales)
    (True, ['left', 'right'])
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self.update(parameters if parameters is not None else {})

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add or replace parameters by name."""
        pairs: Any = parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters
        for name, value in list(pairs):
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __setitem__(self, name: str, value: Any) -> None:
        check_name(name)
        self._items[name] = _parameter(value)

    def __delitem__(self, name: str) -> None:
        del self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._items.keys()

    def values(self) -> ValuesView[Any]:
        """The parameters."""
        return self._items.values()

    def items(self) -> ItemsView[str, Any]:
        """The names and parameters."""
        return self._items.items()

    def pop(self, name: str) -> Any:
        """Remove and return the parameter called ``name``."""
        return self._items.pop(name)

    def clear(self) -> None:
        """Remove all parameters."""
        self._items.clear()
