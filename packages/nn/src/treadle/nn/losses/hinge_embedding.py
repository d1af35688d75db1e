"""A hinge for distances."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["HingeEmbeddingLoss"]


class HingeEmbeddingLoss(Loss):
    """A distance where the target is 1, and max(0, margin - distance) where it is -1.

    >>> HingeEmbeddingLoss()(Tensor([0.25, 0.25]), Tensor([1.0, -1.0])).item()
    0.5
    """

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.hinge_embedding_loss`."""
        return functional.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)
