"""What the functions on images share: inputs with or without a batch, and one number or one for each spatial axis."""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["AXES", "Ints", "batched", "layout", "tuple_of"]

Ints = int | Sequence[int]
AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}


def layout(count: int) -> str:
    """The dimensions that an input over ``count`` spatial axes has, in words.

    >>> layout(2)
    '(batch, channels, height, width)'
    """
    return f"(batch, channels, {AXES[count]})"


def tuple_of(value: Ints, count: int, name: str) -> tuple[int, ...]:
    """One int for each of ``count`` axes. ShapeError for another number of them.

    >>> tuple_of(3, 2, "stride")
    (3, 3)
    """
    given = value if isinstance(value, Iterable) else (value,) * count
    try:
        numbers = tuple(operator.index(each) for each in given)
    except TypeError:
        numbers = ()
    if len(numbers) != count:
        raise nd.ShapeError(f"{name} must be an int or {count} ints, not {value!r}")
    return numbers


def batched(input: Tensor, count: int, name: str, function: Callable[[Tensor], Any]) -> Any:
    """``function`` of an input of :func:`layout`; one without a batch gets one for the call. ShapeError for others."""
    if input.ndim == count + 2:
        return function(input)
    if input.ndim != count + 1:
        raise nd.ShapeError(
            f"{name}: an input of {input.ndim} dimensions, {input.shape}; expected {layout(count)}, or without batch"
        )
    result = function(autograd.expand_dims(input, axis=0))
    if isinstance(result, tuple):
        return tuple(autograd.squeeze(each, 0) for each in result)
    return autograd.squeeze(result, 0)
