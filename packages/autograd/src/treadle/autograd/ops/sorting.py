"""Order: sorted values carry their gradients back to where they came from."""

from operator import index
from typing import Any, NamedTuple

import treadle.ndarray as nd
from treadle.autograd._node import STATE, broken
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd._watching import without_gradient
from treadle.autograd.ops._common import Shape, axes_of, call, on_arrays, tried
from treadle.autograd.ops.indexing import PutItem, _along_axis, get_item, take_along_axis
from treadle.ndarray import DType, ShapeError

__all__ = ["Sort", "TopKValues"]


class TopK(NamedTuple):
    """What :func:`topk` gives."""

    values: Tensor
    indices: Tensor


class Selection(Op):
    """Base of the two: elements along an axis, from places that forward saves, and to which backward puts gradients."""

    axis: int

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        places = node.saved[0]
        shape = node.inputs[0].shape
        index = _along_axis(shape, places if on_arrays(xp) else places.data, self.axis)
        return call(xp, PutItem(shape, index), grad)


class Sort(Selection):
    """The elements in order along an axis."""

    def __init__(self, axis: int = -1, descending: bool = False) -> None:
        self.axis = axis
        self.descending = descending

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        places = xp.argsort(x, axis=self.axis, descending=self.descending)
        return xp.take_along_axis(x, places, axis=self.axis), (places,)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class TopKValues(Selection):
    """The k largest elements along an axis, descending, or the k smallest, ascending."""

    def __init__(self, k: int, axis: int = -1, largest: bool = True) -> None:
        self.k = index(k)
        self.axis = axis
        self.largest = largest

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        values, places = xp.topk(x, self.k, axis=self.axis, largest=self.largest)
        return values, (places,)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,) = shapes
        (axis,) = axes_of(self.axis, len(shape), self)
        tried(TopKValues(0, axis, self.largest), shapes, dtypes)
        if not 0 <= self.k <= shape[axis]:
            raise ShapeError(f"{self}: axis {self.axis} of shape {shape} has {shape[axis]} elements")
        return (*shape[:axis], self.k, *shape[axis + 1 :]), dtypes[0]


def sort(x: Tensor, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """x in order along an axis; equal elements keep their order, NaN comes last.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([3.0, 1.0, 2.0], requires_grad=True)
    >>> (ag.sort(x) * ag.Tensor([1.0, 10.0, 100.0])).sum().backward()
    >>> x.grad.tolist()
    [100.0, 1.0, 10.0]
    """
    return Sort(axis, descending)(x)


def argsort(x: Tensor, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The int64 indices that :func:`sort` takes the elements from; a constant.

    >>> import treadle.autograd as ag
    >>> ag.argsort(ag.Tensor([3.0, 1.0, 2.0])).tolist()
    [1, 2, 0]
    """
    options: dict[str, Any] = {"axis": axis, "descending": descending, "stable": stable}
    if STATE.lazy_blocks:
        from treadle.autograd.vectorizing import Batched, batched_constant  # made of ops

        if isinstance(x, Batched):
            return batched_constant(argsort, (x,), options)  # type: ignore[no-any-return]
    order = constant(nd.argsort(x.data, **options))
    return without_gradient("argsort", order, (x,), options, "argsort() has no gradient")


def topk(x: Tensor, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
    """(values, indices) of the k largest elements along an axis, descending, or the k smallest, ascending.

    >>> import treadle.autograd as ag
    >>> ag.topk(ag.Tensor([3.0, 1.0, 5.0]), 2).values.tolist()
    [5.0, 3.0]
    """
    op = TopKValues(k, axis, largest)
    if STATE.lazy_blocks and (kept := _of_batch(op, x)) is not None:
        return kept
    values = op(x)
    chosen = nd.topk(x.data, k, axis=axis, largest=largest).indices if values.is_leaf else values.saved[0]
    result = constant(chosen)
    broken(result, "the indices of topk() have no gradient", (x,))
    if STATE.watcher is not None:
        STATE.watcher.plain(result, lambda xp, x: xp.topk(x, k, axis=axis, largest=largest).indices, (x,))
    return TopK(values, result)


def _of_batch(op: TopKValues, x: Tensor) -> TopK | None:
    """What :func:`topk` gives inside vmap, from the order of the whole batch; None outside."""
    from treadle.autograd.vectorizing import Batched  # made of ops

    if not isinstance(x, Batched):
        return None
    op.infer((x.shape,), (x.dtype,))
    (along,) = axes_of(op.axis, x.ndim, "topk")
    first = (*(slice(None),) * along, slice(op.k))
    places = get_item(argsort(x, axis=along, descending=op.largest), first)
    return TopK(take_along_axis(x, places, axis=along), places)
