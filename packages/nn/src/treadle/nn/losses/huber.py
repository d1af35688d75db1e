"""The squared error, with lines beyond a size."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["HuberLoss"]


class HuberLoss(Loss):
    """d**2 / 2 for differences d up to ``delta``, and delta * (abs(d) - delta / 2) for larger ones.

    Huber 1964, "Robust estimation of a location parameter".

    >>> HuberLoss("sum")(Tensor([0.0, 0.0]), Tensor([1.0, 3.0])).item()
    3.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.huber_loss`."""
        return functional.huber_loss(input, target, delta=self.delta, reduction=self.reduction)
