"""The logistic loss."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["SoftMarginLoss"]


class SoftMarginLoss(Loss):
    """log(1 + exp(-target * input)) for targets 1 and -1.

    >>> round(SoftMarginLoss()(Tensor([0.0]), Tensor([-1.0])).item(), 6)  # log(2)
    0.693147
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.soft_margin_loss`."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)
