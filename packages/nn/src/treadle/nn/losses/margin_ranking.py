"""A hinge for the order of two scores."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["MarginRankingLoss"]


class MarginRankingLoss(Loss):
    """max(0, -target * (input1 - input2) + margin): the target 1 says that the first should be larger, -1 smaller.

    >>> MarginRankingLoss()(Tensor([1.0]), Tensor([3.0]), Tensor([1.0])).item()
    2.0
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.margin_ranking_loss`."""
        return functional.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)
