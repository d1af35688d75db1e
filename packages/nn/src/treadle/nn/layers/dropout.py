"""Dropout."""

from collections.abc import Callable
from typing import ClassVar

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional.dropout import check_probability
from treadle.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    """Base of the kinds: a probability and a function."""

    function: ClassVar[Callable[..., Tensor]]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = check_probability(p)
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """``input`` with dropped elements, or ``input`` itself."""
        return self.function(input, self.p, self.training) if self.training else input

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
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

    function = staticmethod(functional.dropout)


class Dropout1d(_Dropout):
    """:class:`Dropout` of whole channels of ``(batch, channels, length)``, or without batch. Tompson et al. 2015.

    >>> import treadle.nn as nn
    >>> nn.Dropout1d(1.0)(Tensor([[[1.0, 2.0]]])).tolist()
    [[[0.0, 0.0]]]
    """

    function = staticmethod(functional.dropout1d)


class Dropout2d(_Dropout):
    """:class:`Dropout` of whole channels of ``(batch, channels, height, width)``, or without batch. Tompson 2015.

    >>> import treadle.nn as nn
    >>> nn.Dropout2d(1.0)(Tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[0.0, 0.0]]]]
    """

    function = staticmethod(functional.dropout2d)


class Dropout3d(_Dropout):
    """:class:`Dropout` of whole channels of ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.Dropout3d(1.0)(Tensor([[[[[1.0, 2.0]]]]])).tolist()
    [[[[[0.0, 0.0]]]]]
    """

    function = staticmethod(functional.dropout3d)


class AlphaDropout(_Dropout):
    """Sets elements to SELU's negative limit and keeps mean 0 and variance 1. Klambauer et al. 2017.

    >>> import treadle.nn as nn
    >>> x = Tensor([1.0, 2.0])
    >>> nn.AlphaDropout(0.5).eval()(x) is x
    True
    """

    function = staticmethod(functional.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """:class:`AlphaDropout` of whole channels of ``(batch, channels, ...)``.

    >>> import treadle.nn as nn
    >>> x = Tensor([[1.0, 2.0]])
    >>> nn.FeatureAlphaDropout(0.5).eval()(x) is x
    True
    """

    function = staticmethod(functional.feature_alpha_dropout)
