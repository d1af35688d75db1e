"""The area under the curve of precision over recall."""

from math import nan

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics._ranking import Ranked, RankingMetric, averaged, operands

__all__ = ["AveragePrecision", "average_precision"]


def average_precision(
    scores: Tensor, target: Tensor, average: str | None = "macro", *, sample_weight: Tensor | None = None
) -> nd.NDArray:
    """The mean of the precisions at each score, by how much recall it adds: sum (R_n - R_{n-1}) P_n, not interpolated.

    ``scores`` are ``(rows,)`` with targets 0 or 1, -1 or 1, or bool; ``(rows, labels)`` with such targets of that
    shape; or ``(rows, classes)`` with class indices, each class against the rest. ``average`` of several: "macro" (the
    mean), "weighted" (by positive rows), "micro" (all of them as one), None (an array of them). ``sample_weight``
    ``(rows,)`` lets rows count more or less. NaN without a positive row; a NaN among the scores is a ValueError.

    >>> round(average_precision(Tensor([0.1, 0.4, 0.35, 0.8]), Tensor([0, 0, 1, 1])).item(), 4)
    0.8333
    """
    values, labels, weights = operands("average_precision", scores, target, average, sample_weight)
    return averaged(values, labels, weights, average, _area)


def _area(ranked: Ranked) -> float:
    """At each score that occurs: of the rows from it upwards, how many are positive."""
    everything = nd.full(ranked.scores.shape, True, device=ranked.scores.device)
    levels = nd.flip(nd.unique_values(ranked.scores))
    taken, hits = (_from(levels, *ranked.part(rows)) for rows in (everything, ranked.positive))
    if not hits.size or not hits[-1].item():
        return nan
    added = nd.diff(hits, prepend=nd.zeros(1, dtype=nd.float64, device=hits.device)) / hits[-1]
    return float(nd.sum(added * hits / nd.where(taken == 0.0, 1.0, taken)).item())


def _from(levels: nd.NDArray, scores: nd.NDArray, before: nd.NDArray) -> nd.NDArray:
    """The weight of the scores that are not below each level."""
    return before[-1] - before[nd.searchsorted(scores, levels)]


class AveragePrecision(RankingMetric):
    """:func:`average_precision` over all batches, whose scores it keeps.

    >>> metric = AveragePrecision()
    >>> metric.update(Tensor([0.1, 0.4]), Tensor([0, 0]))
    >>> metric.update(Tensor([0.3, 0.8]), Tensor([1, 1]))
    >>> round(metric.compute().item(), 4)
    0.8333
    """

    def __init__(self, average: str | None = "macro") -> None:
        super().__init__()
        self.average = average

    def compute(self) -> nd.NDArray:
        """The mean precision over all batches."""
        return self.over_all(average_precision, average=self.average)
