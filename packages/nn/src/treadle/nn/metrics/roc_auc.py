"""The area under the receiver operating characteristic."""

from math import nan

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import Metric

__all__ = ["ROCAUC", "roc_auc"]


def roc_auc(scores: Tensor, target: Tensor) -> nd.NDArray:
    """The probability that a positive row has a larger score than a negative one, where equal scores count half.

    ``scores`` are ``(rows,)`` with targets 0 or 1. With scores ``(rows, classes)`` and class indices it is the mean
    over the classes of each against the rest. NaN where a class has no rows, or all; a NaN among the scores is a
    ValueError. Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating characteristic
    curve".

    >>> roc_auc(Tensor([0.1, 0.4, 0.4, 0.8]), Tensor([0, 0, 1, 1])).item()
    0.875
    """
    values, labels = scores.data, target.data
    if values.ndim not in (1, 2) or labels.shape != values.shape[:1]:
        raise nd.ShapeError(f"roc_auc: scores {scores.shape} do not fit target {target.shape}")
    if bool(nd.any(nd.isnan(values))):
        raise ValueError("roc_auc: a score is NaN")
    most = 1 if values.ndim == 1 else values.shape[1] - 1
    if labels.size and bool(nd.any((labels < 0) | (labels > most))):
        raise nd.IndexingError(f"roc_auc: a target is not one of the classes 0 to {most}")
    if values.ndim == 1:
        areas = [_area(values, labels != 0)]
    else:
        areas = [_area(values[:, number], labels == number) for number in range(values.shape[1])]
    return nd.asarray(sum(areas) / len(areas) if areas else nan, dtype=nd.float64, device=values.device)


def _area(scores: nd.NDArray, positive: nd.NDArray) -> float:
    """By ranks: for each positive row, the negatives below it, and half of those beside it."""
    negatives, positives = nd.sort(scores[nd.logical_not(positive)]), scores[positive]
    if not negatives.size or not positives.size:
        return nan
    below = nd.sum(nd.searchsorted(negatives, positives, side="left"), dtype=nd.int64).item()
    not_above = nd.sum(nd.searchsorted(negatives, positives, side="right"), dtype=nd.int64).item()
    return float(below + not_above) / (2.0 * negatives.size * positives.size)


class ROCAUC(Metric):
    """:func:`roc_auc` over all batches, whose scores it keeps.

    >>> metric = ROCAUC()
    >>> metric.update(Tensor([0.1, 0.4]), Tensor([0, 0]))
    >>> metric.update(Tensor([0.4, 0.8]), Tensor([1, 1]))
    >>> metric.compute().item()
    0.875
    """

    def reset(self) -> None:
        """Forget all batches."""
        self.scores: list[nd.NDArray] = []
        self.targets: list[nd.NDArray] = []

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch of scores and targets."""
        self.scores.append(output.data.copy())
        self.targets.append(target.data.copy())

    def compute(self) -> nd.NDArray:
        """The area over all batches."""
        if not self.scores:
            return nd.asarray(nan, dtype=nd.float64)
        return roc_auc(Tensor(nd.concat(self.scores)), Tensor(nd.concat(self.targets)))
