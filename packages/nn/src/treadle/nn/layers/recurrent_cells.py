"""Single steps of the recurrent layers."""

from math import sqrt
from typing import Any, ClassVar

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional, init
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _Cell(Module):
    """Base: ``weight_ih``, ``weight_hh``, ``bias_ih``, ``bias_hh``, uniform in +-1/sqrt(hidden_size)."""

    gates: ClassVar[int] = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows, dtype = self.gates * hidden_size, nd.float32 if dtype is None else dtype

        def made(*shape: int) -> Parameter:
            return Parameter(nd.empty(shape, dtype=dtype, device=device))

        self.weight_ih = made(rows, input_size)
        self.weight_hh = made(rows, hidden_size)
        self.bias_ih = made(rows) if bias else None
        self.bias_hh = made(rows) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1.0 / sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _prepared(self, input: Tensor, states: tuple[Tensor, ...] | None, count: int) -> tuple[Any, ...]:
        """The gates' part of the input, one step long, and the states, all with a batch."""
        name = type(self).__name__
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise nd.ShapeError(
                f"{name}: expected (batch, {self.input_size}) or ({self.input_size},), got {input.shape}"
            )
        shape = (*input.shape[:-1], self.hidden_size)
        if states is None:
            zeros = nd.zeros(shape, dtype=input.dtype, device=input.device)
            states = (Tensor(zeros),) * count
        if any(each.shape != shape for each in states):
            raise nd.ShapeError(f"{name}: states must be of shape {shape}, not {[each.shape for each in states]}")
        if input.ndim == 1:
            input, *states = (autograd.expand_dims(each, axis=0) for each in (input, *states))  # type: ignore[assignment]
        gates = functional.linear(input, self.weight_ih, self._input_bias())
        return (autograd.expand_dims(gates, axis=0), *states)

    def _input_bias(self) -> Tensor | None:
        return None if self.bias_ih is None or self.bias_hh is None else self.bias_ih + self.bias_hh

    def _shown(self, input: Tensor, states: Tensor) -> Tensor:
        """The only step of ``states``, without batch if ``input`` has none."""
        return states[0] if input.ndim == 2 else states[0, 0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One step of :class:`RNN`: ``(batch, input_size)`` and ``(batch, hidden_size)``, or both without batch.

    >>> import treadle.nn as nn
    >>> nn.RNNCell(3, 5)(Tensor([[1.0, 2.0, 3.0]])).shape
    (1, 5)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        gates, hidden = self._prepared(input, None if hx is None else (hx,), 1)
        return self._shown(input, functional.rnn(gates, hidden, self.weight_hh, self.nonlinearity))


class LSTMCell(_Cell):
    """One step of :class:`LSTM`: ``(batch, input_size)`` and a pair of ``(batch, hidden_size)``, or without batch.

    >>> import treadle.nn as nn
    >>> h, c = nn.LSTMCell(3, 5)(Tensor([[1.0, 2.0, 3.0]]))
    >>> h.shape, c.shape
    ((1, 5), (1, 5))
    """

    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next hidden and cell states."""
        gates, hidden, cell = self._prepared(input, hx, 2)
        hiddens, cells = functional.lstm(gates, hidden, cell, self.weight_hh)
        return self._shown(input, hiddens), self._shown(input, cells)


class GRUCell(_Cell):
    """One step of :class:`GRU`: ``(batch, input_size)`` and ``(batch, hidden_size)``, or both without batch.

    >>> import treadle.nn as nn
    >>> nn.GRUCell(3, 5)(Tensor([[1.0, 2.0, 3.0]])).shape
    (1, 5)
    """

    gates = 3

    def _input_bias(self) -> Tensor | None:
        return self.bias_ih

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        gates, hidden = self._prepared(input, None if hx is None else (hx,), 1)
        return self._shown(input, functional.gru(gates, hidden, self.weight_hh, self.bias_hh))
