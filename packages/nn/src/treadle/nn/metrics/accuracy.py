"""The share of right answers."""

import operator

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import MeanMetric, weighted_mean

__all__ = ["Accuracy", "accuracy", "top_k_accuracy"]


def accuracy(logits: Tensor, target: Tensor, *, sample_weight: Tensor | None = None) -> nd.NDArray:
    """The share of rows whose largest logit is that of the target class, as a 0-d array on their device.

    ``sample_weight`` ``(rows,)`` lets rows count more or less.

    >>> accuracy(Tensor([[2.0, 1.0], [0.0, 3.0]]), Tensor([0, 0], dtype=nd.int64)).item()
    0.5
    """
    return weighted_mean("accuracy", _hits(logits, target, 1), sample_weight)


def top_k_accuracy(logits: Tensor, target: Tensor, k: int = 5, *, sample_weight: Tensor | None = None) -> nd.NDArray:
    """The share of rows where fewer than ``k`` logits are before the target's: larger ones, and equal earlier ones.

    ``sample_weight`` ``(rows,)`` lets rows count more or less.

    >>> top_k_accuracy(Tensor([[2.0, 1.0, 0.0], [2.0, 3.0, 4.0]]), Tensor([1, 0]), k=2).item()
    0.5
    """
    return weighted_mean("top_k_accuracy", _hits(logits, target, _checked(k)), sample_weight)


class Accuracy(MeanMetric):
    """The share of rows whose target class is among the ``top_k`` with the largest logits.

    Rows whose target is ``ignore_index`` do not count; another one that is no class is an IndexingError.

    >>> metric = Accuracy(top_k=2)
    >>> metric.update(Tensor([[2.0, 1.0, 0.0], [2.0, 3.0, 4.0]]), Tensor([1, 0]))
    >>> metric.compute().item()
    0.5
    """

    def __init__(self, top_k: int = 1, ignore_index: int | None = None) -> None:
        super().__init__()
        self.top_k = _checked(top_k)
        self.ignore_index = ignore_index

    def measure(self, output: Tensor, target: Tensor) -> tuple[float, int]:
        """The right rows, and the number of rows."""
        if self.ignore_index is not None:
            counted = target.data != self.ignore_index
            output, target = Tensor(output.data[counted]), Tensor(target.data[counted])
        hits = _hits(output, target, self.top_k)
        return float(nd.sum(hits).item()), hits.size


def _checked(k: int) -> int:
    if operator.index(k) < 1:
        raise ValueError(f"accuracy: k must be 1 or more, not {k}")
    return k


def _hits(logits: Tensor, target: Tensor, k: int) -> nd.NDArray:
    """Which rows are right."""
    if logits.ndim != 2 or target.shape != logits.shape[:1]:
        raise nd.ShapeError(f"accuracy: logits {logits.shape} need (rows, classes) and target {target.shape} (rows,)")
    scores, classes = logits.data, target.data
    number = scores.shape[1]
    if number == 1:
        raise nd.ShapeError(
            f"accuracy: logits {logits.shape} of one class are always right; for yes or no compare logits > 0 with the "
            "target"
        )
    if classes.size and bool(nd.any((classes < 0) | (classes >= number))):
        raise nd.IndexingError(
            f"accuracy: a target is none of the {number} classes; Accuracy(ignore_index=...) leaves rows out"
        )
    if k == 1:
        return nd.equal(nd.argmax(scores, axis=1), classes)
    column = nd.expand_dims(classes, axis=1)
    own = nd.take_along_axis(scores, column, axis=1)
    earlier = nd.arange(number, dtype=nd.int64, device=scores.device) < column
    ahead = nd.sum((scores > own) | ((scores == own) & earlier), axis=1)
    return nd.logical_and(ahead < k, nd.logical_not(nd.isnan(own[:, 0])))
