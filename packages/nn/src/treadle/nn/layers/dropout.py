"""Dropout."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional.dropout import check_probability
from treadle.nn.module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """In training, sets each element to zero with probability ``p`` and scales the others by 1 / (1 - p).

    In evaluation mode the input itself is returned: the graph has no trace of the layer. From Srivastava et al. 2014,
    "Dropout: a simple way to prevent neural networks from overfitting", in its inverted form.

    ``inplace`` is taken so that existing models build; the result always has its own memory.

    >>> import treadle.nn as nn
    >>> from treadle.autograd import Tensor
    >>> x = Tensor([1.0, 2.0])
    >>> nn.Dropout(0.5).eval()(x) is x
    True
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = check_probability(p)
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``input`` with dropped elements, or ``input`` itself."""
        return functional.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
