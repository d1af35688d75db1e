"""Convolution over 1 to 3 axes, its transpose, and pooling, as the array's functions of the same names define them.

A convolution is linear in its input and in its weight, so the three functions conv, conv_input_gradient and
conv_weight_gradient are each other's gradients, to any order.
"""

import math
from collections.abc import Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._inference import attempt
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Shape, fit
from treadle.autograd.ops.manipulation import reshape
from treadle.autograd.ops.rearranging import Pad
from treadle.ndarray import DType, DTypeError, IndexingError, ShapeError
from treadle.ndarray.geometry import Ints, Padding, per_axis

__all__ = [
    "AvgPool",
    "AvgPoolGradient",
    "Conv",
    "ConvInputGradient",
    "ConvWeightGradient",
    "MaxPool",
    "MaxPoolGradient",
]


class Convolution(Op):
    """Base of the three: where the windows lie, and how many groups of channels there are."""

    holomorphic = True

    def __init__(self, stride: Ints = 1, padding: Padding = 0, dilation: Ints = 1, groups: int = 1) -> None:
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups

    @property
    def windows(self) -> dict[str, Any]:
        """The configuration as keyword arguments of the array functions."""
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}


class Conv(Convolution):
    """The convolution of (batch, channels, *lengths) with weight (outputs, channels / groups, *kernel), and a bias."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return xp.conv(*arrays, **self.windows), arrays[:2]

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, weight = node.saved
        gradients: list[Any] = [None] * len(node.inputs)
        if node.needs_grad(0):
            gradients[0] = fit(xp, xp.conv_input_gradient(grad, weight, x.shape, **self.windows), x.shape, x.dtype)
        if node.needs_grad(1):
            found = xp.conv_weight_gradient(grad, x, weight.shape, **self.windows)
            gradients[1] = fit(xp, found, weight.shape, weight.dtype)
        if len(gradients) == 3 and node.needs_grad(2):
            bias = node.inputs[2]
            summed = xp.sum(grad, axis=(0, *range(2, len(grad.shape))))
            gradients[2] = fit(xp, summed, bias.shape, bias.dtype)
        return tuple(gradients)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return _tried(self, shapes, dtypes, (0,))


class ConvolutionGradient(Convolution):
    """Base of the two gradients: linear in both operands, and of a given shape."""

    def __init__(
        self, shape: Sequence[int], stride: Ints = 1, padding: Padding = 0, dilation: Ints = 1, groups: int = 1
    ) -> None:
        super().__init__(stride, padding, dilation, groups)
        self.shape = tuple(shape)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return tuple(
            fit(xp, rule(xp, grad, *node.saved), operand.shape, operand.dtype) if node.needs_grad(index) else None
            for index, (rule, operand) in enumerate(zip((self.by_first, self.by_second), node.saved, strict=True))
        )

    def by_first(self, xp: Any, grad: Any, first: Any, second: Any) -> Any:
        """The gradient of the first operand."""
        raise TypeError(f"{type(self).__name__} defines no by_first")

    def by_second(self, xp: Any, grad: Any, first: Any, second: Any) -> Any:
        """The gradient of the second operand."""
        raise TypeError(f"{type(self).__name__} defines no by_second")


class ConvInputGradient(ConvolutionGradient):
    """The gradient of a convolution by its input of a given shape, from (gradient, weight): its transpose."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return xp.conv_input_gradient(*arrays, self.shape, **self.windows), arrays

    def by_first(self, xp: Any, grad: Any, first: Any, second: Any) -> Any:
        return xp.conv(grad, second, **self.windows)

    def by_second(self, xp: Any, grad: Any, first: Any, second: Any) -> Any:
        return xp.conv_weight_gradient(first, grad, second.shape, **self.windows)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return _tried(self, shapes, dtypes, (0,), "shape")


class ConvWeightGradient(ConvolutionGradient):
    """The gradient of a convolution by its weight of a given shape, from (gradient, input)."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return xp.conv_weight_gradient(*arrays, self.shape, **self.windows), arrays

    def by_first(self, xp: Any, grad: Any, first: Any, second: Any) -> Any:
        return xp.conv(second, grad, **self.windows)

    def by_second(self, xp: Any, grad: Any, first: Any, second: Any) -> Any:
        return xp.conv_input_gradient(first, grad, second.shape, **self.windows)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = _tried(self, shapes, dtypes, (0, 1))[1]
        return self.shape, dtype


class MaxPool(Op):
    """The largest element of every window; its whole gradient goes to the first of equal ones, as in PyTorch."""

    def __init__(
        self, kernel: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False
    ) -> None:
        self.kernel = kernel
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.ceil_mode = ceil_mode

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        values, indices = xp.max_pool(
            x, self.kernel, stride=self.stride, padding=self.padding, dilation=self.dilation,
            ceil_mode=self.ceil_mode,
        )  # fmt: skip
        return values, (indices,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.max_pool_gradient(grad, node.saved[0], node.inputs[0].shape)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return _tried(self, shapes, dtypes, (0,))


class MaxPoolGradient(Op):
    """A pooled gradient put where the largest elements were: of shape ``input_shape``, from (gradient, indices)."""

    def __init__(self, input_shape: Sequence[int]) -> None:
        self.input_shape = tuple(input_shape)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        gradient, indices = arrays
        return xp.max_pool_gradient(gradient, indices, self.input_shape), (indices,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (indices,) = node.saved
        batch, channels = self.input_shape[:2]
        flat = (batch, channels, math.prod(self.input_shape[2:]))
        at = xp.reshape(indices, (batch, channels, math.prod(indices.shape[2:])))
        inside = at >= 0  # a window over padding alone chose nothing
        taken = xp.take_along_axis(xp.reshape(grad, flat), xp.maximum(at, 0), axis=2) if flat[2] else xp.zeros(at.shape)
        return xp.reshape(xp.where(inside, taken, 0.0), indices.shape), None

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        result = _tried(self, shapes, dtypes, (0, 1), "input_shape")
        if dtypes[1].kind not in "biu":  # places are looked up, which an empty batch has none of
            error = DTypeError if dtypes[1].kind == "c" else IndexingError
            raise error(f"{self}: indices are integers, not {dtypes[1].name}")
        return result


class AvgPool(Op):
    """The mean of every window."""

    def __init__(
        self,
        kernel: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    @property
    def windows(self) -> dict[str, Any]:
        """The configuration, the kernel apart, as keyword arguments of the array functions."""
        return {
            "stride": self.stride, "padding": self.padding, "ceil_mode": self.ceil_mode,
            "count_include_pad": self.count_include_pad, "divisor_override": self.divisor_override,
        }  # fmt: skip

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.avg_pool(x, self.kernel, **self.windows), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.avg_pool_gradient(grad, node.inputs[0].shape, self.kernel, **self.windows)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return _tried(self, shapes, dtypes, (0,))


class AvgPoolGradient(AvgPool):
    """A pooled gradient spread over the windows: of shape ``input_shape``, the transpose of :class:`AvgPool`."""

    def __init__(
        self,
        input_shape: Sequence[int],
        kernel: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
        self.input_shape = tuple(input_shape)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.avg_pool_gradient(x, self.input_shape, self.kernel, **self.windows), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.avg_pool(grad, self.kernel, **self.windows)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return _tried(self, shapes, dtypes, (0,), "input_shape")


def _tried(
    op: Any, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...], batched: tuple[int, ...], configured: str = ""
) -> tuple[Shape, DType]:
    """The shape and dtype of a result, by a call with an empty batch, which raises what the real call raises.

    ``batched`` are the operands whose first axis is the batch; ``configured`` names the shape in the configuration.
    """
    lengths = {shapes[at][0] for at in batched if at < len(shapes) and shapes[at]}
    empty = [
        nd.broadcast_to(nd.zeros((), dtype=dtype, device="cpu"), (0, *shape[1:]) if at in batched and shape else shape)
        for at, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    if configured:
        whole = getattr(op, configured)
        lengths.update(whole[:1])
        kind: Any = type(op)
        twin = kind.__new__(kind)
        twin.__dict__.update(op.__dict__ | {configured: (0, *whole[1:])})
        result = attempt(twin, shapes, empty)
    else:
        result = attempt(op, shapes, empty)
    if len(lengths) > 1:
        raise ShapeError(f"{op}: batches of {sorted(lengths)} examples in shapes {shapes}")
    return (*lengths, *result.shape[1:]), result.dtype


def conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    /,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """:func:`treadle.ndarray.conv` with gradients: (batch, channels, *lengths), (outputs, channels / groups, *kernel).

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([[[1.0, 2.0, 3.0]]], requires_grad=True)
    >>> ag.conv(x, ag.Tensor([[[1.0, 10.0]]])).sum().backward()
    >>> x.grad.tolist()
    [[[1.0, 11.0, 10.0]]]
    """
    op = Conv(stride, padding, dilation, groups)
    return op(x, weight) if bias is None else op(x, weight, bias)


def conv_input_gradient(
    gradient: Tensor,
    weight: Tensor,
    input_shape: Sequence[int],
    /,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """:func:`treadle.ndarray.conv_input_gradient` with gradients of its own."""
    return ConvInputGradient(input_shape, stride, padding, dilation, groups)(gradient, weight)


def conv_weight_gradient(
    gradient: Tensor,
    x: Tensor,
    weight_shape: Sequence[int],
    /,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """:func:`treadle.ndarray.conv_weight_gradient` with gradients of its own."""
    return ConvWeightGradient(weight_shape, stride, padding, dilation, groups)(gradient, x)


def conv_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    /,
    *,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The transposed convolution: what :func:`conv` with the same settings, called backwards, does to a gradient.

    x is (batch, channels, *places), weight (channels, outputs / groups, *kernel), bias (outputs,); the result is
    (batch, outputs, *lengths), length = (places - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding
    + 1. Raises ShapeError.

    >>> import treadle.autograd as ag
    >>> ag.conv_transpose(ag.Tensor([[[1.0, 2.0]]]), ag.Tensor([[[1.0, 10.0]]]), stride=2).tolist()
    [[[1.0, 10.0, 2.0, 20.0]]]
    """
    if x.ndim < 3 or x.ndim != weight.ndim or x.shape[1] != weight.shape[0]:
        raise ShapeError(f"conv_transpose: an input of shape {x.shape} does not fit a weight of shape {weight.shape}")
    count = x.ndim - 2
    steps = per_axis(stride, count, "stride", "conv_transpose")
    pads = per_axis(padding, count, "padding", "conv_transpose", 0)
    more = per_axis(output_padding, count, "output_padding", "conv_transpose", 0)
    spreads = per_axis(dilation, count, "dilation", "conv_transpose")
    if any(each >= max(step, spread) for each, step, spread in zip(more, steps, spreads, strict=True)):
        raise ShapeError(f"conv_transpose: output_padding {more} is not less than stride {steps} or dilation {spreads}")
    lengths = tuple(
        (places - 1) * step - 2 * pad + spread * (size - 1) + extra + 1
        for places, step, pad, spread, size, extra in zip(
            x.shape[2:], steps, pads, spreads, weight.shape[2:], more, strict=True
        )
    )
    shape = (x.shape[0], weight.shape[1] * groups, *lengths)
    behind = [extra // step for extra, step in zip(more, steps, strict=True)]
    if any(behind):  # windows that the longer output has room for, and x no places
        x = Pad([(0, 0), (0, 0), *[(0, each) for each in behind]])(x)
    out = ConvInputGradient(shape, stride, padding, dilation, groups)(x, weight)
    if bias is None:
        return out
    if bias.shape != shape[1:2]:
        raise ShapeError(f"conv_transpose: a bias of shape {bias.shape} for {shape[1]} outputs")
    return out + reshape(bias, (shape[1], *(1,) * count))


def max_pool(
    x: Tensor,
    kernel: Ints,
    /,
    *,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of every window, (batch, channels, *places); :func:`treadle.ndarray.max_pool`'s values.

    >>> import treadle.autograd as ag
    >>> ag.max_pool(ag.Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()
    [[[3.0, 5.0]]]
    """
    return MaxPool(kernel, stride, padding, dilation, ceil_mode)(x)


def max_pool_gradient(gradient: Tensor, indices: Tensor, input_shape: Sequence[int], /) -> Tensor:
    """:func:`treadle.ndarray.max_pool_gradient` with a gradient of its own."""
    return MaxPoolGradient(input_shape)(gradient, indices)


def avg_pool(
    x: Tensor,
    kernel: Ints,
    /,
    *,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of every window, (batch, channels, *places); :func:`treadle.ndarray.avg_pool`.

    >>> import treadle.autograd as ag
    >>> ag.avg_pool(ag.Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()
    [[[2.0, 3.5]]]
    """
    return AvgPool(kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)(x)


def avg_pool_gradient(
    gradient: Tensor,
    input_shape: Sequence[int],
    kernel: Ints,
    /,
    *,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """:func:`treadle.ndarray.avg_pool_gradient` with a gradient of its own."""
    op = AvgPoolGradient(input_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return op(gradient)
