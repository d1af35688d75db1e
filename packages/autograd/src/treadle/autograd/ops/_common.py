"""What backward rules and shape inference share."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._elementwise import fit
from treadle.autograd._inference import Shape, floating, promote, tried, tried_as_view
from treadle.autograd._tensor import Op, Tensor
from treadle.ndarray import AxisError, ShapeError

__all__ = [
    "Axis", "Shape", "axes_of", "axis_from_the_end", "call", "count_of", "fit", "floating", "guarded", "lengths_of",
    "on_arrays", "promote", "reduced_shape", "spread", "tried", "tried_as_view",
]  # fmt: skip

Axis = int | Sequence[int] | None


def on_arrays(xp: Any) -> bool:
    """Whether a rule is given the array functions (or those that an export writes down), and not tensor functions."""
    return xp is nd or getattr(xp, "records_arrays", False)


def call(xp: Any, op: Op, *operands: Any) -> Any:
    """Use an op inside a rule: on arrays its forward, on tensors the op itself, which records."""
    return op.forward(xp, *operands)[0] if on_arrays(xp) else op(*operands)


def guarded(xp: Any, grad: Any, rule: Any, *values: tuple[Any, float]) -> Any:
    """rule(grad, *values), where a zero gradient stays zero beside an infinite or undefined derivative.

    So a branch that ``where`` did not select contributes nothing, as it should, even at a pole of its derivative. Each
    value comes with a number at which the rule is well defined, taken instead of it there, so that the second
    derivative stays clean too. A value that is a Python scalar is an operand's configuration and stays as it is.

    Ops whose derivative is finite wherever their operands are do without: :class:`Multiply` of two tensors,
    :class:`Square` (and a power of 2), :class:`Sin` and :class:`Cos`. Beside an infinite operand they turn a zero
    gradient into NaN, as IEEE 754 has it, and so do most ops beside NaN; a guard would cost a pass over the data.
    """
    if on_arrays(xp):
        return xp.where(grad == 0.0, grad, rule(grad, *[value for value, _ in values]))
    plain = rule(grad.detach(), *[value.detach() if isinstance(value, Tensor) else value for value, _ in values])
    ill = xp.logical_and(grad == 0.0, xp.logical_not(xp.isfinite(plain)))
    return rule(
        grad,
        *[value if isinstance(value, int | float) else xp.where(ill, instead, value) for value, instead in values],
    )


def _index(value: Any) -> int:
    """The value as an int. Raises TypeError, for a flag too."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def lengths_of(op: str, given: Any, what: str = "a shape is") -> Shape:
    """What is given as an int or a sequence of ints, as a tuple. Raises ShapeError."""
    several = hasattr(given, "__iter__") and getattr(given, "ndim", 1) != 0
    try:
        return tuple(_index(each) for each in (given if several else (given,)))
    except TypeError:
        raise ShapeError(f"{op}: {what} an int or a sequence of ints, not {given!r}") from None


def axes_of(axis: Axis, ndim: int, op: object) -> tuple[int, ...]:
    """The axes as sorted non-negative numbers; None is all of them. Raises AxisError."""
    if axis is None:
        return tuple(range(ndim))
    given = tuple(axis) if isinstance(axis, tuple | list | range) else (axis,)
    axes = []
    for each in given:
        try:
            number = _index(each)
        except TypeError:
            raise ShapeError(f"{op}: axis {each!r} is no integer") from None
        if not -ndim <= number < ndim:
            raise AxisError(f"{op}: axis {number} is out of range for {ndim} dimensions")
        axes.append(number % ndim)
    if len(set(axes)) != len(axes):
        raise AxisError(f"{op}: an axis is named twice in {axis}")
    return tuple(sorted(axes))


def axis_from_the_end(axis: int, x: Any, y: Any, op: str) -> int:
    """The axis that both operands have, as a negative number. Raises ShapeError."""
    if axis >= 0 and x.ndim != y.ndim:
        raise ShapeError(f"{op}: axis {axis} of shapes {x.shape} and {y.shape} must be counted from the end")
    shortest: int = min(x.ndim, y.ndim)
    return axes_of(axis, shortest, op)[0] - shortest


def reduced_shape(shape: Shape, axis: Axis, keepdims: bool, op: object) -> Shape:
    """The shape after a reduction."""
    axes = axes_of(axis, len(shape), op)
    if keepdims:
        return tuple(1 if at in axes else length for at, length in enumerate(shape))
    return tuple(length for at, length in enumerate(shape) if at not in axes)


def spread(xp: Any, value: Any, shape: Shape, axis: Axis, keepdims: bool, op: object) -> Any:
    """A reduction's result so that it broadcasts against the operand: the reduced axes are back, of length 1."""
    if keepdims or axis is None or not shape:
        return value
    if isinstance(axis, int):
        return xp.expand_dims(value, axis=axis)
    return xp.reshape(value, reduced_shape(shape, axis, True, op))


def count_of(shape: Shape, axis: Axis, op: object) -> int:
    """How many elements one result of a reduction is made from."""
    return math.prod(shape[each] for each in axes_of(axis, len(shape), op))
