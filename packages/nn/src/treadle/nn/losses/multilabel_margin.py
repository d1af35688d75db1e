"""The hinge loss of several labels."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["MultiLabelMarginLoss"]


class MultiLabelMarginLoss(Loss):
    """The sum of max(0, 1 - x[label] + x[other]), over the number of classes.

    A row of the target, of the input's shape, holds labels up to the first -1.

    >>> import treadle.ndarray as nd
    >>> MultiLabelMarginLoss()(Tensor([[0.5, 0.0]]), Tensor([[0, -1]], dtype=nd.int64)).item()
    0.25
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.multilabel_margin_loss`."""
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)
