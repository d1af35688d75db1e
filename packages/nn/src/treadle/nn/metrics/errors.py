"""Mean errors of numbers."""

from collections.abc import Callable
from math import sqrt

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.metrics.metric import MeanMetric, weighted_mean

__all__ = [
    "MeanAbsoluteError",
    "MeanSquaredError",
    "RootMeanSquaredError",
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
]


def mean_absolute_error(output: Tensor, target: Tensor, *, sample_weight: Tensor | None = None) -> nd.NDArray:
    """The mean of the absolute differences of two tensors of one shape; ``sample_weight`` weights rows.

    >>> mean_absolute_error(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    1.0
    """
    return weighted_mean("mean_absolute_error", _errors(nd.abs, output, target), sample_weight)


def mean_squared_error(output: Tensor, target: Tensor, *, sample_weight: Tensor | None = None) -> nd.NDArray:
    """The mean of the squared differences of two tensors of one shape; ``sample_weight`` weights rows.

    >>> mean_squared_error(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """
    return weighted_mean("mean_squared_error", _errors(nd.square, output, target), sample_weight)


def root_mean_squared_error(output: Tensor, target: Tensor, *, sample_weight: Tensor | None = None) -> nd.NDArray:
    """The root of the mean of the squared differences of two tensors of one shape; ``sample_weight`` weights rows.

    >>> root_mean_squared_error(Tensor([1.0, 2.0]), Tensor([4.0, -1.0])).item()
    3.0
    """
    return nd.sqrt(mean_squared_error(output, target, sample_weight=sample_weight))


class _MeanError(MeanMetric):
    """The base: the mean of a function of the differences, summed in float64."""

    function: Callable[[nd.NDArray], nd.NDArray]

    def measure(self, output: Tensor, target: Tensor) -> tuple[float, int]:
        """The sum of the errors, and the number of elements."""
        errors = _errors(type(self).function, output, target)
        return float(nd.sum(errors, dtype=nd.float64).item()), errors.size


class MeanAbsoluteError(_MeanError):
    """The mean of the absolute differences over all batches.

    >>> metric = MeanAbsoluteError()
    >>> metric.update(Tensor([1.0]), Tensor([1.0]))
    >>> metric.update(Tensor([2.0]), Tensor([4.0]))
    >>> metric.compute().item()
    1.0
    """

    function = staticmethod(nd.abs)


class MeanSquaredError(_MeanError):
    """The mean of the squared differences over all batches.

    >>> metric = MeanSquaredError()
    >>> metric.update(Tensor([1.0]), Tensor([1.0]))
    >>> metric.update(Tensor([2.0]), Tensor([4.0]))
    >>> metric.compute().item()
    2.0
    """

    function = staticmethod(nd.square)


class RootMeanSquaredError(MeanSquaredError):
    """The root of the mean of the squared differences over all batches.

    >>> metric = RootMeanSquaredError()
    >>> metric.update(Tensor([1.0, 2.0]), Tensor([4.0, -1.0]))
    >>> metric.compute().item()
    3.0
    """

    def compute(self) -> nd.NDArray:
        """The root over all batches."""
        return nd.asarray(sqrt(self.mean()), dtype=nd.float64)


def _errors(function: Callable[[nd.NDArray], nd.NDArray], output: Tensor, target: Tensor) -> nd.NDArray:
    if output.shape != target.shape:
        raise nd.ShapeError(f"a mean error: output {output.shape} and target {target.shape} must have the same shape")
    return function(_wide(output.data) - _wide(target.data))


def _wide(array: nd.NDArray) -> nd.NDArray:
    """Integers as float64, since unsigned differences wrap around, and halves as float32, whose squares overflow."""
    if array.dtype.kind != "f":
        return array.astype(nd.float64)
    return array.astype(nd.float32) if array.itemsize == 2 else array
