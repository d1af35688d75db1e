"""Normalisation by the squares of neighbouring channels."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module

__all__ = ["LocalResponseNorm"]


class LocalResponseNorm(Module):
    """``input / (k + alpha * m) ** beta`` with m the mean of the squares of ``size`` channels around each one.

    Krizhevsky, Sutskever and Hinton 2012, "ImageNet classification with deep convolutional neural networks".

    >>> import treadle.nn as nn
    >>> nn.LocalResponseNorm(1, alpha=1.0, beta=0.5, k=0.0)(Tensor([[[2.0], [4.0]]])).tolist()
    [[[1.0], [1.0]]]
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The normalised ``input``, ``(batch, channels, ...)``."""
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
