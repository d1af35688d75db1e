"""The area under the receiver operating characteristic."""

from functools import partial
from itertools import combinations
from math import nan

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics._ranking import Ranked, RankingMetric, averaged, mean, operands, wrapped

__all__ = ["ROCAUC", "roc_auc"]


def roc_auc(
    scores: Tensor,
    target: Tensor,
    average: str | None = "macro",
    *,
    multi_class: str = "ovr",
    max_fpr: float | None = None,
    sample_weight: Tensor | None = None,
) -> nd.NDArray:
    """The probability that a positive row has a larger score than a negative one, where equal scores count half.

    ``scores`` are ``(rows,)`` with targets 0 or 1, -1 or 1, or bool; ``(rows, labels)`` with such targets of that
    shape; or ``(rows, classes)`` with class indices, each class against the rest ("ovr") or each against each ("ovo").
    ``average`` of several areas: "macro" (the mean), "weighted" (by positive rows; with "ovo" by those of the pair),
    "micro" (all of them as one), None (an array of them), the last two not with "ovo". ``max_fpr`` is the largest share
    of false positives that counts, and the area is then scaled to be 0.5 for scores that tell nothing.

    ``sample_weight`` ``(rows,)`` lets rows count more or less, not with "ovo".

    NaN where a class has no rows, or all; a NaN among the scores is a ValueError. Hanley and McNeil 1982, "The meaning
    and use of the area under a receiver operating characteristic curve"; McClish 1989, "Analyzing a portion of the ROC
    curve"; Hand and Till 2001, "A simple generalisation of the area under the ROC curve" (ovo).

    >>> roc_auc(Tensor([0.1, 0.4, 0.4, 0.8]), Tensor([0, 0, 1, 1])).item()
    0.875
    >>> roc_auc(Tensor([[0.1, 0.9], [0.8, 0.2]]), Tensor([[0, 0], [1, 1]]), average=None).tolist()
    [1.0, 0.0]
    """
    values, labels, weights = operands("roc_auc", scores, target, average, sample_weight)
    if multi_class not in ("ovr", "ovo"):
        raise ValueError(f"roc_auc: multi_class must be 'ovr' or 'ovo', not {multi_class!r}")
    if max_fpr is not None and not 0.0 < max_fpr <= 1.0:
        raise ValueError(f"roc_auc: max_fpr must be in (0, 1], not {max_fpr!r}")
    if multi_class == "ovo" and labels.ndim < values.ndim:
        if sample_weight is not None:
            raise ValueError("roc_auc: each class against each takes no sample_weight")
        return wrapped(_each_against_each(values, labels, average, max_fpr), values)
    return averaged(values, labels, weights, average, partial(_area, max_fpr=max_fpr))


def _each_against_each(values: nd.NDArray, labels: nd.NDArray, average: str | None, max_fpr: float | None) -> float:
    """Of each pair of classes the rows of both, by the scores of one and of the other."""
    if average not in ("macro", "weighted"):
        raise ValueError(f"roc_auc: each class against each has the averages 'macro' and 'weighted', not {average!r}")
    areas, counts = [], []
    for first, second in combinations(range(values.shape[1]), 2):
        rows = (labels == first) | (labels == second)
        mine, scores = labels[rows], values[rows]
        alike = nd.ones(mine.shape, dtype=nd.float64, device=mine.device)
        pair = [_area(Ranked(scores[:, each], mine == each, alike), max_fpr) for each in (first, second)]
        areas.append(sum(pair) / 2.0)
        counts.append(float(mine.size) if average == "weighted" else 1.0)
    return mean(areas, counts)


def _area(ranked: Ranked, max_fpr: float | None) -> float:
    """By ranks: for each positive row, the negatives below it, and half of those beside it."""
    negatives, before = ranked.part(nd.logical_not(ranked.positive))
    positives, ahead = ranked.part(ranked.positive)
    total = before[-1].item() * ahead[-1].item()
    if not total:
        return nan
    if max_fpr is not None and max_fpr < 1.0:
        return _part([(negatives, before), (positives, ahead)], max_fpr)
    sides = [nd.searchsorted(negatives, positives, side=side) for side in ("left", "right")]
    counted = (before[sides[0]] + before[sides[1]]) * (ahead[1:] - ahead[:-1])
    return float(nd.sum(counted).item() / (2.0 * total))


def _part(sides: list[tuple[nd.NDArray, nd.NDArray]], most: float) -> float:
    """The area up to a share of false positives, scaled from between chance and the best to 0.5 and 1."""
    levels = nd.flip(nd.unique_values(nd.concat([scores for scores, _ in sides])))
    shares = [[0.0, *(1.0 - before[nd.searchsorted(scores, levels)] / before[-1]).tolist()] for scores, before in sides]
    area, (left, low) = 0.0, (0.0, 0.0)
    for right, high in zip(*shares, strict=True):
        if right > most:
            high, right = low + (high - low) * (most - left) / (right - left), most
        area += (right - left) * (low + high) / 2.0
        left, low = right, high
        if left >= most:
            break
    chance = 0.5 * most * most
    return 0.5 * (1.0 + (area - chance) / (most - chance))


class ROCAUC(RankingMetric):
    """:func:`roc_auc` over all batches, whose scores it keeps; the options are that function's.

    >>> metric = ROCAUC()
    >>> metric.update(Tensor([0.1, 0.4]), Tensor([0, 0]))
    >>> metric.update(Tensor([0.4, 0.8]), Tensor([1, 1]))
    >>> metric.compute().item()
    0.875
    """

    optional_state = ("average", "multi_class", "max_fpr")

    def __init__(
        self, average: str | None = "macro", *, multi_class: str = "ovr", max_fpr: float | None = None
    ) -> None:
        super().__init__()
        self.average, self.multi_class, self.max_fpr = average, multi_class, max_fpr

    def compute(self) -> nd.NDArray:
        """The area over all batches."""
        options = {"average": self.average, "multi_class": self.multi_class, "max_fpr": self.max_fpr}
        return self.over_all(roc_auc, **options)
