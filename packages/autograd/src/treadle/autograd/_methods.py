# mypy: disable-error-code="no-any-return"
"""What a tensor offers of its array, and the methods that stand for functions of the same names.

Compiled by Cython with the types of ``_methods.pxd``. The functions are bound by the package once they exist, since
they are made of ops, which are made of tensors.
"""

import copy
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from treadle.autograd._node import Node
from treadle.autograd.errors import GradientError
from treadle.autograd.mode import is_grad_enabled
from treadle.ndarray import Device, DType, NDArray, ShapeError

if TYPE_CHECKING:
    from treadle.autograd._tensor import Tensor

__all__ = ["Methods", "bind", "placement"]

_functions: Any = None


def bind(functions: Any) -> None:
    """Take the functions that the methods stand for."""
    global _functions
    _functions = functions


def _no_attribute(tensor: Any, name: str) -> Any:
    if isinstance(getattr(type(tensor), name, None), property):  # of a subclass, and failed: its own error says more
        return object.__getattribute__(tensor, name)
    from treadle.autograd._hints import no_attribute

    raise no_attribute(tensor, name, _functions)


class Methods(Node):
    """The part of :class:`Tensor` that needs no graph: values, conversions, functions in the form of methods."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._data.shape if self._data is not None else self._spec[0]

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._data.dtype if self._data is not None else self._spec[1]

    @property
    def device(self) -> Device:
        """Where the values lie."""
        return self._data.device if self._data is not None else self._spec[2]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._data.size if self._data is not None else math.prod(self._spec[0])

    # As a variable, for type checkers, which take any name for an attribute of a class with the method alone. What it
    # holds is what Python finds in the compiled class for the subclasses that are written in Python.
    __getattr__ = _no_attribute

    def __getattr__(self, name: str) -> Any:  # type: ignore[no-redef]  # noqa: F811
        """Called for what is not there; the error says how it is written here."""
        return _no_attribute(self, name)

    # --- values ---------------------------------------------------------------------------------------------------
    def numpy(self) -> Any:
        """The values as a NumPy array, without a copy on the cpu and numpy devices."""
        return self._value().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._value().__array__(dtype, copy)

    def item(self) -> bool | int | float:
        """The one element as a Python scalar."""
        return self._value().item()

    def tolist(self) -> Any:
        """The values as nested lists."""
        return self._value().tolist()

    def __float__(self) -> float:
        return float(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __index__(self) -> int:
        return self._value().__index__()

    def __bool__(self) -> bool:
        return bool(self._value())

    def __len__(self) -> int:
        return len(self._value())

    def __iter__(self) -> "Iterator[Tensor]":
        return iter([self[index] for index in range(len(self))])

    def __format__(self, specification: str) -> str:
        return format(self._value().item(), specification) if specification else str(self)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write into a tensor that takes part in no graph. The version counter tells graphs that saved the values."""
        if is_grad_enabled() and (self._requires_grad or getattr(value, "requires_grad", False)):
            what = "a leaf" if self._op is None else f"the result of {self._op}{self._built_at()},"
            raise GradientError(
                f"assignment into {what} of shape {self.shape} is not recorded: what was computed from it before would "
                "change too; use set_item(x, index, value), which gives a new tensor, or write under no_grad()"
            )
        if isinstance(index, tuple):
            index = tuple([each._value() if isinstance(each, Methods) else each for each in index])
        elif isinstance(index, Methods):
            index = index._value()
        self._value()[index] = value._value() if isinstance(value, Methods) else value

    # --- copies ---------------------------------------------------------------------------------------------------
    def __copy__(self) -> Any:
        self._must_be_leaf("copied")
        return rebuilt(type(self), self._value()[...], self._requires_grad, self._name, getattr(self, "__dict__", None))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        self._must_be_leaf("copied")
        twin = memo[id(self)] = rebuilt(type(self), self._value().copy(), self._requires_grad, self._name, None)
        if getattr(self, "__dict__", None):
            twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        if self._grad is not None:
            twin.grad = rebuilt(type(self._grad), self._grad.data.copy(), False, None, None)
        return twin

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._must_be_leaf("pickled")
        attributes = getattr(self, "__dict__", None) or None
        return rebuilt, (type(self), self._value(), self._requires_grad, self._name, attributes)

    def _must_be_leaf(self, what: str) -> None:
        if self._op is not None:
            raise GradientError(
                f"the result of {self._op}{self._built_at()} cannot be {what} with its graph; take its detach()"
            )

    # --- operators that are functions ------------------------------------------------------------------------------
    def __getitem__(self, index: Any) -> "Tensor":
        return _functions.get_item(self, index)

    def __pos__(self) -> "Tensor":
        return _functions.positive(self)

    def __abs__(self) -> "Tensor":
        return _functions.abs(self)

    def __and__(self, other: Any) -> "Tensor":
        return _functions.bitwise_and(self, other)

    def __lshift__(self, other: Any) -> "Tensor":
        return _functions.bitwise_left_shift(self, other)

    def __rshift__(self, other: Any) -> "Tensor":
        return _functions.bitwise_right_shift(self, other)

    def __or__(self, other: Any) -> "Tensor":
        return _functions.bitwise_or(self, other)

    def __xor__(self, other: Any) -> "Tensor":
        return _functions.bitwise_xor(self, other)

    def __invert__(self) -> "Tensor":
        return _functions.bitwise_invert(self)

    def __floordiv__(self, other: Any) -> "Tensor":
        return _functions.floor_divide(self, other)

    def __mod__(self, other: Any) -> "Tensor":
        return _functions.remainder(self, other)

    def __rfloordiv__(self, other: Any) -> "Tensor":
        return _functions.floor_divide(other, self)

    def __rmod__(self, other: Any) -> "Tensor":
        return _functions.remainder(other, self)

    def __rlshift__(self, other: Any) -> "Tensor":
        return _functions.bitwise_left_shift(other, self)

    def __rrshift__(self, other: Any) -> "Tensor":
        return _functions.bitwise_right_shift(other, self)

    def __rand__(self, other: Any) -> "Tensor":
        return _functions.bitwise_and(other, self)

    def __ror__(self, other: Any) -> "Tensor":
        return _functions.bitwise_or(other, self)

    def __rxor__(self, other: Any) -> "Tensor":
        return _functions.bitwise_xor(other, self)

    def realize(self) -> Any:
        """Compute the value now if lazy mode has put it off. Returns self."""
        self._value()
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set ``requires_grad``; returns self."""
        self.requires_grad = requires_grad  # type: ignore[misc]  # the subclass's property
        return self

    # --- methods that are functions -------------------------------------------------------------------------------
    @property
    def T(self) -> "Tensor":
        """The transpose of a matrix (2 axes)."""
        if self.ndim != 2:
            raise ShapeError(f"T: shape {self.shape} has not 2 axes; use mT or transpose")
        return _functions.matrix_transpose(self)

    @property
    def mT(self) -> "Tensor":
        """The last two axes exchanged."""
        return _functions.matrix_transpose(self)

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.sum`."""
        return _functions.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.mean`."""
        return _functions.mean(self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Any = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.prod`."""
        return _functions.prod(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.max`."""
        return _functions.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.min`."""
        return _functions.min(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.var`."""
        return _functions.var(self, axis=axis, correction=correction, keepdims=keepdims)

    def std(self, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.std`."""
        return _functions.std(self, axis=axis, correction=correction, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.argmax`."""
        return _functions.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> "Tensor":
        """:func:`treadle.autograd.argmin`."""
        return _functions.argmin(self, axis=axis, keepdims=keepdims)

    def reshape(self, *shape: Any) -> "Tensor":
        """:func:`treadle.autograd.reshape`; the shape as one tuple or as numbers."""
        return _functions.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> "Tensor":
        """The axes in a new order (as one tuple or as numbers); reversed without arguments."""
        given = axes[0] if len(axes) == 1 else axes
        return _functions.permute_dims(self, tuple(range(self.ndim))[::-1] if given is None or axes == () else given)

    def squeeze(self, axis: Any = None) -> "Tensor":
        """:func:`treadle.autograd.squeeze`."""
        return _functions.squeeze(self, axis)

    def astype(self, dtype: Any) -> "Tensor":
        """:func:`treadle.autograd.astype`."""
        return _functions.astype(self, dtype)

    def to(self, *args: Any, device: Any = None, dtype: Any = None) -> "Tensor":
        """On another device, of another dtype; gradients flow back. Self if nothing changes.

        The forms are ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` and ``to(tensor)``.
        """
        device, dtype = placement(args, device, dtype)
        moved: Any = self if device is None or self.device == device else _functions.to_device(self, device)
        return moved if dtype is None or moved.dtype == dtype else _functions.astype(moved, dtype)


def placement(args: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Any, Any]:
    """The device and the dtype that the positional arguments of ``to`` name, or else those given."""
    for place, argument in enumerate(args):
        if hasattr(argument, "device") and hasattr(argument, "dtype"):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, DType) or (place == 1 and not isinstance(args[0], DType)):
            dtype = argument
        elif argument is not None:
            device = argument
    return device, dtype


def rebuilt(kind: Any, data: NDArray, requires_grad: bool, name: str | None, attributes: dict[str, Any] | None) -> Any:
    """A leaf of a class around an array, with a subclass's attributes: what copies and pickles are made with.

    Pickles are for worker processes, who trust each other. Gradients and hooks stay behind; ``deepcopy`` alone takes
    the gradient along, as in PyTorch.
    """
    twin = kind.__new__(kind)
    twin._start(data)
    twin._name = name
    twin._requires_grad = requires_grad
    if attributes:
        twin.__dict__.update(attributes)
    return twin
