"""The divergence of two distributions."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["KLDivLoss"]


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of log-probabilities ``input`` from probabilities ``target``.

    "batchmean" divides the sum by the batch, which is the divergence itself; "mean" divides by all elements.

    >>> round(KLDivLoss(reduction="batchmean")(Tensor([[-1.0, -1.0]]), Tensor([[0.0, 1.0]])).item(), 6)
    1.0
    """

    further_reductions = ("batchmean",)

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.kl_div`."""
        return functional.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)
