"""How alike vectors are."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._fused import is_half

__all__ = ["cosine_similarity", "pairwise_distance"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The dot product along ``dim`` over both lengths, which count as ``eps`` where they are less.

    >>> cosine_similarity(Tensor([[3.0, 4.0]]), Tensor([[3.0, 4.0]])).tolist()
    [1.0]
    """
    if is_half(x1) and is_half(x2):  # which have no such eps
        wide = cosine_similarity(x1.astype(nd.float32), x2.astype(nd.float32), dim, eps)
        return wide.astype(nd.result_type(x1.dtype, x2.dtype))
    units = []
    for each in (x1, x2):
        length = autograd.norm(each, axis=dim, keepdims=True)
        units.append(each / autograd.where(length.detach() < eps, eps, length))
    return autograd.sum(units[0] * units[1], axis=dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The ``p`` norm along the last dimension of ``x1 - x2 + eps``.

    >>> round(pairwise_distance(Tensor([0.0, 0.0]), Tensor([3.0, 4.0])).item(), 4)
    5.0
    """
    return autograd.linalg.vector_norm(x1 - x2 + eps, axis=-1, keepdims=keepdim, ord=p)
