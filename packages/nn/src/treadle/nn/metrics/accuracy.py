"""The share of right answers."""

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import MeanMetric

__all__ = ["Accuracy", "accuracy", "top_k_accuracy"]


def accuracy(logits: Tensor, target: Tensor) -> nd.NDArray:
    """The share of rows whose largest logit is that of the target class, as a 0-d array on their device.

    >>> accuracy(Tensor([[2.0, 1.0], [0.0, 3.0]]), Tensor([0, 0], dtype=nd.int64)).item()
    0.5
    """
    return nd.mean(_hits(logits, target, 1))


def top_k_accuracy(logits: Tensor, target: Tensor, k: int = 5) -> nd.NDArray:
    """The share of rows where fewer than ``k`` logits are before the target's: larger ones, and equal earlier ones.

    >>> top_k_accuracy(Tensor([[2.0, 1.0, 0.0], [2.0, 3.0, 4.0]]), Tensor([1, 0]), k=2).item()
    0.5
    """
    return nd.mean(_hits(logits, target, k))


class Accuracy(MeanMetric):
    """The share of rows whose target class is among the ``top_k`` with the largest logits.

    >>> metric = Accuracy(top_k=2)
    >>> metric.update(Tensor([[2.0, 1.0, 0.0], [2.0, 3.0, 4.0]]), Tensor([1, 0]))
    >>> metric.compute().item()
    0.5
    """

    def __init__(self, top_k: int = 1) -> None:
        super().__init__()
        self.top_k = top_k

    def measure(self, output: Tensor, target: Tensor) -> tuple[float, int]:
        """The right rows, and the number of rows."""
        hits = _hits(output, target, self.top_k)
        return float(nd.sum(hits).item()), hits.size


def _hits(logits: Tensor, target: Tensor, k: int) -> nd.NDArray:
    """Which rows are right."""
    if logits.ndim != 2 or target.shape != logits.shape[:1]:
        raise nd.ShapeError(f"accuracy: logits {logits.shape} need (rows, classes) and target {target.shape} (rows,)")
    if k < 1:
        raise ValueError(f"accuracy: k must be 1 or more, not {k}")
    scores, classes = logits.data, target.data
    if k == 1:
        return nd.equal(nd.argmax(scores, axis=1), classes)
    column = nd.expand_dims(classes, axis=1)
    own = nd.take_along_axis(scores, column, axis=1)
    earlier = nd.arange(scores.shape[1], dtype=nd.int64, device=scores.device) < column
    ahead = nd.sum((scores > own) | ((scores == own) & earlier), axis=1)
    return nd.logical_and(ahead < k, nd.logical_not(nd.isnan(own[:, 0])))
