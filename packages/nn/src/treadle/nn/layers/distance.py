"""How alike vectors are."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The dot product along ``dim`` over both lengths, which count as ``eps`` where they are less.

    >>> import treadle.nn as nn
    >>> nn.CosineSimilarity()(Tensor([[3.0, 4.0]]), Tensor([[3.0, 4.0]])).tolist()
    [1.0]
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The similarities, without dimension ``dim``."""
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The ``p`` norm along the last dimension of ``x1 - x2 + eps``.

    >>> import treadle.nn as nn
    >>> round(nn.PairwiseDistance()(Tensor([0.0, 0.0]), Tensor([3.0, 4.0])).item(), 4)
    5.0
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances, without the last dimension unless ``keepdim``."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
