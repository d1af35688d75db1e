"""Minus the log-probability of a class."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import ClassLoss

__all__ = ["NLLLoss"]


class NLLLoss(ClassLoss):
    """``-input[target]`` of log-probabilities ``(batch, classes, ...)`` and class indices ``(batch, ...)``.

    ``weight``, of shape ``(classes,)``, is a buffer. Shapes and mean: :func:`treadle.nn.functional.nll_loss`.

    >>> import treadle.ndarray as nd
    >>> NLLLoss()(Tensor([[-1.0, -2.0]]), Tensor([1], dtype=nd.int64)).item()
    2.0
    """

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.nll_loss`."""
        return functional.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)
