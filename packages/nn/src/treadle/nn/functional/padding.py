"""Elements added around a tensor."""

from collections.abc import Sequence

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["pad"]

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``input`` with elements added before and after its last dimensions.

    ``pad`` has two numbers for each of them, the last dimension first: (left, right, top, bottom, ...). ``mode`` is
    "constant" (``value``, 0 by default; negative numbers cut off), "reflect" (mirrored, without the edge), "replicate"
    (the edge) or "circular" (the other end); the last three work on inputs with a batch and channels, or channels.

    >>> pad(Tensor([1.0, 2.0, 3.0]), (1, 2)).tolist()
    [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]
    >>> pad(Tensor([[1.0, 2.0, 3.0]]), (1, 1), "reflect").tolist()
    [[2.0, 1.0, 2.0, 3.0, 2.0]]
    """
    shape, numbers = input.shape, tuple(pad)
    if len(numbers) % 2 or len(numbers) > 2 * len(shape):
        raise nd.ShapeError(
            f"pad: {numbers} for an input of shape {shape}; it has two numbers for each padded dimension"
        )
    widths = [(0, 0)] * (len(shape) - len(numbers) // 2)
    widths += [(numbers[at], numbers[at + 1]) for at in reversed(range(0, len(numbers), 2))]
    if mode == "constant":
        return _constant(input, widths, 0.0 if value is None else value)
    if mode not in _MODES:
        raise ValueError(f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', not {mode!r}")
    for (before, after), length in zip(widths, shape, strict=True):
        most = length - 1 if mode == "reflect" else length
        if min(before, after) < 0 or (mode != "replicate" and max(before, after) > most):
            raise nd.ShapeError(f"pad: {numbers} for an input of shape {shape}: {mode} adds 0 to {most} elements here")
    return autograd.pad(input, widths, mode=_MODES[mode]) if any(map(any, widths)) else input


def _constant(input: Tensor, widths: list[tuple[int, int]], value: float) -> Tensor:
    if any(min(each) < 0 for each in widths):
        kept = []
        for (before, after), length in zip(widths, input.shape, strict=True):
            first, last = max(0, -before), length - max(0, -after)
            if first > last:
                raise nd.ShapeError(f"pad: {widths} cut off more than an input of shape {input.shape} has")
            kept.append(slice(first, last))
        input = input[tuple(kept)]
        widths = [(max(0, before), max(0, after)) for before, after in widths]
    return autograd.pad(input, widths, constant_values=value) if any(map(any, widths)) else input
