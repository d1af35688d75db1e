"""The rectifier."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module

__all__ = ["ReLU"]


class ReLU(Module):
    """``max(input, 0)``, with gradient 0 at 0.

    ``inplace`` is taken so that existing models build; the result always has its own memory.

    >>> import treadle.nn as nn
    >>> from treadle.autograd import Tensor
    >>> nn.ReLU()(Tensor([-1.0, 2.0])).numpy().tolist()
    [0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The rectified ``input``."""
        return functional.relu(input)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""
