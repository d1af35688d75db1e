"""Rows of a table by number, and bags of them."""

from itertools import pairwise
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd.ops import Take

__all__ = ["embedding", "embedding_bag", "one_hot"]


class EmbeddingRows(Take):
    """Rows of (weight, numbers); ``padding_idx``'s gets no gradient, or each a share of it ``by_frequency``."""

    def __init__(self, padding_idx: int | None = None, by_frequency: bool = False) -> None:
        super().__init__(0)
        self.padding_idx = padding_idx
        self.by_frequency = by_frequency

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (numbers,) = node.saved
        if self.padding_idx is not None:
            grad = xp.where(xp.expand_dims(xp.equal(numbers, self.padding_idx), axis=-1), 0.0, grad)
        if self.by_frequency:
            flat = xp.reshape(numbers, (numbers.size,))
            unused = xp.zeros((node.inputs[0].shape[0],), dtype=grad.dtype, device=grad.device)
            counts = xp.scatter_add(unused, flat, xp.ones((numbers.size,), dtype=grad.dtype, device=grad.device))
            grad = grad / xp.expand_dims(xp.take(counts, numbers, axis=0), axis=-1)
        rows = xp.zeros(node.inputs[0].shape, dtype=grad.dtype, device=grad.device)
        return xp.scatter_add(rows, numbers, grad, axis=0), None


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of ``weight``, ``(rows, features)``, that the integers of ``input`` name: ``(*input.shape, features)``.

    The row ``padding_idx`` gets no gradient. With ``max_norm`` the rows in use are first scaled, in place, so that
    their ``norm_type`` norm is at most that. With ``scale_grad_by_freq`` a row's gradient is divided by how often the
    row was used. IndexingError for a number out of range, DTypeError unless ``input`` is of an integer dtype.

    >>> embedding(Tensor([1, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    if input.dtype.kind not in "iu":
        raise nd.DTypeError(f"embedding: the input numbers rows, so it has an integer dtype, not {input.dtype}")
    if weight.ndim != 2:
        raise nd.ShapeError(f"embedding: a weight of shape {weight.shape}; it is (rows, features)")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise nd.ShapeError(f"embedding: padding_idx {padding_idx} is out of range for {rows} rows")
        padding_idx %= rows
    if input.size and (bool(nd.any(input.data < 0)) or bool(nd.any(input.data >= rows))):
        wrong = nd.where(input.data < 0, input.data, nd.max(input.data)).min().item()
        raise nd.IndexingError(f"embedding: the input has the number {wrong}, and there are {rows} rows")
    if max_norm is not None:
        _bound_rows(input.data, weight.data, max_norm, norm_type)
    return EmbeddingRows(padding_idx, scale_grad_by_freq)(weight, input)


def _bound_rows(numbers: nd.NDArray, weight: nd.NDArray, max_norm: float, norm_type: float) -> None:
    used = nd.unique_values(numbers)
    rows = nd.take(weight, used, axis=0)
    norms = nd.sum(nd.abs(rows) ** norm_type, axis=1, keepdims=True) ** (1.0 / norm_type)
    weight[used] = nd.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sums, means or maxima of bags of rows of ``weight``, ``(bags, features)``.

    ``input`` is ``(bags, numbers)``, or ``(numbers,)`` with ``offsets``, ``(bags,)``, at which the bags begin, the last
    of which is the end of all with ``include_last_offset``. ``mode`` is "sum", "mean" or "max"; an empty bag gives
    zeros, and numbers equal to ``padding_idx`` are left out. ``per_sample_weights``, of the shape of ``input``,
    multiply the rows of sums. Further arguments and errors: :func:`embedding`; gradients are dense whatever ``sparse``
    says.

    >>> table = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding_bag(Tensor([0, 1, 1]), table, Tensor([0, 2]), mode="sum").tolist()
    [[4.0, 6.0], [3.0, 4.0]]
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode must be 'sum', 'mean' or 'max', not {mode!r}")
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != input.shape):
        raise nd.ShapeError(
            f"embedding_bag: per_sample_weights go with mode='sum' and have the shape of the input, {input.shape}; "
            f"here are {per_sample_weights.shape} and mode={mode!r}"
        )
    starts = _starts(input, offsets, include_last_offset)
    numbers = autograd.reshape(input, (input.size,))
    rows = embedding(numbers, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    kept = [True] * numbers.size
    if padding_idx is not None:
        kept = nd.not_equal(numbers.data, padding_idx % weight.shape[0]).tolist()
    bags = [
        [place for place in range(first, last) if kept[place]]
        for first, last in zip(starts, [*starts[1:], numbers.size], strict=True)
    ]
    if per_sample_weights is not None:
        rows = rows * autograd.reshape(per_sample_weights, (numbers.size, 1))
    return _largest_of(rows, bags) if mode == "max" else _added(rows, bags, mode == "mean")


def _starts(input: Tensor, offsets: Tensor | None, include_last: bool) -> list[int]:
    """Where in the flat input the bags begin."""
    if input.ndim == 2 and offsets is None:
        return [number * input.shape[1] for number in range(input.shape[0])]
    if input.ndim != 1 or offsets is None or offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        given = "without offsets" if offsets is None else f"with offsets {offsets.shape} of {offsets.dtype.name}"
        raise nd.ShapeError(
            f"embedding_bag: an input of shape {input.shape} {given}; it is (bags, numbers) without, or (numbers,) "
            "with integer offsets (bags,)"
        )
    starts: list[int] = offsets.tolist()
    ends = [*starts, input.size]
    if (starts and starts[0] != 0) or any(last < first for first, last in pairwise(ends)):
        raise nd.IndexingError(f"embedding_bag: offsets must begin with 0 and rise to at most {input.size}: {starts}")
    if not include_last:
        return starts
    if not starts or starts[-1] != input.size:
        raise nd.IndexingError(f"embedding_bag: the last offset must be the number of indices, {input.size}: {starts}")
    return starts[:-1]


def _added(rows: Tensor, bags: list[list[int]], mean: bool) -> Tensor:
    places = [place for bag in bags for place in bag]
    owners = [number for number, bag in enumerate(bags) for _ in bag]
    index = [Tensor(nd.asarray(each, dtype="int64", device=rows.device)) for each in (places, owners)]
    blank = Tensor(nd.zeros((len(bags), rows.shape[1]), dtype=rows.dtype, device=rows.device))
    total = autograd.scatter_add(blank, index[1], autograd.take(rows, index[0], axis=0))
    if not mean:
        return total
    counts = [[float(len(bag) or 1)] for bag in bags]
    return total / Tensor(nd.asarray(counts, dtype=rows.dtype, device=rows.device).reshape(len(bags), 1))


def _largest_of(rows: Tensor, bags: list[list[int]]) -> Tensor:
    """The gradient goes to the first of equal ones."""
    longest = max(map(len, bags), default=0)
    if longest == 0:
        return _added(rows, bags, False)  # zeros, in the graph of the rows
    places = [bag + (bag[-1:] or [0]) * (longest - len(bag)) for bag in bags]
    index = Tensor(nd.asarray(places, dtype="int64", device=rows.device).reshape(len(bags), longest))
    read = autograd.take(rows, index, axis=0)
    best = autograd.argmax(read, axis=1, keepdims=True)
    largest = autograd.squeeze(autograd.take_along_axis(read, best, axis=1), 1)
    filled = nd.asarray([[bool(bag)] for bag in bags], dtype="bool", device=rows.device).reshape(len(bags), 1)
    return autograd.where(Tensor(filled), largest, 0.0)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 ``(*tensor.shape, num_classes)`` with a 1 at each number; -1 takes the largest number plus 1.

    A number below 0, or of no class, is an IndexingError.

    >>> one_hot(Tensor([1, 0])).tolist()
    [[0, 1], [1, 0]]
    """
    if num_classes == -1:
        if tensor.size == 0:
            raise nd.ShapeError("one_hot: num_classes cannot be found from an empty input; give it")
        num_classes = int(nd.max(tensor.data).item()) + 1
    if tensor.size and not 0 <= nd.min(tensor.data).item() <= nd.max(tensor.data).item() < num_classes:
        raise nd.IndexingError(f"one_hot: the input has numbers outside of the {num_classes} classes")
    return Tensor(nd.one_hot(tensor.data, num_classes, dtype=nd.int64))
