"""A map of two inputs, linear in each."""

from math import sqrt
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional, init
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["Bilinear"]


class Bilinear(Module):
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output ``k``.

    ``(..., in1_features)`` and ``(..., in2_features)`` give ``(..., out_features)``. ``weight``, ``(out_features,
    in1_features, in2_features)``, and ``bias`` start uniform in +-1/sqrt(in1_features).

    >>> import treadle.nn as nn
    >>> from treadle.autograd import Tensor
    >>> nn.Bilinear(1, 2, 3)(Tensor([[1.0]]), Tensor([[1.0, 2.0]])).shape
    (1, 3)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise nd.ShapeError(f"Bilinear needs at least one first feature, not {in1_features=}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        dtype = nd.float32 if dtype is None else dtype
        self.weight = Parameter(nd.empty((out_features, in1_features, in2_features), dtype=dtype, device=device))
        self.bias = Parameter(nd.empty((out_features,), dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1.0 / sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The map of both; ShapeError where their last sizes are not those of the layer."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
