"""The squared error."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional.losses import check_reduction
from treadle.nn.module import Module

__all__ = ["MSELoss"]


class MSELoss(Module):
    """The squared differences of two tensors of one shape: their mean, their sum, or themselves.

    >>> MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = check_reduction(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of ``input`` against ``target``; ShapeError unless their shapes are equal."""
        return functional.mse_loss(input, target, reduction=self.reduction)
