"""Operands of products in the order in which the loops read them: constants beforehand, others copied by a step."""

import hashlib
import math
from dataclasses import dataclass

import treadle.ndarray as nd
from treadle.autograd.export.expressions import Access
from treadle.autograd.export.products import Product, product_of
from treadle.autograd.export.program import Call, Program, Role, Value, dense_strides
from treadle.ndarray import NDArray

__all__ = ["Panels", "can_be_laid_out", "gather_columns", "panels", "vector_axis"]

_WORTH = 4096  # multiply-accumulates from which on a copy of an operand pays


@dataclass(slots=True)
class Panels(Access):
    """An access whose last stride is that of a column within its panel."""


def can_be_laid_out(found: Access, count: int) -> bool:
    """Whether an operand is a constant that is read by the ``count`` axes alone, not by positions made of several."""
    return found.value.role is Role.CONSTANT and not any(found.strides[count:])


def vector_axis(product: Product, strided: bool) -> int | None:
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
            if dense or strided or can_be_laid_out(other, len(product.outer) + len(product.summed)):
                rank = (min(length, 16), int(dense), number == 0, axis)
                best = max(best, rank) if best is not None else rank
    if best is None:
        return None
    chosen = best[3]
    moving = product.right if best[2] else product.left
    if (
        isinstance(moving, Access)
        and moving.strides[chosen] != 1
        and can_be_laid_out(moving, len(product.outer) + len(product.summed))
    ):
        laid = _laid_out(moving, product, chosen)
        if best[2]:
            product.right = laid
        else:
            product.left = laid
    return chosen


def gather_columns(program: Program) -> None:
    """Let a step before a matrix product copy an operand that has no axis of dense columns, such as attention's keys.

    Sums side by side need neighbouring elements, and one copy serves many of them.
    """
    calls: list[Call] = []
    for call in program.calls:
        if call.function in ("matmul", "einsum") and len(call.operands) == 2:
            product = product_of(call)
            worth = product.count >= _WORTH and vector_axis(product, False) is None
            axis = vector_axis(product, True) if worth else None
            if axis is not None:
                calls += _gathered(call, product, axis)
        calls.append(call)
    program.calls = calls


def _gathered(call: Call, product: Product, axis: int) -> list[Call]:
    """The copy of the operand that moves along an axis, in whose place it is read from now on."""
    factors = (product.left, product.right)
    at = next(at for at, each in enumerate(factors) if isinstance(each, Access) and each.strides[axis])
    value, moving = call.operands[at], factors[at]
    assert isinstance(moving, Access)
    lengths = zip(value.shape, value.strides, strict=True)
    last = [dim for dim, each in enumerate(lengths) if each == (product.outer[axis], moving.strides[axis])]
    if not last:
        return []
    order = [dim for dim in range(len(value.shape)) if dim != last[0]] + last[:1]
    seen = Value(0, Role.COMPUTED, nd.permute_dims(value.example, order))
    seen.views(value.base, value.offset, tuple(value.strides[dim] for dim in order))
    fresh = Value(0, Role.COMPUTED, seen.example.copy(), value.name)
    fresh.call = Call("copy", (seen,), {}, [fresh], call.origin)
    back = Value(0, Role.COMPUTED, value.example)
    back.views(fresh, 0, tuple(fresh.strides[order.index(dim)] for dim in range(len(order))))
    first = len(call.arguments) - 2
    call.arguments = tuple(back if place == first + at else each for place, each in enumerate(call.arguments))
    return [fresh.call]


def _laid_out(found: Access, product: Product, last: int) -> Access:
    """A copy of a constant, its axes in the order in which the loops walk them, the vector axis last."""
    space = (*product.outer, *product.summed)
    order = [axis for axis in range(len(space)) if found.strides[axis] and axis != last]
    order.append(last)
    array = _walked(found, tuple(space[axis] for axis in order), tuple(found.strides[axis] for axis in order)).copy()
    fresh = dict(zip(order, dense_strides(array.shape), strict=True))
    rest = (0,) * len(product.guards)
    return Access(_named(found, array, "laid"), 0, (*(fresh.get(axis, 0) for axis in range(len(space))), *rest))


def panels(found: Access, space: tuple[int, ...] | list[int], vector: int, columns: int) -> Panels:
    """A copy of a constant in panels: ``columns`` results wide, and in each all that is summed, one after the other.

    The last panel is filled up with zeros that nothing reads.
    """
    order = [axis for axis in range(len(space)) if found.strides[axis] and axis != vector]
    lengths = tuple(space[axis] for axis in order)
    array = _walked(found, (*lengths, space[vector]), tuple(found.strides[axis] for axis in (*order, vector)))
    count = -(-space[vector] // columns)
    empty = nd.zeros((*lengths, count * columns - space[vector]), dtype=array.dtype)
    wide = nd.concat([array, empty], axis=-1).reshape(*lengths, count, columns)
    packed = nd.moveaxis(wide, -2, 0).copy()
    fresh = dict(zip(order, dense_strides(packed.shape)[1:], strict=False))
    fresh[vector] = math.prod(lengths)  # a panel further for each ``columns`` of the axis
    steps = (fresh.get(axis, 0) for axis in range(len(found.strides)))
    return Panels(_named(found, packed, "panels"), 0, (*steps, 1))


def _walked(found: Access, lengths: tuple[int, ...], strides: tuple[int, ...]) -> NDArray:
    size = found.dtype.itemsize
    steps = tuple(each * size for each in strides)
    return nd.as_strided(found.value.example, lengths, steps, offset=found.offset * size)


def _named(found: Access, array: NDArray, how: str) -> Value:
    digest = hashlib.sha256(array.numpy().tobytes()).hexdigest()[:8]  # one constant may be laid out in several ways
    return Value(found.value.number, Role.CONSTANT, array, f"{found.value.name}_{how}_{digest}")
