"""The cross-entropy of logits of yes or no."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import WeightedLoss

__all__ = ["BCEWithLogitsLoss"]


class BCEWithLogitsLoss(WeightedLoss):
    """The binary cross-entropy of sigmoid(input), exact for logits of any size.

    ``weight`` broadcasts; ``pos_weight`` multiplies the part of the positive targets. Both are buffers.

    >>> round(BCEWithLogitsLoss()(Tensor([0.0]), Tensor([1.0])).item(), 6)  # log(2)
    0.693147
    """

    pos_weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None
    ) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.binary_cross_entropy_with_logits`."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )
