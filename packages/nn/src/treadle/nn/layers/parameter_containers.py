"""Lists and dicts of parameters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from treadle.autograd import Tensor
from treadle.nn.layers.container import Holder, NamedItems
from treadle.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


class _Parameters(Holder):
    """A holder of parameters; other values than tensors stay as they are."""

    def _checked(self, value: Any) -> Any:
        return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value

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
        self._items[str(len(self))] = self._checked(value)
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
        self._items[self._name_at(index)] = self._checked(value)


class ParameterDict(_Parameters, NamedItems[Any]):
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
        self._take(parameters)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The parameter called ``name``, which becomes ``default`` if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last name and parameter."""
        return self._items.popitem()

    def fromkeys(self, names: Iterable[str], default: Any = None) -> "ParameterDict":
        """Another dict, in which each of the names has ``default``."""
        return ParameterDict(dict.fromkeys(names, default))

    def copy(self) -> "ParameterDict":
        """Another dict of the same parameters."""
        return ParameterDict(self.items())

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        return self.copy().__ior__(other)

    def __ior__(self, other: Mapping[str, Any] | NamedItems[Any]) -> "ParameterDict":
        self._take(other)
        return self
