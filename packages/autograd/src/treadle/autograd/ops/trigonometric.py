"""Trigonometric and hyperbolic ops and their inverses: a class each, and beside it the function."""

from typing import Any

from treadle.autograd._elementwise import BinaryOp, UnaryOp
from treadle.autograd.ops._common import guarded

__all__ = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cosh", "Hypot", "Sinh", "Tan"]


class Tan(UnaryOp):
    """The tangent."""

    name, saves = "tan", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, y: g * (1.0 + y * y), (saved, 0.0))


class Asin(UnaryOp):
    """The angle whose sine is x; its gradient at -1 and 1 is inf."""

    name = "asin"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g / xp.sqrt((1.0 - x) * (1.0 + x)), (saved, 0.0))


class Acos(UnaryOp):
    """The angle whose cosine is x; its gradient at -1 and 1 is -inf."""

    name = "acos"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: -(g / xp.sqrt((1.0 - x) * (1.0 + x))), (saved, 0.0))


class Atan(UnaryOp):
    """The angle whose tangent is x."""

    name = "atan"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        if saved.dtype.itemsize == 2:  # in float16 the square overflows from 256 on
            length = xp.hypot(saved, 1.0)
            return grad / length / length
        return grad / (1.0 + saved * saved)


class Sinh(UnaryOp):
    """The hyperbolic sine."""

    name = "sinh"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g * xp.cosh(x), (saved, 0.0))


class Cosh(UnaryOp):
    """The hyperbolic cosine."""

    name = "cosh"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g * xp.sinh(x), (saved, 0.0))


class Asinh(UnaryOp):
    """The number whose hyperbolic sine is x."""

    name = "asinh"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        if saved.dtype.kind == "c":
            return guarded(xp, grad, lambda g, x: g / xp.sqrt(1.0 + x * x), (saved, 0.0))
        return grad / xp.hypot(saved, 1.0)


class Acosh(UnaryOp):
    """The number whose hyperbolic cosine is x; its gradient at 1 is inf."""

    name = "acosh"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g / (xp.sqrt(x - 1.0) * xp.sqrt(x + 1.0)), (saved, 2.0))


class Atanh(UnaryOp):
    """The number whose hyperbolic tangent is x; its gradient at -1 and 1 is inf."""

    name = "atanh"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g / ((1.0 - x) * (1.0 + x)), (saved, 0.0))


def _over_twice(xp: Any, value: Any, x: Any, y: Any) -> Any:
    """value / (x^2 + y^2), and 0 at the origin."""
    length = xp.hypot(x, y)
    length = xp.where(length == 0.0, 1.0, length)
    return value / length / length


class Atan2(BinaryOp):
    """The angle of the point whose ordinate is x and whose abscissa is y; its gradient at the origin is 0.

    Each coordinate is divided by the length before it is divided by it again: squares would overflow, or be 0.
    """

    name, left_needs, right_needs = "atan2", "xy", "xy"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return guarded(xp, grad, lambda g, x, y: g * _over_twice(xp, y, x, y), (x, 1.0), (y, 1.0))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return guarded(xp, grad, lambda g, x, y: -(g * _over_twice(xp, x, x, y)), (x, 1.0), (y, 1.0))


class Hypot(BinaryOp):
    """The length of the vector (x, y); its gradient at the origin is 0."""

    name, left_needs, right_needs = "hypot", "xz", "yz"

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad * (x / xp.where(z == 0.0, 1.0, z))

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        return grad * (y / xp.where(z == 0.0, 1.0, z))


tan = Tan()
asin = Asin()
acos = Acos()
atan = Atan()
sinh = Sinh()
cosh = Cosh()
asinh = Asinh()
acosh = Acosh()
atanh = Atanh()
atan2 = Atan2()
hypot = Hypot()
