"""The base of the losses."""

from inspect import signature

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional.losses.reduction import check_reduction
from treadle.nn.module import Module

__all__ = ["ClassLoss", "Loss", "WeightedLoss"]


class Loss(Module):
    """A module with a ``reduction``: "mean", "sum", "none", or one of ``further_reductions``.

    >>> from treadle.nn import MSELoss
    >>> MSELoss(reduction="sum")
    MSELoss(reduction='sum')
    """

    further_reductions: tuple[str, ...] = ()

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = check_reduction(reduction, self.further_reductions)

    def extra_repr(self) -> str:
        """The options that are not the default."""
        parameters = signature(type(self)).parameters
        options = {name: value for name, value in vars(self).items() if isinstance(value, (bool, int, float, str))}
        changed = {name: value for name, value in options.items() if name in parameters}
        return ", ".join(f"{name}={value!r}" for name, value in changed.items() if value != parameters[name].default)


class WeightedLoss(Loss):
    """A loss with a ``weight``, a buffer that may be None.

    >>> from treadle.nn import NLLLoss
    >>> list(NLLLoss(Tensor([1.0, 2.0])).state_dict())
    ['weight']
    """

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)


class ClassLoss(WeightedLoss):
    """A loss of class indices, of which some do not count, and of which each counts as its class does.

    >>> from treadle.nn import NLLLoss
    >>> NLLLoss(ignore_index=0).counted(Tensor([0, 1, 1])).item()
    2
    """

    ignore_index: int

    def counted(self, target: Tensor) -> nd.NDArray | None:
        """What the mean over ``target`` is divided by, if that is not its size: the weights of what counts, 0-d."""
        if self.reduction != "mean" or target.dtype.kind not in "iu":
            return None
        kept = target.data != self.ignore_index
        if self.weight is None:
            return nd.count_nonzero(kept)
        classes = nd.where(kept, target.data, 0)
        return nd.sum(nd.where(kept, self.weight.data[classes], 0.0))
