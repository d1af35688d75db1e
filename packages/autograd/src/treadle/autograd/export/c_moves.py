"""Kernels of calls that move elements: copies, concatenation, padding, gathering, scans, sorting, windows."""

from collections.abc import Callable

from treadle.autograd.errors import ExportError
from treadle.autograd.export.c_kernels import Kernel, Target, finished, mapped_kernel
from treadle.autograd.export.c_text import Writer, element, merge, reads
from treadle.autograd.export.expressions import Access, Expression, Plan, access, accesses
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
    return mapped_kernel(_shaped(call, operand), access(operand, operand.shape))


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
        text = writer.text(source, names)
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


_KERNELS: dict[str, Emit] = {"reshape": _copied, "copy": _copied, "concat": _concat}


