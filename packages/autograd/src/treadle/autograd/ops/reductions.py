"""Reductions and running sums and products, with the functions of the array namespace's signatures."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Axis, Shape, axes_of, count_of, reduced_shape, spread, tried
from treadle.autograd.ops.manipulation import reshape
from treadle.ndarray import DType

__all__ = ["Cumprod", "Cumsum", "Max", "Mean", "Min", "Norm", "Prod", "ReduceOp", "Std", "Sum", "Var"]


class ReduceOp(Op):
    """Base of the reductions: over ``axis`` (one, several, or None for all), which ``keepdims`` keeps with length 1."""

    name = ""
    saves = ""

    def __init__(self, axis: Axis = None, keepdims: bool = False) -> None:
        whole = axis is None or isinstance(axis, int) or not isinstance(axis, Iterable)
        self.axis = axis if whole else tuple(axis)  # type: ignore[arg-type]
        self.keepdims = keepdims

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = getattr(xp, self.name)(x, axis=self.axis, keepdims=self.keepdims)
        return y, ((x, y) if self.saves == "xy" else (x,) if self.saves == "x" else ())

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = tried(self, shapes, dtypes)
        return reduced_shape(shapes[0], self.axis, self.keepdims, self), dtype

    def spread(self, xp: Any, value: Any, shape: Shape) -> Any:
        """A result with its reduced axes back, of length 1."""
        return spread(xp, value, shape, self.axis, self.keepdims, self)


class Sum(ReduceOp):
    """The sum over axis."""

    name = "sum"

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        shape = node.inputs[0].shape
        return xp.broadcast_to(self.spread(xp, grad, shape), shape)


class Mean(ReduceOp):
    """The arithmetic mean over axis."""

    name = "mean"

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        shape = node.inputs[0].shape
        count = count_of(shape, self.axis, self)
        return xp.broadcast_to(self.spread(xp, grad * (1.0 / count if count else 0.0), shape), shape)


class Extremum(ReduceOp):
    """Base of max and min: equal extremes share the gradient equally, as in torch.amax; NaN counts as the extreme."""

    saves = "xy"

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, y = node.saved
        chosen = xp.logical_or(xp.equal(x, self.spread(xp, y, x.shape)), xp.isnan(x))
        count = xp.sum(xp.astype(chosen, x.dtype), axis=self.axis, keepdims=True)
        share = self.spread(xp, grad, x.shape) / count
        return xp.where(chosen, share, 0.0)


class Max(Extremum):
    """The largest element over axis; ties share the gradient equally."""

    name = "max"


class Min(Extremum):
    """The smallest element over axis; ties share the gradient equally."""

    name = "min"


class Prod(ReduceOp):
    """The product over axis. Its derivative is the product of the others, taken without a division: zeros are safe."""

    holomorphic = True

    name, saves = "prod", "x"

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        shape = x.shape
        axes = axes_of(self.axis, len(shape), self)
        kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
        lengths = tuple(shape[axis] for axis in kept)
        rows = xp.reshape(xp.permute_dims(x, kept + axes), (*lengths, count_of(shape, self.axis, self)))
        others = _exclusive_product(xp, rows) * xp.flip(_exclusive_product(xp, xp.flip(rows, axis=-1)), axis=-1)
        moved = xp.reshape(others, (*lengths, *(shape[axis] for axis in axes)))
        order = kept + axes
        back = tuple(order.index(axis) for axis in range(len(shape)))
        return self.spread(xp, grad, shape) * xp.permute_dims(moved, back)


def _exclusive_product(xp: Any, x: Any) -> Any:
    """The product of the elements before each, along the last axis."""
    if x.shape[-1] == 0:
        return x
    one = xp.ones_like(x[..., :1])
    return one if x.shape[-1] == 1 else xp.concat([one, xp.cumprod(x[..., :-1], axis=-1)], axis=-1)


class Var(ReduceOp):
    """The variance over axis, with n - ``correction`` below."""

    def __init__(self, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> None:
        super().__init__(axis, keepdims)
        self.correction = correction

    name, saves = "var", "x"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.var(x, axis=self.axis, correction=self.correction, keepdims=self.keepdims), (x,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        centered = x - xp.mean(x, axis=self.axis, keepdims=True)
        return self.spread(xp, grad * (2.0 * self.weight(x.shape)), x.shape) * centered

    def weight(self, shape: Shape) -> float:
        """1 / (n - correction); infinite where there are too few elements, which no gradient survives."""
        below = count_of(shape, self.axis, self) - self.correction
        return 1.0 / below if below > 0 else float("inf")


class Std(Var):
    """The standard deviation over axis; where it is 0 its gradient is 0, which is a subgradient."""

    name = "std"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.std(x, axis=self.axis, correction=self.correction, keepdims=self.keepdims)
        return y, (x, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, y = node.saved
        wide = widened(xp, x)
        centered = wide - xp.mean(wide, axis=self.axis, keepdims=True)
        scale = _quotient_unless_zero(xp, widened(xp, grad) * self.weight(x.shape), y)
        gradient = self.spread(xp, scale, x.shape) * centered
        return gradient if wide is x else xp.astype(gradient, x.dtype)


class Norm(ReduceOp):
    """The Euclidean norm over axis, sqrt(sum(|x|^2)); its gradient where it is 0 is 0, which is a subgradient.

    Squares neither overflow nor vanish in it; halves are computed in float32, whose squares overflow from 256 on.
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        if xp is nd:
            y = nd.linalg.vector_norm(x, axis=self.axis, keepdims=self.keepdims)
            return y, (x, y)
        wide = widened(xp, x)
        squares = xp.square(xp.abs(wide) if x.dtype.kind == "c" else wide)
        y = xp.sqrt(xp.sum(squares, axis=self.axis, keepdims=self.keepdims))
        return (y if wide is x else xp.astype(y, x.dtype)), (x, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, y = node.saved
        wide = widened(xp, x)
        gradient = self.spread(xp, _quotient_unless_zero(xp, widened(xp, grad), y), x.shape) * wide
        return gradient if wide is x else xp.astype(gradient, x.dtype)


def widened(xp: Any, x: Any) -> Any:
    """Halves as float32, in which their squares and quotients do not overflow."""
    return xp.astype(x, nd.float32) if x.dtype.kind == "f" and x.dtype.itemsize == 2 else x


def _quotient_unless_zero(xp: Any, grad: Any, divisor: Any) -> Any:
    """grad / divisor, and 0 where the divisor is 0."""
    zero = xp.equal(divisor, 0.0)
    return xp.where(zero, 0.0, grad / xp.where(zero, 1.0, divisor))


class Cumsum(Op):
    """The running sum along ``axis``."""

    holomorphic = True

    name = "cumsum"

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.cumsum(x, axis=self.axis), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.flip(xp.cumsum(xp.flip(grad, axis=self.axis), axis=self.axis), axis=self.axis)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class Cumprod(Cumsum):
    """The running product along ``axis``; without a division, so zeros are safe.

    With P_i the product of the elements before i, the gradient is P_i S_i, where S_i = g_i + x_{i+1} S_{i+1}: a linear
    recurrence (Hillis and Steele, Data parallel algorithms, 1986).
    """

    name = "cumprod"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.cumprod(x, axis=self.axis), (x,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        x, total = xp.moveaxis(x, self.axis, -1), xp.moveaxis(grad, self.axis, -1)
        total = from_behind(xp, total, _shifted(xp, x, 1))
        return xp.moveaxis(_exclusive_product(xp, x) * total, -1, self.axis)


def from_behind(xp: Any, total: Any, factor: Any) -> Any:
    """The S with S_i = total_i + factor_i S_{i+1} along the last axis, by doubling in log2(n) steps."""
    step = 1
    while step < total.shape[-1]:
        total = total + factor * _shifted(xp, total, step)
        factor = factor * _shifted(xp, factor, step)
        step *= 2
    return total


def _shifted(xp: Any, x: Any, step: int) -> Any:
    """x moved towards the front along the last axis, with zeros behind."""
    if step >= x.shape[-1]:
        return xp.zeros_like(x)
    return xp.concat([x[..., step:], xp.zeros_like(x[..., :step])], axis=-1)


_sum, _mean = Sum(), Mean()


def sum(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The sum over one axis, several, or all (None).

    >>> import treadle.autograd as ag
    >>> ag.sum(ag.Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    return (_sum if axis is None and not keepdims else Sum(axis, keepdims))(x)


def mean(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The arithmetic mean over axis.

    >>> import treadle.autograd as ag
    >>> ag.mean(ag.Tensor([1.0, 2.0])).item()
    1.5
    """
    return (_mean if axis is None and not keepdims else Mean(axis, keepdims))(x)


def prod(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The product over axis.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> ag.prod(x).backward()
    >>> x.grad.tolist()
    [0.0, 6.0, 0.0]
    """
    return Prod(axis, keepdims)(x)


def max(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest element over axis; ties share the gradient equally.

    >>> import treadle.autograd as ag
    >>> ag.max(ag.Tensor([1.0, 3.0])).item()
    3.0
    """
    return Max(axis, keepdims)(x)


def min(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element over axis; ties share the gradient equally.

    >>> import treadle.autograd as ag
    >>> ag.min(ag.Tensor([1.0, 3.0])).item()
    1.0
    """
    return Min(axis, keepdims)(x)


def var(x: Tensor, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over axis, with n - correction below.

    >>> import treadle.autograd as ag
    >>> ag.var(ag.Tensor([1.0, 3.0])).item()
    1.0
    """
    return Var(axis, correction, keepdims)(x)


def std(x: Tensor, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axis, with n - correction below.

    >>> import treadle.autograd as ag
    >>> ag.std(ag.Tensor([1.0, 3.0])).item()
    1.0
    """
    return Std(axis, correction, keepdims)(x)


def norm(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The Euclidean norm over axis; its gradient at a zero vector is 0.

    >>> import treadle.autograd as ag
    >>> ag.norm(ag.Tensor([3.0, 4.0])).item()
    5.0
    """
    return Norm(axis, keepdims)(x)


def along(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """x and the axis of it that a scan goes along: without one, that of all elements in C order."""
    return (x, axis) if axis is not None else (x if x.ndim == 1 else reshape(x, (-1,)), 0)


def cumsum(x: Tensor, /, axis: int | None = None) -> Tensor:
    """The running sum along axis, or of all elements in C order (None).

    >>> import treadle.autograd as ag
    >>> ag.cumsum(ag.Tensor([1.0, 2.0])).tolist()
    [1.0, 3.0]
    """
    x, axis = along(x, axis)
    return Cumsum(axis)(x)


def cumprod(x: Tensor, /, axis: int | None = None) -> Tensor:
    """The running product along axis, or of all elements in C order (None).

    >>> import treadle.autograd as ag
    >>> ag.cumprod(ag.Tensor([2.0, 3.0])).tolist()
    [2.0, 6.0]
    """
    x, axis = along(x, axis)
    return Cumprod(axis)(x)
