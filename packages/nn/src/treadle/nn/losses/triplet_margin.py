"""A hinge for triples."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["TripletMarginLoss"]


class TripletMarginLoss(Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) of ``p``-norm distances.

    With ``swap`` the negative is as far as it is from the nearer of anchor and positive. Balntas et al. 2016, "Learning
    local feature descriptors with triplets and shallow convolutional neural networks".

    >>> loss = TripletMarginLoss(eps=0.0)
    >>> loss(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0]]), Tensor([[0.0, 5.5]])).item()
    0.5
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.triplet_margin_loss`."""
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )
