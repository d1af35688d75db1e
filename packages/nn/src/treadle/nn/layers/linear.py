"""The affine layer."""

from math import sqrt
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import init
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["Linear"]


class Linear(Module):
    """``input @ weight.T + bias``.

    ``input`` is ``(..., in_features)``, the result ``(..., out_features)``; ``weight`` is ``(out_features,
    in_features)`` and ``bias`` ``(out_features,)``. Both start uniform in +-1/sqrt(in_features).

    >>> import treadle.nn as nn
    >>> from treadle.autograd import Tensor
    >>> layer = nn.Linear(3, 2)
    >>> layer(Tensor([[1.0, 2.0, 3.0]])).shape
    (1, 2)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if in_features < 0 or out_features < 0:
            raise nd.ShapeError(f"Linear needs sizes of 0 or more, not in_features={in_features}, {out_features=}")
        self.in_features = in_features
        self.out_features = out_features
        dtype = nd.float32 if dtype is None else dtype
        self.weight = Parameter(nd.empty((out_features, in_features), dtype=dtype, device=device))
        self.bias = Parameter(nd.empty((out_features,), dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1.0 / sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The affine map of ``input``; ShapeError where its last size is not ``in_features``."""
        return autograd.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
