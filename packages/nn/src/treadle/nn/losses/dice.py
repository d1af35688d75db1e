"""The overlap of two masks."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["DiceLoss"]


class DiceLoss(Loss):
    """1 - 2 sum(p g) / (sum(p**2) + sum(g**2)) of probabilities and a mask, one for each sample.

    ``dim`` and ``smooth``: :func:`treadle.nn.functional.dice_loss`. Milletari, Navab and Ahmadi 2016, "V-Net: fully
    convolutional neural networks for volumetric medical image segmentation", section 3.

    >>> round(DiceLoss()(Tensor([[1.0, 1.0]]), Tensor([[1.0, 0.0]])).item(), 6)
    0.333333
    """

    def __init__(
        self, *, dim: int | tuple[int, ...] | None = None, smooth: float = 1e-6, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.dim = dim
        self.smooth = smooth

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.dice_loss`."""
        return functional.dice_loss(input, target, dim=self.dim, smooth=self.smooth, reduction=self.reduction)
