"""The ``numpy`` device: the backend protocol in plain NumPy, as an oracle and for prototyping.

Every method makes NumPy views of its operands' memory and writes into the view of ``out``. Where NumPy and the
scalar bodies of ``include/treadle/*.h`` differ (integers to negative powers, floats accumulated in float64), the
bodies rule. This module is imported when the device is first used, and NumPy with it.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy

from treadle.ndarray import reference
from treadle.ndarray.numpy_random import DRAWS
from treadle.ndarray.opset import OPS

if TYPE_CHECKING:
    from treadle.ndarray import NDArray

__all__ = ["Memory", "NumpyBackend"]

Values = numpy.ndarray[Any, numpy.dtype[Any]]

_ALIGNMENT = 64


class Memory:
    """A block of bytes that NumPy owns, aligned to 64."""

    __slots__ = ("block", "nbytes", "pointer")

    def __init__(self, nbytes: int) -> None:
        padded = numpy.empty(nbytes + _ALIGNMENT, numpy.uint8)
        address: int = padded.ctypes.data
        skip = -address % _ALIGNMENT
        self.block: Values = padded[skip : skip + nbytes]
        self.pointer: int = address + skip
        self.nbytes: int = nbytes


def _view(x: "NDArray") -> Values:
    """The NumPy array over the memory of ``x``."""
    owner = x.buffer.owner
    if not isinstance(owner, Memory):
        return x.numpy()
    if x.size == 0:
        return numpy.empty(x.shape, x.dtype.name)
    return numpy.ndarray(x.shape, x.dtype.name, owner.block, x.data_pointer - owner.pointer, x.strides)


def _integer_power(x: Values, y: Values) -> Values:
    """x ** y for signed integers; a negative exponent truncates 1 / x ** -y, so only the bases 1 and -1 are left."""
    odd = (y & 1) == 1
    inverse = numpy.where(x == 1, 1, numpy.where(x == -1, numpy.where(odd, -1, 1), 0))
    return numpy.where(y < 0, inverse, numpy.power(x, numpy.maximum(y, 0)))


@cache
def _function(op: str, kind: str) -> Callable[..., Any]:
    """What computes ``op`` on operands of a dtype kind."""
    if kind in "iu" and op in ("floor", "ceil", "trunc", "round"):
        return numpy.positive
    if kind == "i" and op == "pow":
        return _integer_power
    if op == "round":
        return numpy.rint
    function: Callable[..., Any] = reference.resolve(OPS[op].reference)
    return function


def _accumulator(x: Values, out: Values) -> Any:
    """The dtype to accumulate in: floats in float64, integers in that of the result."""
    return numpy.float64 if x.dtype.kind == "f" else out.dtype


def _order(x: Values, axis: int, descending: bool) -> Values:
    """The places of x's elements in stable order, NaN last in both directions."""
    if not descending:
        return numpy.argsort(x, axis=axis, kind="stable")
    backwards = numpy.argsort(numpy.flip(x, axis), axis=axis, kind="stable")  # reversed twice, equal elements keep
    order: Values = numpy.flip(x.shape[axis] - 1 - backwards, axis)  # their order
    absent = numpy.take_along_axis(x != x, order, axis)
    return numpy.take_along_axis(order, numpy.argsort(absent, axis=axis, kind="stable"), axis)


class NumpyBackend:
    """The required methods of :class:`treadle.ndarray.backend.Backend`; the fused ones are left to composition.

    Floating-point events (overflow, division by zero, invalid values) give their IEEE 754 results silently, as the
    kernels of the other devices do.
    """

    name = "numpy"

    def device_count(self) -> int:
        return 1

    def allocate(self, nbytes: int, index: int) -> Memory:
        return Memory(nbytes)

    def synchronize(self, index: int) -> None:
        """Nothing to wait for: every method returns when its work is done."""

    # movement ------------------------------------------------------------------------------------------------------
    def from_host(self, source: "NDArray", out: "NDArray") -> None:
        _view(out)[...] = source.numpy()

    def to_host(self, source: "NDArray", out: "NDArray") -> None:
        out.numpy()[...] = _view(source)

    def copy(self, source: "NDArray", out: "NDArray") -> None:
        values, result = _view(source), _view(out)
        if values.dtype.kind in "fc" and result.dtype.kind in "iu":
            values = reference.converted(values, result.dtype)
        with numpy.errstate(all="ignore"):
            result[...] = values

    def fill(self, out: "NDArray", value: bool | int | float) -> None:
        with numpy.errstate(all="ignore"):
            _view(out)[...] = value

    def arange(self, out: "NDArray", start: int | float, step: int | float) -> None:
        view = _view(out)
        wide = numpy.float64 if view.dtype.kind == "f" else view.dtype
        with numpy.errstate(all="ignore"):
            steps = numpy.arange(view.shape[0]).astype(wide)
            view[...] = numpy.asarray(start).astype(wide) + steps * numpy.asarray(step).astype(wide)

    # arithmetic, by family of the op table -------------------------------------------------------------------------
    def unary(self, op: str, x: "NDArray", out: "NDArray") -> None:
        operand = _view(x)
        with numpy.errstate(all="ignore"):
            _view(out)[...] = _function(op, operand.dtype.kind)(operand)

    def binary(self, op: str, x: "NDArray", y: "NDArray", out: "NDArray") -> None:
        left, right = _view(x), _view(y)
        with numpy.errstate(all="ignore"):
            _view(out)[...] = _function(op, left.dtype.kind)(left, right)

    def ternary(self, op: str, x: "NDArray", y: "NDArray", z: "NDArray", out: "NDArray") -> None:
        with numpy.errstate(all="ignore"):
            _view(out)[...] = _function(op, y.dtype.kind)(_view(x), _view(y), _view(z))

    def reduce(self, op: str, x: "NDArray", axes: tuple[int, ...], out: "NDArray") -> None:
        operand, result = _view(x), _view(out)
        with numpy.errstate(all="ignore"):
            if op in ("sum", "prod"):
                function = numpy.sum if op == "sum" else numpy.prod
                result[...] = function(operand, axis=axes, dtype=_accumulator(operand, result), keepdims=True)
            elif op == "mean":
                count = numpy.float64(operand.size // result.size if result.size else 0)
                result[...] = numpy.sum(operand, axis=axes, dtype=numpy.float64, keepdims=True) / count
            else:
                result[...] = _function(op, operand.dtype.kind)(operand, axis=axes, keepdims=True)

    def arg_reduce(self, op: str, x: "NDArray", axis: int, out: "NDArray") -> None:
        operand = _view(x)
        _view(out)[...] = _function(op, operand.dtype.kind)(operand, axis=axis, keepdims=True)

    def scan(self, op: str, x: "NDArray", axis: int, out: "NDArray") -> None:
        operand, result = _view(x), _view(out)
        with numpy.errstate(all="ignore"):
            result[...] = _function(op, operand.dtype.kind)(operand, axis=axis, dtype=_accumulator(operand, result))

    def matmul(self, x: "NDArray", y: "NDArray", out: "NDArray") -> None:
        with numpy.errstate(all="ignore"):
            _view(out)[...] = numpy.matmul(_view(x), _view(y))

    # indexing ------------------------------------------------------------------------------------------------------
    def gather(self, x: "NDArray", indices: "tuple[NDArray, ...]", out: "NDArray") -> None:
        _view(out)[...] = _view(x)[tuple(map(_view, indices))]

    def scatter(self, out: "NDArray", indices: "tuple[NDArray, ...]", values: "NDArray", accumulate: bool) -> None:
        where = tuple(map(_view, indices))
        if accumulate:
            with numpy.errstate(all="ignore"):
                numpy.add.at(_view(out), where, _view(values))
        else:
            _view(out)[where] = _view(values)

    def nonzero(self, x: "NDArray") -> "NDArray":
        from treadle.ndarray import empty, int64

        found = numpy.argwhere(_view(x))
        result = empty(found.shape, dtype=int64, device=x.device)
        _view(result)[...] = found
        return result

    def sort(
        self,
        x: "NDArray",
        axis: int,
        descending: bool,
        stable: bool,
        values: "NDArray | None",
        places: "NDArray | None",
    ) -> None:
        operand = _view(x)
        order = _order(operand, axis, descending)
        if values is not None:
            _view(values)[...] = numpy.take_along_axis(operand, order, axis)
        if places is not None:
            _view(places)[...] = order

    # random numbers ------------------------------------------------------------------------------------------------
    def random(self, kind: str, key: int, counter: int, parameters: tuple[float | int, ...], out: "NDArray") -> None:
        result = _view(out)
        with numpy.errstate(all="ignore"):
            drawn = DRAWS[kind](key, counter, result.size, result.dtype, *parameters)
        result[...] = drawn.reshape(result.shape)
