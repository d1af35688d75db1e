"""What metrics of scores by rank share: operands, averages over labels, and the batches they keep."""

from collections.abc import Callable
from math import nan
from typing import Any, NamedTuple

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import Metric, weights_of

__all__ = ["Ranked", "RankingMetric", "averaged", "mean", "operands", "prefix", "wrapped"]


class Ranked(NamedTuple):
    """The rows of one question of yes or no."""

    scores: nd.NDArray
    positive: nd.NDArray
    weights: nd.NDArray

    def part(self, rows: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray]:
        """The scores and weights of some rows, ascending, with the sums of the weights before each."""
        scores, weights = self.scores[rows], self.weights[rows]
        order = nd.argsort(scores)
        return scores[order], prefix(weights[order])


def prefix(weights: nd.NDArray) -> nd.NDArray:
    """The sum before each element, and that of all."""
    return nd.cumulative_sum(weights, axis=0, include_initial=True)


def operands(
    name: str, scores: Tensor, target: Tensor, average: str | None, sample_weight: Tensor | None
) -> tuple[nd.NDArray, nd.NDArray, nd.NDArray]:
    """Scores, targets and weights that fit each other; ValueError, ShapeError or IndexingError otherwise."""
    values, labels = scores.data, target.data
    if average not in ("macro", "micro", "weighted", None):
        raise ValueError(f"{name}: average must be 'macro', 'micro', 'weighted' or None, not {average!r}")
    if values.ndim not in (1, 2) or labels.shape not in (values.shape, values.shape[:1]):
        raise nd.ShapeError(f"{name}: scores {values.shape} do not fit target {labels.shape}")
    if bool(nd.any(nd.isnan(values))):
        raise ValueError(f"{name}: a score is NaN")
    weights = weights_of(name, sample_weight, values)
    if labels.dtype.kind == "b" or not labels.size:
        return values, labels, weights
    if labels.ndim < values.ndim:
        right, what = (labels >= 0) & (labels < values.shape[1]), f"the classes 0 to {values.shape[1] - 1}"
    else:
        no = -1 if bool(nd.any(labels == -1)) else 0
        right, what = (labels == no) | (labels == 1), "the classes 0 to 1, nor of -1 and 1"
    if not bool(nd.all(right)):
        raise nd.IndexingError(f"{name}: a target is not one of {what}")
    return values, labels, weights


def averaged(
    values: nd.NDArray,
    labels: nd.NDArray,
    weights: nd.NDArray,
    average: str | None,
    measure: Callable[[Ranked], float],
) -> nd.NDArray:
    """``measure`` of one question, or of each label or class against the rest, and their average."""
    if values.ndim == 1 or labels.ndim == 2:
        positive = labels > 0 if labels.dtype.kind != "b" else labels
    else:
        positive = nd.expand_dims(labels, axis=1) == nd.arange(values.shape[1], device=values.device)
    if values.ndim == 1:
        return wrapped(measure(Ranked(values, positive, weights)), values)
    if average == "micro":
        every = nd.repeat(weights, values.shape[1])
        return wrapped(measure(Ranked(nd.reshape(values, (-1,)), nd.reshape(positive, (-1,)), every)), values)
    each = [measure(Ranked(values[:, at], positive[:, at], weights)) for at in range(values.shape[1])]
    if average is None:
        return wrapped(each, values)
    shares = [1.0] * len(each)
    if average == "weighted":
        shares = nd.sum(nd.where(positive, nd.expand_dims(weights, axis=1), 0.0), axis=0).tolist()
    return wrapped(mean(each, shares), values)


def mean(values: list[float], shares: list[float]) -> float:
    """The mean of values weighted by shares, where those without a share may be NaN; NaN where all are 0."""
    total = sum(shares)
    return sum(value * share for value, share in zip(values, shares, strict=True) if share) / total if total else nan


def wrapped(result: float | list[float], like: nd.NDArray) -> nd.NDArray:
    """A result on the device of the scores."""
    return nd.asarray(result, dtype=nd.float64, device=like.device)


class RankingMetric(Metric):
    """The base of metrics that need all scores at once, and keep them."""

    def reset(self) -> None:
        """Forget all batches."""
        self.scores: list[nd.NDArray] = []
        self.targets: list[nd.NDArray] = []

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch of scores and targets."""
        self.scores.append(output.data.copy())
        self.targets.append(target.data.copy())

    def over_all(self, function: Callable[..., nd.NDArray], **options: Any) -> nd.NDArray:
        """The function of all batches as one; NaN before the first."""
        if not self.scores:
            return nd.asarray(nan, dtype=nd.float64)
        return function(Tensor(nd.concat(self.scores)), Tensor(nd.concat(self.targets)), **options)
