"""The kernel of a call: elementwise loops, and reductions. Products are in c_products.py, moved data in c_moves.py."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from treadle.autograd.errors import ExportError
from treadle.autograd.export.c_expressions import C_TYPES
from treadle.autograd.export.c_text import Writer, merge, reads
from treadle.autograd.export.expressions import (
    Access,
    Expression,
    Plan,
    Strides,
    Sum,
    accesses,
    build,
    tree,
)
from treadle.autograd.export.program import Call, Value, dense_strides
from treadle.ndarray import DType

__all__ = ["Kernel", "Target", "bounded_axes", "elementwise_kernel", "epilogue", "in_place", "reduce_kernel"]


@dataclass(frozen=True, slots=True)
class Target:
    """What the code is written for.

    ``tile``: how many results of a product are summed side by side. ``unrolled``: each in a variable of its own, which
    keeps them in registers where there is no vector unit; else in an array, which compilers vectorise. ``wide_sums``:
    whether sums of float32 are carried in double, as the array does; a device without a double-precision unit is
    quicker without. ``block``: how many rows and columns of a product are summed at once, where it has several rows.
    ``math``: the functions of "libm", or "own" ones that come with the file, for a device that has no ``math.h``.
    """

    tile: int = 8
    unrolled: bool = True
    wide_sums: bool = True
    block: tuple[int, int] | None = None
    math: Literal["libm", "own"] = "libm"

    def __post_init__(self) -> None:
        if self.math not in ("libm", "own"):
            raise ExportError(f"Target: math is {self.math!r}; it is 'libm' or 'own'")


@dataclass(slots=True)
class Kernel:
    """A step of the program: the lines of its function, what it reads and writes, and its multiply-accumulates."""

    call: Call
    lines: list[str]
    reads: list[Value]
    writes: list[Value]
    helpers: dict[str, str]
    products: int = 0
    in_place: list[Value] = field(default_factory=list)  # read at just the element that is written
    heavy: Call | None = None  # the sum that the call, which is elementwise, completes


def finished(call: Call, writer: Writer, read: list[Value], **more: Any) -> Kernel:
    """The kernel of what has been written."""
    bases = list({id(each.base): each.base for each in read}.values())
    return Kernel(call, writer.lines, bases, call.results, writer.helpers, **more)


def output(value: Value) -> Access:
    """Where the kernel writes an element."""
    return Access(value, 0, dense_strides(value.shape))


def indices_for(lengths: list[int]) -> list[str]:
    """Loop variables."""
    return [f"i{at}" for at in range(len(lengths))]


def elementwise_kernel(call: Call, planned: Plan) -> Kernel:
    """One loop over the result's elements."""
    result = call.results[0]
    return mapped_kernel(call, tree(call, result.shape, planned))


def mapped_kernel(call: Call, expression: Expression) -> Kernel:
    """One loop that stores an expression over the result's axes."""
    result = call.results[0]
    written = output(result)
    same = in_place(list(accesses(expression)), written)
    lengths, _ = merge(result.shape, [written, *accesses(expression)])
    writer, names = Writer(), indices_for(lengths)
    with writer.loops(names, lengths):
        value = writer.text(expression, names)
        writer.line(f"{writer.text(written, names)} = {value};")
    return finished(call, writer, reads(expression), in_place=same)


def in_place(found: list[Access], written: Access, others: Sequence[Any] = ()) -> list[Value]:
    """The values that a kernel reads only at the element that it writes, where that is the last it does for it."""
    moved = [each for each in found if each.strides != written.strides or each.offset]
    moved += [each for each in others if isinstance(each, Access)]
    away = {id(each.value) for each in moved}
    return [each.value for each in found if id(each.value) not in away]


def epilogue(root: Call, heavy: Call, planned: Plan, shape: tuple[int, ...]) -> Expression:
    """What is stored where the heavy call's sum is complete: the root's tree, in which the sum is a leaf."""
    if root is heavy:
        return Sum(heavy.results[0].dtype)
    return tree(root, shape, planned)


def bounded_axes(call: Call) -> tuple[int, ...]:
    """The axes that a reduction goes over, from its arguments."""
    operand = call.arguments[0]
    axis = call.options.get("axis", call.arguments[1] if len(call.arguments) > 1 else None)
    if axis is None:
        return tuple(range(len(operand.shape)))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(sorted(each % len(operand.shape) for each in axes))


def permuted(expression: Expression, order: Strides) -> None:
    """Let the accesses of a tree go by another order of the axes."""
    for each in accesses(expression):
        each.strides = tuple(each.strides[axis] for axis in order)


_START = {"sum": 0, "mean": 0, "prod": 1, "any": 0, "all": 1}


def reduce_kernel(root: Call, heavy: Call, planned: Plan, target: Target) -> Kernel:
    """Loops over the kept axes, and in them over the reduced ones."""
    operand, name = heavy.arguments[0], heavy.function
    axes = bounded_axes(heavy)
    kept = tuple(axis for axis in range(len(operand.shape)) if axis not in axes)
    expression = build(operand, operand.shape, planned)
    permuted(expression, (*kept, *axes))
    shape = tuple(operand.shape[axis] for axis in (*kept, *axes))
    result = root.results[0]
    stored = epilogue(root, heavy, planned, result.shape)
    written = output(result)
    same = in_place(list(accesses(stored)), written, list(accesses(expression)))
    keeps = len(result.shape) == len(operand.shape) and bool(axes)
    for each in [written, *accesses(stored)]:
        own = tuple(each.strides[axis] for axis in kept) if keeps else each.strides
        each.strides = own + (0,) * len(axes)
    every = [written, *accesses(stored), *accesses(expression)]
    lengths, (cut,) = merge(shape, every, (len(kept),))
    if not name.startswith("arg"):
        _walk_forwards(list(accesses(expression)), lengths, cut)
    writer, names = Writer(), indices_for(lengths)
    with writer.loops(names[:cut], lengths[:cut]):
        total = _accumulate(writer, name, expression, heavy.results[0].dtype, names, lengths, cut, target)
        writer.line(f"{writer.text(written, names)} = {writer.text(stored, names, total)};")
    return finished(root, writer, [*reads(expression), *reads(stored)], in_place=same, heavy=heavy)


def _walk_forwards(found: list[Access], lengths: list[int], cut: int) -> None:
    """Turn the reduced axes that all accesses walk backwards: GCC 12 at -O3 misses elements of such a sum."""
    for axis in range(cut, len(lengths)):
        steps = [each.strides[axis] for each in found]
        if max(steps, default=0) <= 0 and any(steps):
            for each, step in zip(found, steps, strict=True):
                each.offset += step * (lengths[axis] - 1)
                each.strides = (*each.strides[:axis], -step, *each.strides[axis + 1 :])


def _accumulate(
    writer: Writer, name: str, expression: Expression, dtype: DType, names: list[str], lengths: list[int], cut: int,
    target: Target,
) -> str:  # fmt: skip
    """Write the inner loops; returns the text of what they found, of the result's type."""
    kind = expression.dtype
    if name in ("max", "min", "argmax", "argmin"):
        return _extreme(writer, name, expression, dtype, names, lengths, cut)
    carried = "double" if kind.kind == "f" and target.wide_sums and name != "any" else C_TYPES[dtype.name]
    if kind.kind in "iub" and dtype.kind in "iu":
        carried = f"u{C_TYPES[dtype.name]}".replace("uu", "u")
    if name in ("any", "all"):
        carried = "uint8_t"
    writer.line(f"{carried} total = {_START[name]};")
    with writer.loops(names[cut:], lengths[cut:]):
        value = writer.text(expression, names)
        step = {
            "sum": f"total += ({carried}){value};", "mean": f"total += ({carried}){value};",
            "prod": f"total *= ({carried}){value};", "any": f"total |= (uint8_t)({value} != 0);",
            "all": f"total &= (uint8_t)({value} != 0);",
        }[name]  # fmt: skip
        writer.line(step)
    wanted = C_TYPES[dtype.name]
    if name == "mean":
        count = 1
        for length in lengths[cut:]:
            count *= length
        return f"({wanted})(total / {'(float)' if carried == 'float' else ''}{count})"
    return "total" if carried == wanted else f"({wanted})total"


def _extreme(
    writer: Writer, name: str, expression: Expression, dtype: DType, names: list[str], lengths: list[int], cut: int
) -> str:
    """The first largest or smallest element; a NaN wins."""
    kind = expression.dtype
    first = writer.text(expression, [*names[:cut], *("0" for _ in names[cut:])])
    writer.line(f"{C_TYPES[kind.name]} best = {first};")
    indexed = name.startswith("arg")
    if indexed:
        writer.line("int place = 0, at = 0;")
    sign = ">" if name.endswith("max") else "<"
    with writer.loops(names[cut:], lengths[cut:]):
        writer.line(f"const {C_TYPES[kind.name]} x = {writer.text(expression, names)};")
        nan = " || (x != x && best == best)" if kind.kind == "f" else ""
        update = "best = x; place = at;" if indexed else "best = x;"
        writer.line(f"if (x {sign} best{nan}) {{ {update} }}")
        if indexed:
            writer.line("++at;")
    return f"({C_TYPES[dtype.name]})place" if indexed else "best"
