"""Padding, repeating, rolling, triangles and diagonals. Linear all of them; some as ops, some made of others."""

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd.ops._common import Axis, Shape, axes_of, call, tried, tried_as_view
from treadle.autograd.ops.indexing import GetItem, get_item, take
from treadle.autograd.ops.manipulation import broadcast_to, flip, moveaxis, reshape, swapaxes
from treadle.ndarray import DType, ShapeError

__all__ = ["Diagonal", "DiagonalPut", "Pad", "Roll", "Triangle"]


class Pad(Op):
    """A constant before and after, along each axis: ``widths`` has a pair for every axis."""

    def __init__(self, widths: Sequence[Sequence[int]], value: float = 0.0) -> None:
        self.widths = tuple((operator.index(before), operator.index(after)) for before, after in widths)
        self.value = value

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        if len(self.widths) != x.ndim:
            raise ShapeError(f"{self}: {len(self.widths)} pairs for shape {x.shape}")
        return xp.pad(x, self.widths, constant_values=self.value), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        shape = node.inputs[0].shape
        index = tuple(slice(before, before + n) for (before, _), n in zip(self.widths, shape, strict=True))
        return call(xp, GetItem(index), grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = tried(self, shapes, dtypes)
        return tuple(b + n + a for (b, a), n in zip(self.widths, shapes[0], strict=True)), dtype


class Roll(Op):
    """Elements moved along axes, what leaves at one end entering at the other; without an axis, in C order."""

    def __init__(self, shift: int | Sequence[int], axis: Axis = None) -> None:
        self.shift = shift
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.roll(x, self.shift, axis=self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        back = -self.shift if isinstance(self.shift, int) else tuple(-each for each in self.shift)
        return call(xp, Roll(back, self.axis), grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class Triangle(Op):
    """The lower triangle of matrices up to diagonal ``k``, or the upper from it on; zeros elsewhere."""

    def __init__(self, upper: bool = False, k: int = 0) -> None:
        self.upper = upper
        self.k = operator.index(k)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return (xp.triu if self.upper else xp.tril)(x, k=self.k), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return call(xp, self, grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class Diagonal(Op):
    """A diagonal of the last two axes, as a view."""

    def __init__(self, offset: int = 0) -> None:
        self.offset = operator.index(offset)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.linalg.diagonal(x, offset=self.offset), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return call(xp, DiagonalPut(node.inputs[0].shape, self.offset), grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return tried_as_view(self, shapes, dtypes)


class DiagonalPut(Op):
    """Zeros of ``shape`` with the operand on a diagonal of the last two axes: :class:`Diagonal` transposed."""

    def __init__(self, shape: Shape, offset: int = 0) -> None:
        self.shape = tuple(shape)
        self.offset = operator.index(offset)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (values,) = arrays
        self._check(values.shape)
        out = xp.zeros(self.shape, dtype=values.dtype, device=values.device)
        steps = nd.arange(values.shape[-1], device=values.device)
        out[..., steps + max(0, -self.offset), steps + max(0, self.offset)] = values
        return out, ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return call(xp, Diagonal(self.offset), grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,), (dtype,) = shapes, dtypes
        self._check(shape)
        return self.shape, dtype

    def _check(self, shape: Shape) -> None:
        place = Diagonal(self.offset).infer((self.shape,), (nd.bool,))[0]
        if shape != place:
            raise ShapeError(f"{self}: shape {shape}; the diagonal's is {place}")


def pad(
    x: Tensor,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    /,
    *,
    mode: str = "constant",
    constant_values: float = 0.0,
) -> Tensor:
    """x with elements added around it: a number for all axes, a pair, or a pair for each; modes as in the array's pad.

    >>> import treadle.autograd as ag
    >>> ag.pad(ag.Tensor([1.0, 2.0, 3.0]), (1, 2)).tolist()
    [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]
    """
    if mode != "constant":
        places = nd.pad(nd.arange(x.size, device=x.device).reshape(x.shape), pad_width, mode=mode)
        return take(reshape(x, (x.size,)), constant(places), axis=0)
    widths = _widths(pad_width, x.ndim)
    return Pad(widths, constant_values)(x)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * ndim
    given = list(pad_width)
    if all(isinstance(each, int) for each in given) and len(given) in (1, 2):
        return [(given[0], given[-1])] * ndim
    pairs = [(each[0], each[-1]) for each in given if not isinstance(each, int) and len(each) in (1, 2)]
    if len(pairs) != len(given) or len(pairs) not in (1, ndim):
        raise ShapeError(f"pad: pad_width {pad_width!r} is no number, no pair, and no pair for each of {ndim} axes")
    return pairs * ndim if len(pairs) == 1 else pairs


def roll(x: Tensor, /, shift: int | Sequence[int], axis: Axis = None) -> Tensor:
    """Elements moved along axes, those that leave at one end entering at the other.

    >>> import treadle.autograd as ag
    >>> ag.roll(ag.Tensor([1.0, 2.0, 3.0]), 1).tolist()
    [3.0, 1.0, 2.0]
    """
    return Roll(shift, axis)(x)


def repeat(x: Tensor, repeats: Any, /, axis: int | None = None) -> Tensor:
    """Each element ``repeats`` times, or as often as its number in a tensor says; without an axis, of all in C order.

    >>> import treadle.autograd as ag
    >>> ag.repeat(ag.Tensor([1.0, 2.0]), 2).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    (along,) = axes_of(axis, x.ndim, "repeat")
    counts = repeats.data if isinstance(repeats, Tensor) else repeats
    places = nd.repeat(nd.arange(x.shape[along], device=x.device), counts)
    return take(x, constant(places), axis=along)


def tile(x: Tensor, repetitions: int | Sequence[int], /) -> Tensor:
    """x side by side ``repetitions`` times along each axis.

    >>> import treadle.autograd as ag
    >>> ag.tile(ag.Tensor([1.0, 2.0]), (2, 2)).tolist()
    [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """
    times = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    times = (1,) * (x.ndim - len(times)) + times
    shape = (1,) * (len(times) - x.ndim) + x.shape
    spread = tuple(each for pair in ((1, n) for n in shape) for each in pair)
    wanted = tuple(each for pair in zip(times, shape, strict=True) for each in pair)
    return reshape(broadcast_to(reshape(x, spread), wanted), tuple(a * b for a, b in zip(times, shape, strict=True)))


def split(x: Tensor, sections: int | Sequence[int], /, axis: int = 0) -> list[Tensor]:
    """Views of parts along an axis: so many equal ones, or cut at the indices.

    >>> import treadle.autograd as ag
    >>> [part.tolist() for part in ag.split(ag.Tensor([1.0, 2.0, 3.0, 4.0]), 2)]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    (along,) = axes_of(axis, x.ndim, "split")
    length = x.shape[along]
    if isinstance(sections, int):
        count = sections
        if count < 1 or length % count:
            raise ShapeError(f"split: {length} elements along axis {axis} do not make {count} equal parts")
        cuts = [length // count * at for at in range(1, count)]
    else:
        cuts = [operator.index(each) for each in sections]
    bounds = [0, *cuts, length]
    lead = (slice(None),) * along
    return [get_item(x, (*lead, slice(a, b))) for a, b in pairwise(bounds)]


def unstack(x: Tensor, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, which they lose.

    >>> import treadle.autograd as ag
    >>> [each.item() for each in ag.unstack(ag.Tensor([1.0, 2.0]))]
    [1.0, 2.0]
    """
    (along,) = axes_of(axis, x.ndim, "unstack")
    return tuple(get_item(x, (*(slice(None),) * along, at)) for at in range(x.shape[along]))


def rot90(x: Tensor, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """x turned by 90 degrees ``k`` times, from the first of two axes towards the second.

    >>> import treadle.autograd as ag
    >>> ag.rot90(ag.Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    first, second = (axes_of(each, x.ndim, "rot90")[0] for each in axes)
    if first == second:
        raise ShapeError(f"rot90: axes {axes} are the same")
    k = operator.index(k)
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(x, axis=(first, second))
    if k % 4 == 1:
        return swapaxes(flip(x, axis=second), first, second)
    return flip(swapaxes(x, first, second), axis=second)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangles of matrices (..., m, n), up to diagonal k.

    >>> import treadle.autograd as ag
    >>> ag.tril(ag.Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    return Triangle(False, k)(x)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangles of matrices (..., m, n), from diagonal k on.

    >>> import treadle.autograd as ag
    >>> ag.triu(ag.Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    return Triangle(True, k)(x)


def diagonal(x: Tensor, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """A diagonal of two axes, by default the last two: those axes go, and its own comes last.

    >>> import treadle.autograd as ag
    >>> ag.diagonal(ag.Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return Diagonal(offset)(x if (axis1, axis2) == (-2, -1) else moveaxis(x, (axis1, axis2), (-2, -1)))


def trace(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The sum of a diagonal of the last two axes.

    >>> import treadle.autograd as ag
    >>> ag.trace(ag.Tensor([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    from treadle.autograd.ops.reductions import sum

    return sum(Diagonal(offset)(x), axis=-1)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1) -> Tensor:
    """Differences of neighbours along an axis, taken n times.

    >>> import treadle.autograd as ag
    >>> ag.diff(ag.Tensor([1.0, 4.0, 9.0])).tolist()
    [3.0, 5.0]
    """
    (along,) = axes_of(axis, x.ndim, "diff")
    if n < 0:
        raise ShapeError(f"diff: n is {n}; it must not be negative")
    lead = (slice(None),) * along
    for _ in range(min(n, x.shape[along])):  # more leave nothing too
        x = get_item(x, (*lead, slice(1, None))) - get_item(x, (*lead, slice(None, -1)))
    return x


def kron(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The Kronecker product.

    >>> import treadle.autograd as ag
    >>> ag.kron(ag.Tensor([1.0, 10.0]), ag.Tensor([1.0, 2.0])).tolist()
    [1.0, 2.0, 10.0, 20.0]
    """
    count = max(x1.ndim, x2.ndim)
    a = (1,) * (count - x1.ndim) + x1.shape
    b = (1,) * (count - x2.ndim) + x2.shape
    left = reshape(x1, tuple(each for n in a for each in (n, 1)))
    right = reshape(x2, tuple(each for n in b for each in (1, n)))
    return reshape(left * right, tuple(m * n for m, n in zip(a, b, strict=True)))
