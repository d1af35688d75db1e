"""Shapes, order, joining and conversion. What the array can do as a view is a view here too."""

from collections.abc import Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Axis, Shape, axes_of, fit, lengths_of, on_arrays, tried, tried_as_view
from treadle.ndarray import DType, DTypeError, ShapeError

__all__ = [
    "AsType", "BroadcastTo", "Concat", "ExpandDims", "Flip", "MatrixTranspose", "PermuteDims", "Reshape", "Squeeze",
    "Stack", "ToDevice",
]  # fmt: skip


class ViewOp(Op):
    """Base of the ops that only rearrange elements: nothing is saved, and the dtype stays."""

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return tried_as_view(self, shapes, dtypes)


class Reshape(ViewOp):
    """The same elements in C order under another shape, in which one length may be -1."""

    def __init__(self, shape: int | Sequence[int]) -> None:
        self.shape = lengths_of("reshape", shape)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.reshape(x, self.shape), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.reshape(grad, node.inputs[0].shape)


class PermuteDims(ViewOp):
    """The axes in a new order."""

    def __init__(self, axes: int | Sequence[int]) -> None:
        self.axes = lengths_of("permute_dims", axes, "axes are")

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.permute_dims(x, self.axes), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        order = [axis % len(self.axes) for axis in self.axes]
        return xp.permute_dims(grad, tuple(order.index(axis) for axis in range(len(order))))


class MatrixTranspose(ViewOp):
    """The last two axes exchanged."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.matrix_transpose(x), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.matrix_transpose(grad)


class BroadcastTo(ViewOp):
    """Stretched to a shape by repetition."""

    def __init__(self, shape: int | Sequence[int]) -> None:
        self.shape = lengths_of("broadcast_to", shape)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.broadcast_to(x, self.shape), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        operand = node.inputs[0]
        return fit(xp, grad, operand.shape, operand.dtype)


class ExpandDims(ViewOp):
    """A new axis of length 1 at ``axis`` of the result."""

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.expand_dims(x, self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.squeeze(grad, self.axis)


class Squeeze(ViewOp):
    """Without the named axes, each of length 1."""

    def __init__(self, axis: Axis = None) -> None:
        self.axis = axis if axis is None or isinstance(axis, int) else tuple(axis)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.squeeze(x, self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.reshape(grad, node.inputs[0].shape)


class Flip(ViewOp):
    """Backwards along the axes, or all of them."""

    def __init__(self, axis: Axis = None) -> None:
        self.axis = axis if axis is None or isinstance(axis, int) else tuple(axis)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.flip(x, axis=self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.flip(grad, axis=self.axis)


class Concat(Op):
    """Tensors joined along an axis: ``Concat(axis=1)(a, b, c)``."""

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return xp.concat(arrays, axis=self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        axis = self.axis % len(grad.shape)
        gradients = []
        start = 0
        for operand in node.inputs:
            stop = start + operand.shape[axis]
            part = grad[(slice(None),) * axis + (slice(start, stop),)] if operand.requires_grad else None
            gradients.append(None if part is None else fit(xp, part, operand.shape, operand.dtype))
            start = stop
        return tuple(gradients)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        first = shapes[0]
        dtype = tried(self, shapes, dtypes)
        (axis,) = axes_of(self.axis, len(first), self)
        if any(shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :] for shape in shapes):
            raise ShapeError(f"{self}: shapes {list(shapes)} differ apart from the axis")
        return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :]), dtype


class Stack(Op):
    """Tensors of one shape joined along a new axis: ``Stack(axis=0)(a, b)``."""

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return xp.stack(arrays, axis=self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        axis = self.axis % len(grad.shape)
        return tuple(
            fit(xp, grad[(slice(None),) * axis + (index,)], operand.shape, operand.dtype)
            if operand.requires_grad
            else None
            for index, operand in enumerate(node.inputs)
        )

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        first = shapes[0]
        if any(shape != first for shape in shapes):
            raise ShapeError(f"{self}: shapes {list(shapes)} differ")
        dtype = tried(self, shapes, dtypes)
        (axis,) = axes_of(self.axis, len(first) + 1, self)
        return (*first[:axis], len(shapes), *first[axis:]), dtype


class AsType(Op):
    """The elements in another dtype; to an integer dtype it ends the graph."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = nd.dtype(dtype)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.astype(x, self.dtype), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return fit(xp, grad, grad.shape, node.inputs[0].dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class ToDevice(Op):
    """The elements on another device; the gradient travels back."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return x.to_device(self.device), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        home = node.inputs[0].device
        return grad.to_device(home) if on_arrays(xp) else ToDevice(home)(grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,), (dtype,) = shapes, dtypes
        nd.device(self.device)
        return shape, dtype


matrix_transpose = MatrixTranspose()


def reshape(x: Tensor, /, shape: int | Sequence[int]) -> Tensor:
    """The same elements in C order under another shape, in which one length may be -1.

    >>> import treadle.autograd as ag
    >>> ag.reshape(ag.Tensor([[1, 2], [3, 4]]), (4,)).tolist()
    [1, 2, 3, 4]
    """
    return Reshape(shape)(x)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes in the order of ``axes``, which names each once.

    >>> import treadle.autograd as ag
    >>> ag.permute_dims(ag.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return PermuteDims(axes)(x)


def swapaxes(x: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """Two axes exchanged.

    >>> import treadle.autograd as ag
    >>> ag.swapaxes(ag.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    order = list(range(x.ndim))
    (first,), (second,) = axes_of(axis1, x.ndim, "swapaxes"), axes_of(axis2, x.ndim, "swapaxes")
    order[first], order[second] = order[second], order[first]
    return PermuteDims(order)(x)


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """Axes moved to other places, the rest in their order.

    >>> import treadle.autograd as ag
    >>> ag.moveaxis(ag.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources, targets = (
        [axes_of(each, x.ndim, "moveaxis")[0] for each in ([given] if isinstance(given, int) else given)]
        for given in (source, destination)
    )
    if len(sources) != len(targets) or len({*sources}) + len({*targets}) != 2 * len(sources):
        raise ShapeError(f"moveaxis: {source} to {destination}: as many of each, and none twice")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return PermuteDims(order)(x)


def broadcast_to(x: Tensor, /, shape: int | Sequence[int]) -> Tensor:
    """x stretched to a shape by repetition.

    >>> import treadle.autograd as ag
    >>> ag.broadcast_to(ag.Tensor([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return BroadcastTo(shape)(x)


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new axis of length 1 at ``axis`` of the result.

    >>> import treadle.autograd as ag
    >>> ag.expand_dims(ag.zeros(3)).shape
    (1, 3)
    """
    return ExpandDims(axis)(x)


def squeeze(x: Tensor, /, axis: Axis = None) -> Tensor:
    """Without the named axes, each of length 1; None drops all such.

    >>> import treadle.autograd as ag
    >>> ag.squeeze(ag.zeros((1, 3)), 0).shape
    (3,)
    """
    return Squeeze(axis)(x)


def flip(x: Tensor, /, axis: Axis = None) -> Tensor:
    """Backwards along the axes, or all of them.

    >>> import treadle.autograd as ag
    >>> ag.flip(ag.Tensor([1, 2])).tolist()
    [2, 1]
    """
    return Flip(axis)(x)


def _list_of(tensors: Sequence[Tensor], name: str) -> tuple[Tensor, ...]:
    if isinstance(tensors, Tensor):
        raise DTypeError(f"{name}: expected a sequence of tensors, not one Tensor")
    if not len(tensors):
        raise ShapeError(f"{name}: no tensors")
    return tuple(tensors)


def concat(tensors: Sequence[Tensor], /, axis: int | None = 0) -> Tensor:
    """Tensors joined along an axis; with None each is flattened first.

    >>> import treadle.autograd as ag
    >>> ag.concat([ag.Tensor([1]), ag.Tensor([2, 3])]).tolist()
    [1, 2, 3]
    """
    parts = _list_of(tensors, "concat")
    if axis is None:
        return Concat(0)(*[reshape(each, (-1,)) for each in parts])
    return Concat(axis)(*parts)


def stack(tensors: Sequence[Tensor], /, axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis.

    >>> import treadle.autograd as ag
    >>> ag.stack([ag.Tensor([1, 2]), ag.Tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    return Stack(axis)(*_list_of(tensors, "stack"))


def astype(x: Tensor, dtype: Any, /) -> Tensor:
    """The elements in another dtype; to an integer dtype it ends the graph.

    >>> import treadle.autograd as ag
    >>> ag.astype(ag.Tensor([1.5]), "int64").tolist()
    [1]
    """
    return AsType(dtype)(x)


def to_device(x: Tensor, device: Any, /) -> Tensor:
    """The elements on another device; the gradient travels back.

    >>> import treadle.autograd as ag
    >>> ag.to_device(ag.Tensor([1.0]), "numpy").device
    device('numpy')
    """
    return ToDevice(device)(x)
