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
from treadle.ndarray.numpy_elements import Memory, Values, read, store, view
from treadle.ndarray.numpy_random import DRAWS
from treadle.ndarray.opset import OPS

if TYPE_CHECKING:
    from treadle.ndarray import NDArray

__all__ = ["Memory", "NumpyBackend"]


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
    """The dtype to accumulate in: floats in float64, complex numbers in complex128, integers in that of the result."""
    return {"f": numpy.float64, "c": numpy.complex128}.get(x.dtype.kind, out.dtype)


def _order(x: Values, axis: int, descending: bool) -> Values:
    """The places of x's elements in stable order, NaN last in both directions."""
    if not descending:
        return numpy.argsort(x, axis=axis, kind="stable")
    backwards = numpy.argsort(numpy.flip(x, axis), axis=axis, kind="stable")  # reversed twice, equal elements keep
    order: Values = numpy.flip(x.shape[axis] - 1 - backwards, axis)  # their order
    absent = numpy.take_along_axis(x != x, order, axis)
    return numpy.take_along_axis(order, numpy.argsort(absent, axis=axis, kind="stable"), axis)


def _next_half(x: "NDArray", y: "NDArray", dtype: Any) -> Values:
    """nextafter on the grid of a half: NumPy's for float16, by the bits for bfloat16."""
    if x.dtype.name == "float16":
        return numpy.nextafter(view(x), view(y))
    start, end, bits, target = read(x), read(y), view(x), view(y)
    outward = (start < end) == (start > 0)
    stepped = numpy.where(outward, bits + dtype.type(1), bits - dtype.type(1))
    stepped = numpy.where(start == 0, (target & dtype.type(0x8000)) | dtype.type(1), stepped)
    stepped = numpy.where(numpy.isnan(end) | (start == end), target, stepped)
    return numpy.where(numpy.isnan(start), bits, stepped)


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
        view(out)[...] = view(source)

    def to_host(self, source: "NDArray", out: "NDArray") -> None:
        view(out)[...] = view(source)

    def copy(self, source: "NDArray", out: "NDArray") -> None:
        with numpy.errstate(all="ignore"):
            if source.dtype is out.dtype:
                view(out)[...] = view(source)
                return
            values = read(source)
            if out.dtype.name in ("float16", "bfloat16"):
                values = values if source.dtype.kind == "f" else values.astype(numpy.float64)
            elif values.dtype.kind == "f" and out.dtype.kind in "iu":
                values = reference.converted(values, out.dtype.name)
            store(out, values)

    def fill(self, out: "NDArray", value: bool | int | float | complex) -> None:
        with numpy.errstate(all="ignore"):
            store(out, numpy.asarray(value, numpy.float64) if out.dtype.kind == "f" else value)

    def arange(self, out: "NDArray", start: int | float, step: int | float) -> None:
        wide = numpy.dtype(numpy.float64 if out.dtype.kind in "fc" else out.dtype.name)
        with numpy.errstate(all="ignore"):
            steps = numpy.arange(out.shape[0]).astype(wide)
            store(out, numpy.asarray(start).astype(wide) + steps * numpy.asarray(step).astype(wide))

    # arithmetic, by family of the op table -------------------------------------------------------------------------
    def unary(self, op: str, x: "NDArray", out: "NDArray") -> None:
        operand = read(x)
        with numpy.errstate(all="ignore"):
            store(out, _function(op, operand.dtype.kind)(operand))

    def binary(self, op: str, x: "NDArray", y: "NDArray", out: "NDArray") -> None:
        if op == "nextafter" and x.dtype.name in ("float16", "bfloat16"):
            with numpy.errstate(all="ignore"):
                view(out)[...] = _next_half(x, y, view(out).dtype)
            return
        left, right = read(x), read(y)
        with numpy.errstate(all="ignore"):
            store(out, _function(op, left.dtype.kind)(left, right))

    def ternary(self, op: str, x: "NDArray", y: "NDArray", z: "NDArray", out: "NDArray") -> None:
        with numpy.errstate(all="ignore"):
            store(out, _function(op, y.dtype.kind)(read(x), read(y), read(z)))

    def reduce(self, op: str, x: "NDArray", axes: tuple[int, ...], out: "NDArray") -> None:
        operand, result = read(x), view(out)
        with numpy.errstate(all="ignore"):
            wide = _accumulator(operand, result)
            if op in ("sum", "prod"):
                function = numpy.sum if op == "sum" else numpy.prod
                store(out, function(operand, axis=axes, dtype=wide, keepdims=True))
            elif op == "mean":
                count = numpy.float64(operand.size // result.size if result.size else 0)
                store(out, numpy.sum(operand, axis=axes, dtype=wide, keepdims=True) / count)
            else:
                store(out, _function(op, operand.dtype.kind)(operand, axis=axes, keepdims=True))

    def arg_reduce(self, op: str, x: "NDArray", axis: int, out: "NDArray") -> None:
        operand = read(x)
        view(out)[...] = _function(op, operand.dtype.kind)(operand, axis=axis, keepdims=True)

    def scan(self, op: str, x: "NDArray", axis: int, out: "NDArray") -> None:
        operand = read(x)
        with numpy.errstate(all="ignore"):
            store(out, _function(op, operand.dtype.kind)(operand, axis=axis, dtype=_accumulator(operand, view(out))))

    def matmul(self, x: "NDArray", y: "NDArray", out: "NDArray") -> None:
        with numpy.errstate(all="ignore"):
            store(out, numpy.matmul(read(x), read(y)))

    # indexing ------------------------------------------------------------------------------------------------------
    def gather(self, x: "NDArray", indices: "tuple[NDArray, ...]", out: "NDArray") -> None:
        view(out)[...] = view(x)[tuple(map(view, indices))]

    def scatter(self, out: "NDArray", indices: "tuple[NDArray, ...]", values: "NDArray", accumulate: bool) -> None:
        where = tuple(map(view, indices))
        if accumulate:
            with numpy.errstate(all="ignore"):
                sums = read(out)
                if sums.dtype.kind in "fc":  # many small floats in one place
                    sums = sums.astype(numpy.result_type(sums, numpy.float64))
                numpy.add.at(sums, where, read(values))
                store(out, sums)
        else:
            view(out)[where] = view(values)

    def nonzero(self, x: "NDArray") -> "NDArray":
        from treadle.ndarray import empty, int64

        found = numpy.argwhere(view(x))
        result = empty(found.shape, dtype=int64, device=x.device)
        view(result)[...] = found
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
        order = _order(read(x), axis, descending)
        if values is not None:
            view(values)[...] = numpy.take_along_axis(view(x), order, axis)
        if places is not None:
            view(places)[...] = order

    # random numbers ------------------------------------------------------------------------------------------------
    def random(self, kind: str, key: int, counter: int, parameters: tuple[float | int, ...], out: "NDArray") -> None:
        result = view(out)
        with numpy.errstate(all="ignore"):
            drawn = DRAWS[kind](key, counter, result.size, result.dtype, *parameters)
        result[...] = drawn.reshape(result.shape)
