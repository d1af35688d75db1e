"""Perplexity."""

from math import exp

import treadle.ndarray as nd
from treadle.autograd import Tensor, no_grad
from treadle.nn import functional
from treadle.nn.metrics.metric import MeanMetric

__all__ = ["Perplexity", "perplexity"]


def perplexity(logits: Tensor, target: Tensor, ignore_index: int = -100) -> nd.NDArray:
    """exp of the mean cross-entropy: among how many equally likely classes the model hesitates.

    Shapes as for :func:`treadle.nn.functional.cross_entropy`, classes in dimension 1; rows with ``ignore_index`` do not
    count.

    >>> round(perplexity(Tensor([[0.0, 0.0, 0.0, 0.0]]), Tensor([2])).item(), 6)
    4.0
    """
    metric = Perplexity(ignore_index)
    metric.update(logits, target)
    return metric.compute()


class Perplexity(MeanMetric):
    """exp of the mean cross-entropy over all batches. The base is Shannon's entropy: Jelinek et al. 1977.

    >>> metric = Perplexity()
    >>> for label in (0, 1):
    ...     metric.update(Tensor([[0.0, 0.0]]), Tensor([label]))
    >>> round(metric.compute().item(), 6)
    2.0
    """

    def __init__(self, ignore_index: int = -100) -> None:
        super().__init__()
        self.ignore_index = ignore_index

    def measure(self, output: Tensor, target: Tensor) -> tuple[float, int]:
        """The sum of the losses, and the number of rows that count."""
        with no_grad():
            loss = functional.cross_entropy(output, target, ignore_index=self.ignore_index, reduction="sum")
        return float(loss.item()), int(nd.sum(nd.not_equal(target.data, self.ignore_index)).item())

    def compute(self) -> nd.NDArray:
        """The perplexity; infinite where it is beyond float64."""
        mean = self.mean()
        return nd.asarray(exp(mean) if not mean > 709.0 else float("inf"), dtype=nd.float64)
