"""Elementwise ops of one operand: a class each, and beside it the function, which is a call of the same object.

The name of the class is the op table's in capitals; ``saves`` says what the derivative is written in.
"""

import math
from typing import Any

from treadle.autograd._elementwise import UnaryOp
from treadle.autograd.ops._common import guarded

__all__ = [
    "Abs",
    "Cos",
    "Erf",
    "Exp",
    "Expm1",
    "Log",
    "Log1p",
    "Negative",
    "Positive",
    "Reciprocal",
    "Relu",
    "Sigmoid",
    "Sin",
    "Softplus",
    "Sqrt",
    "Square",
    "Tanh",
]


class Positive(UnaryOp):
    """A copy of x."""

    name, saves = "positive", ""

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad


class Negative(UnaryOp):
    """-x."""

    name, saves = "negative", ""

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return -grad


class Abs(UnaryOp):
    """The absolute value; its gradient at 0 is 0."""

    name = "abs"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * xp.sign(saved)


class Square(UnaryOp):
    """x * x."""

    name = "square"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (saved * 2.0)


class Reciprocal(UnaryOp):
    """1 / x."""

    name, saves = "reciprocal", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, y: -(g * (y * y)), (saved, 0.0))


class Sqrt(UnaryOp):
    """The square root; its gradient at 0 is +inf."""

    name, saves = "sqrt", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, y: g / (y * 2.0), (saved, 1.0))


class Exp(UnaryOp):
    """e to the power x."""

    name, saves = "exp", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, y: g * y, (saved, 0.0))


class Expm1(UnaryOp):
    """exp(x) - 1."""

    name, saves = "expm1", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, y: g * (y + 1.0), (saved, 0.0))


class Log(UnaryOp):
    """The natural logarithm."""

    name = "log"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g / x, (saved, 1.0))


class Log1p(UnaryOp):
    """log(1 + x)."""

    name = "log1p"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g / (x + 1.0), (saved, 0.0))


class Sin(UnaryOp):
    """The sine."""

    name = "sin"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * xp.cos(saved)


class Cos(UnaryOp):
    """The cosine."""

    name = "cos"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return -(grad * xp.sin(saved))


class Tanh(UnaryOp):
    """The hyperbolic tangent."""

    name, saves = "tanh", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (1.0 - saved * saved)


class Sigmoid(UnaryOp):
    """1 / (1 + exp(-x))."""

    name, saves = "sigmoid", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (saved * (1.0 - saved))


class Erf(UnaryOp):
    """The error function; its derivative is 2/sqrt(pi) exp(-x^2)."""

    name = "erf"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (xp.exp(-(saved * saved)) * (2.0 / math.sqrt(math.pi)))


class Relu(UnaryOp):
    """max(x, 0); its gradient at 0 is 0."""

    name, saves = "relu", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return xp.where(saved <= 0.0, 0.0, grad)


class Softplus(UnaryOp):
    """log(1 + exp(x)); its derivative is the sigmoid."""

    name = "softplus"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * xp.sigmoid(saved)


positive = Positive()
negative = Negative()
abs = Abs()
square = Square()
reciprocal = Reciprocal()
sqrt = Sqrt()
exp = Exp()
expm1 = Expm1()
log = Log()
log1p = Log1p()
sin = Sin()
cos = Cos()
tanh = Tanh()
sigmoid = Sigmoid()
erf = Erf()
relu = Relu()
softplus = Softplus()
