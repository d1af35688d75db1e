"""One direction of one recurrent layer: the steps in time, after the input's part of all gates was computed at once.

Time comes first: ``(steps, batch, features)``. Every kind of layer is one op over the whole sequence. Backward runs
through time, step by step where the numbers are still in the cache; the gradient of the recurrent weight is one matrix
product.
"""

import math
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.ndarray import _layers, _recurrent
from treadle.nn.functional._fused import FusedTupleOp, dense, in_one_dtype

__all__ = ["gru", "lstm", "rnn"]


def _before(initial: Any, states: Any) -> Any:
    """The state that each step started from, ``(steps * batch, features)``."""
    steps, batch, features = states.shape
    earlier = nd.concat([nd.expand_dims(initial, axis=0), states[: steps - 1]], axis=0)
    return earlier.reshape(steps * batch, features)


def _rows(array: Any) -> Any:
    steps, batch, features = array.shape
    return array.reshape(steps * batch, features)


def _plus(array: Any, gradients: Any, step: int) -> Any:
    """``array`` and the gradient that a step's result got from outside; either may be None."""
    if gradients is None:
        return array
    return gradients[step] if array is None else array + gradients[step]


class _Sequence(FusedTupleOp):
    """Base: what the steps cost, the products with the recurrent weights and ``others`` for each gate's element."""

    weights: tuple[int, ...] = (2,)
    others = 2

    def flops(self, shapes: tuple[tuple[int, ...], ...], out: tuple[int, ...]) -> int:
        """Two for each product, and those of the gates."""
        steps, batch, width = shapes[0]
        products = sum(math.prod(shapes[at]) for at in self.weights if at < len(shapes))
        return steps * batch * (2 * products + self.others * width)


class LSTMSequence(_Sequence):
    """(gates, h, c, weight_hh[, weight_hr]) to (hidden, cell states) of all steps; gates in the order i, f, g, o.

    Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000); the projection by ``weight_hr`` is that of
    Sak et al. 2014.
    """

    weights, others = (3, 4), 3

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        gates, hidden, cell, weight = arrays[:4]
        steps, batch, width = gates.shape
        size = width // 4
        on = nd.empty((steps, batch, 4, size), dtype=gates.dtype, device=gates.device)
        cells = nd.empty((steps, batch, size), dtype=gates.dtype, device=gates.device)
        squashed = nd.empty_like(cells)
        hiddens = nd.empty((steps, batch, hidden.shape[1]), dtype=gates.dtype, device=gates.device)
        given, cell = dense(gates), dense(cell)
        operands = given, dense(hidden), cell, dense(weight)
        if len(arrays) == 4 and _recurrent.lstm(*operands, on, cells, squashed, hiddens):
            return (hiddens, cells), (*arrays[1:], on, squashed, hiddens, cells)
        target = nd.empty_like(cell)
        for step in range(steps):
            product = nd.matmul(hidden, weight.mT)
            shown = hiddens[step] if len(arrays) == 4 else target
            results = on[step], cells[step], squashed[step], shown
            if not _layers.lstm_step(product, given[step], cell, *results):
                self._step(product, given[step], cell, *results)
            hidden, cell = hiddens[step], cells[step]
            if len(arrays) == 5:
                hidden[...] = nd.matmul(shown, arrays[4].mT)
        return (hiddens, cells), (*arrays[1:], on, squashed, hiddens, cells)

    def _step(self, product: Any, given: Any, before: Any, gates: Any, cell: Any, squashed: Any, shown: Any) -> None:
        """What the kernel does."""
        product += given
        raw = product.reshape(gates.shape)
        nd.sigmoid(raw[:, :2], out=gates[:, :2])
        nd.tanh(raw[:, 2], out=gates[:, 2])
        nd.sigmoid(raw[:, 3], out=gates[:, 3])
        nd.multiply(gates[:, 1], before, out=cell)
        cell += gates[:, 0] * gates[:, 2]
        nd.tanh(cell, out=squashed)
        nd.multiply(gates[:, 3], squashed, out=shown)

    def array_rule(self, grads: tuple[Any, ...], node: Any) -> Any:
        hidden, cell, weight, *projection, on, squashed, hiddens, cells = node.saved
        shape = (*on.shape[:2], 4 * on.shape[3])
        d_gates = nd.empty_like(on)
        d_hiddens = nd.empty_like(hiddens) if projection else None
        d_hidden: Any = None
        d_cell, first = nd.zeros(cell.shape, dtype=cell.dtype, device=cell.device), dense(cell)
        if not projection:
            d_hidden = nd.zeros_like(d_cell)
            outer = [None if each is None else dense(each) for each in grads]
            states = on, cells, squashed, first, dense(weight)
            if _recurrent.lstm_gradient(*states, outer[0], outer[1], d_gates, d_hidden, d_cell):
                return self._with_weight(hidden, hiddens, d_gates.reshape(shape), d_hidden, d_cell)
            d_hidden = None
        for step in reversed(range(shape[0])):
            d_hidden = _plus(d_hidden, grads[0], step)
            if grads[1] is not None:
                d_cell += grads[1][step]
            if d_hidden is None:
                d_hidden = nd.zeros_like(hidden)
            if d_hiddens is not None:
                d_hiddens[step] = d_hidden
            d_shown = dense(nd.matmul(d_hidden, projection[0]) if projection else d_hidden)
            operands = on[step], cells[step - 1] if step else first, squashed[step], d_shown
            if not _layers.lstm_step_gradient(*operands, d_cell, d_gates[step]):
                self._step_gradient(*operands, d_cell, d_gates[step])
            d_hidden = nd.matmul(d_gates[step].reshape(shape[1:]), weight)
        found = self._with_weight(hidden, hiddens, d_gates.reshape(shape), d_hidden, d_cell)
        if d_hiddens is None:
            return found
        return (*found, nd.matmul(_rows(d_hiddens).mT, _rows(on[:, :, 3] * squashed)))

    def _with_weight(self, hidden: Any, hiddens: Any, d_gates: Any, d_hidden: Any, d_cell: Any) -> tuple[Any, ...]:
        """The gradients with that of the recurrent weight, one product over all steps."""
        return d_gates, d_hidden, d_cell, nd.matmul(_rows(d_gates).mT, _before(hidden, hiddens))

    def _step_gradient(self, gate: Any, before: Any, shown: Any, d_shown: Any, d_cell: Any, d_gates: Any) -> None:
        """What the kernel does; the gradient of a gate is that of the cell (i, f, g) or of the shown state (o), times a
        factor."""
        d_cell += d_shown * (gate[:, 3] * (1.0 - shown * shown))
        factors = nd.subtract(1.0, gate)
        factors *= gate
        inner = gate[:, 2]
        factors[:, 2] = 1.0 - inner * inner
        for at, other in enumerate((inner, before, gate[:, 0], shown)):
            factors[:, at] *= other
        nd.multiply(factors[:, :3], d_cell[:, None], out=d_gates[:, :3])
        nd.multiply(factors[:, 3], d_shown, out=d_gates[:, 3])
        d_cell *= gate[:, 1]

    def composition(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        gates, hidden, cell, weight = inputs[:4]
        hiddens, cells = [], []
        for step in range(gates.shape[0]):
            i, f, g, o = autograd.split(gates[step] + autograd.linear(hidden, weight), 4, axis=1)
            cell = autograd.sigmoid(f) * cell + autograd.sigmoid(i) * autograd.tanh(g)
            hidden = autograd.sigmoid(o) * autograd.tanh(cell)
            if len(inputs) == 5:
                hidden = autograd.linear(hidden, inputs[4])
            hiddens.append(hidden)
            cells.append(cell)
        return autograd.stack(hiddens), autograd.stack(cells)


class GRUSequence(_Sequence):
    """(gates, h, weight_hh[, bias_hh]) to the hidden states of all steps; gates in the order r, z, n.

    Cho et al. 2014, in the form where the reset gate acts on the product with the recurrent weight.
    """

    others = 4

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        gates, hidden, weight = arrays[:3]
        steps, batch, width = gates.shape
        size = width // 3
        gates_on = nd.empty_like(gates)
        inner = nd.empty((steps, batch, size), dtype=gates.dtype, device=gates.device)
        hiddens = nd.empty_like(inner)
        for step in range(steps):
            own = nd.matmul(hidden, weight.mT)
            if len(arrays) == 4:
                own += arrays[3]
            inner[step] = own[:, 2 * size :]
            given, on = gates[step], gates_on[step]
            nd.sigmoid(own[:, : 2 * size] + given[:, : 2 * size], out=on[:, : 2 * size])
            fresh = nd.tanh(given[:, 2 * size :] + on[:, :size] * inner[step], out=on[:, 2 * size :])
            hidden = nd.add(fresh, on[:, size : 2 * size] * (hidden - fresh), out=hiddens[step])
        return (hiddens,), (*arrays[1:], gates_on, inner, hiddens)

    def array_rule(self, grads: tuple[Any, ...], node: Any) -> Any:
        hidden, weight, *bias, on, inner, hiddens = node.saved
        size = hidden.shape[1]
        reset, update, fresh = (on[:, :, at * size : (at + 1) * size] for at in range(3))
        before = _before(hidden, hiddens).reshape(hiddens.shape)
        by_fresh = (1.0 - update) * (1.0 - fresh * fresh)
        by_update = (before - fresh) * update * (1.0 - update)
        by_reset = by_fresh * inner * reset * (1.0 - reset)
        d_hiddens = nd.empty_like(hiddens)
        d_own = nd.empty_like(on)
        d_hidden: Any = None
        for step in reversed(range(len(on))):
            d_hidden = _plus(d_hidden, grads[0], step)
            d_hiddens[step] = d_hidden
            target = d_own[step]
            nd.multiply(by_reset[step], d_hidden, out=target[:, :size])
            nd.multiply(by_update[step], d_hidden, out=target[:, size : 2 * size])
            nd.multiply(by_fresh[step] * reset[step], d_hidden, out=target[:, 2 * size :])
            d_hidden = d_hidden * update[step] + nd.matmul(target, weight)
        d_gates = d_own.copy()
        d_gates[:, :, 2 * size :] = by_fresh * d_hiddens
        d_weight = nd.matmul(_rows(d_own).mT, _rows(before))
        return (d_gates, d_hidden, d_weight, *([nd.sum(d_own, axis=(0, 1))] if bias else []))

    def composition(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        gates, hidden, weight = inputs[:3]
        hiddens = []
        for step in range(gates.shape[0]):
            own = autograd.split(autograd.linear(hidden, weight, *inputs[3:]), 3, axis=1)
            given = autograd.split(gates[step], 3, axis=1)
            reset = autograd.sigmoid(given[0] + own[0])
            update = autograd.sigmoid(given[1] + own[1])
            fresh = autograd.tanh(given[2] + reset * own[2])
            hidden = fresh + update * (hidden - fresh)
            hiddens.append(hidden)
        return (autograd.stack(hiddens),)


class RNNSequence(_Sequence):
    """(gates, h, weight_hh) to the hidden states of all steps, each the tanh or relu of gates + h @ weight_hh.T."""

    def __init__(self, nonlinearity: str = "tanh") -> None:
        self.nonlinearity = nonlinearity

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        gates, hidden, weight = arrays
        hiddens = nd.empty_like(gates)
        activate = nd.tanh if self.nonlinearity == "tanh" else nd.relu
        for step in range(gates.shape[0]):
            hidden = activate(nd.matmul(hidden, weight.mT) + gates[step], out=hiddens[step])
        return (hiddens,), (*arrays[1:], hiddens)

    def array_rule(self, grads: tuple[Any, ...], node: Any) -> Any:
        hidden, weight, hiddens = node.saved
        slope = 1.0 - hiddens * hiddens if self.nonlinearity == "tanh" else (hiddens > 0.0).astype(hiddens.dtype)
        d_gates = nd.empty_like(hiddens)
        d_hidden: Any = None
        for step in reversed(range(len(hiddens))):
            target = nd.multiply(_plus(d_hidden, grads[0], step), slope[step], out=d_gates[step])
            d_hidden = nd.matmul(target, weight)
        return d_gates, d_hidden, nd.matmul(_rows(d_gates).mT, _before(hidden, hiddens))

    def composition(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        gates, hidden, weight = inputs
        activate = autograd.tanh if self.nonlinearity == "tanh" else autograd.relu
        hiddens = []
        for step in range(gates.shape[0]):
            hidden = activate(autograd.linear(hidden, weight) + gates[step])
            hiddens.append(hidden)
        return (autograd.stack(hiddens),)


def lstm(
    gates: Tensor, hidden: Tensor, cell: Tensor, weight_hh: Tensor, weight_hr: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The hidden and cell states of all steps of an LSTM.

    ``gates`` is ``(steps, batch, 4 * size)``: the input times its weight, plus both biases, in the order i, f, g, o.
    ``hidden`` is ``(batch, size)``, or ``(batch, projected)`` with ``weight_hr``, ``(projected, size)``; ``cell`` is
    ``(batch, size)``, ``weight_hh`` ``(4 * size, size or projected)``.

    >>> h, c = lstm(Tensor([[[0.0, 100.0, 1.0, 0.0]]]), Tensor([[0.0]]), Tensor([[2.0]]), Tensor([[0.0]] * 4))
    >>> round(c.item(), 4)  # 2 + tanh(1) / 2
    2.3808
    """
    operands = (gates, hidden, cell, weight_hh) if weight_hr is None else (gates, hidden, cell, weight_hh, weight_hr)
    hiddens, cells = LSTMSequence()(*in_one_dtype(*operands))
    return hiddens, cells


def gru(gates: Tensor, hidden: Tensor, weight_hh: Tensor, bias_hh: Tensor | None = None) -> Tensor:
    """The hidden states of all steps of a GRU.

    ``gates`` is ``(steps, batch, 3 * size)``: the input times its weight, plus its bias, in the order r, z, n.
    ``hidden`` is ``(batch, size)``, ``weight_hh`` ``(3 * size, size)``, ``bias_hh`` ``(3 * size,)``.

    >>> gru(Tensor([[[0.0, 0.0, 0.0]]]), Tensor([[2.0]]), Tensor([[0.0]] * 3)).tolist()
    [[[1.0]]]
    """
    hiddens: Tensor
    operands = (gates, hidden, weight_hh) if bias_hh is None else (gates, hidden, weight_hh, bias_hh)
    (hiddens,) = GRUSequence()(*in_one_dtype(*operands))
    return hiddens


def rnn(gates: Tensor, hidden: Tensor, weight_hh: Tensor, nonlinearity: str = "tanh") -> Tensor:
    """The hidden states of all steps of an Elman network (Elman 1990), whose ``nonlinearity`` is "tanh" or "relu".

    ``gates`` is ``(steps, batch, size)``: the input times its weight, plus both biases. ``hidden`` is ``(batch,
    size)``, ``weight_hh`` ``(size, size)``.

    >>> rnn(Tensor([[[1.0]], [[1.0]]]), Tensor([[0.0]]), Tensor([[2.0]]), "relu").tolist()
    [[[1.0]], [[3.0]]]
    """
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"rnn: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
    hiddens: Tensor
    (hiddens,) = RNNSequence(nonlinearity)(*in_one_dtype(gates, hidden, weight_hh))
    return hiddens
