"""The logistic loss of several labels."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import WeightedLoss

__all__ = ["MultiLabelSoftMarginLoss"]


class MultiLabelSoftMarginLoss(WeightedLoss):
    """The binary cross-entropy of the logits of each class, averaged over the classes, the last dimension.

    ``weight`` broadcasts, and is a buffer.

    >>> round(MultiLabelSoftMarginLoss()(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]])).item(), 6)  # log(2)
    0.693147
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.multilabel_soft_margin_loss`."""
        return functional.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)
