"""Einstein's summation as an op. Its gradients are sums of the same kind."""

import string
from collections.abc import Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Shape, axes_of, axis_from_the_end, fit, tried
from treadle.ndarray import DType, ShapeError

__all__ = ["Einsum"]


class Einsum(Op):
    """``Einsum("ij,jk->ik")(a, b)``: :func:`treadle.ndarray.einsum`, with its letters, ellipsis and diagonals.

    The gradient of an operand is the einsum of the result's gradient with the other operands, in the operand's letters.
    Letters that only this operand has were summed over, so their gradient is spread; a letter twice took a diagonal, so
    its gradient lies on one.
    """

    holomorphic = True

    def __init__(self, subscripts: str) -> None:
        self.subscripts = subscripts

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return xp.einsum(self.subscripts, *arrays), arrays

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        arrays = node.saved
        terms, output = explicit(self.subscripts, [each.ndim for each in arrays])
        return tuple(
            _gradient(xp, grad, arrays, terms, output, index) if node.needs_grad(index) else None
            for index in range(len(arrays))
        )

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        terms, output = explicit(self.subscripts, [len(shape) for shape in shapes])
        lengths: dict[str, int] = {}
        for term, shape in zip(terms, shapes, strict=True):
            own: dict[str, int] = {}
            for letter, length in zip(term, shape, strict=True):
                if own.setdefault(letter, length) != length:  # a diagonal does not broadcast
                    raise ShapeError(f"{self}: lengths {own[letter]} and {length} for {letter!r} in shape {shape}")
                if lengths.setdefault(letter, length) != length:
                    if 1 not in (length, lengths[letter]):
                        raise ShapeError(f"{self}: lengths {lengths[letter]} and {length} for {letter!r} in {shapes}")
                    lengths[letter] = max(lengths[letter], length) if 0 not in (length, lengths[letter]) else 0
        return tuple(lengths[letter] for letter in output), tried(self, shapes, dtypes)


def explicit(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand's axes and of the result's, with those of the ellipsis spelled out."""
    if not isinstance(subscripts, str):
        raise nd.ArgumentError(f"einsum: subscripts is a {type(subscripts).__name__}; it is a str such as 'ij,jk->ik'")
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} names {len(parts)} operands, and {len(ndims)} were given")
    unused = [letter for letter in string.ascii_letters if letter not in text]
    widths = [
        max(0, ndim - len(part.replace("...", ""))) if "..." in part else 0
        for part, ndim in zip(parts, ndims, strict=True)
    ]
    dots = "".join(unused[: max(widths, default=0)])
    terms = [part.replace("...", dots[len(dots) - width :]) for part, width in zip(parts, widths, strict=True)]
    if any(len(term) != ndim for term, ndim in zip(terms, ndims, strict=True)):
        raise ShapeError(f"einsum: {subscripts!r} does not fit operands of {ndims} axes")
    if arrow:
        return terms, right.replace("...", dots)
    joined = "".join(terms)
    once = sorted(letter for letter in set(joined) if letter not in dots and joined.count(letter) == 1)
    return terms, dots + "".join(once)


def _gradient(xp: Any, grad: Any, arrays: tuple[Any, ...], terms: list[str], output: str, index: int) -> Any:
    array, term = arrays[index], terms[index]
    others = [(each, letters) for at, (each, letters) in enumerate(zip(arrays, terms, strict=True)) if at != index]
    elsewhere = set(output).union(*[letters for _, letters in others])
    unique = "".join(dict.fromkeys(term))
    known = "".join(letter for letter in unique if letter in elsewhere)
    inputs = ",".join([output, *[letters for _, letters in others]])
    found = xp.einsum(f"{inputs}->{known}", grad, *[each for each, _ in others])
    lengths = [array.shape[term.index(letter)] for letter in unique]
    for at, letter in enumerate(unique):
        if letter not in elsewhere:
            found = xp.expand_dims(found, axis=at)
    sizes = tuple(
        length if letter not in elsewhere or found.shape[at] == 1 else found.shape[at]
        for at, (letter, length) in enumerate(zip(unique, lengths, strict=True))
    )
    found = xp.broadcast_to(found, sizes)
    if unique != term:
        found = _on_diagonals(xp, fit(xp, found, tuple(lengths), array.dtype), term, unique)
    return fit(xp, found, array.shape, array.dtype)


def _on_diagonals(xp: Any, found: Any, term: str, unique: str) -> Any:
    """A gradient in an operand's distinct letters, put on the diagonals of the letters that it repeats."""
    fresh = iter([letter for letter in string.ascii_letters if letter not in term])
    letters, masks, seen = "", [], set()
    for letter in term:
        name = next(fresh) if letter in seen else letter
        if letter in seen:
            length = found.shape[unique.index(letter)]
            masks.append((f"{letter}{name}", xp.eye(length, dtype=found.dtype, device=found.device)))
        seen.add(letter)
        letters += name
    inputs = ",".join([unique, *[pair for pair, _ in masks]])
    return xp.einsum(f"{inputs}->{letters}", found, *[mask for _, mask in masks])


def einsum(subscripts: str, /, *operands: Tensor) -> Tensor:
    """The sum of products that the subscripts name; :func:`treadle.ndarray.einsum`.

    >>> import treadle.autograd as ag
    >>> a = ag.Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> ag.einsum("ii", a).backward()
    >>> a.grad.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return Einsum(subscripts)(*operands)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum over pairs of axes: the last and first ``axes``, or two sequences of them.

    >>> import treadle.autograd as ag
    >>> ag.tensordot(ag.Tensor([1.0, 2.0]), ag.Tensor([3.0, 4.0]), axes=1).item()
    11.0
    """
    count1, count2 = x1.ndim, x2.ndim
    if isinstance(axes, int):
        if not 0 <= axes <= min(count1, count2):
            raise ShapeError(f"tensordot: {axes} axes of shapes {x1.shape} and {x2.shape}")
        axes = (range(count1 - axes, count1), range(axes))
    first, second = (_listed(each, x.ndim) for each, x in zip(axes, (x1, x2), strict=True))
    if len(first) != len(second) or len({*first}) + len({*second}) != 2 * len(first) or count1 + count2 > 52:
        raise ShapeError(f"tensordot: axes {axes} for shapes {x1.shape} and {x2.shape}")
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(count1)]
    right = [next(letters) for _ in range(count2)]
    for a, b in zip(first, second, strict=True):
        if x1.shape[a] != x2.shape[b]:
            raise ShapeError(f"tensordot: lengths {x1.shape[a]} and {x2.shape[b]} of axes {a} and {b} differ")
        right[b] = left[a]
    kept = [letter for letter in left + right if (letter in left) != (letter in right)]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", x1, x2)


def _listed(axes: int | Sequence[int], ndim: int) -> list[int]:
    """The axes as non-negative numbers, in their order."""
    return [axes_of(each, ndim, "tensordot")[0] for each in ([axes] if isinstance(axes, int) else axes)]


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The dot product along an axis, of conj(x1) and x2; the other axes broadcast.

    >>> import treadle.autograd as ag
    >>> ag.vecdot(ag.Tensor([[1.0, 2.0], [3.0, 4.0]]), ag.Tensor([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
    from treadle.autograd import functions as f

    axis = axis_from_the_end(axis, x1, x2, "vecdot")
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(f"vecdot: shapes {x1.shape} and {x2.shape} along axis {axis}")
    return f.sum((f.conj(x1) if x1.dtype.kind == "c" else x1) * x2, axis=axis)


def dot(x1: Tensor, x2: Tensor, /) -> Tensor:
    """NumPy's dot: a product with a scalar, of vectors, of matrices, or the last axis with the last but one.

    >>> import treadle.autograd as ag
    >>> ag.dot(ag.Tensor([1.0, 2.0]), ag.Tensor([3.0, 4.0])).item()
    11.0
    """
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return tensordot(x1, x2, axes=([-1], [-2 if x2.ndim > 1 else -1]))


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of the elements of two vectors.

    >>> import treadle.autograd as ag
    >>> ag.outer(ag.Tensor([1.0, 2.0]), ag.Tensor([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer: shapes {x1.shape} and {x2.shape}; both are vectors")
    return einsum("i,j->ij", x1, x2)
