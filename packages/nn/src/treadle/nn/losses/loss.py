"""The base of the losses."""

from inspect import signature

from treadle.autograd import Tensor
from treadle.nn.functional.losses.reduction import check_reduction
from treadle.nn.module import Module

__all__ = ["Loss", "WeightedLoss"]


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
