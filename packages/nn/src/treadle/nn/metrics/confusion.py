"""Counts of classes taken for classes, and what follows from them."""

from math import nan

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import Metric

__all__ = [
    "ConfusionMatrix", "F1Score", "Precision", "Recall", "confusion_matrix", "f1_score", "precision", "recall",
]  # fmt: skip

_AVERAGES = ("macro", "micro", "weighted", None)


def confusion_matrix(output: Tensor, target: Tensor, num_classes: int | None = None) -> nd.NDArray:
    """How often class i (row) was taken for class j (column): int64, ``(num_classes, num_classes)``.

    ``output`` holds logits ``(rows, classes, ...)``, or class indices of ``target``'s shape, of an integer dtype.
    ``num_classes`` is by default the number of logits, or the largest index and 1.

    >>> confusion_matrix(Tensor([0, 1, 1]), Tensor([0, 0, 1])).tolist()
    [[1, 1], [0, 1]]
    """
    predicted, actual, number = _indices(output, target, num_classes)
    flat = actual * number + predicted
    counts = nd.zeros(number * number, dtype=nd.int64, device=flat.device)
    ones = nd.ones(flat.shape, dtype=nd.int64, device=flat.device)
    return nd.reshape(nd.scatter_add(counts, flat, ones), (number, number))


def precision(
    output: Tensor, target: Tensor, num_classes: int | None = None, average: str | None = "macro"
) -> nd.NDArray:
    """Of what was taken for a class, the share that is of it; 0 where nothing was. Arguments: :class:`Precision`.

    >>> precision(Tensor([0, 1, 1]), Tensor([0, 0, 1]), average=None).tolist()
    [1.0, 0.5]
    """
    return _Rate.of(Precision, output, target, num_classes, average)


def recall(output: Tensor, target: Tensor, num_classes: int | None = None, average: str | None = "macro") -> nd.NDArray:
    """Of what is of a class, the share that was taken for it; 0 where nothing is. Arguments: :class:`Recall`.

    >>> recall(Tensor([0, 1, 1]), Tensor([0, 0, 1]), average=None).tolist()
    [0.5, 1.0]
    """
    return _Rate.of(Recall, output, target, num_classes, average)


def f1_score(
    output: Tensor, target: Tensor, num_classes: int | None = None, average: str | None = "macro"
) -> nd.NDArray:
    """The harmonic mean of precision and recall, 2 hits / (taken + actual). Arguments: :class:`F1Score`.

    >>> [round(value, 4) for value in f1_score(Tensor([0, 1, 1]), Tensor([0, 0, 1]), average=None).tolist()]
    [0.6667, 0.6667]
    """
    return _Rate.of(F1Score, output, target, num_classes, average)


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

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch of logits, or class indices, and target indices."""
        self.matrix += confusion_matrix(output, target, self.num_classes).to_device("cpu")

    def compute(self) -> nd.NDArray:
        """The counts, int64."""
        return self.matrix.copy()


class _Rate(ConfusionMatrix):
    """The base: a rate of each class, averaged."""

    def __init__(self, num_classes: int, average: str | None = "macro") -> None:
        if average not in _AVERAGES:
            raise ValueError(f"average must be one of {_AVERAGES}, not {average!r}")
        super().__init__(num_classes)
        self.average = average

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """The rate, from the counts of hits, of what was taken for a class, and of what is of it."""
        raise NotImplementedError

    def compute(self) -> nd.NDArray:
        """The average, 0-d, or with ``average=None`` the rate of each class; float64."""
        counts = self.matrix.astype(nd.float64)
        hits, taken, actual = nd.diagonal(counts), nd.sum(counts, axis=0), nd.sum(counts, axis=1)
        if self.average == "micro":
            return self.rate(nd.sum(hits), nd.sum(taken), nd.sum(actual))
        rates = self.rate(hits, taken, actual)
        if self.average is None:
            return rates
        weights = actual if self.average == "weighted" else (taken + actual > 0.0).astype(nd.float64)
        total = nd.sum(weights)
        return nd.sum(rates * weights) / total if total.item() else nd.asarray(nan, dtype=nd.float64)

    @staticmethod
    def of(
        kind: "type[_Rate]", output: Tensor, target: Tensor, num_classes: int | None, average: str | None
    ) -> nd.NDArray:
        """The rate of one batch."""
        matrix = confusion_matrix(output, target, num_classes)
        metric = kind(matrix.shape[0], average)
        metric.matrix = matrix
        return metric.compute()


class Precision(_Rate):
    """Of what was taken for a class, the share that is of it; 0 where nothing was.

    ``average`` "macro" is the mean over the classes that occur in outputs or targets, "weighted" weighs them by their
    targets, "micro" counts all classes together, None gives each class its own.

    >>> metric = Precision(2, average=None)
    >>> metric.update(Tensor([0, 1, 1]), Tensor([0, 0, 1]))
    >>> metric.compute().tolist()
    [1.0, 0.5]
    """

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """hits / taken."""
        return _share(hits, taken)


class Recall(_Rate):
    """Of what is of a class, the share that was taken for it; 0 where nothing is. ``average`` as in Precision.

    >>> metric = Recall(2, average=None)
    >>> metric.update(Tensor([0, 1, 1]), Tensor([0, 0, 1]))
    >>> metric.compute().tolist()
    [0.5, 1.0]
    """

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """hits / actual."""
        return _share(hits, actual)


class F1Score(_Rate):
    """The harmonic mean of precision and recall: 2 hits / (taken + actual). ``average`` as in Precision.

    >>> metric = F1Score(2, average="micro")
    >>> metric.update(Tensor([0, 1, 1, 1]), Tensor([0, 0, 1, 1]))
    >>> metric.compute().item()
    0.75
    """

    def rate(self, hits: nd.NDArray, taken: nd.NDArray, actual: nd.NDArray) -> nd.NDArray:
        """2 hits / (taken + actual)."""
        return _share(2.0 * hits, taken + actual)


def _share(part: nd.NDArray, whole: nd.NDArray) -> nd.NDArray:
    """part / whole, and 0 where the whole is 0."""
    return part / nd.where(whole == 0.0, 1.0, whole)


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
