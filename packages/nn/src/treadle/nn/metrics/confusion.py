"""Counts of classes taken for classes, and what follows from them."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import Metric

__all__ = [
    "ConfusionMatrix", "F1Score", "Precision", "Recall", "confusion_matrix", "f1_score", "precision", "recall",
]  # fmt: skip

_SUMMED = {"true": 1, "pred": 0, "all": None}
_AVERAGES = ("macro", "micro", "weighted", "binary", None)


def confusion_matrix(
    output: Tensor,
    target: Tensor,
    num_classes: int | None = None,
    *,
    normalize: str | None = None,
    sample_weight: Tensor | None = None,
) -> nd.NDArray:
    """How often class i (row) was taken for class j (column): int64, ``(num_classes, num_classes)``.

    ``output`` holds logits ``(rows, classes, ...)``, or class indices of ``target``'s shape, of an integer dtype.
    ``num_classes`` is by default the number of logits, or the largest index and 1. ``normalize`` gives shares instead,
    float64: of what is of the class ("true", rows sum to 1), of what was taken for it ("pred", columns do), or of all
    ("all"); 0 where there is nothing. ``sample_weight``, one for each row or index, counts in place of 1, in float64.

    >>> confusion_matrix(Tensor([0, 1, 1]), Tensor([0, 0, 1])).tolist()
    [[1, 1], [0, 1]]
    >>> confusion_matrix(Tensor([0, 1, 1]), Tensor([0, 0, 1]), normalize="true").tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    if normalize not in (None, *_SUMMED):
        raise ValueError(f"confusion_matrix: normalize must be None, 'true', 'pred' or 'all', not {normalize!r}")
    predicted, actual, number = _indices(output, target, num_classes)
    flat = actual * number + predicted
    counted = nd.ones(flat.shape, dtype=nd.int64, device=flat.device)
    if sample_weight is not None:
        counted = _weights(sample_weight, target, flat)
    counts = nd.zeros(number * number, dtype=counted.dtype, device=flat.device)
    matrix = nd.reshape(nd.scatter_add(counts, flat, counted), (number, number))
    if normalize is None:
        return matrix
    shares = matrix.astype(nd.float64)
    return _share(shares, nd.sum(shares, axis=_SUMMED[normalize], keepdims=True))


def precision(
    output: Tensor,
    target: Tensor,
    num_classes: int | None = None,
    average: str | None = "macro",
    *,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    zero_division: float = 0.0,
    sample_weight: Tensor | None = None,
) -> nd.NDArray:
    """Of what was taken for a class, the share that is of it; 0 where nothing was. Arguments: :class:`Precision`.

    >>> precision(Tensor([0, 1, 1]), Tensor([0, 0, 1]), average=None).tolist()
    [1.0, 0.5]
    """
    options: Any = {"labels": labels, "pos_label": pos_label, "zero_division": zero_division}
    return _rate_of(Precision, output, target, num_classes, average, options, sample_weight)


def recall(
    output: Tensor,
    target: Tensor,
    num_classes: int | None = None,
    average: str | None = "macro",
    *,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    zero_division: float = 0.0,
    sample_weight: Tensor | None = None,
) -> nd.NDArray:
    """Of what is of a class, the share that was taken for it; 0 where nothing is. Arguments: :class:`Recall`.

    >>> recall(Tensor([0, 1, 1]), Tensor([0, 0, 1]), average=None).tolist()
    [0.5, 1.0]
    """
    options: Any = {"labels": labels, "pos_label": pos_label, "zero_division": zero_division}
    return _rate_of(Recall, output, target, num_classes, average, options, sample_weight)


def f1_score(
    output: Tensor,
    target: Tensor,
    num_classes: int | None = None,
    average: str | None = "macro",
    *,
    labels: Sequence[int] | None = None,
    pos_label: int = 1,
    zero_division: float = 0.0,
    sample_weight: Tensor | None = None,
) -> nd.NDArray:
    """The harmonic mean of precision and recall, 2 hits / (taken + actual). Arguments: :class:`F1Score`.

    >>> [round(value, 4) for value in f1_score(Tensor([0, 1, 1]), Tensor([0, 0, 1]), average=None).tolist()]
    [0.6667, 0.6667]
    """
    options: Any = {"labels": labels, "pos_label": pos_label, "zero_division": zero_division}
    return _rate_of(F1Score, output, target, num_classes, average, options, sample_weight)


class ConfusionMatrix(Metric):
    """How often class i (row) was taken for class j (column), over all batches.

    >>> metric = ConfusionMatrix(2)
    >>> metric.update(Tensor([0, 1]), Tensor([0, 0]))
    >>> metric.update(Tensor([1]), Tensor([1]))
    >>> metric.compute().tolist()
    [[1, 1], [0, 1]]
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        super().__init__()

    def reset(self) -> None:
        """Forget all batches."""
        self.matrix = nd.zeros((self.num_classes, self.num_classes), dtype=nd.int64, device="cpu")

    def update(self, output: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Take in a batch of logits, or class indices, and target indices; with weights the counts become float64."""
        counts = confusion_matrix(output, target, self.num_classes, sample_weight=sample_weight).to_device("cpu")
        self.matrix = self.matrix.astype(nd.result_type(self.matrix, counts), copy=False) + counts

    def compute(self) -> nd.NDArray:
        """The counts, int64."""
        return self.matrix.copy()


class _Rate(ConfusionMatrix):
    """The base: a rate of each class, averaged."""

    optional_state = ("labels", "pos_label", "zero_division")

    def __init__(
        self,
        num_classes: int,
        average: str | None = "macro",
        *,
        labels: Sequence[int] | None = None,
        pos_label: int = 1,
        zero_division: float = 0.0,
    ) -> None:
        if average not in _AVERAGES:
            raise ValueError(f"average must be one of {_AVERAGES}, not {average!r}")
        if average == "binary":
            labels = [pos_label]
        if labels is not None and not all(0 <= label < num_classes for label in labels):
            raise nd.IndexingError(f"one of the labels {list(labels)} is outside of the {num_classes} classes")
        super().__init__(num_classes)
        self.average, self.pos_label, self.zero_division = average, pos_label, float(zero_division)
        self.labels = None if labels is None else [int(label) for label in labels]

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """The rate, from the counts of hits, of what was taken for a class, and of what is of it."""
        raise NotImplementedError

    def compute(self) -> nd.NDArray:
        """The average, 0-d, or with ``average=None`` the rate of each class; float64."""
        return self.of(self.matrix)

    def of(self, matrix: nd.NDArray) -> nd.NDArray:
        """The rate of a confusion matrix."""
        counts = matrix.astype(nd.float64)
        hits, taken, actual = nd.diagonal(counts), nd.sum(counts, axis=0), nd.sum(counts, axis=1)
        if self.labels is not None:
            chosen = nd.asarray(self.labels, dtype=nd.int64, device=matrix.device)
            hits, taken, actual = hits[chosen], taken[chosen], actual[chosen]
        if self.average == "micro":
            return self.rate(nd.sum(hits), nd.sum(taken), nd.sum(actual))
        rates = self.rate(hits, taken, actual)
        if self.average is None:
            return rates
        if self.average == "binary":
            return rates[0]
        counted = nd.ones_like(rates) if self.labels is not None else (taken + actual > 0.0).astype(nd.float64)
        if self.average == "weighted" and nd.sum(actual).item():
            counted = actual
        counted = nd.where(nd.isnan(rates), 0.0, counted)  # as zero_division=nan asks
        total = nd.sum(counted)
        rates = nd.where(nd.isnan(rates), 0.0, rates)
        return nd.sum(rates * counted) / total if total.item() else nd.asarray(nan, dtype=nd.float64)


class Precision(_Rate):
    """Of what was taken for a class, the share that is of it; 0 where nothing was.

    ``average`` "macro" is the mean over the classes that occur in outputs or targets, "weighted" weighs them by their
    targets, "micro" counts all classes together, None gives each class its own, "binary" that of ``pos_label`` alone.
    ``labels`` are the classes that count, in the order that None gives them. ``zero_division`` (0, 1 or nan) is the
    rate where there is nothing to divide by; with nan such classes do not count in an average.

    >>> metric = Precision(2, average=None)
    >>> metric.update(Tensor([0, 1, 1]), Tensor([0, 0, 1]))
    >>> metric.compute().tolist()
    [1.0, 0.5]
    """

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """hits / taken."""
        return _share(hits, taken, self.zero_division)


class Recall(_Rate):
    """Of what is of a class, the share that was taken for it; 0 where nothing is. ``average`` as in Precision.

    >>> metric = Recall(2, average=None)
    >>> metric.update(Tensor([0, 1, 1]), Tensor([0, 0, 1]))
    >>> metric.compute().tolist()
    [0.5, 1.0]
    """

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """hits / actual."""
        return _share(hits, actual, self.zero_division)


class F1Score(_Rate):
    """The harmonic mean of precision and recall: 2 hits / (taken + actual). ``average`` as in Precision.

    >>> metric = F1Score(2, average="micro")
    >>> metric.update(Tensor([0, 1, 1, 1]), Tensor([0, 0, 1, 1]))
    >>> metric.compute().item()
    0.75
    """

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """2 hits / (taken + actual)."""
        return _share(2.0 * hits, taken + actual, self.zero_division)


def _rate_of(
    kind: type[_Rate],
    output: Tensor,
    target: Tensor,
    num_classes: int | None,
    average: str | None,
    options: Mapping[str, Any],
    sample_weight: Tensor | None,
) -> nd.NDArray:
    """The rate of a batch; if nobody says how many classes there are, the labels that are asked for are among them."""
    matrix = confusion_matrix(output, target, num_classes, sample_weight=sample_weight)
    if num_classes is None:
        asked = [options["pos_label"]] if average == "binary" else options["labels"]
        number = max([len(matrix), *(int(label) + 1 for label in (() if asked is None else asked))])
        matrix = nd.pad(matrix, ((0, number - len(matrix)),) * 2)
    return kind(len(matrix), average, **options).of(matrix)


def _weights(sample_weight: Tensor, target: Tensor, flat: nd.NDArray) -> nd.NDArray:
    """A weight for each index."""
    if sample_weight.shape not in (target.shape, target.shape[:1]):
        raise nd.ShapeError(f"confusion_matrix: sample_weight {sample_weight.shape} for a target {target.shape}")
    weights = nd.reshape(sample_weight.data.astype(nd.float64), (-1,))
    return nd.repeat(weights, flat.size // weights.size) if weights.size else weights


def _share(part: nd.NDArray, whole: nd.NDArray, otherwise: float = 0.0) -> nd.NDArray:
    """part / whole, and something else where the whole is 0."""
    return nd.where(whole == 0.0, otherwise, part / nd.where(whole == 0.0, 1.0, whole))


def _indices(output: Tensor, target: Tensor, num_classes: int | None) -> tuple[nd.NDArray, nd.NDArray, int]:
    """Predicted and actual classes in one dimension, and the number of classes."""
    predicted, actual = output.data, target.data
    if predicted.dtype.kind == "f":
        if num_classes is None and predicted.ndim > 1:
            num_classes = predicted.shape[1]
        predicted = nd.argmax(predicted, axis=min(1, predicted.ndim - 1))
    if predicted.shape != actual.shape:
        raise nd.ShapeError(f"confusion_matrix: output {output.shape} does not fit target {target.shape}")
    if actual.dtype.kind == "f" and bool(nd.any(actual != nd.floor(actual))):
        raise nd.DTypeError("confusion_matrix: targets are indices of classes, and one has a fraction")
    predicted, actual = (nd.reshape(each, (-1,)).astype(nd.int64) for each in (predicted, actual))
    if num_classes is None:
        num_classes = 1 + max((int(nd.max(each).item()) for each in (predicted, actual) if each.size), default=-1)
    for each in (predicted, actual):
        if each.size and bool(nd.any((each < 0) | (each >= num_classes))):
            raise nd.IndexingError(f"confusion_matrix: a class is outside of the {num_classes} classes")
    return predicted, actual, num_classes
