"""The absolute error, rounded off at 0."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["SmoothL1Loss"]


class SmoothL1Loss(Loss):
    """d**2 / (2 * beta) for differences d up to ``beta``, and abs(d) - beta / 2 for larger ones.

    Girshick 2015, "Fast R-CNN", equation 3.

    >>> SmoothL1Loss(reduction="sum")(Tensor([0.0, 0.0]), Tensor([1.0, 3.0])).item()
    3.0
    """

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.smooth_l1_loss`."""
        return functional.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)
