"""Rows of a table by number, and bags of them."""

from math import inf
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd.ops import Take
from treadle.ndarray.ranges import check_range

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
    check_range(input.data, rows, f"embedding: the input has the number {{}}, and there are {rows} rows")
    if max_norm is not None:
        _bound_rows(input.data, weight.data, max_norm, norm_type)
    return EmbeddingRows(padding_idx, scale_grad_by_freq)(weight, input)


def _bound_rows(numbers: nd.NDArray, weight: nd.NDArray, max_norm: float, norm_type: float) -> None:
    used = nd.unique_values(numbers)
    rows = nd.take(weight, used, axis=0)
    norms = nd.linalg.vector_norm(rows, axis=1, keepdims=True, ord=norm_type)
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
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    kept = None if padding_idx is None else autograd.not_equal(input, padding_idx % weight.shape[0])
    if per_sample_weights is not None:
        rows = rows * autograd.expand_dims(per_sample_weights, axis=-1)
    if starts is None:
        return _reduced(rows, kept, mode)
    if mode == "max":
        return _reduced(*_side_by_side(rows, kept, starts), mode)
    return _added(rows, kept, starts, mode)


def _starts(input: Tensor, offsets: Tensor | None, include_last: bool) -> nd.NDArray | None:
    """Where in the flat input the bags begin; None where they are its rows."""
    if input.ndim == 2 and offsets is None:
        return None
    if input.ndim != 1 or offsets is None or offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        given = "without offsets" if offsets is None else f"with offsets {offsets.shape} of {offsets.dtype.name}"
        raise nd.ShapeError(
            f"embedding_bag: an input of shape {input.shape} {given}; it is (bags, numbers) without, or (numbers,) "
            "with integer offsets (bags,)"
        )
    starts = offsets.data.astype("int64")
    falls = bool(nd.any(starts[1:] < starts[:-1]))
    if starts.size and (falls or starts[0].item() != 0 or starts[-1].item() > input.size):
        raise nd.IndexingError(
            f"embedding_bag: offsets must begin with 0 and rise to at most {input.size}: {starts.tolist()}"
        )
    if not include_last:
        return starts
    if not starts.size or starts[-1].item() != input.size:
        raise nd.IndexingError(
            f"embedding_bag: the last offset must be the number of indices, {input.size}: {starts.tolist()}"
        )
    return starts[:-1]


def _side_by_side(rows: Tensor, kept: Tensor | None, starts: nd.NDArray) -> tuple[Tensor, Tensor]:
    """The bags of rows as ``(bags, longest, features)``, and which places are filled."""
    size = rows.shape[0]
    ends = nd.concat([starts[1:], nd.full((min(1, starts.size),), size, dtype="int64", device=starts.device)])
    longest = nd.max(ends - starts).item() if starts.size else 0
    places = nd.expand_dims(starts, axis=1) + nd.arange(longest, device=starts.device)
    filled = Tensor(places < nd.expand_dims(ends, axis=1))
    index = Tensor(nd.clip(places, 0, max(0, size - 1)))
    if kept is not None and size:
        filled = autograd.logical_and(filled, autograd.take(kept, index, axis=0))
    return autograd.take(rows, index, axis=0), filled


def _reduced(rows: Tensor, kept: Tensor | None, mode: str) -> Tensor:
    """Of bags of one length, ``(bags, numbers, features)``. A maximum's gradient goes to the first of equal ones."""
    wide = None if kept is None else autograd.expand_dims(kept, axis=-1)
    if mode == "max" and rows.shape[1]:
        known = rows.detach() if wide is None else autograd.where(wide, rows.detach(), -inf)
        best = autograd.argmax(known, axis=1, keepdims=True)
        largest = autograd.squeeze(autograd.take_along_axis(rows, best, axis=1), 1)
        return largest if wide is None else autograd.where(autograd.any(wide, axis=1), largest, 0.0)
    total = autograd.sum(rows if wide is None else autograd.where(wide, rows, 0.0), axis=1)
    if mode != "mean":
        return total
    if wide is None:
        return total / float(rows.shape[1] or 1)
    return total / autograd.clip(autograd.sum(autograd.astype(wide, rows.dtype), axis=1), 1.0, None)


def _added(rows: Tensor, kept: Tensor | None, starts: nd.NDArray, mode: str) -> Tensor:
    """Of bags of any lengths, one behind the other."""
    places = nd.arange(rows.shape[0], device=rows.device)
    owners = Tensor(nd.searchsorted(starts, places, side="right") - 1)
    counted = nd.ones((rows.shape[0], 1), dtype=rows.dtype, device=rows.device)
    if kept is not None:
        counted = nd.expand_dims(kept.data, axis=1).astype(rows.dtype)
        rows = rows * Tensor(counted)
    blank = nd.zeros((starts.size, rows.shape[1]), dtype=rows.dtype, device=rows.device)
    total = autograd.scatter_add(Tensor(blank), owners, rows)
    if mode != "mean":
        return total
    counts = nd.scatter_add(blank[:, :1], owners.data, counted)
    return total / Tensor(nd.maximum(counts, 1.0))


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
    check_range(tensor.data, num_classes, f"one_hot: the input has numbers outside of the {num_classes} classes: {{}}")
    return Tensor(nd.one_hot(tensor.data, num_classes, dtype=nd.int64))
