"""The overlap of masks."""

from math import nan

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import Metric

__all__ = ["Dice", "dice_score"]


def dice_score(output: Tensor, target: Tensor, threshold: float = 0.5) -> nd.NDArray:
    """2 |A and B| / (|A| + |B|) of the masks output > threshold and target, of one shape; NaN where both are empty.

    Dice 1945, "Measures of the amount of ecologic association between species".

    >>> dice_score(Tensor([0.9, 0.8, 0.1, 0.0]), Tensor([1.0, 0.0, 1.0, 0.0])).item()
    0.5
    """
    metric = Dice(threshold)
    metric.update(output, target)
    return metric.compute()


class Dice(Metric):
    """:func:`dice_score` over the elements of all batches.

    >>> metric = Dice()
    >>> metric.update(Tensor([0.9, 0.8]), Tensor([1.0, 0.0]))
    >>> metric.update(Tensor([0.1, 0.0]), Tensor([1.0, 0.0]))
    >>> metric.compute().item()
    0.5
    """

    def __init__(self, threshold: float = 0.5) -> None:
        super().__init__()
        self.threshold = threshold

    def reset(self) -> None:
        """Forget all batches."""
        self.overlap = self.sizes = 0

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch of probabilities, or a mask, and the mask that should be."""
        if output.shape != target.shape:
            raise nd.ShapeError(f"dice_score: output {output.shape} and target {target.shape} must have the same shape")
        taken, actual = output.data > self.threshold, target.data != 0
        self.overlap += int(nd.sum(taken & actual).item())
        self.sizes += int(nd.sum(taken).item()) + int(nd.sum(actual).item())

    def compute(self) -> nd.NDArray:
        """The score over all batches."""
        return nd.asarray(2.0 * self.overlap / self.sizes if self.sizes else nan, dtype=nd.float64)
