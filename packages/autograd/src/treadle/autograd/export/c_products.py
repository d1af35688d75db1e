"""Products of two arrays summed over some axes: matmul, einsum, convolution.

All are one nest: loops over the result's axes, in them over the summed ones. Along one axis of the result, which one
operand lacks and the other has dense, ``Target.tile`` sums run side by side, so that a compiler turns the inner loop
into vector instructions without being allowed to reorder a sum. A constant operand is laid out for that beforehand.
Where the other operand has several rows, ``Target.block`` sums of several rows are formed at once, so that each element
loaded serves many of them (K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
Long sums are cut into blocks that are summed on their own, which keeps the rounding error of float32 small.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

from treadle.autograd.export.c_expressions import C_TYPES
from treadle.autograd.export.c_kernels import Kernel, Target, epilogue, finished, in_place, output
from treadle.autograd.export.c_panels import Panels, can_be_laid_out, panels, vector_axis
from treadle.autograd.export.c_text import Writer, element, index_text, merge, name_of, reads
from treadle.autograd.export.expressions import Access, Expression, Literal, Plan, accesses
from treadle.autograd.export.products import Guard, Product, inside, product_of, spread_channels
from treadle.autograd.export.program import Call

__all__ = ["Nest", "product_kernel"]

_BLOCK = 64


def product_kernel(root: Call, heavy: Call, planned: Plan, target: Target) -> Kernel:
    """The nest of a product, with what follows it done where a sum is complete."""
    product = product_of(heavy)
    result = root.results[0]
    stored = epilogue(root, heavy, planned, result.shape)
    written = output(result)
    others = list(accesses(stored))
    same = in_place(others, written, (product.left, product.right))
    spread_channels(heavy, product, [written, *others])
    count = product.count
    nest = Nest(product, stored, written, others, target, heavy.results[0].dtype.name)
    nest.write()
    read = [*reads(stored), *(each.value for each in nest.factors if isinstance(each, Access))]
    return finished(root, nest.writer, read, products=count, in_place=same, heavy=heavy)


class Nest:
    """Writes the loops of a product."""

    def __init__(
        self,
        product: Product,
        stored: Expression,
        written: Access,
        others: list[Access],
        target: Target,
        kind: str,
    ) -> None:
        axis = vector_axis(product, target.unrolled)
        self.product = product
        self.stored = stored
        self.written = written
        self.others = others  # what is read where a sum is complete
        self.kind = C_TYPES[kind]
        self.integer = kind[0] in "iub"
        self.writer = Writer()
        self.factors = [product.left, product.right]
        self.target = target
        self.vector = axis
        self.names = [f"i{at}" for at in range(len(product.outer))] + [f"k{at}" for at in range(len(product.summed))]
        space = (*product.outer, *product.summed)
        taps = {guard.second for guard in product.guards}
        self.names = [name if space[at] != 1 or at in taps else "0" for at, name in enumerate(self.names)]
        self.names += [f"at{number}" for number in range(len(product.guards))]
        self.space = space
        self.cut = len(product.outer)
        self.row: int | None = None
        self.inner, self.rows = range(0), 0
        self.height, self.row_name = 0, ""  # of the block of rows that is written; 0 for a single row
        if not product.guards:
            self._merge(space)
        self.tile = target.tile
        if target.block is not None and self.vector is not None and 0 not in self.space:
            self._block(*target.block)

    def _merge(self, space: tuple[int, ...]) -> None:
        """Join axes, but for the vector axis, which stays alone."""
        every = [self.written, *self.others, *(each for each in self.factors if isinstance(each, Access))]
        cut = len(self.product.outer)
        bounds = [cut] if self.vector is None else [self.vector, self.vector + 1, cut]
        lengths, moved = merge(space, every, bounds)
        self.space = tuple(lengths)
        self.cut = moved[-1]
        if self.vector is not None:
            self.vector = moved[0]
        self.names = [f"i{at}" if at < self.cut else f"k{at - self.cut}" for at in range(len(lengths))]

    def _block(self, rows: int, columns: int) -> None:
        """Choose an axis of rows that one operand has alone; the other is laid out in panels of columns if constant."""
        assert self.vector is not None
        at = int(self._moves(self.factors[1]))
        moving, held = self.factors[at], self.factors[1 - at]
        found = [
            axis
            for axis in range(self.cut)
            if axis != self.vector and self._varies(held, axis) and not self._varies(moving, axis)
        ]
        inner = inside(self.product, found[-1], self.space) if found else range(0)
        if len(inner) > 1 and isinstance(moving, Access):
            self.row, self.tile, self.inner = found[-1], columns, inner
            self.rows = -(-len(inner) // -(-len(inner) // rows))  # blocks of equal height, or nearly so
            if can_be_laid_out(moving, len(self.space)):
                self.factors[at] = panels(moving, self.space, self.vector, columns)

    def _step(self, factor: Access | Literal, axis: int) -> int:
        return factor.strides[axis] if isinstance(factor, Access) else 0

    def write(self) -> None:
        """The whole nest."""
        outer = [at for at in range(self.cut) if at not in (self.vector, self.row)]
        if self.vector is None:
            with self._loops(outer):
                self._sums(1, None)
            return
        if self.row is None:
            with self._loops(outer):
                self._columns(self._sums)
            return
        needed = [at for at in outer if any(self._varies(each, at) for each in self.factors if self._moves(each))]
        with self._loops(needed):  # a panel is read for all rows before the next
            self._columns(lambda width, name: self._rows([at for at in outer if at not in needed], width, name))

    def _varies(self, factor: Access | Literal, axis: int) -> bool:
        """Whether a factor's element depends on the index along an axis of the result, or on a position that does."""
        positions = [len(self.space) + at for at, guard in enumerate(self.product.guards) if guard.first == axis]
        return self.space[axis] > 1 and any(self._step(factor, each) for each in (axis, *positions))

    def _moves(self, factor: Access | Literal) -> bool:
        assert self.vector is not None
        return self._step(factor, self.vector) != 0

    def _loops(self, axes: list[int]) -> Any:
        return self.writer.loops([self.names[at] for at in axes], [self.space[at] for at in axes])

    def _columns(self, inner: Callable[[int, str], None]) -> None:
        """The tiles along the vector axis."""
        assert self.vector is not None
        length, tile = self.space[self.vector], self.tile
        name = self.names[self.vector]
        whole = length - length % tile
        if whole == tile:
            self._fixed(0, tile, inner)
        elif whole:
            with self.writer.block(f"for (int {name} = 0; {name} < {whole}; {name} += {tile})"):
                inner(tile, name)
        if whole < length:
            self._fixed(whole, length - whole, inner)

    def _fixed(self, start: int, width: int, inner: Callable[[int, str], None]) -> None:
        """The sums at a known place."""
        assert self.vector is not None
        with self.writer.block(""):
            kept, self.names[self.vector] = self.names[self.vector], str(start)
            inner(width, str(start))
            self.names[self.vector] = kept

    def _rows(self, outer: list[int], width: int, name: str) -> None:
        """The blocks of rows of a tile; what is next to a border, where some positions are outside, row by row."""
        assert self.row is not None
        length, row, inner = self.space[self.row], self.names[self.row], self.inner
        moving = next(each for each in self.factors if self._moves(each))
        if isinstance(moving, Panels):
            start = index_text(0, moving.strides[: len(self.space)], self._only(self.vector))
            self.writer.line(f"const {C_TYPES[moving.dtype.name]} *const panel = &{name_of(moving.value)}[{start}];")
        with self._loops(outer):
            stop = inner.stop - len(inner) % self.rows
            with self.writer.block(f"for (int {row} = {inner.start}; {row} < {stop}; {row} += {self.rows})"):
                self._block_of_rows(self.rows, row, width, name)
            if stop < inner.stop:
                with self.writer.block(""):
                    self._block_of_rows(inner.stop - stop, str(stop), width, name)
            if len(inner) < length:
                first = 0 if inner.start else inner.stop
                step = f"{row} = {row} + 1 == {inner.start} ? {inner.stop} : {row} + 1" if inner.start else f"++{row}"
                with self.writer.block(f"for (int {row} = {first}; {row} < {length}; {step})"):
                    self._sums(width, name)

    def _block_of_rows(self, height: int, start: str, width: int, name: str) -> None:
        self.height, self.row_name = height, start
        self._sums(width, name)
        self.height = 0

    def _only(self, axis: int | None) -> list[str]:
        """The indices where all but one axis are at 0."""
        return [name if at == axis else "0" for at, name in enumerate(self.names[: len(self.space)])]

    def _sums(self, width: int, name: str | None) -> None:
        """The sums of ``width`` results side by side, of each row, and their storing."""
        writer = self.writer
        flush = self._flush_level()
        self._declare("total", width, name)
        if flush is None:
            self._inner(range(self.cut, len(self.space)), "total", width, name)
        else:
            outside, split = flush
            with self._guarded_loops(list(outside)):
                rest = [at for at in range(self.cut, len(self.space)) if at not in outside]
                if split:
                    inner = rest[-1]
                    block, end = f"{self.names[inner]}_block", self.space[inner]
                    head = f"for (int {block} = 0; {block} < {end}; {block} += {_BLOCK})"
                    with writer.block(head):
                        self._declare("part", width, name)
                        stop = f"{block} + {_BLOCK} < {end} ? {block} + {_BLOCK} : {end}"
                        writer.line(f"const int stop = {stop};")
                        name_in = self.names[inner]
                        with writer.block(f"for (int {name_in} = {block}; {name_in} < stop; ++{name_in})"):
                            self._term("part", width, name)
                        self._add(width, name)
                else:
                    self._declare("part", width, name)
                    self._inner(rest, "part", width, name)
                    self._add(width, name)
        self._store(width, name)

    def _declare(self, what: str, width: int, name: str | None) -> None:
        """Sums from 0: one, or ``width`` side by side, for each row."""
        if name is None:
            self.writer.line(f"{self.kind} {what} = 0;")
            return
        for each in self._of_rows(what):
            if self.target.unrolled:
                self.writer.line(f"{self.kind} {', '.join(f'{each}{t} = 0' for t in range(width))};")
            else:
                self.writer.line(f"{self.kind} {each}[{width}] = {{0}};")

    def _of_rows(self, what: str) -> list[str]:
        """The names of what there is one of for each row."""
        if not self.height:
            return [what]
        return [f"{what}{row}{'_' if self.target.unrolled else ''}" for row in range(self.height)]

    def _at_row(self, row: int) -> list[str]:
        """The indices at a row of the block."""
        names = [*self.names]
        if self.row is None or not self.height:
            return names
        names[self.row] = _plus(self.row_name, str(row))
        for number, guard in enumerate(self.product.guards):
            if guard.first == self.row:
                names[len(self.space) + number] = f"at{number}_{row}"
        return names

    @contextmanager
    def _lanes(self, width: int) -> Any:
        """The lanes to write a statement for, as (suffix of a sum, offset of the index): all, or one in a loop."""
        if self.target.unrolled:
            yield [(str(t), str(t)) for t in range(width)]
        else:
            with self.writer.block(f"for (int t = 0; t < {width}; ++t)"):
                yield [("[t]", "t")]

    def _flush_level(self) -> tuple[list[int], bool] | None:
        """The summed axes outside of a block of a long sum, and whether the innermost one is cut; None if short."""
        summed = list(range(self.cut, len(self.space)))
        inner = self.space[summed[-1]] if summed else 1
        if self.height and len(summed) > 1 and inner <= 2 * _BLOCK:
            return summed[:-1], False  # compilers keep so many sums in registers within one loop only
        if self.integer or math.prod(self.space[at] for at in summed) <= 2 * _BLOCK:
            return None
        if self.space[summed[-1]] > 2 * _BLOCK:
            return summed[:-1], True
        first = len(summed)
        size = 1
        while first and size * self.space[summed[first - 1]] <= 2 * _BLOCK:
            first -= 1
            size *= self.space[summed[first]]
        return summed[:first], False

    @contextmanager
    def _guarded_loops(self, axes: list[int]) -> Any:
        """Loops over summed axes, each with the test of its position."""
        with ExitStack() as opened:
            for axis in axes:
                opened.enter_context(self.writer.loops([self.names[axis]], [self.space[axis]]))
                for number, guard in enumerate(self.product.guards):
                    if guard.second == axis:
                        self._guard(number, guard)
            yield

    def _guard(self, number: int, guard: Guard) -> None:
        strides = [0] * len(self.space)
        strides[guard.first], strides[guard.second] = guard.a, guard.b
        line = self.writer.line
        if self.height and guard.first == self.row:  # all are inside
            for row in range(self.height):
                line(f"const int at{number}_{row} = {index_text(guard.c, strides, self._at_row(row)[: len(strides)])};")
            return
        place = index_text(guard.c, strides, self.names[: len(self.space)])
        if guard.divisor == 1:
            line(f"const int at{number} = {place};")
            line(f"if (at{number} < 0 || at{number} >= {guard.length}) continue;")
            return
        line(f"const int spread{number} = {place}, at{number} = spread{number} / {guard.divisor};")
        line(f"if (spread{number} < 0 || at{number} >= {guard.length} || spread{number} % {guard.divisor}) continue;")

    def _inner(self, axes: Any, target: str, width: int, name: str | None) -> None:
        with self._guarded_loops(list(axes)):
            self._term(target, width, name)

    def _term(self, target: str, width: int, name: str | None) -> None:
        writer = self.writer
        if name is None:
            left, right = (self.factor(each, self.names) for each in self.factors)
            writer.line(self.plus(target, left, right))
            return
        assert self.vector is not None
        at = int(self._moves(self.factors[1]))
        moving, held = self.factors[at], self.factors[1 - at]
        rows = self._of_rows("x")
        with writer.block(""):
            for row, x in enumerate(rows):
                writer.line(f"const {self.kind} {x} = {self.factor(held, self._at_row(row))};")
            with self._lanes(width) as lanes:
                for suffix, offset in lanes:
                    shared = self._moving(moving, name, offset)
                    if len(rows) > 1:
                        shared, text = f"y{suffix}" if self.target.unrolled else "y", shared
                        writer.line(f"const {self.kind} {shared} = {text};")
                    for x, total in zip(rows, self._of_rows(target), strict=True):
                        writer.line(self.plus(f"{total}{suffix}", x, shared))

    def _moving(self, moving: Access | Literal, name: str, offset: str) -> str:
        """The element of the operand that moves along the vector axis."""
        lane = [*self.names]
        assert self.vector is not None
        if isinstance(moving, Panels):
            lane[self.vector] = "0"
            return self.factor(moving, [*lane, offset])
        lane[self.vector] = _plus(name, offset)
        return self.factor(moving, lane)

    def plus(self, target: str, left: str, right: str) -> str:
        if self.integer:
            wide = "uint64_t" if self.kind in ("int64_t", "uint64_t") else "uint32_t"
            return f"{target} = ({self.kind})(({wide}){target} + ({wide}){left} * ({wide}){right});"
        return f"{target} += {left} * {right};"

    def factor(self, factor: Access | Literal, names: list[str]) -> str:
        """The text of a factor, of the sum's type where C would not convert it without a warning."""
        text = self.writer.text(factor, names)
        if isinstance(factor, Panels):
            text = f"panel[{index_text(0, factor.strides, names)}]"
        same = self.integer or C_TYPES[factor.dtype.name] == self.kind
        return text if same else f"({self.kind}){text}"

    def stored_text(self, names: list[str], total: str) -> str:
        """What is stored where a sum is complete."""
        return self.writer.text(self.stored, names, total)

    def _add(self, width: int, name: str | None) -> None:
        if name is None:
            self.writer.line("total += part;")
            return
        with self._lanes(width) as lanes:
            for suffix, _ in lanes:
                for total, part in zip(self._of_rows("total"), self._of_rows("part"), strict=True):
                    self.writer.line(f"{total}{suffix} += {part}{suffix};")

    def _store(self, width: int, name: str | None) -> None:
        writer = self.writer
        if name is None:
            writer.line(f"{element(self.written, self.names)} = {self.stored_text([*self.names], 'total')};")
            return
        assert self.vector is not None
        for row, total in enumerate(self._of_rows("total")):
            names = self._at_row(row)
            with self._lanes(width) as lanes:
                for suffix, offset in lanes:
                    names[self.vector] = _plus(name, offset)
                    value = self.stored_text(names, f"{total}{suffix}")
                    writer.line(f"{element(self.written, names)} = {value};")


def _plus(name: str, offset: str) -> str:
    if name.isdecimal() and offset.isdecimal():
        return str(int(name) + int(offset))
    return name if offset == "0" else f"{name} + {offset}"
