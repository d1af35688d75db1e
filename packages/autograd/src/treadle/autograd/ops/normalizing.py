"""Softmax and its like: shifted by the maximum, so that nothing overflows."""

import math
from typing import Any

from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Axis, Shape, tried
from treadle.autograd.ops.reductions import ReduceOp, one_axis
from treadle.ndarray import DType

__all__ = ["LogCumSumExp", "LogSoftmax", "LogSumExp", "Softmax"]


class Softmax(Op):
    """exp(x) / sum(exp(x)) along ``axis``."""

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.softmax(x, axis=self.axis)
        return y, (y,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (y,) = node.saved
        return y * (grad - xp.sum(grad * y, axis=self.axis, keepdims=True))

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class LogSoftmax(Softmax):
    """log(softmax(x)) along ``axis``, as x - max - log(sum(exp(x - max)))."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.log_softmax(x, axis=self.axis)
        return y, (y,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (y,) = node.saved
        return grad - xp.exp(y) * xp.sum(grad, axis=self.axis, keepdims=True)


class LogSumExp(ReduceOp):
    """log(sum(exp(x))) over ``axis``; the gradient is exp(x - y), and 0 where all elements are -inf."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.logsumexp(x, axis=self.axis, keepdims=self.keepdims)
        return y, (x, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, y = node.saved
        total = self.spread(xp, xp.where(xp.equal(y, -math.inf), 0.0, y), x.shape)
        return self.spread(xp, grad, x.shape) * xp.exp(x - total)


class LogCumSumExp(Op):
    """log(cumsum(exp(x))) along ``axis``.

    With y the result and g its gradient, that of x_i is the sum over j >= i of g_j exp(x_i - y_j). It is taken in
    logarithms, apart for positive and negative g, so that no term is lost or overflows.
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.logcumsumexp(x, axis=self.axis)
        return y, (x, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, y = node.saved
        positive, negative = (self._share(xp, x, y, each) for each in (grad, -grad))
        return positive - negative

    def _share(self, xp: Any, x: Any, y: Any, grad: Any) -> Any:
        """What the positive elements of a gradient add."""
        some = grad > 0.0
        logs = xp.where(some, xp.log(xp.where(some, grad, 1.0)) - y, -math.inf)
        behind = xp.flip(xp.logcumsumexp(xp.flip(logs, axis=self.axis), axis=self.axis), axis=self.axis)
        none = xp.equal(behind, -math.inf)
        return xp.where(none, 0.0, xp.exp(xp.where(none, 0.0, behind) + xp.where(none, 0.0, x)))

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


def softmax(x: Tensor, /, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along axis.

    >>> import treadle.autograd as ag
    >>> ag.softmax(ag.Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    return Softmax(axis)(x)


def log_softmax(x: Tensor, /, axis: int = -1) -> Tensor:
    """log(softmax(x)) along axis, without overflow.

    >>> import treadle.autograd as ag
    >>> ag.log_softmax(ag.Tensor([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    return LogSoftmax(axis)(x)


def logsumexp(x: Tensor, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) over axis, without overflow.

    >>> import treadle.autograd as ag
    >>> ag.logsumexp(ag.Tensor([1000.0])).item()
    1000.0
    """
    return LogSumExp(axis, keepdims)(x)


def logcumsumexp(x: Tensor, /, axis: int | None = None) -> Tensor:
    """log(cumsum(exp(x))) along axis, which 1-D tensors need not name, without overflow.

    >>> import treadle.autograd as ag
    >>> ag.logcumsumexp(ag.Tensor([1000.0, -1000.0])).tolist()
    [1000.0, 1000.0]
    """
    return LogCumSumExp(one_axis(x, axis, "logcumsumexp"))(x)
