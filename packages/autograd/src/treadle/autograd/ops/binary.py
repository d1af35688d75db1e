"""Elementwise ops of two operands, which broadcast and meet in one dtype: a class each, and beside it the function.

One operand may be a Python scalar, which is then configuration of the op and no input of the node:
``x * 2`` is ``Multiply(right=2)(x)``, ``2 / x`` is ``Divide(left=2)(x)``.
"""

import cmath
import math
from typing import Any

from treadle.autograd._elementwise import BinaryOp
from treadle.autograd.ops._common import guarded

__all__ = ["Add", "Copysign", "Divide", "Logaddexp", "Maximum", "Minimum", "Multiply", "Pow", "Remainder", "Subtract"]

_LARGE, _SMALL = 1e38, 1e-37  # a scalar between them is neither infinite nor 0 in any floating dtype


def _zero_kept(xp: Any, grad: Any, value: Any) -> Any:
    """The value, but 0 where the gradient is 0: for scalars, which have no other value to be replaced by."""
    return xp.where(grad == 0.0, 0.0, value)


def _scaled(xp: Any, grad: Any, factor: Any) -> Any:
    """grad times a scalar, where a zero gradient stays zero."""
    product = grad * factor
    return product if -_LARGE < factor < _LARGE else _zero_kept(xp, grad, product)


class Add(BinaryOp):
    """x + y."""

    __slots__ = ()
    name = "add"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad

    right_gradient = left_gradient


class Subtract(BinaryOp):
    """x - y."""

    __slots__ = ()
    name = "subtract"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return -grad


class Multiply(BinaryOp):
    """x * y. A zero gradient beside an infinite or NaN element of the other operand gives NaN; beside a scalar, 0."""

    __slots__ = ()
    name, left_needs, right_needs = "multiply", "y", "x"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad * y if self.right is None else _scaled(xp, grad, y)

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad * x if self.left is None else _scaled(xp, grad, x)


class Divide(BinaryOp):
    """x / y."""

    __slots__ = ()
    name, left_needs, right_needs = "divide", "y", "yz"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        if self.right is not None:
            if y > _SMALL or y < -_SMALL:
                return grad / y
            return _zero_kept(xp, grad, grad / y if y else grad * math.copysign(math.inf, y))
        return guarded(xp, grad, lambda g, y: g / y, (y, 1.0))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return guarded(xp, grad, lambda g, y, z: -(g * z / y), (y, 1.0), (z, 0.0))


class Pow(BinaryOp):
    """x to the power y. The derivative by x is 0 where y is 0; that by y is 0 where x is 0 and y is not negative."""

    __slots__ = ()
    name, left_needs, right_needs = "pow", "xy", "xyz"

    def compute(self, xp: Any, x: Any, y: Any) -> Any:
        if self.right is not None and self.right == 2 and x.dtype.kind == "f":
            return xp.square(x)
        return xp.pow(x, y)

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        if self.right is None:
            exponent = xp.where(y == 0.0, 1.0, y) - 1.0
            return guarded(xp, grad, lambda g, x: g * (y * xp.pow(x, exponent)), (x, 1.0))
        if y == 0:
            return xp.zeros_like(grad)
        if y == 1:
            return grad
        if y == 2:
            return grad * (x * 2.0)
        return guarded(xp, grad, lambda g, x: g * (xp.pow(x, float(y) - 1.0) * float(y)), (x, 1.0))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        if self.left is None:
            base = xp.where(xp.logical_and(x == 0.0, xp.real(y) >= 0.0), 1.0, x)
            if z.dtype.kind == "c" and x.dtype is not z.dtype:  # the logarithm of a negative number
                base = xp.astype(base, z.dtype)
            return guarded(xp, grad, lambda g, x, z: g * (z * xp.log(x)), (base, 1.0), (z, 0.0))
        if z.dtype.kind == "c" and x != 0:
            return guarded(xp, grad, lambda g, z: g * (z * cmath.log(x)), (z, 0.0))
        if 0 < x < math.inf:
            return guarded(xp, grad, lambda g, z: g * (z * math.log(x)), (z, 0.0))
        if x == 0:
            return _zero_kept(xp, grad, xp.where(xp.real(y) >= 0.0, 0.0, grad * -math.inf))
        return grad * _zero_kept(xp, grad, z * (math.inf if x > 0 else math.nan))


class Maximum(BinaryOp):
    """The larger of x and y; equal operands share the gradient in halves."""

    __slots__ = ()
    name, left_needs, right_needs = "maximum", "xy", "xy"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return xp.where(xp.equal(x, y), grad * 0.5, xp.where(xp.less(x, y), 0.0, grad))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return xp.where(xp.equal(x, y), grad * 0.5, xp.where(xp.less(y, x), 0.0, grad))


class Minimum(BinaryOp):
    """The smaller of x and y; equal operands share the gradient in halves."""

    __slots__ = ()
    name, left_needs, right_needs = "minimum", "xy", "xy"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return xp.where(xp.equal(x, y), grad * 0.5, xp.where(xp.less(y, x), 0.0, grad))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return xp.where(xp.equal(x, y), grad * 0.5, xp.where(xp.less(x, y), 0.0, grad))


class Logaddexp(BinaryOp):
    """log(exp(x) + exp(y)); its derivatives are the shares of the two powers, 0 where both are 0: x and y are -inf."""

    name, left_needs, right_needs = "logaddexp", "xy", "xy"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return guarded(xp, grad, lambda g, x, y: _share(xp, g, x, y), (x, 0.0), (y, 0.0))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return guarded(xp, grad, lambda g, x, y: _share(xp, g, y, x), (x, 0.0), (y, 0.0))


def _share(xp: Any, grad: Any, x: Any, y: Any) -> Any:
    """grad * exp(x) / (exp(x) + exp(y))."""
    nothing = xp.equal(xp.maximum(x, y), -math.inf)
    return xp.where(nothing, 0.0, grad * xp.sigmoid(xp.where(nothing, 0.0, x - y)))


class Copysign(BinaryOp):
    """The magnitude of x with the sign of y; its derivative by x is 0 at 0, that by y is 0."""

    name, left_needs, right_needs = "copysign", "xy", ""

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        sign = math.copysign(1.0, y) if self.right is not None else xp.copysign(1.0, y)
        return grad * (xp.sign(x) * sign)

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad * 0.0


class Remainder(BinaryOp):
    """x - y floor(x / y): the derivative by x is 1, that by y -floor(x / y)."""

    name, left_needs, right_needs = "remainder", "", "xy"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return guarded(xp, grad, lambda g, y: -(g * xp.floor_divide(x, y)), (y, 1.0))


add = Add()
subtract = Subtract()
multiply = Multiply()
divide = Divide()
pow = Pow()
maximum = Maximum()
minimum = Minimum()
logaddexp = Logaddexp()
copysign = Copysign()
remainder = Remainder()
