"""Selecting and scattering. Every use of an element adds to its gradient, so the backward of a selection adds."""

import math
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._node import STATE
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.mode import is_lazy
from treadle.autograd.ops._common import Shape, axes_of, call, fit, on_arrays, tried
from treadle.ndarray import DType, DTypeError, IndexingError, NDArray, ShapeError

__all__ = ["GetItem", "PutItem", "ScatterAdd", "SetItem", "Take", "TakeAlongAxis"]

Index = tuple[Any, ...]


def _plain(index: Any) -> Index:
    """An index as a tuple, tensors and NumPy arrays in it as arrays."""
    items = index if isinstance(index, tuple) else (index,)
    return tuple(_plain_item(each) for each in items)


def _plain_item(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item.data.copy() if is_lazy() else item.data
    if isinstance(item, list) or hasattr(item, "__array_interface__"):
        array = nd.asarray(item, copy=True)  # the index must be the same when backward uses it
        return array.astype("int64") if array.size == 0 and isinstance(item, list) else array
    return item


def _on(device: Any, index: Index) -> Index:
    return tuple(each.to_device(device) if isinstance(each, NDArray) else each for each in index)


def _is_basic(index: Index) -> bool:
    """Whether the index only slices, so that no element is selected twice and the result is a view."""
    return not any(isinstance(each, bool) or hasattr(each, "dtype") for each in index)


def _index_shape(shape: Shape, index: Index) -> Shape:
    """The shape that an index selects, found on an array without elements of its own."""
    return nd.broadcast_to(nd.zeros((), dtype="bool", device="cpu"), shape)[_on("cpu", index)].shape


class GetItem(Op):
    """``x[index]``: ints, slices, None, Ellipsis, and arrays of integers or booleans, as in NumPy."""

    def __init__(self, index: Any) -> None:
        self.index = _plain(index)

    @property
    def selects_part(self) -> bool:  # type: ignore[override]
        """Whether the result is a view of elements that are none of them selected twice."""
        return _is_basic(self.index)

    def add_into(self, total: NDArray, grad: NDArray) -> None:
        """Add the gradient to the operand's, without zeros around it."""
        part = total[self.index]
        nd.add(part, grad, out=part)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        index = _on(x.device, self.index)
        return x[index], tuple(each for each in index if isinstance(each, NDArray))

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        if self.index:
            node.saved  # noqa: B018 - the index arrays must be what they were
        return call(xp, PutItem(node.inputs[0].shape, self.index), grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,), (dtype,) = shapes, dtypes
        return _index_shape(shape, self.index), dtype


class PutItem(Op):
    """Zeros of ``shape`` with the operand added at ``index``, repetitions counted: :class:`GetItem` transposed."""

    def __init__(self, shape: Shape, index: Any) -> None:
        self.shape = tuple(shape)
        self.index = _plain(index)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (values,) = arrays
        out = xp.zeros(self.shape, dtype=values.dtype, device=values.device)
        if _is_basic(self.index):
            out[self.index] = values
            return out, ()
        index = _on(values.device, self.index)
        return xp.scatter_add(out, index, values), tuple(each for each in index if isinstance(each, NDArray))

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return fit(xp, call(xp, GetItem(self.index), grad), node.inputs[0].shape, node.inputs[0].dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,), (dtype,) = shapes, dtypes
        _check_values(self, _index_shape(self.shape, self.index), shape)
        return self.shape, dtype


class SetItem(Op):
    """x with the second operand put at ``index``, as ``x[index] = values`` does: ``SetItem(index)(x, values)``.

    Of values for one place the last counts, and it alone gets a gradient.
    """

    def __init__(self, index: Any) -> None:
        self.index = _plain(index)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        x, values = arrays
        _check_dtypes(self, x.dtype, values.dtype)
        out = x.copy()
        index = _on(x.device, self.index)
        out[index] = values
        return out, tuple(each for each in index if isinstance(each, NDArray))

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        if self.index:
            node.saved  # noqa: B018 - the index arrays must be what they were
        x, values = node.inputs
        index = _on(x.device, self.index)
        kept = nd.ones(x.shape, dtype="bool", device=x.device)
        kept = _written(xp, kept, index, False)
        first = xp.where(kept if on_arrays(xp) else Tensor(kept), grad, 0.0) if node.needs_grad(0) else None
        second = None
        if node.needs_grad(1):
            chosen = call(xp, GetItem(self.index), grad)
            won = _winners(xp, x.shape, index, x.device)
            if won is not None:
                chosen = xp.where(won if on_arrays(xp) else Tensor(won), chosen, 0.0)
            more = len(values.shape) - len(chosen.shape)
            if more > 0:  # leading axes of length 1
                chosen = xp.reshape(chosen, (1,) * more + chosen.shape)
            second = fit(xp, chosen, values.shape, values.dtype)
        return first, second

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        x, values = shapes
        _check_dtypes(self, *dtypes)
        _check_values(self, _index_shape(x, self.index), values)
        return x, dtypes[0]


def _check_dtypes(op: Op, x: DType, values: DType) -> None:
    if x is not values:
        raise DTypeError(f"{op}: x is of {x}, the values of {values}; convert one with astype")


def _check_indices(op: Op, dtype: DType) -> None:
    if dtype.kind == "b":
        raise IndexingError(f"{op}: indices are integers, not bool")


def _check_values(op: Op, chosen: Shape, values: Shape) -> None:
    """Values take the shape of the selection by broadcasting, and may have leading axes of length 1 more."""
    more = max(0, len(values) - len(chosen))
    if any(length != 1 for length in values[:more]) or nd.broadcast_shapes(chosen, values[more:]) != chosen:
        raise ShapeError(f"{op}: values of shape {values} do not broadcast to the selection's {chosen}")


def _written(xp: Any, array: Any, index: Index, values: Any) -> Any:
    """The array with values at an index, which is written in place unless an export records it."""
    if getattr(xp, "records_arrays", False):
        return xp.set_item(array, index, values)
    array[index] = values
    return array


def _winners(xp: Any, shape: Shape, index: Index, device: Any) -> Any:
    """Which of the selected elements an assignment leaves in place; None when no place is selected twice."""
    if _is_basic(index):
        return None
    places = nd.zeros(shape, dtype="int64", device=device)
    chosen = places[index].shape
    numbers = nd.arange(1, math.prod(chosen) + 1, device=device).reshape(chosen)
    places = _written(xp, places, index, numbers)
    return (
        xp.equal(xp.get_item(places, index), numbers) if not isinstance(places, NDArray) else places[index] == numbers
    )


class Take(Op):
    """Slices of x along ``axis`` in the order of integer indices, as embeddings are: ``Take(axis=0)(x, indices)``."""

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        x, indices = arrays
        return xp.take(x, indices, axis=self.axis), (indices,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (indices,) = node.saved
        operand = node.inputs[0]
        zeros = xp.zeros(operand.shape, dtype=operand.dtype, device=operand.device)
        return xp.scatter_add(zeros, indices, grad, axis=self.axis), None

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = tried(self, shapes, dtypes)
        x, indices = shapes
        (axis,) = axes_of(self.axis, len(x), self)
        return x[:axis] + indices + x[axis + 1 :], dtype


class TakeAlongAxis(Op):
    """``out[..., i, ...] = x[..., indices[..., i, ...], ...]`` along ``axis``: ``TakeAlongAxis(1)(x, indices)``."""

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        x, indices = arrays
        _check_indices(self, indices.dtype)
        return xp.take_along_axis(x, indices, axis=self.axis), (indices,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        indices = node.saved[0]
        shape = node.inputs[0].shape
        index = _along_axis(shape, indices if on_arrays(xp) else indices.data, self.axis)
        return call(xp, PutItem(shape, index), grad), None

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = tried(self, shapes, dtypes)
        x, indices = shapes
        (axis,) = axes_of(self.axis, len(x), self)
        beside = nd.broadcast_shapes(x[:axis] + x[axis + 1 :], indices[:axis] + indices[axis + 1 :])
        if beside != x[:axis] + x[axis + 1 :]:
            raise ShapeError(f"{self}: indices of shape {indices} do not broadcast with {x} beside axis {axis}")
        return (*x[:axis], indices[axis], *x[axis + 1 :]), dtype


def _along_axis(shape: Shape, indices: Any, axis: int) -> Index:
    """The key of advanced indexing that selects what take_along_axis does."""
    (along,) = axes_of(axis, len(shape), "TakeAlongAxis")
    key: list[Any] = []
    for at, length in enumerate(shape):
        steps = nd.arange(length, device=indices.device)
        key.append(indices if at == along else steps[(..., *(None,) * (len(shape) - 1 - at))])
    return tuple(key)


class ScatterAdd(Op):
    """x with values added at integer indices along ``axis``: ``ScatterAdd(axis=0)(x, indices, values)``."""

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        x, indices, values = arrays
        _check_dtypes(self, x.dtype, values.dtype)
        _check_indices(self, indices.dtype)
        return xp.scatter_add(x, indices, values, axis=self.axis), (indices,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (indices,) = node.saved
        values = node.inputs[2]
        if not values.requires_grad:
            return grad, None, None
        return grad, None, fit(xp, xp.take(grad, indices, axis=self.axis), values.shape, values.dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = tried(self, shapes, dtypes)
        x, indices, values = shapes
        (axis,) = axes_of(self.axis, len(x), self)
        _check_values(self, x[:axis] + indices + x[axis + 1 :], values)
        return x, dtype


def get_item(x: Tensor, index: Any, /) -> Tensor:
    """``x[index]``."""
    if STATE.lazy_blocks:
        from treadle.autograd.vectorizing import batched_item  # made of ops

        found: Tensor | None = batched_item(get_item, x, index)
        if found is not None:
            return found
    return GetItem(index)(x)


def set_item(x: Tensor, index: Any, values: Tensor | float, /) -> Tensor:
    """A new tensor: x with values at ``index``, broadcast as in ``x[index] = values``. Gradients flow to both.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> v = ag.Tensor(9.0, requires_grad=True)
    >>> y = ag.set_item(x, slice(1, None), v)
    >>> (y * ag.Tensor([1.0, 10.0, 100.0])).sum().backward()
    >>> y.tolist(), x.grad.tolist(), v.grad.item()
    ([1.0, 9.0, 9.0], [1.0, 0.0, 0.0], 110.0)
    """
    given = values if isinstance(values, Tensor) else Tensor(values, dtype=x.dtype, device=x.device)
    return SetItem(index)(x, given)


def take(x: Tensor, indices: Tensor, /, axis: int | None = None) -> Tensor:
    """Elements, or whole slices along ``axis``, in the order of integer indices of any shape.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> ag.take(x, ag.Tensor([0, 0, 2])).sum().backward()
    >>> x.grad.tolist()
    [2.0, 0.0, 1.0]
    """
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"take: shape {x.shape} needs an axis")
        axis = 0
    return Take(axis)(x, indices)


def take_along_axis(x: Tensor, indices: Tensor, /, axis: int = -1) -> Tensor:
    """``out[..., i, ...] = x[..., indices[..., i, ...], ...]`` along ``axis``.

    >>> import treadle.autograd as ag
    >>> ag.take_along_axis(ag.Tensor([[3.0, 5.0], [7.0, 6.0]]), ag.Tensor([[1], [0]])).tolist()
    [[5.0], [7.0]]
    """
    return TakeAlongAxis(axis)(x, indices)


def scatter_add(x: Tensor, indices: Tensor, values: Tensor, /, *, axis: int = 0) -> Tensor:
    """x with values added at integer indices along ``axis``; every repetition counts.

    >>> import treadle.autograd as ag
    >>> ag.scatter_add(ag.zeros(2), ag.Tensor([0, 0]), ag.Tensor([1.0, 10.0])).tolist()
    [11.0, 0.0]
    """
    return ScatterAdd(axis)(x, indices, values)
