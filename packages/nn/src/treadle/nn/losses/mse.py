"""The squared error."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["MSELoss"]


class MSELoss(Loss):
    """The squared differences of two tensors of one shape: their mean, their sum, or themselves.

    >>> MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.mse_loss`."""
        return functional.mse_loss(input, target, reduction=self.reduction)
