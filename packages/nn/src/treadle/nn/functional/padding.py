"""Elements added around a tensor."""

import math
from collections.abc import Sequence

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["pad"]

_MODES = ("reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``input`` with elements added before and after its last dimensions.

    ``pad`` has two numbers for each of them, the last dimension first: (left, right, top, bottom, ...). ``mode`` is
    "constant" (``value``, 0 by default), "reflect" (mirrored, without the edge), "replicate" (the edge) or "circular"
    (the other end); the last three work on inputs with a batch and channels, or channels. Negative numbers cut off,
    before anything is added.

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
    if mode != "constant" and mode not in _MODES:
        raise ValueError(f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', not {mode!r}")
    if any(min(each) < 0 for each in widths):
        input, widths = _cut(input, widths)
    if mode == "constant":
        value = 0.0 if value is None else value
        return autograd.pad(input, widths, constant_values=value) if any(map(any, widths)) else input
    for (before, after), length in zip(widths, input.shape, strict=True):
        most = length - 1 if mode == "reflect" else length
        if max(before, after) > (0 if length == 0 else math.inf if mode == "replicate" else most):
            most = max(0, most)
            raise nd.ShapeError(f"pad: {numbers} for an input of shape {shape}: {mode} adds 0 to {most} elements here")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            input = _continued(input, axis, before, after, mode)
    return input


def _continued(input: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """One axis padded with what lies on it already; slices, since gathering and scattering elements is slow."""
    length = input.shape[axis]

    def part(start: int, stop: int) -> Tensor:
        return input[(*(slice(None),) * axis, slice(start, stop))]

    def repeated(place: int, count: int) -> Tensor:
        shape = (*input.shape[:axis], count, *input.shape[axis + 1 :])
        return autograd.broadcast_to(part(place, place + 1), shape)

    if mode == "reflect":
        first, last = (part(1, before + 1), part(length - 1 - after, length - 1))
        ends = (autograd.flip(first, axis=axis), autograd.flip(last, axis=axis))
    elif mode == "circular":
        ends = (part(length - before, length), part(0, after))
    else:
        ends = (repeated(0, before), repeated(length - 1, after))
    parts = [*([ends[0]] if before else []), input, *([ends[1]] if after else [])]
    return autograd.concat(parts, axis=axis)


def _cut(input: Tensor, widths: list[tuple[int, int]]) -> tuple[Tensor, list[tuple[int, int]]]:
    """The input without what negative numbers cut off, and the numbers that are left."""
    kept = []
    for (before, after), length in zip(widths, input.shape, strict=True):
        first, last = max(0, -before), length - max(0, -after)
        if first > last:
            raise nd.ShapeError(f"pad: {widths} cut off more than an input of shape {input.shape} has")
        kept.append(slice(first, last))
    return input[tuple(kept)], [(max(0, before), max(0, after)) for before, after in widths]
