"""Softmax and its like: shifted by the maximum, so that nothing overflows."""

import math
from typing import Any

from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Axis, Shape, guarded, on_arrays, tried
from treadle.autograd.ops.reductions import ReduceOp, along, from_behind, widened
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

    With y the result and g its gradient, that of x_i is exp(x_i - y_i) S_i, where S_i = g_i + exp(y_i - y_{i+1})
    S_{i+1}. Both factors are at most 1. They are taken from the running maximum m and the sums s_i of exp(x_k - m_i)
    for k <= i, since y = m + log(s) has lost the digits of s where m is large.
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.logcumsumexp(x, axis=self.axis), (x,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        wide = xp.moveaxis(widened(xp, x), self.axis, -1)
        most = _running_maximum(xp, wide if on_arrays(xp) else wide.detach())
        least = xp.where(xp.equal(most, -math.inf), 0.0, most)
        share = xp.exp(wide - least)
        sums = _running_sums(xp, xp.where(xp.equal(wide, math.inf), 0.0, share), most)
        sums = xp.where(xp.logical_or(xp.equal(sums, 0.0), xp.equal(most, math.inf)), 1.0, sums)
        kept = _step_down(xp, most, 1) * sums[..., :-1] / sums[..., 1:]
        factor = xp.concat([kept, xp.zeros_like(wide[..., :1])], axis=-1)
        total = from_behind(xp, xp.moveaxis(widened(xp, grad), self.axis, -1), factor)
        gradient = xp.moveaxis(guarded(xp, total, lambda g, share: g * share, (share / sums, 0.0)), -1, self.axis)
        return gradient if wide.dtype is x.dtype else xp.astype(gradient, x.dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


def _running_maximum(xp: Any, x: Any) -> Any:
    """The largest of the elements so far along the last axis, by doubling."""
    step = 1
    while step < x.shape[-1]:
        x = xp.concat([x[..., :step], xp.maximum(x[..., step:], x[..., :-step])], axis=-1)
        step *= 2
    return x


def _step_down(xp: Any, most: Any, step: int) -> Any:
    """exp(m_i - m_{i+step}) of a running maximum, 0 where m_i is -inf and 1 where both are inf."""
    lower, upper = most[..., :-step], most[..., step:]
    ratio = xp.exp(xp.where(xp.isinf(lower), 0.0, lower - upper))
    return xp.where(xp.equal(lower, -math.inf), 0.0, ratio)


def _running_sums(xp: Any, share: Any, most: Any) -> Any:
    """The sum so far of what has been divided by exp(m), which changes on the way, by doubling."""
    step = 1
    while step < share.shape[-1]:
        behind = share[..., step:] + share[..., :-step] * _step_down(xp, most, step)
        share = xp.concat([share[..., :step], behind], axis=-1)
        step *= 2
    return share


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
    """log(cumsum(exp(x))) along axis, or of all elements in C order (None), without overflow.

    >>> import treadle.autograd as ag
    >>> ag.logcumsumexp(ag.Tensor([1000.0, -1000.0])).tolist()
    [1000.0, 1000.0]
    """
    x, axis = along(x, axis)
    return LogCumSumExp(axis)(x)
