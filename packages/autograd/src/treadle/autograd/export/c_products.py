"""Products of two arrays summed over some axes: matmul, einsum, convolution.

All are one nest: loops over the result's axes, in them over the summed ones. Along one axis of the result, which one
operand lacks and the other has dense, ``Target.tile`` sums run side by side, so that a compiler turns the inner loop
into vector instructions without being allowed to reorder a sum. A constant operand is laid out for that beforehand.
Long sums are cut into blocks that are summed on their own, which keeps the rounding error of float32 small.
"""

import hashlib
import math
from contextlib import ExitStack, contextmanager
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.export.c_expressions import C_TYPES
from treadle.autograd.export.c_kernels import Kernel, Target, epilogue, finished, output
from treadle.autograd.export.c_text import Writer, element, index_text, merge, reads
from treadle.autograd.export.expressions import Access, Expression, Literal, Plan, accesses
from treadle.autograd.export.products import Guard, Product, product_of, spread_channels
from treadle.autograd.export.program import Call, Role, Value, dense_strides

__all__ = ["Nest", "product_kernel"]

_BLOCK = 64


def product_kernel(root: Call, heavy: Call, planned: Plan, target: Target) -> Kernel:
    """The nest of a product, with what follows it done where a sum is complete."""
    product = product_of(heavy)
    result = root.results[0]
    stored = epilogue(root, heavy, planned, result.shape)
    written = output(result)
    others = list(accesses(stored))
    spread_channels(heavy, product, [written, *others])
    count = product.count
    nest = Nest(product, stored, written, others, target, heavy.results[0].dtype.name)
    nest.write()
    read = [*reads(stored), *(each.value for each in nest.factors if isinstance(each, Access))]
    return finished(root, nest.writer, read, products=count)


def _vector_axis(product: Product, strided: bool) -> int | None:
    """The axis of the result along which sums run side by side; a constant operand is laid out anew for it.

    With ``strided`` the moving operand need not be dense: where there is no vector unit, what is gained is the other
    operand's element and its position, which are shared by the sums.
    """
    guarded = {guard.first for guard in product.guards}
    best: tuple[int, int, bool, int] | None = None
    for number, (one, other) in enumerate(((product.left, product.right), (product.right, product.left))):
        if not isinstance(one, Access) or not isinstance(other, Access):
            continue
        for axis, length in enumerate(product.outer):
            if axis in guarded or length < 4 or one.strides[axis] != 0 or other.strides[axis] == 0:
                continue
            dense = other.strides[axis] == 1
            if dense or strided or other.value.role is Role.CONSTANT:
                rank = (min(length, 16), int(dense), number == 0, axis)
                best = max(best, rank) if best is not None else rank
    if best is None:
        return None
    chosen = best[3]
    moving = product.right if best[2] else product.left
    if isinstance(moving, Access) and moving.strides[chosen] != 1 and moving.value.role is Role.CONSTANT:
        laid = _laid_out(moving, product, chosen)
        if best[2]:
            product.right = laid
        else:
            product.left = laid
    return chosen


def _laid_out(found: Access, product: Product, last: int) -> Access:
    """A copy of a constant, its axes in the order in which the loops walk them, the vector axis last."""
    space = (*product.outer, *product.summed)
    order = [axis for axis in range(len(space)) if found.strides[axis] and axis != last]
    order.append(last)
    lengths = tuple(space[axis] for axis in order)
    size = found.dtype.itemsize
    strides = tuple(found.strides[axis] * size for axis in order)
    array = nd.as_strided(found.value.example, lengths, strides, offset=found.offset * size).copy()
    digest = hashlib.sha256(array.numpy().tobytes()).hexdigest()[:8]  # one constant may be laid out in several ways
    name = f"{found.value.name}_laid_{digest}"
    value = Value(found.value.number, Role.CONSTANT, array, name)
    fresh = dict(zip(order, dense_strides(lengths), strict=True))
    rest = (0,) * len(product.guards)
    return Access(value, 0, (*(fresh.get(axis, 0) for axis in range(len(space))), *rest))


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
        axis = _vector_axis(product, target.unrolled)
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
        if not product.guards:
            self._merge(space)

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

    def write(self) -> None:
        """The whole nest."""
        outer = [at for at in range(self.cut) if at != self.vector]
        with self.writer.loops([self.names[at] for at in outer], [self.space[at] for at in outer]):
            if self.vector is None:
                self._sums(1, None)
                return
            length, tile = self.space[self.vector], self.target.tile
            name = self.names[self.vector]
            whole = length - length % tile
            if whole == tile:
                self._fixed(0, tile)
            elif whole:
                with self.writer.block(f"for (int {name} = 0; {name} < {whole}; {name} += {tile})"):
                    self._sums(tile, name)
            if whole < length:
                self._fixed(whole, length - whole)

    def _fixed(self, start: int, width: int) -> None:
        """The sums at a known place."""
        assert self.vector is not None
        with self.writer.block(""):
            self.names[self.vector] = str(start)
            self._sums(width, str(start))

    def _sums(self, width: int, name: str | None) -> None:
        """The sums of ``width`` results side by side, and their storing."""
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
        """Sums from 0: one, or ``width`` side by side."""
        if name is None:
            self.writer.line(f"{self.kind} {what} = 0;")
        elif self.target.unrolled:
            self.writer.line(f"{self.kind} {', '.join(f'{what}{t} = 0' for t in range(width))};")
        else:
            self.writer.line(f"{self.kind} {what}[{width}] = {{0}};")

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
        place = index_text(guard.c, strides, self.names[: len(self.space)])
        line = self.writer.line
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
        lane = [*self.names]
        assert self.vector is not None
        fixed = [isinstance(each, Access) and each.strides[self.vector] == 0 for each in self.factors]
        held = self.factors[0] if fixed[0] else self.factors[1]
        moving = self.factors[1] if fixed[0] else self.factors[0]
        with writer.block(""):
            writer.line(f"const {self.kind} x = {self.factor(held, self.names)};")
            with self._lanes(width) as lanes:
                for suffix, offset in lanes:
                    lane[self.vector] = _plus(name, offset)
                    writer.line(self.plus(f"{target}{suffix}", "x", self.factor(moving, lane)))

    def plus(self, target: str, left: str, right: str) -> str:
        if self.integer:
            wide = "uint64_t" if self.kind in ("int64_t", "uint64_t") else "uint32_t"
            return f"{target} = ({self.kind})(({wide}){target} + ({wide}){left} * ({wide}){right});"
        return f"{target} += {left} * {right};"

    def factor(self, factor: Access | Literal, names: list[str]) -> str:
        """The text of a factor, of the sum's type where C would not convert it without a warning."""
        text = element(factor, names) if isinstance(factor, Access) else self.writer.text(factor, names)
        same = self.integer or C_TYPES[factor.dtype.name] == self.kind
        return text if same else f"({self.kind}){text}"

    def stored_text(self, names: list[str], total: str) -> str:
        """What is stored where a sum is complete."""
        return self.writer.text(self.stored, names, total)

    def _add(self, width: int, name: str | None) -> None:
        if name is None:
            self.writer.line("total += part;")
        else:
            with self._lanes(width) as lanes:
                for suffix, _ in lanes:
                    self.writer.line(f"total{suffix} += part{suffix};")

    def _store(self, width: int, name: str | None) -> None:
        writer, names = self.writer, [*self.names]
        if name is None:
            writer.line(f"{element(self.written, names)} = {self.stored_text(names, 'total')};")
            return
        assert self.vector is not None
        with self._lanes(width) as lanes:
            for suffix, offset in lanes:
                names[self.vector] = _plus(name, offset)
                value = self.stored_text(names, f"total{suffix}")
                writer.line(f"{element(self.written, names)} = {value};")


def _plus(name: str, offset: str) -> str:
    if name.isdecimal() and offset.isdecimal():
        return str(int(name) + int(offset))
    return name if offset == "0" else f"{name} + {offset}"
