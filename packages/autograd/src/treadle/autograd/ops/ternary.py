"""``where`` and ``clip``."""

from typing import Any, Never

import treadle.ndarray as nd
from treadle.autograd._op import as_scalar, refuse, without_configuration
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd.ops._common import Shape, fit, tried
from treadle.autograd.ops.binary import maximum, minimum
from treadle.ndarray import DType, DTypeError, broadcast_shapes

__all__ = ["Clip", "Where"]

Scalar = bool | int | float | complex


class Where(Op):
    """x where the condition holds, y elsewhere: ``Where()(condition, x, y)``.

    x or y may be a scalar of the configuration instead: ``Where(y=0.0)(condition, x)``. The gradient is selected like
    the values, never multiplied by the mask, so infinities and NaN of the other branch stay out of it.
    """

    def __init__(self, *operands: Never, x: Scalar | None = None, y: Scalar | None = None) -> None:
        without_configuration(self, operands)
        if x is not None and y is not None:
            raise DTypeError("Where: one of x and y must be a tensor, not both scalars")
        self.x = x
        self.y = y

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        if self.y is not None:
            (condition, x), y = arrays, self.y
        elif self.x is not None:
            (condition, y), x = arrays, self.x
        else:
            condition, x, y = arrays
        return xp.where(condition, x, y), (condition,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (condition,) = node.saved
        inputs = node.inputs
        gradients: list[Any] = [None] * len(inputs)
        if self.x is None and inputs[1].requires_grad:
            gradients[1] = fit(xp, xp.where(condition, grad, 0.0), inputs[1].shape, inputs[1].dtype)
        if self.y is None and inputs[-1].requires_grad:
            gradients[-1] = fit(xp, xp.where(condition, 0.0, grad), inputs[-1].shape, inputs[-1].dtype)
        return tuple(gradients)

    def coerce(self, inputs: tuple[Any, ...]) -> Tensor:
        if len(inputs) != 3 or not isinstance(inputs[0], Tensor):
            return super().coerce(inputs)
        condition, x, y = inputs
        if as_scalar(x) is not None and as_scalar(y) is not None:
            first = constant(nd.asarray(as_scalar(x), device=condition.device))
            return Where(y=as_scalar(y))(condition, first)
        index = 2 if isinstance(x, Tensor) else 1
        scalar = as_scalar(inputs[index])
        other = inputs[3 - index]
        if scalar is None or not isinstance(other, Tensor):
            raise refuse(self, index, inputs[index])
        return Where(y=scalar)(condition, x) if index == 2 else Where(x=scalar)(condition, y)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        dtype = tried(self, shapes, dtypes)
        return broadcast_shapes(*shapes), dtype


class Clip(Op):
    """x cut to the interval from ``min`` to ``max``, scalars either of which may be None.

    The gradient passes where x lies in it, ends included.
    """

    def __init__(self, min: Scalar | None = None, max: Scalar | None = None) -> None:
        self.min = min
        self.max = max

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.clip(x, self.min, self.max), (x,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        if self.min is not None:
            grad = xp.where(x < self.min, 0.0, grad)
        if self.max is not None:
            grad = xp.where(x > self.max, 0.0, grad)
        return grad

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


where = Where()


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """x cut to the interval from min to max, scalars or tensors that broadcast, either of which may be None.

    Tensor bounds go through :func:`maximum` and :func:`minimum` and get gradients of their own.

    >>> import treadle.autograd as ag
    >>> ag.clip(ag.Tensor([1.0, 5.0, 9.0]), 2.0, 6.0).tolist()
    [2.0, 5.0, 6.0]
    """
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        raised = x if min is None else maximum(x, min)
        return raised if max is None else minimum(raised, max)
    bounds = as_scalar(min), as_scalar(max)
    for index, (given, bound) in enumerate(zip((min, max), bounds, strict=True), 1):
        if given is not None and bound is None:
            raise refuse("clip", index, given)
    return Clip(*bounds)(x)
