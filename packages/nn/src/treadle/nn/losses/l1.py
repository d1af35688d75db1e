"""The absolute error."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["L1Loss"]


class L1Loss(Loss):
    """The absolute differences of two tensors of one shape.

    >>> L1Loss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    1.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.l1_loss`."""
        return functional.l1_loss(input, target, reduction=self.reduction)
