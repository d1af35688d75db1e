"""The likelihood of counts."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["PoissonNLLLoss"]


class PoissonNLLLoss(Loss):
    """Minus the logarithm of the Poisson probability of counts; the input is the rate's logarithm, or the rate.

    ``full`` adds Stirling's approximation of log(target!).

    >>> PoissonNLLLoss()(Tensor([0.0]), Tensor([3.0])).item()
    1.0
    """

    def __init__(
        self, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.poisson_nll_loss`."""
        return functional.poisson_nll_loss(
            input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )
