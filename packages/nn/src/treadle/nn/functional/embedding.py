"""Rows of a table by number."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd.ops import Take

__all__ = ["embedding", "one_hot"]


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


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 ``(*tensor.shape, num_classes)`` with a 1 at each number; -1 takes the largest number plus 1.

    >>> one_hot(Tensor([1, 0])).tolist()
    [[0, 1], [1, 0]]
    """
    if num_classes == -1:
        if tensor.size == 0:
            raise nd.ShapeError("one_hot: num_classes cannot be found from an empty input; give it")
        num_classes = int(nd.max(tensor.data).item()) + 1
    return Tensor(nd.one_hot(tensor.data, num_classes, dtype=nd.int64))
