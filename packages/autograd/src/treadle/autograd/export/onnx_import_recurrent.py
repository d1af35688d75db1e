"""The recurrent layers of ONNX: RNN, GRU, LSTM.

Weights are (directions, gates * hidden, ...), the gates in the order that ONNX gives them; x is (time, batch, size).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_import_arithmetic import activation

__all__ = ["RECURRENT"]

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@dataclass(slots=True)
class Cell:
    """One direction of a layer."""

    hidden: int
    weight: Tensor
    recurrence: Tensor
    input_bias: Tensor
    bias: Tensor
    peepholes: Tensor | None
    functions: list[Callable[[Tensor], Tensor]]
    clip: float | None
    linear_before_reset: bool
    coupled: bool

    def clipped(self, x: Tensor) -> Tensor:
        """What goes into an activation."""
        return x if self.clip is None else F.clip(x, -self.clip, self.clip)

    def part(self, x: Tensor, gate: int) -> Tensor:
        """The columns of a gate."""
        return x[..., gate * self.hidden : (gate + 1) * self.hidden]


def _rnn(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    total = F.linear(x, cell.weight, cell.input_bias) + F.linear(h, cell.recurrence, cell.bias)
    return cell.functions[0](cell.clipped(total)), c


def _gru(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    f, g = cell.functions
    given, hidden = F.linear(x, cell.weight, cell.input_bias), F.linear(h, cell.recurrence, cell.bias)
    update = f(cell.clipped(cell.part(given, 0) + cell.part(hidden, 0)))
    reset = f(cell.clipped(cell.part(given, 1) + cell.part(hidden, 1)))
    if cell.linear_before_reset:
        inner = reset * cell.part(hidden, 2)
    else:
        rows = slice(2 * cell.hidden, None)
        inner = F.linear(reset * h, cell.recurrence[rows], cell.bias[rows])
    fresh = g(cell.clipped(cell.part(given, 2) + inner))
    return (1.0 - update) * fresh + update * h, c


def _lstm(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    f, g, out = cell.functions
    total = F.linear(x, cell.weight, cell.input_bias) + F.linear(h, cell.recurrence, cell.bias)
    gates = [cell.part(total, each) for each in range(4)]  # input, output, forget, cell
    peep = None if cell.peepholes is None else [cell.part(cell.peepholes, each) for each in range(3)]
    if peep is not None:
        gates[0], gates[2] = gates[0] + peep[0] * c, gates[2] + peep[2] * c
    entering = f(cell.clipped(gates[0]))
    kept = 1.0 - entering if cell.coupled else f(cell.clipped(gates[2]))
    c = kept * c + entering * g(cell.clipped(gates[3]))
    opened = gates[1] if peep is None else gates[1] + peep[1] * c
    return f(cell.clipped(opened)) * out(c), c


def _walk(
    cell: Cell, step: Callable[..., Any], x: Tensor, h: Tensor, c: Tensor, lengths: Tensor | None, backward: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(outputs, last h, last c) of one direction; rows of the batch stand still where their sequence is over."""
    outputs: list[Tensor] = []
    order = range(x.shape[0])
    for time in reversed(order) if backward else order:
        new_h, new_c = step(cell, x[time], h, c)
        if lengths is None:
            h, c, shown = new_h, new_c, new_h
        else:
            going = constant((lengths.data > time).reshape((-1, 1)))
            h, c, shown = F.where(going, new_h, h), F.where(going, new_c, c), F.where(going, new_h, 0.0)
        outputs.append(shown)
    return F.stack(outputs[::-1] if backward else outputs), h, c


def _layer(step: Callable[..., Any], gates: int, defaults: Sequence[str]) -> Callable[..., Any]:
    def op(at: Any, x: Tensor, w: Tensor, r: Tensor, *given: Tensor | None) -> Any:
        b, lengths, h0, c0, p = (*given, *[None] * 5)[:5]
        by_batch = bool(at.get("layout", 0))
        x = F.swapaxes(x, 0, 1) if by_batch else x
        h0, c0 = (F.swapaxes(each, 0, 1) if by_batch and each is not None else each for each in (h0, c0))
        directions, hidden = w.shape[0], r.shape[-1]
        way = at.get("direction", "forward")
        if _DIRECTIONS.get(way) != directions:
            raise OnnxError(f"direction {way!r} and weights of {directions} directions")
        found = []
        for each in range(directions):
            start = constant(nd.zeros((x.shape[1], hidden), dtype=x.dtype))
            halves = constant(nd.zeros((2 * gates * hidden,), dtype=x.dtype)) if b is None else b[each]
            cell = Cell(
                hidden, w[each], r[each], halves[: gates * hidden], halves[gates * hidden :],
                None if p is None else p[each], _functions(at, each, defaults), at.get("clip"),
                bool(at.get("linear_before_reset", 0)), bool(at.get("input_forget", 0)),
            )  # fmt: skip
            first_h, first_c = start if h0 is None else h0[each], start if c0 is None else c0[each]
            backward = way == "reverse" or each == 1
            found.append(_walk(cell, step, x, first_h, first_c, lengths, backward))
        outputs, h, c = (
            F.stack(list(each), axis=axis) for each, axis in zip(zip(*found, strict=True), (1, 0, 0), strict=True)
        )
        if by_batch:
            outputs, h, c = F.permute_dims(outputs, (2, 0, 1, 3)), F.swapaxes(h, 0, 1), F.swapaxes(c, 0, 1)
        return outputs, h, c

    return op


def _functions(at: Any, direction: int, defaults: Sequence[str]) -> list[Callable[[Tensor], Tensor]]:
    """The activations of a direction. Those of all directions take alphas and betas in order, each as it has use."""
    count = len(defaults)
    names = at.get("activations") or [*defaults, *defaults]
    given = {"alpha": iter(at.get("activation_alpha") or []), "beta": iter(at.get("activation_beta") or [])}
    made = [activation(name, given) for name in names]
    return made[direction * count : (direction + 1) * count]


RECURRENT: dict[str, Callable[..., Any]] = {
    "RNN": _layer(_rnn, 1, ("Tanh",)), "GRU": _layer(_gru, 3, ("Sigmoid", "Tanh")),
    "LSTM": _layer(_lstm, 4, ("Sigmoid", "Tanh", "Tanh")),
}  # fmt: skip
"""By name."""
