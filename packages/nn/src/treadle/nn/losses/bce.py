"""The cross-entropy of probabilities of yes or no."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import WeightedLoss

__all__ = ["BCELoss"]


class BCELoss(WeightedLoss):
    """-(y log x + (1 - y) log(1 - x)) of probabilities x and targets y, with logarithms of at least -100.

    ``weight`` broadcasts, and is a buffer.

    >>> round(BCELoss()(Tensor([0.5]), Tensor([1.0])).item(), 6)  # log(2)
    0.693147
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.binary_cross_entropy`."""
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)
