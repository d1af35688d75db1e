"""How alike vectors are: rows of two tensors, and all pairs of rows of one."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._fused import is_half

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The dot product along ``dim`` over both lengths, which count as ``eps`` where they are less.

    >>> cosine_similarity(Tensor([[3.0, 4.0]]), Tensor([[3.0, 4.0]])).tolist()
    [1.0]
    """
    if is_half(x1) and is_half(x2):  # which have no such eps
        wide = cosine_similarity(x1.astype(nd.float32), x2.astype(nd.float32), dim, eps)
        return wide.astype(nd.result_type(x1.dtype, x2.dtype))
    units = []
    shape = nd.broadcast_shapes(x1.shape, x2.shape)
    for each in (x1, x2):
        if each.ndim < len(shape) or (each.shape != shape and each.shape[dim] != shape[dim]):
            each = autograd.broadcast_to(each, shape)
        length = autograd.norm(each, axis=dim, keepdims=True)
        units.append(each / autograd.where(length.detach() < eps, eps, length))
    return autograd.sum(units[0] * units[1], axis=dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The ``p`` norm along the last dimension of ``x1 - x2 + eps``.

    >>> round(pairwise_distance(Tensor([0.0, 0.0]), Tensor([3.0, 4.0])).item(), 4)
    5.0
    """
    return autograd.linalg.vector_norm(x1 - x2 + eps, axis=-1, keepdims=keepdim, ord=p)


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
