"""How far probabilities are from what happens."""

import operator
from math import nan

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import MeanMetric, Metric, weights_of

__all__ = ["CalibrationError", "LogLoss", "calibration_error", "log_loss"]


def calibration_error(probabilities: Tensor, target: Tensor, bins: int = 15) -> nd.NDArray:
    """The expected calibration error: |share of right rows - mean confidence| of each bin, weighted by its rows.

    ``probabilities`` are ``(rows, classes)`` with class indices, where the confidence is the largest, or ``(rows,)`` of
    class 1 with targets 0 or 1, where it is the probability and "right" means 1. The bins of confidence have equal
    width and hold their upper edges. float64; NaN without rows. Guo et al. 2017, "On calibration of modern neural
    networks", equation 3.

    >>> round(calibration_error(Tensor([[0.9, 0.1], [0.8, 0.2]]), Tensor([0, 1]), bins=1).item(), 4)
    0.35
    """
    metric = CalibrationError(bins)
    metric.update(probabilities, target)
    return metric.compute()


class CalibrationError(Metric):
    """:func:`calibration_error` over all batches.

    >>> metric = CalibrationError(bins=2)
    >>> metric.update(Tensor([0.9, 0.2]), Tensor([1, 0]))
    >>> metric.update(Tensor([0.7]), Tensor([1]))
    >>> round(metric.compute().item(), 4)
    0.2
    """

    def __init__(self, bins: int = 15) -> None:
        if operator.index(bins) < 1:
            raise ValueError(f"calibration_error: bins must be 1 or more, not {bins!r}")
        self.bins = bins
        super().__init__()

    def reset(self) -> None:
        """Forget all batches."""
        self.rows, self.right, self.confidence = (nd.zeros(self.bins, dtype=nd.float64, device="cpu") for _ in range(3))

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch of probabilities and targets."""
        shares, right = _checked("calibration_error", output, target)
        if shares.ndim == 2:
            right = nd.argmax(shares, axis=1) == right
            shares = nd.max(shares, axis=1)
        right, shares = right.astype(nd.float64).to_device("cpu"), shares.to_device("cpu")
        edges = nd.linspace(0.0, 1.0, self.bins + 1, dtype=nd.float64, device="cpu")
        places = nd.searchsorted(edges[1:-1].astype(shares.dtype), shares)  # 0.2 in float32 is on the edge 0.2
        shares = shares.astype(nd.float64)
        for total, each in ((self.rows, nd.ones_like(shares)), (self.right, right), (self.confidence, shares)):
            total[...] = nd.scatter_add(total, places, each)

    def compute(self) -> nd.NDArray:
        """The error over all batches."""
        rows = nd.sum(self.rows).item()
        return nd.sum(nd.abs(self.right - self.confidence)) / (rows or nan)


def log_loss(probabilities: Tensor, target: Tensor, *, sample_weight: Tensor | None = None) -> nd.NDArray:
    """The mean of -log of the probability that was given to the target, float64.

    ``probabilities`` are ``(rows, classes)`` with class indices, or ``(rows,)`` of class 1 with targets 0 or 1. They
    are kept the dtype's epsilon away from 0 and 1, so that the loss is finite. ``sample_weight`` ``(rows,)`` lets rows
    count more or less. For logits there is :func:`treadle.nn.functional.cross_entropy`.

    >>> round(log_loss(Tensor([[0.5, 0.5], [0.25, 0.75]]), Tensor([0, 1])).item(), 4)
    0.4904
    """
    losses = _losses(probabilities, target)
    weights = weights_of("log_loss", sample_weight, losses)
    return nd.sum(losses * weights) / nd.sum(weights) if losses.size else nd.asarray(nan, dtype=nd.float64)


class LogLoss(MeanMetric):
    """:func:`log_loss` over all batches.

    >>> metric = LogLoss()
    >>> metric.update(Tensor([0.5]), Tensor([0]))
    >>> metric.update(Tensor([0.75]), Tensor([1]))
    >>> round(metric.compute().item(), 4)
    0.4904
    """

    def measure(self, output: Tensor, target: Tensor) -> tuple[float, int]:
        """The sum of the losses, and the number of rows."""
        losses = _losses(output, target)
        return float(nd.sum(losses).item()), losses.size


def _losses(probabilities: Tensor, target: Tensor) -> nd.NDArray:
    shares, labels = _checked("log_loss", probabilities, target)
    margin = nd.finfo(shares.dtype).eps
    wide = nd.clip(shares.astype(nd.float64), margin, 1.0 - margin)
    if wide.ndim == 1:
        return -nd.log(nd.where(labels == 1, wide, 1.0 - wide))
    return -nd.log(nd.take_along_axis(wide, nd.expand_dims(labels.astype(nd.int64), axis=1), axis=1)[:, 0])


def _checked(name: str, probabilities: Tensor, target: Tensor) -> tuple[nd.NDArray, nd.NDArray]:
    """Both arrays; an error where they are no probabilities or no targets of theirs."""
    shares, labels = probabilities.data, target.data
    if shares.ndim not in (1, 2) or labels.shape != shares.shape[:1]:
        raise nd.ShapeError(f"{name}: probabilities {shares.shape} do not fit target {labels.shape}")
    if shares.dtype.kind != "f":
        raise nd.DTypeError(f"{name}: probabilities are floating-point numbers, not {shares.dtype.name}")
    if not bool(nd.all((shares >= 0.0) & (shares <= 1.0))):
        raise ValueError(f"{name}: a probability is not between 0 and 1; of logits take softmax or sigmoid first")
    labels = labels.astype(nd.int64) if labels.dtype.kind == "b" else labels
    number = shares.shape[1] if shares.ndim == 2 else 2
    if labels.size and bool(nd.any((labels < 0) | (labels >= number))):
        raise nd.IndexingError(f"{name}: a target is not one of the classes 0 to {number - 1}")
    return shares, labels
