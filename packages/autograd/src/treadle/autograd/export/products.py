"""Which array functions are products of two arrays summed over some axes, and by which strides: matmul, einsum,
convolution and its gradients.

The result's axes come first, the summed ones behind them; the channels of a convolution are cut into groups, so
that its axes are (batch, groups, outputs of a group, *places).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from treadle.autograd.errors import ExportError
from treadle.autograd.export.expressions import Access, Literal, access
from treadle.autograd.export.program import Call, Value
from treadle.autograd.ops.contractions import explicit
from treadle.ndarray.geometry import pairs, per_axis

__all__ = ["PRODUCTS", "Guard", "Product", "inside", "product_of", "spread_channels"]


@dataclass(slots=True)
class Guard:
    """A position that a factor is read at: (first * a + second * b + c) / divisor, where that is whole and in range.

    ``first`` is an axis of the result and ``second`` a summed one; other terms are left out. A factor's strides have
    one for each position, behind those of the axes.
    """

    first: int
    second: int
    a: int
    b: int
    c: int
    length: int
    divisor: int = 1

    def valid(self, outs: int, taps: int) -> int:
        """How many pairs of the axes' indices there are that count."""
        places = (one * self.a + other * self.b + self.c for one in range(outs) for other in range(taps))
        return sum(0 <= each < self.length * self.divisor and each % self.divisor == 0 for each in places)


@dataclass(slots=True)
class Product:
    """left * right summed: the lengths of the result's axes and of the summed ones, and the strides over both."""

    outer: tuple[int, ...]
    summed: tuple[int, ...]
    left: Access | Literal
    right: Access | Literal
    guards: list[Guard] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Multiply-accumulates."""
        space = [*self.outer, *self.summed]
        total = 1
        for guard in self.guards:
            total *= guard.valid(space[guard.first], space[guard.second])
            space[guard.first] = space[guard.second] = 1
        return total * math.prod(space)


def inside(product: Product, axis: int, space: Sequence[int]) -> range:
    """The indices along an axis of the result where every position that depends on it is inside of its array."""
    found = range(space[axis])
    for guard in product.guards:
        if guard.first == axis:
            taps = space[guard.second]
            whole = [at for at in found if guard.divisor == 1 and _inside(guard, at, taps)]
            found = range(whole[0], whole[-1] + 1) if whole else range(0)
    return found


def _inside(guard: Guard, at: int, taps: int) -> bool:
    places = (at * guard.a + tap * guard.b + guard.c for tap in range(taps))
    return all(0 <= each < guard.length for each in places)


def product_of(call: Call) -> Product:
    """A call of matmul, einsum or conv as a product."""
    if call.function in _PRODUCTS:
        return _PRODUCTS[call.function](call)
    subscripts, operands = call.arguments[0], call.arguments[1:]
    if len(operands) == 1:
        (term,), out = explicit(subscripts, [len(operands[0].shape)])
        found = _lettered(operands[0], operands[0], term, term, out)
        return Product(found.outer, found.summed, found.left, Literal(1, operands[0].dtype))
    if len(operands) != 2:
        raise ExportError(f"export to C: {call.origin.label}: einsum of {len(operands)} operands; nest two at a time")
    (left, right), out = explicit(subscripts, [len(each.shape) for each in operands])
    return _lettered(operands[0], operands[1], left, right, out)


def _lettered(a: Value, b: Value, left: str, right: str, out: str) -> Product:
    lengths: dict[str, int] = {}
    for term, value in ((left, a), (right, b)):
        for letter, length in zip(term, value.shape, strict=True):
            before = lengths.get(letter, 1)
            lengths[letter] = max(before, length) if before and length else 0
    summed = [letter for letter in dict.fromkeys(left + right) if letter not in out]
    space = [*out, *summed]
    return Product(
        tuple(lengths[each] for each in out), tuple(lengths[each] for each in summed),
        _strided(a, left, space), _strided(b, right, space),
    )  # fmt: skip


def _strided(value: Value, term: str, space: list[str]) -> Access | Literal:
    strides = dict.fromkeys(space, 0)
    for letter, length, step in zip(term, value.shape, value.strides, strict=True):
        strides[letter] += step if length > 1 else 0
    return _factor_of(value, tuple(strides[each] for each in space))


def _matmul(call: Call) -> Product:
    a, b = call.arguments
    batch = "".join(chr(65 + at) for at in range(max(len(a.shape), len(b.shape)) - 2))
    left = (batch[len(batch) - (len(a.shape) - 2) :] + "ik") if len(a.shape) > 1 else "k"
    right = (batch[len(batch) - (len(b.shape) - 2) :] + "kj") if len(b.shape) > 1 else "k"
    out = batch + "i" * (len(a.shape) > 1) + "j" * (len(b.shape) > 1)
    return _lettered(a, b, left, right, out)


@dataclass(slots=True)
class _Windows:
    """The configuration of a convolution, from the call of it or of one of its gradients."""

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    groups: int
    kernel: tuple[int, ...]

    @classmethod
    def of(cls, call: Call, weight: tuple[int, ...]) -> "_Windows":
        kernel, options = weight[2:], call.options
        stride = per_axis(options.get("stride", 1), len(kernel), "stride", call.function)
        dilation = per_axis(options.get("dilation", 1), len(kernel), "dilation", call.function)
        padding = pairs(options.get("padding", 0), kernel, stride, dilation, call.function)
        return cls(stride, dilation, padding, options.get("groups", 1), kernel)


def _convolution(call: Call) -> Product:
    x, weight = call.arguments[:2]
    windows = _Windows.of(call, weight.shape)
    share = weight.shape[0] // windows.groups
    places = call.results[0].shape[2:]
    outer = (x.shape[0], windows.groups, share, *places)
    summed = (*windows.kernel, weight.shape[1])
    count, xs = len(places), x.strides
    guards, along, taps = [], [], []
    for axis in range(count):
        stride, apart, before = windows.stride[axis], windows.dilation[axis], windows.padding[axis][0]
        padded = any(windows.padding[axis])
        if padded:
            guards.append(Guard(3 + axis, 3 + count + axis, stride, apart, -before, x.shape[2 + axis]))
        along.append(0 if padded else xs[2 + axis] * stride)
        taps.append(0 if padded else xs[2 + axis] * apart)
    steps = tuple(xs[2 + guard.first - 3] for guard in guards)
    left = Access(x.base, x.offset, (xs[0], xs[1] * weight.shape[1], 0, *along, *taps, xs[1], *steps))
    ws = weight.strides
    strides = (0, share * ws[0], ws[0], *(0,) * count, *ws[2:], ws[1], *(0,) * len(guards))
    return Product(outer, summed, left, _factor_of(weight, strides), guards)


def _input_gradient(call: Call) -> Product:
    gradient, weight = call.arguments[:2]
    windows = _Windows.of(call, weight.shape)
    share = weight.shape[0] // windows.groups
    lengths = call.results[0].shape[2:]
    outer = (gradient.shape[0], windows.groups, weight.shape[1], *lengths)
    summed = (*windows.kernel, share)
    count, gs, ws = len(lengths), gradient.strides, weight.strides
    guards = [
        Guard(
            3 + axis, 3 + count + axis, 1, -windows.dilation[axis], windows.padding[axis][0], gradient.shape[2 + axis],
            windows.stride[axis],
        )
        for axis in range(count)
    ]  # fmt: skip
    idle = (0,) * count
    left = Access(gradient.base, gradient.offset, (gs[0], gs[1] * share, 0, *idle, *idle, gs[1], *gs[2:]))
    strides = (0, share * ws[0], ws[1], *idle, *ws[2:], ws[0], *idle)
    return Product(outer, summed, left, _factor_of(weight, strides), guards)


def _weight_gradient(call: Call) -> Product:
    gradient, x = call.arguments[:2]
    shape = call.results[0].shape
    windows = _Windows.of(call, shape)
    share = shape[0] // windows.groups
    places = gradient.shape[2:]
    count, gs, xs = len(places), gradient.strides, x.strides
    outer = (windows.groups, share, shape[1], *windows.kernel)
    summed = (gradient.shape[0], *places)
    guards = [
        Guard(
            3 + axis, 4 + count + axis, windows.dilation[axis], windows.stride[axis], -windows.padding[axis][0],
            x.shape[2 + axis],
        )
        for axis in range(count)
    ]  # fmt: skip
    idle = (0,) * count
    left = Access(gradient.base, gradient.offset, (share * gs[1], gs[1], 0, *idle, gs[0], *gs[2:], *idle))
    right = Access(x.base, x.offset, (xs[1] * shape[1], 0, xs[1], *idle, xs[0], *idle, *xs[2:]))
    return Product(outer, summed, left, right, guards)


def _factor_of(value: Value, strides: tuple[int, ...]) -> Access | Literal:
    """A factor's access; the number itself for a constant of equal elements."""
    found = access(value, value.shape)
    return found if isinstance(found, Literal) else Access(value.base, value.offset, strides)


def spread_channels(call: Call, product: Product, found: list[Access]) -> None:
    """Let accesses over the result's axes go over those of the product, where the channels are cut into groups."""
    for each in found:
        if call.function.startswith("conv"):
            axis = 0 if call.function == "conv_weight_gradient" else 1
            groups, share = product.outer[axis : axis + 2]
            step = each.strides[axis]
            each.strides = (*each.strides[:axis], step * share if groups > 1 else 0, *each.strides[axis:])
        each.strides = each.strides + (0,) * (len(product.summed) + len(product.guards))


_PRODUCTS = {
    "matmul": _matmul, "conv": _convolution, "conv_input_gradient": _input_gradient,
    "conv_weight_gradient": _weight_gradient,
}  # fmt: skip
PRODUCTS = frozenset([*_PRODUCTS, "einsum"])
"""The functions that are products."""
