"""The hinge loss of several classes."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import WeightedLoss

__all__ = ["MultiMarginLoss"]


class MultiMarginLoss(WeightedLoss):
    """The mean over the other classes j of max(0, margin - x[y] + x[j]) ** p, divided by all classes.

    ``weight``, of shape ``(classes,)``, is a buffer. Crammer and Singer 2001, "On the algorithmic implementation of
    multiclass kernel-based vector machines".

    >>> import treadle.ndarray as nd
    >>> MultiMarginLoss()(Tensor([[0.0, 0.5]]), Tensor([1], dtype=nd.int64)).item()
    0.25
    """

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, *, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, reduction)
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.multi_margin_loss`."""
        return functional.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )
