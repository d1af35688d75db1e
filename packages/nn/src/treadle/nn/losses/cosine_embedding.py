"""A hinge for angles."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["CosineEmbeddingLoss"]


class CosineEmbeddingLoss(Loss):
    """1 - cosine where the target is 1, and max(0, cosine - margin) where it is -1.

    >>> CosineEmbeddingLoss()(Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]]), Tensor([1.0])).item()
    1.0
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.cosine_embedding_loss`."""
        return functional.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)
