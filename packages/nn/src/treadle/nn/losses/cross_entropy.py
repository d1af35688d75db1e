"""Cross-entropy of logits."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import ClassLoss

__all__ = ["CrossEntropyLoss"]


class CrossEntropyLoss(ClassLoss):
    """Cross-entropy of logits ``(batch, classes)`` against class indices ``(batch,)``.

    Further shapes, probabilities as targets, and what the mean divides by:
    :func:`treadle.nn.functional.cross_entropy`. ``weight``, of shape ``(classes,)``, is a buffer.

    >>> import treadle.ndarray as nd
    >>> loss = CrossEntropyLoss()(Tensor([[0.0, 0.0]]), Tensor([1], dtype=nd.int64))
    >>> round(loss.item(), 6)  # log(2)
    0.693147
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits ``input`` against ``target``."""
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
