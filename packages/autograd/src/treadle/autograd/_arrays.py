"""What the graph asks of arrays at every op. Compiled, ``_arrays.pyx`` stands in, which calls C functions."""

from typing import Any

import treadle.ndarray as nd
from treadle.ndarray import NDArray
from treadle.ndarray._elementwise import BINARY_NAMES, UNARY_NAMES
from treadle.ndarray._linear import linear as _kernel

__all__ = ["alike", "binary", "differentiable", "linear", "nbytes", "total_version", "unary", "untrack", "version"]


def binary(op: int, x: Any, y: Any) -> Any:
    """The elementwise function of two operands that has this number in the op table."""
    return getattr(nd, BINARY_NAMES[op])(x, y)


def unary(op: int, x: Any) -> Any:
    """The elementwise function of one operand that has this number in the op table."""
    return getattr(nd, UNARY_NAMES[op])(x)


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """x @ weight.T + bias, the bias perhaps None; None where the functions it is made of have to serve."""
    return _kernel(x, weight, bias)


def alike(x: Any, y: Any) -> bool:
    """Whether both are arrays, of one shape and dtype and on one device."""
    both = type(x) is NDArray and type(y) is NDArray
    return both and x.shape == y.shape and x.dtype is y.dtype and x.device is y.device


def differentiable(x: NDArray) -> bool:
    """Whether a gradient can flow through an array of this dtype."""
    return x.dtype.kind in "fc"


def total_version(saved: tuple[Any, ...]) -> int:
    """The sum of the arrays' version counters. They only grow, so an equal sum means that none has changed."""
    return sum(value.version for value in saved if type(value) is NDArray)


def version(value: Any) -> int:
    """The version counter of an array; 0 for what is no array."""
    return value.version if type(value) is NDArray else 0


def nbytes(value: Any) -> int:
    """The bytes of an array's elements; 0 for what is no array."""
    return value.nbytes if type(value) is NDArray else 0


def untrack(value: Any) -> None:
    """Tell the collector to leave alone what cannot be part of a cycle, or what it reaches by another way."""
