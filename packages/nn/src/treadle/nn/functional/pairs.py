"""Distances of all pairs of rows."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["pdist"]


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The ``p`` norms of the differences of all pairs of rows of ``(rows, features)``: 0 and 1, 0 and 2, ..., 1 and 2.

    >>> pdist(Tensor([[0.0], [3.0], [4.0]])).tolist()
    [3.0, 4.0, 1.0]
    """
    if input.ndim != 2:
        raise nd.ShapeError(f"pdist: an input of shape {input.shape}; it is (rows, features)")
    rows = input.shape[0]
    pairs = [(first, second) for first in range(rows) for second in range(first + 1, rows)]
    ends = [Tensor(nd.asarray([pair[end] for pair in pairs], dtype="int64", device=input.device)) for end in (0, 1)]
    first, second = (autograd.take(input, end, axis=0) for end in ends)
    return autograd.linalg.vector_norm(first - second, axis=-1, ord=p)
