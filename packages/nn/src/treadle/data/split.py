"""A data set cut into parts."""

from collections.abc import Sequence
from math import floor, isclose
from typing import Any

from treadle.autograd import Tensor
from treadle.data.dataset import Subset
from treadle.ndarray.random import Generator, default_generator

__all__ = ["random_split", "stratified_split"]

_SLACK = 1e-9
"""0.29 * 100 is 28.999999999999996."""


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None) -> list[Subset]:
    """Parts of the given lengths, or shares that sum to 1, of samples chosen at random without overlap.

    What shares leave over by rounding down goes to the parts in turn.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)
    counts = _counts(total, lengths)
    source = generator or default_generator
    order = source.permutation(total, device="cpu").tolist() if total else []
    starts = [sum(counts[:number]) for number in range(len(counts))]
    return [Subset(dataset, order[start : start + count]) for start, count in zip(starts, counts, strict=True)]


def _counts(total: int, lengths: Sequence[int | float]) -> list[int]:
    if any(length < 0 for length in lengths):
        raise ValueError(f"lengths must not be negative: {list(lengths)}")
    if isclose(sum(lengths), 1.0) and any(isinstance(length, float) for length in lengths):
        counts = [floor(total * share + _SLACK) for share in lengths]
        for number in range(total - sum(counts)):
            counts[number % len(counts)] += 1
        return counts
    if any(length != int(length) for length in lengths):
        raise ValueError(f"the lengths {list(lengths)} must be whole numbers, or shares that sum to 1")
    if sum(lengths) != total:
        raise ValueError(f"the lengths {list(lengths)} sum to {sum(lengths)}, but the data set has {total} samples")
    return [int(length) for length in lengths]


def stratified_split(
    dataset: Any, share: float, labels: Any, generator: Generator | None = None, *, shuffle: bool = True
) -> tuple[Subset, Subset]:
    """Two parts, of which the second holds the ``share`` of every class, rounded down; both keep the order.

    ``labels`` has the class of each sample: a Tensor, an array or a sequence. Which samples of a class go to the second
    part is drawn at random, or without ``shuffle`` spread evenly: for a fifth, the fifth, the tenth, ... of the class.

    >>> kept, held = stratified_split("aabbaabbab", 0.2, labels=[0, 0, 1, 1, 0, 0, 1, 1, 0, 1], shuffle=False)
    >>> len(kept), list(held)
    (8, ['a', 'b'])
    """
    if len(labels) != len(dataset):
        raise ValueError(f"{len(labels)} labels for {len(dataset)} samples")
    data = labels.data if isinstance(labels, Tensor) else labels
    values = data.tolist() if hasattr(data, "tolist") else list(data)
    held = held_out(values, share, (generator or default_generator) if shuffle else None)
    kept = sorted(set(range(len(values))) - set(held))
    return Subset(dataset, kept), Subset(dataset, held)


def held_out(labels: Sequence[Any], share: float, source: Generator | None = None) -> list[int]:
    """The sorted indices of ``share`` of each class: drawn from ``source``, or spread evenly if it is None."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"the share must lie between 0 and 1, not {share}")
    classes: dict[Any, list[int]] = {}
    for index, label in enumerate(labels):
        classes.setdefault(label, []).append(index)
    held: list[int] = []
    for members in classes.values():
        if source is not None:
            members = [members[place] for place in source.permutation(len(members), device="cpu").tolist()]
        steps = [floor(share * (number + 1) + _SLACK) for number in range(len(members))]
        held += [member for member, step, before in zip(members, steps, [0, *steps], strict=False) if step > before]
    return sorted(held)
