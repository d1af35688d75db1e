"""Connectionist temporal classification.

The labels of a sequence, with a blank before, between and after them, are the states s of a lattice; a path moves by 0
or 1 state a step, or by 2 past a blank between two different labels. The probability of the labels is the sum over all
paths, by the forward recursion; the gradient is the probability that a path is in state s at step t, by forward and
backward recursion. Everything is in logarithms; a state that no path reaches has a very negative number instead of
minus infinity, so that no difference of infinities arises.
"""

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Op, Tensor
from treadle.ndarray.ranges import check_range
from treadle.nn.functional.losses.reduction import check_reduction, reduced

__all__ = ["ctc_loss"]

_NEVER = -1e30
_IMPOSSIBLE = -1e29
"""A log-probability below it means that no path reaches the end."""

Lengths = Tensor | Sequence[int] | int


class CTCLattice(Op):
    """Minus the log-probability of each sequence's labels: ``CTCLattice()(emissions, skips, lengths, label_lengths)``.

    ``emissions`` are the log-probabilities (T, N, L) of the states at each step, L = 2 S + 1; ``skips`` (N, L) says
    which states can be reached from two below; ``lengths`` and ``label_lengths`` (N,) are those of inputs and labels.
    Sequences that have no path give infinity, and a NaN gradient in the steps of their length. Graves et al. 2006,
    "Connectionist temporal classification", sections 4.1 and 4.2.

    >>> import treadle.ndarray as nd
    >>> emissions = Tensor(nd.log(nd.asarray([[[0.5, 0.25, 0.5]]])))
    >>> skips, one = Tensor([[False, False, False]]), Tensor([1])
    >>> round(CTCLattice()(emissions, skips, one, one).item(), 6)  # -log(0.25)
    1.386294
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        """The losses (N,)."""
        emissions, skips, lengths, label_lengths = arrays
        alphas = _forward(xp, emissions, skips)
        total = _total(xp, alphas, _ends(xp, emissions, label_lengths), lengths)
        losses = xp.where(total > _IMPOSSIBLE, -total, inf)
        empty = (lengths == 0) & (label_lengths == 0)
        return xp.where(empty, 0.0, losses), (*arrays, alphas)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        """Minus the probability of each state at each step."""
        emissions, skips, lengths, label_lengths, alphas = node.saved
        if xp is not nd:  # to be differentiated again, so the recursion has to be in the graph
            alphas = _forward(xp, emissions, skips)
        ends = _ends(xp, emissions, label_lengths)
        betas = _backward(xp, emissions, skips, ends, lengths)
        total = _column(xp, _total(xp, alphas, ends, lengths))
        grad = _column(xp, grad)
        shares = xp.exp(alphas + betas - total) * -grad
        shares = xp.where(total > _IMPOSSIBLE, shares, xp.where(grad == 0.0, grad, nan))
        used = xp.reshape(_steps(xp, alphas), (-1, 1, 1)) < _column(xp, lengths)
        return xp.where(used, shares, 0.0), None, None, None

    def infer(self, shapes: Any, dtypes: Any) -> Any:
        """Shape and dtype of the result."""
        return shapes[0][1:2], dtypes[0]


def _forward(xp: Any, emissions: Any, skips: Any) -> Any:
    """(T, N, L): the log-probability of all paths to state s at step t, the emission there included."""
    places = xp.arange(emissions.shape[2], dtype=nd.int64, device=emissions.device)
    nothing = xp.full((emissions.shape[1], 2), _NEVER, dtype=emissions.dtype, device=emissions.device)
    alphas = [xp.where(places < 2, emissions[0], _NEVER)]
    for step in range(1, emissions.shape[0]):
        padded = xp.concat([nothing, alphas[-1]], axis=1)
        skipped = xp.where(skips, padded[:, :-2], _NEVER)
        alphas.append(xp.logaddexp(xp.logaddexp(alphas[-1], padded[:, 1:-1]), skipped) + emissions[step])
    return xp.stack(alphas)


def _backward(xp: Any, emissions: Any, skips: Any, ends: Any, lengths: Any) -> Any:
    """(T, N, L): the log-probability of all paths on from state s at step t, the emission there left out."""
    last = xp.expand_dims(lengths, axis=1) - 1
    terminal = xp.where(ends, xp.zeros_like(emissions[0]), _NEVER)
    nothing = xp.full((emissions.shape[1], 2), _NEVER, dtype=emissions.dtype, device=emissions.device)
    above = xp.concat([skips, xp.zeros((emissions.shape[1], 2), dtype=skips.dtype, device=skips.device)], axis=1)[:, 2:]
    beta = xp.full_like(terminal, _NEVER)
    betas = []
    for step in range(emissions.shape[0] - 1, -1, -1):
        if step + 1 < emissions.shape[0]:
            later = beta + emissions[step + 1]
            padded = xp.concat([later, nothing], axis=1)
            beta = xp.logaddexp(xp.logaddexp(later, padded[:, 1:-1]), xp.where(above, padded[:, 2:], _NEVER))
        beta = xp.where(last == step, terminal, xp.where(last > step, beta, _NEVER))
        betas.append(beta)
    return xp.stack(betas[::-1])


def _total(xp: Any, alphas: Any, ends: Any, lengths: Any) -> Any:
    """(N,): the log-probability of all paths that end at the last step in one of the two last states."""
    steps = xp.expand_dims(_steps(xp, alphas), axis=1)
    last = xp.expand_dims(steps == xp.expand_dims(lengths, axis=0) - 1, axis=2)
    return xp.logsumexp(xp.where(last & xp.expand_dims(ends, axis=0), alphas, _NEVER), axis=(0, 2))


def _ends(xp: Any, emissions: Any, label_lengths: Any) -> Any:
    """(N, L): the states in which a path may end, the last label and the blank behind it."""
    places = xp.arange(emissions.shape[2], dtype=nd.int64, device=emissions.device)
    last = xp.expand_dims(label_lengths, axis=1) * 2
    return (places == last) | (places == last - 1)


def _steps(xp: Any, alphas: Any) -> Any:
    return xp.arange(alphas.shape[0], dtype=nd.int64, device=alphas.device)


def _column(xp: Any, x: Any) -> Any:
    return xp.reshape(x, (1, -1, 1))


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of the label sequences ``targets``, over all their alignments with the input.

    ``log_probs`` are log-probabilities ``(T, N, classes)`` or ``(T, classes)``, as log_softmax gives them; they are
    normalised again, which changes nothing. ``targets`` are labels ``(N, S)``, or all one after another in one
    dimension. The lengths, ``(N,)`` integers, say how much of each is used. "mean" divides each loss by the length of
    its labels (at least 1) first. Labels that do not fit into their input have an infinite loss and a NaN gradient, or
    0 and 0 with ``zero_infinity``. Graves et al. 2006, "Connectionist temporal classification: labelling unsegmented
    sequence data with recurrent neural networks".

    >>> log_probs = autograd.log_softmax(Tensor([[0.0, 0.0], [0.0, 0.0]]), axis=-1)
    >>> round(ctc_loss(log_probs, Tensor([1]), 2, 1).item(), 6)  # 3 of 4 alignments: -log(0.75)
    0.287682
    """
    check_reduction(reduction)
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3) or log_probs.shape[0] == 0:
        raise nd.ShapeError(f"ctc_loss: log_probs {log_probs.shape} must be (T, N, classes) or (T, classes), T > 0")
    scores = log_probs if batched else autograd.expand_dims(log_probs, axis=1)
    steps, batch, number = scores.shape
    if not 0 <= blank < number:
        raise nd.IndexingError(f"ctc_loss: the blank {blank} is outside of the {number} classes")
    lengths = _lengths("input_lengths", input_lengths, batch, steps)
    label_lengths = _lengths("target_lengths", target_lengths, batch, None)
    labels = _labels(targets.data, label_lengths, batch, blank, number)
    states, skips = _states(labels, blank)
    index = nd.broadcast_to(nd.expand_dims(states, axis=0), (steps, *states.shape))
    emissions = autograd.take_along_axis(autograd.log_softmax(scores, axis=-1), Tensor(index), axis=2)
    sizes = [nd.asarray(each, dtype=nd.int64, device=log_probs.device) for each in (lengths, label_lengths)]
    losses = CTCLattice()(emissions, Tensor(skips), *(Tensor(size) for size in sizes))
    if zero_infinity:
        losses = autograd.where(Tensor(nd.isinf(losses.data)), 0.0, losses)
    if reduction == "mean":
        losses = losses / Tensor(nd.astype(nd.clip(sizes[1], 1, None), losses.dtype))
    return reduced(losses if batched else autograd.reshape(losses, ()), reduction)


def _lengths(name: str, given: Lengths, batch: int, most: int | None) -> list[int]:
    """The lengths as a list; ValueError for one that cannot be."""
    values = given.data.tolist() if isinstance(given, Tensor) else given
    lengths = [values] if isinstance(values, int) else list(values)
    if len(lengths) != batch:
        raise nd.ShapeError(f"ctc_loss: {name} has {len(lengths)} entries for {batch} sequences")
    for length in lengths:
        if length < 0 or (most is not None and length > most):
            limits = "is negative" if most is None else f"does not lie between 0 and {most}"
            raise ValueError(f"ctc_loss: {name} has {length}, which {limits}")
    return lengths


def _labels(targets: nd.NDArray, lengths: list[int], batch: int, blank: int, number: int) -> nd.NDArray:
    """The labels (N, S), with blanks behind each sequence."""
    if targets.dtype.kind not in "iu":
        raise nd.DTypeError(f"ctc_loss: targets must be integer labels, not {targets.dtype.name}")
    longest = max(lengths, default=0)
    labels = nd.full((batch, longest), blank, dtype=nd.int64, device=targets.device)
    together = targets.ndim == 1
    fits = targets.size == sum(lengths) or batch == 1 if together else targets.ndim == 2 and len(targets) == batch
    if not fits or (longest > targets.shape[-1] and not together):
        raise nd.ShapeError(f"ctc_loss: targets {targets.shape} do not hold labels of lengths {lengths}")
    start = 0
    for row, length in enumerate(lengths):
        source = targets[start : start + length] if together else targets[row, :length]
        if source.size < length:
            raise nd.ShapeError(f"ctc_loss: targets {targets.shape} do not hold labels of lengths {lengths}")
        labels[row, :length] = nd.astype(source, nd.int64)
        start += length
    check_range(labels, number, f"ctc_loss: label {{}} is outside of the {number} classes")
    return labels


def _states(labels: nd.NDArray, blank: int) -> tuple[nd.NDArray, nd.NDArray]:
    """Each state's class (N, 2 S + 1), and whether a path may reach it from two below."""
    batch, longest = labels.shape
    states = nd.full((batch, 2 * longest + 1), blank, dtype=nd.int64, device=labels.device)
    skips = nd.zeros((batch, 2 * longest + 1), dtype=nd.bool, device=labels.device)
    if longest:
        states[:, 1::2] = labels
        skips[:, 3::2] = nd.not_equal(labels[:, 1:], labels[:, :-1])
    return states, skips
