"""The base of metrics that take in batch after batch."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import nan
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._guard import telling

__all__ = ["Metric"]


class Metric(ABC):
    """A value over all batches since the last :meth:`reset`.

    >>> import treadle.ndarray as nd
    >>> from treadle.nn.metrics import Accuracy
    >>> metric = Accuracy()
    >>> for logits, label in [([[2.0, 1.0]], [0]), ([[0.0, 3.0], [3.0, 0.0]], [0, 0])]:
    ...     metric.update(Tensor(logits), Tensor(label, dtype=nd.int64))
    >>> round(metric.compute().item(), 4)
    0.6667
    """

    def __init__(self) -> None:
        self.reset()

    def __init_subclass__(cls) -> None:
        for name in ("update", "measure"):
            if name in vars(cls):
                setattr(cls, name, telling(vars(cls)[name]))

    @abstractmethod
    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch."""

    @abstractmethod
    def compute(self) -> nd.NDArray:
        """The value over all batches."""

    @abstractmethod
    def reset(self) -> None:
        """Forget all batches."""

    def state_dict(self) -> dict[str, Any]:
        """What was taken in so far, and the options, as plain values and arrays of their own."""
        return {name: _copied(value) for name, value in vars(self).items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from ``state_dict``; ValueError, and no change, for that of another kind of metric."""
        if state_dict.keys() != vars(self).keys():
            kind, given = type(self).__name__, ", ".join(state_dict)
            raise ValueError(f"the state of a {kind} has {', '.join(vars(self))}; this one has {given or 'nothing'}")
        vars(self).update({name: _copied(value) for name, value in state_dict.items()})


def _copied(value: Any) -> Any:
    if isinstance(value, nd.NDArray):
        return value.copy()
    return [_copied(each) for each in value] if isinstance(value, list) else value


class MeanMetric(Metric):
    """The mean of something over all elements of all batches; NaN before the first."""

    def reset(self) -> None:
        """Forget all batches."""
        self.total = 0.0
        self.count = 0

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch."""
        total, count = self.measure(output, target)
        self.total += total
        self.count += count

    @abstractmethod
    def measure(self, output: Tensor, target: Tensor) -> tuple[float, int]:
        """The sum over a batch, and the number of its elements."""

    def mean(self) -> float:
        """The mean so far."""
        return self.total / self.count if self.count else nan

    def compute(self) -> nd.NDArray:
        """The mean over all batches."""
        return nd.asarray(self.mean(), dtype=nd.float64)
