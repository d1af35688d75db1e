"""Sequences of different lengths: padded to one length, or packed without padding."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence(NamedTuple):
    """The elements of several sequences, time step by time step, the longest sequence first.

    ``data`` is ``(sum of lengths, ...)``; ``batch_sizes``, int64, says how many sequences reach each step;
    ``sorted_indices`` is the order into which the sequences were put, and ``unsorted_indices`` undoes it (None: they
    came in order).

    >>> packed = pack_sequence([Tensor([1.0, 2.0]), Tensor([3.0])])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1.0, 3.0, 2.0], [2, 1])
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    @property
    def lengths(self) -> list[int]:
        """The lengths of the sequences in their packed order."""
        sizes = self.batch_sizes.tolist()
        return [sum(size > number for size in sizes) for number in range(sizes[0] if sizes else 0)]

    @property
    def places(self) -> nd.NDArray:
        """Which rows of the padded ``(steps * batch)`` the rows of ``data`` are."""
        sizes = self.batch_sizes.tolist()
        batch = sizes[0] if sizes else 0
        flat = [step * batch + number for step, size in enumerate(sizes) for number in range(size)]
        return nd.asarray(flat, dtype="int64", device=self.data.device)

    def padded(self) -> Tensor:
        """``(steps, batch, ...)`` in the packed order, with zeros behind the ends."""
        steps, batch = self.batch_sizes.shape[0], max(self.batch_sizes.tolist(), default=0)
        rest = self.data.shape[1:]
        blank = Tensor(nd.zeros((steps * batch, *rest), dtype=self.data.dtype, device=self.data.device))
        return autograd.reshape(autograd.scatter_add(blank, Tensor(self.places), self.data), (steps, batch, *rest))

    def with_rows_of(self, padded: Tensor) -> "PackedSequence":
        """The same sequences with the elements of ``padded``, ``(steps, batch, ...)`` in the packed order."""
        rows = autograd.reshape(padded, (padded.shape[0] * padded.shape[1], *padded.shape[2:]))
        return self._replace(data=autograd.take(rows, Tensor(self.places), axis=0))

    def to(self, device: Any = None, dtype: Any = None) -> "PackedSequence":
        """The elements on another device, of another dtype; the sizes and the order stay where they are."""
        return self._replace(data=self.data.to(device, dtype))


def _time_first(input: Tensor, batch_first: bool) -> Tensor:
    return autograd.swapaxes(input, 0, 1) if batch_first else input


def _index(values: Sequence[int]) -> Tensor:
    return Tensor(nd.asarray(list(values), dtype="int64"))


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Leave out the padding of ``(steps, batch, ...)``, or ``(batch, steps, ...)`` with ``batch_first``.

    ``lengths`` are those of the sequences, which come with the longest first; with ``enforce_sorted=False`` they come
    in any order and are put into it.

    >>> pack_padded_sequence(Tensor([[1.0, 3.0], [2.0, 0.0]]), [2, 1]).data.tolist()
    [1.0, 3.0, 2.0]
    """
    numbers = [int(each) for each in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    input = _time_first(input, batch_first)
    if input.ndim < 2 or len(numbers) != input.shape[1]:
        raise nd.ShapeError(f"pack_padded_sequence: {len(numbers)} lengths for a padded batch of shape {input.shape}")
    if not numbers or min(numbers) < 1 or max(numbers) > input.shape[0]:
        raise nd.ShapeError(f"pack_padded_sequence: lengths {numbers} must lie between 1 and {input.shape[0]} steps")
    order = sorted(range(len(numbers)), key=lambda number: -numbers[number])
    kept: tuple[Tensor | None, Tensor | None] = (None, None)
    if enforce_sorted:
        if order != list(range(len(numbers))):
            raise ValueError(
                f"pack_padded_sequence: lengths {numbers} do not fall; sort the batch, or pass enforce_sorted=False"
            )
    else:
        kept = (_index(order), _index(sorted(range(len(order)), key=order.__getitem__)))
        input = autograd.take(input, _index(order).to(input.device), axis=1)
        numbers = [numbers[number] for number in order]
    sizes = _index([sum(length > step for length in numbers) for step in range(max(numbers))])
    empty = PackedSequence(input, sizes, *kept)
    return empty.with_rows_of(input[: numbers[0]])


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded ``(steps, batch, ...)``, or ``(batch, steps, ...)`` with ``batch_first``, and the lengths, int64.

    There are as many steps as the longest sequence has, or ``total_length``.

    >>> padded, lengths = pad_packed_sequence(pack_sequence([Tensor([1.0, 2.0]), Tensor([3.0])]), batch_first=True)
    >>> padded.tolist(), lengths.tolist()
    ([[1.0, 2.0], [3.0, 0.0]], [2, 1])
    """
    lengths = sequence.lengths
    padded = sequence.padded()
    steps = padded.shape[0]
    if total_length is not None:
        if total_length < steps:
            raise nd.ShapeError(f"pad_packed_sequence: total_length {total_length} is less than the {steps} steps")
        padded = autograd.pad(padded, [(0, total_length - steps)] + [(0, 0)] * (padded.ndim - 1))
    if padding_value != 0.0:
        inside = [[length > step for length in lengths] for step in range(padded.shape[0])]
        mask = nd.asarray(inside, dtype="bool", device=padded.device).reshape(
            *padded.shape[:2], *(1,) * (padded.ndim - 2)
        )
        padded = autograd.where(Tensor(mask), padded, padding_value)
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices
        padded = autograd.take(padded, back.to(padded.device), axis=1)
        lengths = [lengths[number] for number in back.tolist()]
    return _time_first(padded, batch_first), _index(lengths)


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors ``(length, ...)`` side by side, ``(steps, batch, ...)`` or ``(batch, steps, ...)``, padded at the end or,
    with ``padding_side="left"``, at the start.

    >>> pad_sequence([Tensor([1.0, 2.0]), Tensor([3.0])], batch_first=True).tolist()
    [[1.0, 2.0], [3.0, 0.0]]
    """
    if padding_side not in ("right", "left"):
        raise ValueError(f"pad_sequence: padding_side must be 'right' or 'left', not {padding_side!r}")
    steps = max((each.shape[0] for each in sequences), default=0)
    padded = []
    for each in sequences:
        more = steps - each.shape[0]
        widths = [(0, more) if padding_side == "right" else (more, 0)] + [(0, 0)] * (each.ndim - 1)
        padded.append(autograd.pad(each, widths, constant_values=padding_value) if more else each)
    return autograd.stack(padded, axis=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch.

    >>> [each.tolist() for each in unpad_sequence(Tensor([[1.0, 2.0], [3.0, 0.0]]), Tensor([2, 1]), batch_first=True)]
    [[1.0, 2.0], [3.0]]
    """
    by_sequence = padded_sequences if batch_first else autograd.swapaxes(padded_sequences, 0, 1)
    return [by_sequence[number, : int(length)] for number, length in enumerate(lengths.tolist())]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors ``(length, ...)``, the longest first, or in any order with ``enforce_sorted=False``.

    >>> pack_sequence([Tensor([1.0]), Tensor([2.0, 3.0])], enforce_sorted=False).data.tolist()
    [2.0, 1.0, 3.0]
    """
    lengths = [each.shape[0] for each in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed, in their first order.

    >>> [each.tolist() for each in unpack_sequence(pack_sequence([Tensor([1.0, 2.0]), Tensor([3.0])]))]
    [[1.0, 2.0], [3.0]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
