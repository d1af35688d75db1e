"""The likelihood of normal errors."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["GaussianNLLLoss"]


class GaussianNLLLoss(Loss):
    """Minus the logarithm of the normal density of the target, with mean ``input`` and variance ``var``.

    ``full`` adds the constant; variances are raised to ``eps``. Nix and Weigend 1994, "Estimating the mean and variance
    of the target probability distribution".

    >>> GaussianNLLLoss()(Tensor([0.0]), Tensor([2.0]), 1.0).item()
    2.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.gaussian_nll_loss`."""
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
