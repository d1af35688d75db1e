"""Writing C: indented lines, loops over merged axes, and the text of an expression tree."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from treadle.autograd.export.c_expressions import C_TYPES, cast, elementwise, literal, repeats
from treadle.autograd.export.c_names import clean
from treadle.autograd.export.expressions import Access, Apply, Expression, Literal, Sum, accesses
from treadle.autograd.export.program import Role, Value

__all__ = ["Writer", "index_text", "merge", "name_of"]


class Writer:
    """Lines of C, and the helper functions that they call."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}
        self._depth = 1

    def line(self, text: str) -> None:
        """A line at the present depth."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Any:
        """Lines in braces behind ``head``."""
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    @contextmanager
    def loops(self, names: Sequence[str], lengths: Sequence[int]) -> Any:
        """Nested loops from 0 to the lengths; an axis of length 1 is none, and one of length 0 leaves nothing."""
        opened, start = 0, len(self.lines)
        for name, length in zip(names, lengths, strict=True):
            if name != "0":
                self.line(f"for (int {name} = 0; {name} < {length}; ++{name}) {{")
                self._depth += 1
                opened += 1
        yield
        for _ in range(opened):
            self._depth -= 1
            self.line("}")
        if any(length == 0 for name, length in zip(names, lengths, strict=True) if name != "0"):
            del self.lines[start:]

    def text(self, expression: Expression, indices: Sequence[str], total: str = "") -> str:
        """The C expression of a tree where the axes are at ``indices``; ``total`` stands for :class:`Sum`."""
        if isinstance(expression, Access):
            return element(expression, indices)
        if isinstance(expression, Literal):
            return literal(expression.number, expression.dtype)
        if isinstance(expression, Sum):
            return total
        parts = [self.text(each, indices, total) for each in expression.operands]
        if expression.function == "astype":
            return cast(parts[0], expression.operand, expression.dtype, self.helpers)
        if expression.function == "where":
            narrow = expression.dtype.kind != "f" and expression.dtype.itemsize < 4  # C widens both to int
            return f"{f'({C_TYPES[expression.dtype.name]})' * narrow}({parts[0]} ? {parts[1]} : {parts[2]})"
        for at, operand in enumerate(expression.operands):
            if isinstance(operand, Apply) and repeats(expression.function, expression.operand, at):
                parts[at] = self._once(expression, parts[at])
        return elementwise(expression.function, expression.operand, parts, self.helpers)

    def _once(self, expression: Apply, part: str) -> str:
        """An operand that the template names twice is computed once, in a variable of its own."""
        name = f"t{len(self.lines)}"
        self.line(f"const {C_TYPES[expression.operand.name]} {name} = {part};")
        return name


def name_of(value: Value) -> str:
    """The C name of the memory of a value."""
    base = value.base
    if base.role is Role.COMPUTED:
        return f"v{base.number}"
    if base.role in (Role.INPUT, Role.STATE):
        return base.symbol
    cleaned = clean(base.name).strip("_")
    return f"w{base.number}{'_' + cleaned if cleaned else ''}"


def index_text(offset: int, strides: Sequence[int], indices: Sequence[str]) -> str:
    """offset + the sum of index times stride."""
    text = ""
    for index, stride in zip(indices, strides, strict=True):
        if stride and index.isdecimal():
            offset += int(index) * stride
        elif stride:
            sign = "-" if stride < 0 else "+"
            factor = "" if abs(stride) == 1 else f" * {abs(stride)}"
            shown = f"({index})" if factor and not index.isidentifier() else index
            text += f" {sign} {shown}{factor}"
    if offset:
        text = f"{offset}{text}"
    return text.removeprefix(" + ") if text.startswith(" + ") else text.strip() or "0"


def element(found: Access, indices: Sequence[str]) -> str:
    """One element of memory; of a constant at a known place the number itself."""
    place = index_text(found.offset, found.strides, indices)
    if found.value.role is Role.CONSTANT and not found.value.size:  # never read: some loop around is empty
        return "0"
    if found.value.role is Role.CONSTANT and place.isdecimal():
        return literal(found.value.example.reshape(-1)[int(place)].item(), found.value.dtype)
    return f"{name_of(found.value)}[{place}]"


def merge(shape: tuple[int, ...], found: list[Access], boundaries: Sequence[int] = ()) -> tuple[list[int], list[int]]:
    """Join neighbouring axes that every access walks as one, and drop those of length 1; the accesses are rewritten.

    Returns the lengths and where the ``boundaries``, which nothing is joined across, have gone.
    """
    lengths: list[int] = []
    columns: list[list[int]] = []
    cuts = sorted(boundaries)
    moved: list[int] = []
    for axis, length in enumerate(shape):
        while len(moved) < len(cuts) and cuts[len(moved)] <= axis:
            moved.append(len(lengths))
        if length == 1:
            continue
        column = [each.strides[axis] for each in found]
        fresh = bool(moved) and moved[-1] == len(lengths)
        if (
            lengths
            and not fresh
            and all(outer == inner * length for outer, inner in zip(columns[-1], column, strict=True))
        ):
            lengths[-1] *= length
            columns[-1] = column
        else:
            lengths.append(length)
            columns.append(column)
    moved += [len(lengths)] * (len(cuts) - len(moved))
    for at, each in enumerate(found):
        each.strides = tuple(column[at] for column in columns)
    return lengths, moved


def reads(expression: Expression) -> list[Value]:
    """The bases that a tree reads, each once."""
    return list({id(each.value): each.value for each in accesses(expression)}.values())
