"""The exponential moving average of weights."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.composed import average
from treadle.optim.optimizer import require

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Averages of tensors over training: a = decay * a + (1 - decay) * w at every :meth:`update`, from a = w.

    Counts, as of batches in a batch norm's buffers, are copied, not averaged.

    With ``warmup`` the decay of update n (from 1) is at most (1 + n) / (10 + n), so that the start is soon forgotten.
    Tarvainen and Valpola 2017, "Mean teachers are better role models", section 2; Polyak and Juditsky 1992,
    "Acceleration of stochastic approximation by averaging".

    >>> w = Tensor([1.0], requires_grad=True)
    >>> ema = ExponentialMovingAverage([w], decay=0.75)
    >>> w.data[...] = 5.0
    >>> ema.update()
    >>> with ema.averaged():
    ...     w.item()
    2.0
    >>> w.item()
    5.0
    """

    def __init__(self, tensors: Iterable[Tensor], decay: float = 0.999, *, warmup: bool = False) -> None:
        require(0.0 <= decay <= 1.0, "decay", decay, "between 0 and 1")
        if isinstance(tensors, Tensor):
            raise TypeError("an average takes an iterable of tensors, not one tensor: write [tensor]")
        if hasattr(tensors, "parameters"):
            raise TypeError(f"an average takes tensors, not a {type(tensors).__name__}: pass its parameters()")
        self.tensors = list(tensors)
        self.decay = decay
        self.warmup = warmup
        self.updates = 0
        self.averages = [_wide(tensor.data).copy() for tensor in self.tensors]

    def update(self) -> None:
        """Take the present values into the averages; called after each step of the optimizer."""
        self.updates += 1
        decay = self.decay
        if self.warmup:
            decay = min(decay, (1.0 + self.updates) / (10.0 + self.updates))
        for mean, tensor in zip(self.averages, self.tensors, strict=True):
            if mean.dtype.kind in "fc":
                average(mean, _wide(tensor.data), decay)
            else:
                mean[...] = tensor.data

    def copy_to(self) -> None:
        """Write the averages into the tensors, for good."""
        for mean, tensor in zip(self.averages, self.tensors, strict=True):
            tensor.data[...] = mean

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within the block the tensors hold the averages; after it their own values again."""
        own = [tensor.data.copy() for tensor in self.tensors]
        self.copy_to()
        try:
            yield
        finally:
            for value, tensor in zip(own, self.tensors, strict=True):
                tensor.data[...] = value

    def state_dict(self) -> dict[str, Any]:
        """The averages in the order of the tensors, the decay and the number of updates."""
        return {"decay": self.decay, "warmup": self.warmup, "updates": self.updates, "averages": list(self.averages)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over averages and options; ValueError, and no change, if they are none or the shapes differ."""
        lacking = [name for name in self.state_dict() if name not in state_dict]
        if lacking:
            raise ValueError(f"this is no state of an ExponentialMovingAverage: it lacks {', '.join(lacking)}")
        given = [each if isinstance(each, nd.NDArray) else nd.asarray(each) for each in state_dict["averages"]]
        shapes, own = [array.shape for array in given], [mean.shape for mean in self.averages]
        if shapes != own:
            raise ValueError(f"the averages have shapes {own}, those of the state dict {shapes}")
        pairs = zip(given, self.averages, strict=True)
        self.averages = [array.astype(mean.dtype, copy=True).to_device(mean.device) for array, mean in pairs]
        self.decay, self.warmup = state_dict["decay"], state_dict["warmup"]
        self.updates = state_dict["updates"]


def _wide(array: nd.NDArray) -> nd.NDArray:
    """In float32 where it is shorter: an average moves by less than the last digit of those."""
    return array.astype(nd.float32) if array.dtype.kind == "f" and array.dtype.itemsize < 4 else array
