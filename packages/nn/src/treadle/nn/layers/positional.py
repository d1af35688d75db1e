"""Where an element stands, told to layers that do not see it."""

import math
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional.dropout import dropout as dropped
from treadle.nn.module import Module

__all__ = ["RotaryPositionalEncoding", "SinusoidalPositionalEncoding"]


class SinusoidalPositionalEncoding(Module):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to ``base`` * 2 pi. Vaswani et al. 2017, 3.5.

    ``(batch, steps, d_model)``, or ``(steps, batch, d_model)`` without ``batch_first``, or ``(steps, d_model)``.
    Feature 2i of position p gets sin(p / base^(2i / d_model)), feature 2i + 1 the cosine. Nothing is learnt, and the
    table is not in the state dict.

    >>> import treadle.nn as nn
    >>> nn.SinusoidalPositionalEncoding(2)(Tensor([[0.0, 0.0]])).tolist()
    [[0.0, 1.0]]
    """

    table: Tensor

    def __init__(
        self,
        d_model: int,
        max_len: int = 5000,
        dropout: float = 0.0,
        base: float = 10000.0,
        batch_first: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if d_model < 2 or d_model % 2:
            raise nd.ShapeError(f"SinusoidalPositionalEncoding: d_model must be even, not {d_model}")
        self.d_model = d_model
        self.dropout = dropout
        self.batch_first = batch_first
        angles = _angles(max_len, d_model, base)
        joined = nd.stack([nd.sin(angles), nd.cos(angles)], axis=-1).reshape(max_len, d_model)
        kind = nd.float32 if dtype is None else dtype
        self.register_buffer("table", Tensor(nd.asarray(joined.astype(kind), device=device)), persistent=False)

    def forward(self, input: Tensor, offset: int = 0) -> Tensor:
        """``input`` plus the encoding of its positions, which start at ``offset``."""
        axis = input.ndim - 2 if self.batch_first else 0
        steps = input.shape[axis] if input.ndim in (2, 3) else -1
        if steps < 0 or input.shape[-1] != self.d_model or offset + steps > self.table.shape[0]:
            raise nd.ShapeError(
                f"SinusoidalPositionalEncoding: an input of shape {input.shape} at offset {offset}; there are "
                f"{self.table.shape[0]} positions of {self.d_model} features"
            )
        rows = self.table[offset : offset + steps]
        if not self.batch_first and input.ndim == 3:
            rows = autograd.expand_dims(rows, axis=1)
        return dropped(input + rows, self.dropout, self.training)

    def extra_repr(self) -> str:
        return f"{self.d_model}, max_len={self.table.shape[0]}, dropout={self.dropout}"


class RotaryPositionalEncoding(Module):
    """Turns pairs of features by angles that grow with the position, so that the product of a query and a key depends
    on their distance. Su et al. 2021, "RoFormer".

    ``(..., steps, dim)`` as attention's heads have it: ``(batch, heads, steps, head_dim)``. Pair i turns by position *
    base^(-2i / dim). Pairs are features 2i and 2i + 1 with ``interleaved``, as in the paper, else i and i + dim / 2, as
    in many released models.

    >>> import treadle.nn as nn
    >>> [round(v, 4) for v in nn.RotaryPositionalEncoding(2)(Tensor([[1.0, 0.0], [1.0, 0.0]])).tolist()[1]]
    [0.5403, 0.8415]
    """

    cosines: Tensor
    sines: Tensor

    def __init__(
        self,
        dim: int,
        max_len: int = 4096,
        base: float = 10000.0,
        interleaved: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if dim < 2 or dim % 2:
            raise nd.ShapeError(f"RotaryPositionalEncoding: dim must be even, not {dim}")
        self.dim = dim
        self.base = base
        self.interleaved = interleaved
        angles = _angles(max_len, dim, base)
        kind = nd.float32 if dtype is None else dtype
        for name, table in (("cosines", nd.cos(angles)), ("sines", nd.sin(angles))):
            self.register_buffer(name, Tensor(nd.asarray(table.astype(kind), device=device)), persistent=False)

    def forward(self, input: Tensor, offset: int = 0) -> Tensor:
        """``input`` turned; its positions start at ``offset``."""
        steps = input.shape[-2] if input.ndim >= 2 else -1
        if steps < 0 or input.shape[-1] != self.dim or offset + steps > self.cosines.shape[0]:
            raise nd.ShapeError(
                f"RotaryPositionalEncoding: an input of shape {input.shape} at offset {offset}; there are "
                f"{self.cosines.shape[0]} positions of {self.dim} features"
            )
        cosines, sines = (table[offset : offset + steps] for table in (self.cosines, self.sines))
        if not self.interleaved:
            first, second = autograd.split(input, 2, axis=-1)
            turned = (first * cosines - second * sines, first * sines + second * cosines)
            return autograd.concat(turned, axis=-1)
        first, second = input[..., ::2], input[..., 1::2]
        turned = (first * cosines - second * sines, first * sines + second * cosines)
        return autograd.reshape(autograd.stack(turned, axis=-1), input.shape)

    def extra_repr(self) -> str:
        return f"{self.dim}, max_len={self.cosines.shape[0]}, base={self.base}, interleaved={self.interleaved}"


def _angles(steps: int, features: int, base: float) -> nd.NDArray:
    """(steps, features / 2): position * base^(-2i / features), in float64."""
    rates = [math.pow(base, -2.0 * pair / features) for pair in range(features // 2)]
    return nd.arange(steps, dtype="float64").reshape(steps, 1) * nd.asarray(rates, dtype="float64")
