"""Affine and bilinear maps, and changes of shape."""

from collections.abc import Sequence
from math import prod

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["bilinear", "flatten", "linear", "unflatten"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    ``input`` is ``(..., in)``, ``weight`` ``(out, in)``, ``bias`` ``(out,)``, the result ``(..., out)``; shapes that do
    not fit are a ShapeError.

    >>> linear(Tensor([[1.0, 2.0]]), Tensor([[10.0, 1.0]]), Tensor([0.5])).numpy().tolist()
    [[12.5]]
    """
    return autograd.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output ``k``.

    ``(..., in1)``, ``(..., in2)``, ``(out, in1, in2)`` and ``(out,)`` give ``(..., out)``.

    >>> bilinear(Tensor([2.0]), Tensor([3.0]), Tensor([[[10.0]]])).tolist()
    [60.0]
    """
    if (
        weight.ndim != 3
        or input1.shape[:-1] != input2.shape[:-1]
        or (input1.shape[-1:], input2.shape[-1:]) != (weight.shape[1:2], weight.shape[2:])
    ):
        raise nd.ShapeError(
            f"bilinear: inputs of shapes {input1.shape} and {input2.shape} do not fit a weight of shape "
            f"{weight.shape}: (outputs, in1, in2)"
        )
    out = autograd.einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` (inclusive) joined into one; a 0-d tensor becomes 1-d.

    >>> flatten(Tensor([[[1.0, 2.0], [3.0, 4.0]]]), 1).shape
    (1, 4)
    """
    shape = input.shape
    rank = max(len(shape), 1)
    for dim in (start_dim, end_dim):
        if not -rank <= dim < rank:
            raise nd.ShapeError(f"flatten: dimension {dim} is out of range for shape {shape}")
    start, end = start_dim % rank, end_dim % rank
    if start > end:
        raise nd.ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim} for shape {shape}")
    if shape and start == end:
        return input
    return autograd.reshape(input, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension ``dim`` cut into ``sizes``, one of which may be -1. ShapeError where their product does not fit.

    >>> unflatten(Tensor([[1.0, 2.0, 3.0, 4.0]]), 1, (2, -1)).shape
    (1, 2, 2)
    """
    shape = input.shape
    if not -len(shape) <= dim < len(shape):
        raise nd.ShapeError(f"unflatten: dimension {dim} is out of range for shape {shape}")
    dim %= len(shape)
    wanted = tuple(sizes)
    if wanted.count(-1) == 1:
        known = prod(size for size in wanted if size != -1)
        wanted = tuple(shape[dim] // known if size == -1 and known else size for size in wanted)
    if prod(wanted) != shape[dim] or any(size < 0 for size in wanted):
        raise nd.ShapeError(f"unflatten: {tuple(sizes)} does not multiply to the {shape[dim]} of dimension {dim}")
    return autograd.reshape(input, (*shape[:dim], *wanted, *shape[dim + 1 :]))
