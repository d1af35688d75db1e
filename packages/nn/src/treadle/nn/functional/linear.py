"""Affine maps and changes of shape."""

from math import prod

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["flatten", "linear"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    ``input`` is ``(..., in)``, ``weight`` ``(out, in)``, ``bias`` ``(out,)``, the result ``(..., out)``; shapes that do
    not fit are a ShapeError.

    >>> linear(Tensor([[1.0, 2.0]]), Tensor([[10.0, 1.0]]), Tensor([0.5])).numpy().tolist()
    [[12.5]]
    """
    return autograd.linear(input, weight, bias)


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
