"""Kernels of calls that move elements: copies, concatenation, padding, gathering, scans, sorting, windows."""

from collections.abc import Callable
from typing import Any

from treadle.autograd.errors import ExportError
from treadle.autograd.export import c_integers, c_orders, c_selections
from treadle.autograd.export.c_expressions import cast
from treadle.autograd.export.c_kernels import Kernel, Target, finished, mapped_kernel
from treadle.autograd.export.c_text import Writer, element, merge, reads
from treadle.autograd.export.expressions import Access, Expression, Literal, Plan, access, accesses
from treadle.autograd.export.program import Call, Value, dense_strides

__all__ = ["kernel"]

Emit = Callable[[Call, Plan, Target], Kernel]


def kernel(call: Call, planned: Plan, target: Target) -> Kernel:
    """The kernel of a call. Raises ExportError, naming the node, for a function that has none."""
    emit = _KERNELS.get(call.function)
    if emit is None:
        place = call.origin.location
        where = f", built at {place}: {place.text}" if place is not None else ""
        raise ExportError(f"export to C: {call.origin.label}{where}: {call.function} has no form in C")
    return emit(call, planned, target)


def _copied(call: Call, planned: Plan, target: Target) -> Kernel:
    """The operand's elements in C order: a reshape that cannot be a view, a copy."""
    operand = call.arguments[0]
    found = mapped_kernel(_shaped(call, operand), access(operand, operand.shape))
    found.call, found.writes = call, call.results
    return found


def _shaped(call: Call, like: Value) -> Call:
    """The call as one whose result has the operand's shape, over which the loop runs; memory is the same."""
    result = call.results[0]
    twin = Value(result.number, result.role, result.example.reshape(like.shape))
    return Call(call.function, call.arguments, call.options, [twin], call.origin)


def _store(writer: Writer, target: Access, source: Expression, shape: tuple[int, ...], prefix: str) -> None:
    """A loop that stores an expression through an access."""
    lengths, _ = merge(shape, [target, *accesses(source)])
    names = [f"{prefix}{at}" for at in range(len(lengths))]
    with writer.loops(names, lengths):
        text = cast(writer.text(source, names), source.dtype, target.dtype, writer.helpers)
        writer.line(f"{element(target, names)} = {text};")


def _concat(call: Call, planned: Plan, target: Target) -> Kernel:
    result, parts = call.results[0], call.arguments[0]
    axis = call.options.get("axis", call.arguments[1] if len(call.arguments) > 1 else 0)
    writer, read, start = Writer(), [], 0
    strides = dense_strides(result.shape)
    for at, part in enumerate(parts):
        source = access(part, part.shape)
        read += reads(source)
        along = 0 if axis is None else axis % len(result.shape)
        offset = start * strides[along]
        _store(writer, Access(result, offset, strides), source, part.shape, f"i{at}_")
        start += part.shape[along]
    return finished(call, writer, read)


def _pad(call: Call, planned: Plan, target: Target) -> Kernel:
    """A constant around the operand's elements."""
    operand, result = call.arguments[0], call.results[0]
    widths = call.arguments[1]
    value = call.options.get("constant_values", 0)
    before = [each[0] for each in pad_pairs(widths, len(operand.shape))]
    writer, strides = Writer(), dense_strides(result.shape)
    _store(writer, Access(result, 0, strides), Literal(value, result.dtype), result.shape, "i")
    offset = sum(step * width for step, width in zip(strides, before, strict=True))
    source = access(operand, operand.shape)
    _store(writer, Access(result, offset, strides), source, operand.shape, "j")
    return finished(call, writer, reads(source))


def pad_pairs(widths: Any, count: int) -> list[tuple[int, int]]:
    """The widths before and behind each axis."""
    if isinstance(widths, int):
        return [(widths, widths)] * count
    if all(isinstance(each, int) for each in widths):
        one = tuple(widths) * (2 if len(widths) == 1 else 1)
        return [(one[0], one[1])] * count
    pairs = [tuple(each) * (2 if len(each) == 1 else 1) for each in widths]
    return [(each[0], each[1]) for each in (pairs * count if len(pairs) == 1 else pairs)]


_KERNELS: dict[str, Emit] = {
    "reshape": _copied, "copy": _copied, "concat": _concat, "pad": _pad, **c_integers.KERNELS,
    **c_selections.KERNELS, **c_orders.KERNELS,
}  # fmt: skip
