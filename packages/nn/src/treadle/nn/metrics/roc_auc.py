"""The area under the receiver operating characteristic."""

from collections.abc import Mapping
from itertools import combinations
from math import nan
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import Metric

__all__ = ["ROCAUC", "roc_auc"]


def roc_auc(
    scores: Tensor,
    target: Tensor,
    average: str | None = "macro",
    *,
    multi_class: str = "ovr",
    max_fpr: float | None = None,
) -> nd.NDArray:
    """The probability that a positive row has a larger score than a negative one, where equal scores count half.

    ``scores`` are ``(rows,)`` with targets 0 or 1, -1 or 1, or bool; ``(rows, labels)`` with such targets of that
    shape; or ``(rows, classes)`` with class indices, each class against the rest ("ovr") or each against each ("ovo").
    ``average`` of several areas: "macro" (the mean), "weighted" (by positive rows; with "ovo" by those of the pair),
    "micro" (all of them as one), None (an array of them), the last two not with "ovo". ``max_fpr`` is the largest share
    of false positives that counts, and the area is then scaled to be 0.5 for scores that tell nothing.

    NaN where a class has no rows, or all; a NaN among the scores is a ValueError. Hanley and McNeil 1982, "The meaning
    and use of the area under a receiver operating characteristic curve"; McClish 1989, "Analyzing a portion of the ROC
    curve"; Hand and Till 2001, "A simple generalisation of the area under the ROC curve" (ovo).

    >>> roc_auc(Tensor([0.1, 0.4, 0.4, 0.8]), Tensor([0, 0, 1, 1])).item()
    0.875
    >>> roc_auc(Tensor([[0.1, 0.9], [0.8, 0.2]]), Tensor([[0, 0], [1, 1]]), average=None).tolist()
    [1.0, 0.0]
    """
    values, labels = scores.data, target.data
    _check(values, labels, average, multi_class, max_fpr)
    if values.ndim == 1 or labels.ndim == 2:
        positive = labels > 0 if labels.dtype.kind != "b" else labels
    else:
        if multi_class == "ovo":
            return _wrapped(_each_against_each(values, labels, average, max_fpr), values)
        positive = nd.expand_dims(labels, axis=1) == nd.arange(values.shape[1], device=values.device)
    if values.ndim == 1 or average == "micro":
        return _wrapped(_area(nd.reshape(values, (-1,)), nd.reshape(positive, (-1,)), max_fpr), values)
    areas = [_area(values[:, number], positive[:, number], max_fpr) for number in range(values.shape[1])]
    if average is None:
        return _wrapped(areas, values)
    counts = nd.sum(positive, axis=0, dtype=nd.int64).tolist() if average == "weighted" else [1] * len(areas)
    return _wrapped(_mean(areas, counts), values)


def _check(
    values: nd.NDArray, labels: nd.NDArray, average: str | None, multi_class: str, max_fpr: float | None
) -> None:
    if average not in ("macro", "micro", "weighted", None) or multi_class not in ("ovr", "ovo"):
        raise ValueError(f"roc_auc: average {average!r} and multi_class {multi_class!r} are not among the known ones")
    if max_fpr is not None and not 0.0 < max_fpr <= 1.0:
        raise ValueError(f"roc_auc: max_fpr must be in (0, 1], not {max_fpr!r}")
    if values.ndim not in (1, 2) or labels.shape not in (values.shape, values.shape[:1]):
        raise nd.ShapeError(f"roc_auc: scores {values.shape} do not fit target {labels.shape}")
    if bool(nd.any(nd.isnan(values))):
        raise ValueError("roc_auc: a score is NaN")
    if labels.dtype.kind == "b" or not labels.size:
        return
    several = labels.ndim < values.ndim
    if several:
        right, what = (labels >= 0) & (labels < values.shape[1]), f"the classes 0 to {values.shape[1] - 1}"
    else:
        no = -1 if bool(nd.any(labels == -1)) else 0
        right, what = (labels == no) | (labels == 1), "the classes 0 to 1, nor of -1 and 1"
    if not bool(nd.all(right)):
        raise nd.IndexingError(f"roc_auc: a target is not one of {what}")


def _wrapped(result: float | list[float], like: nd.NDArray) -> nd.NDArray:
    return nd.asarray(result, dtype=nd.float64, device=like.device)


def _mean(areas: list[float], counts: list[int]) -> float:
    total = sum(counts)
    return sum(area * count for area, count in zip(areas, counts, strict=True)) / total if total else nan


def _each_against_each(values: nd.NDArray, labels: nd.NDArray, average: str | None, max_fpr: float | None) -> float:
    """Of each pair of classes the rows of both, by the scores of one and of the other."""
    if average not in ("macro", "weighted"):
        raise ValueError(f"roc_auc: each class against each has the averages 'macro' and 'weighted', not {average!r}")
    areas, counts = [], []
    for first, second in combinations(range(values.shape[1]), 2):
        rows = (labels == first) | (labels == second)
        mine, scores = labels[rows], values[rows]
        pair = [_area(scores[:, each], mine == each, max_fpr) for each in (first, second)]
        areas.append(sum(pair) / 2.0)
        counts.append(mine.size if average == "weighted" else 1)
    return _mean(areas, counts)


def _area(scores: nd.NDArray, positive: nd.NDArray, max_fpr: float | None) -> float:
    """By ranks: for each positive row, the negatives below it, and half of those beside it."""
    negatives, positives = nd.sort(scores[nd.logical_not(positive)]), scores[positive]
    if not negatives.size or not positives.size:
        return nan
    if max_fpr is not None and max_fpr < 1.0:
        return _part(negatives, nd.sort(positives), max_fpr)
    below = nd.sum(nd.searchsorted(negatives, positives, side="left"), dtype=nd.int64).item()
    not_above = nd.sum(nd.searchsorted(negatives, positives, side="right"), dtype=nd.int64).item()
    return float(below + not_above) / (2.0 * negatives.size * positives.size)


def _part(negatives: nd.NDArray, positives: nd.NDArray, most: float) -> float:
    """The area up to a share of false positives, both sorted, scaled from between chance and the best to 0.5 and 1."""
    levels = nd.flip(nd.unique_values(nd.concat([negatives, positives])))
    shares = [
        [0.0, *(1.0 - nd.searchsorted(each, levels).astype(nd.float64) / each.size).tolist()]
        for each in (negatives, positives)
    ]
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


class ROCAUC(Metric):
    """:func:`roc_auc` over all batches, whose scores it keeps; the options are that function's.

    >>> metric = ROCAUC()
    >>> metric.update(Tensor([0.1, 0.4]), Tensor([0, 0]))
    >>> metric.update(Tensor([0.4, 0.8]), Tensor([1, 1]))
    >>> metric.compute().item()
    0.875
    """

    def __init__(
        self, average: str | None = "macro", *, multi_class: str = "ovr", max_fpr: float | None = None
    ) -> None:
        super().__init__()
        self.average, self.multi_class, self.max_fpr = average, multi_class, max_fpr

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
        scores, targets = Tensor(nd.concat(self.scores)), Tensor(nd.concat(self.targets))
        return roc_auc(scores, targets, self.average, multi_class=self.multi_class, max_fpr=self.max_fpr)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from ``state_dict``, where the options that it lacks stay as they are: once there were none."""
        options = {name: value for name, value in vars(self).items() if name not in ("scores", "targets")}
        super().load_state_dict({**options, **state_dict})
