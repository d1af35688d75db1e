"""Recurrent layers: RNN, LSTM, GRU, of any number of layers, in one or both directions."""

import warnings
from math import sqrt
from typing import Any, ClassVar

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional, init
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter
from treadle.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN"]

State = tuple[Tensor, ...]


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters, layers, directions, packed sequences.

    Layer k has ``weight_ih_lk`` ``(gates * hidden_size, inputs)``, ``weight_hh_lk`` ``(gates * hidden_size, hidden_size
    or proj_size)``, ``bias_ih_lk`` and ``bias_hh_lk`` ``(gates * hidden_size,)`` and, projected, ``weight_hr_lk``
    ``(proj_size, hidden_size)``, and the same with ``_reverse`` for the other direction. All start uniform in
    +-1/sqrt(hidden_size).
    """

    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if min(input_size, hidden_size, num_layers) < 1 or not 0 <= proj_size < hidden_size:
            raise nd.ShapeError(f"{name}: {input_size=}, {hidden_size=}, {num_layers=}, {proj_size=}")
        if proj_size and self.states != 2:
            raise ValueError(f"{name}: proj_size is for LSTM only")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"{name}: dropout must lie between 0 and 1, not {dropout}")
        if dropout > 0.0 and num_layers == 1:
            warnings.warn(f"{name}: dropout acts between layers, and there is one", UserWarning, stacklevel=2)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._make_parameters(device, nd.float32 if dtype is None else dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _make_parameters(self, device: Any, dtype: Any) -> None:
        rows, shown = self.gates * self.hidden_size, self.proj_size or self.hidden_size
        for layer in range(self.num_layers):
            inputs = shown * len(self._directions) if layer else self.input_size
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, inputs), "weight_hh": (rows, shown)}
            if self.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for direction in self._directions:
                for kind, shape in shapes.items():
                    made = Parameter(nd.empty(shape, dtype=dtype, device=device))
                    setattr(self, f"{kind}_l{layer}{direction}", made)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1.0 / sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: there is no other layout. PyTorch's models call it."""

    def _of(self, kind: str, layer: int, direction: str) -> Any:
        return getattr(self, f"{kind}_l{layer}{direction}", None)

    # one call ------------------------------------------------------------------------------------------------------
    def _call(self, input: Any, initial: State | None) -> tuple[Any, State]:
        """The output and the last states, ``(layers * directions, batch, size)`` each."""
        name = type(self).__name__
        if isinstance(input, PackedSequence):
            given = self._sorted(initial, input.sorted_indices)
            out, last = self._run(input.padded(), given, input.lengths)
            return input.with_rows_of(out), self._sorted(last, input.unsorted_indices) or ()
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            order = "batch, steps" if self.batch_first else "steps, batch"
            raise nd.ShapeError(
                f"{name}: expected ({order}, {self.input_size}), or that without batch, got {input.shape}"
            )
        if input.ndim == 2:
            given = None if initial is None else tuple(autograd.expand_dims(each, axis=1) for each in initial)
            out, last = self._run(autograd.expand_dims(input, axis=1), given, None)
            return autograd.squeeze(out, 1), tuple(autograd.squeeze(each, 1) for each in last)
        if self.batch_first:
            out, last = self._run(autograd.swapaxes(input, 0, 1), initial, None)
            return autograd.swapaxes(out, 0, 1), last
        return self._run(input, initial, None)

    def _sorted(self, states: State | None, order: Tensor | None) -> State | None:
        """States with their sequences in another order."""
        if states is None or order is None:
            return states
        return tuple(autograd.take(each, order.to(each.device), axis=1) for each in states)

    def _first_states(self, input: Tensor, initial: State | None) -> State:
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        count = self.num_layers * len(self._directions)
        shapes = [(count, input.shape[1], size) for size in sizes]
        if initial is None:
            return tuple(Tensor(nd.zeros(shape, dtype=input.dtype, device=input.device)) for shape in shapes)
        if [each.shape for each in initial] != shapes:
            found = [each.shape for each in initial]
            raise nd.ShapeError(f"{type(self).__name__}: initial states must be of shapes {shapes}, not {found}")
        return initial

    def _run(self, input: Tensor, initial: State | None, lengths: list[int] | None) -> tuple[Tensor, State]:
        """Time-major input through all layers; with ``lengths`` the last state is that at each sequence's end."""
        if input.shape[0] == 0:
            raise nd.ShapeError(f"{type(self).__name__}: the input has no steps: {input.shape}")
        first = self._first_states(input, initial)
        rows = None if lengths is None else _Rows(lengths, input)
        last: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in self._directions:
                at = len(last)
                begin = tuple(each[at] for each in first)
                results = self._pass(input, begin, layer, direction, rows)
                outputs.append(results[0])
                last.append(results[1:])
            input = outputs[0] if len(outputs) == 1 else autograd.concat(outputs, axis=2)
            if self.dropout and layer + 1 < self.num_layers:
                input = functional.dropout(input, self.dropout, self.training)
        return input, tuple(autograd.stack(kind) for kind in zip(*last, strict=True))

    def _pass(
        self, input: Tensor, begin: State, layer: int, direction: str, rows: "_Rows | None"
    ) -> tuple[Tensor, ...]:
        """One direction of one layer: the hidden states of all steps, and the last of every kind of state."""
        gates = functional.linear(input, self._of("weight_ih", layer, direction), self._input_bias(layer, direction))
        if direction:
            gates = autograd.flip(gates, axis=0) if rows is None else rows.reversed(gates)
        states = self._steps(gates, begin, layer, direction)
        last = tuple(each[-1] if rows is None else rows.ends(each) for each in states)
        out = states[0]
        if direction:
            out = autograd.flip(out, axis=0) if rows is None else rows.reversed(out)
        return (out, *last)

    def _input_bias(self, layer: int, direction: str) -> Tensor | None:
        """What is added to the input's part of all gates."""
        if not self.bias:
            return None
        both: Tensor = self._of("bias_ih", layer, direction) + self._of("bias_hh", layer, direction)
        return both

    def _steps(self, gates: Tensor, begin: State, layer: int, direction: str) -> State:
        """The states of all steps, the hidden ones first."""
        raise TypeError(f"{type(self).__name__} defines no _steps")

    def extra_repr(self) -> str:
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
        }  # fmt: skip
        parts = [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *parts])


class _Rows:
    """Where the steps of sequences of different lengths lie in ``(steps * batch)`` rows."""

    def __init__(self, lengths: list[int], input: Tensor) -> None:
        batch = len(lengths)
        flat = [
            ((length - 1 - step) if step < length else step) * batch + number
            for step in range(input.shape[0])
            for number, length in enumerate(lengths)
        ]
        self._reversed = Tensor(nd.asarray(flat, dtype="int64", device=input.device))
        ends = [(length - 1) * batch + number for number, length in enumerate(lengths)]
        self._ends = Tensor(nd.asarray(ends, dtype="int64", device=input.device))

    def reversed(self, values: Tensor) -> Tensor:
        """Each sequence backwards, its padding where it was."""
        return autograd.reshape(autograd.take(_flat(values), self._reversed, axis=0), values.shape)

    def ends(self, values: Tensor) -> Tensor:
        """The last step of each sequence."""
        return autograd.take(_flat(values), self._ends, axis=0)


def _flat(values: Tensor) -> Tensor:
    steps, batch, features = values.shape
    return autograd.reshape(values, (steps * batch, features))


class RNN(RNNBase):
    """Elman's network: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or relu. Elman 1990, "Finding structure in time".

    ``(steps, batch, input_size)``, ``(batch, steps, input_size)`` with ``batch_first``, that without batch, or a
    :class:`~treadle.nn.utils.rnn.PackedSequence` gives all steps' states of the last layer, the directions joined, and
    the last states ``(num_layers * directions, batch, hidden_size)``, as which the second argument starts.

    >>> import treadle.nn as nn
    >>> out, h = nn.RNN(3, 5, num_layers=2)(Tensor([[[1.0, 2.0, 3.0]]]))
    >>> out.shape, h.shape
    ((1, 1, 5), (2, 1, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype
        )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The states of all steps, and the last ones."""
        out, (last,) = self._call(input, None if hx is None else (hx,))
        return out, last

    def _steps(self, gates: Tensor, begin: State, layer: int, direction: str) -> State:
        return (functional.rnn(gates, begin[0], self._of("weight_hh", layer, direction), self.nonlinearity),)


class LSTM(RNNBase):
    """Long short-term memory: gates i, f, o and candidate g; ``c' = f c + i g``, ``h' = o tanh(c')``.

    Shapes are those of :class:`RNN`; the states are a pair (h, c). With ``proj_size`` the hidden state is ``W_hr h'``
    (Sak et al. 2014). Hochreiter and Schmidhuber 1997; forget gates: Gers et al. 2000.

    >>> import treadle.nn as nn
    >>> out, (h, c) = nn.LSTM(3, 5, bidirectional=True)(Tensor([[[1.0, 2.0, 3.0]]]))
    >>> out.shape, h.shape, c.shape
    ((1, 1, 10), (2, 1, 5), (2, 1, 5))
    """

    gates, states = 4, 2

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        """The hidden states of all steps, and the last pair."""
        out, (hidden, cell) = self._call(input, hx)
        return out, (hidden, cell)

    def _steps(self, gates: Tensor, begin: State, layer: int, direction: str) -> State:
        weights = [self._of(kind, layer, direction) for kind in ("weight_hh", "weight_hr")]
        return functional.lstm(gates, begin[0], begin[1], *weights)


class GRU(RNNBase):
    """Gated recurrent units: ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))``, ``h' = (1 - z) n + z h`` with gates r, z.

    Shapes are those of :class:`RNN`. Cho et al. 2014, in the form where the reset gate acts behind the product.

    >>> import treadle.nn as nn
    >>> out, h = nn.GRU(3, 5)(Tensor([[[1.0, 2.0, 3.0]]]))
    >>> out.shape, h.shape
    ((1, 1, 5), (1, 1, 5))
    """

    gates = 3

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The states of all steps, and the last ones."""
        out, (last,) = self._call(input, None if hx is None else (hx,))
        return out, last

    def _input_bias(self, layer: int, direction: str) -> Tensor | None:
        bias: Tensor | None = self._of("bias_ih", layer, direction)
        return bias

    def _steps(self, gates: Tensor, begin: State, layer: int, direction: str) -> State:
        weights = [self._of(kind, layer, direction) for kind in ("weight_hh", "bias_hh")]
        return (functional.gru(gates, begin[0], *weights),)
