"""Elementwise ops of one operand: a class each, and beside it the function, which is a call of the same object.

The name of the class is the op table's in capitals; ``saves`` says what the derivative is written in.
"""

import math
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._elementwise import UnaryOp
from treadle.autograd.ops._common import guarded
from treadle.ndarray._layers import activation_gradient

__all__ = [
    "Abs", "Cos", "Erf", "Exp", "Exp2", "Expm1", "Gelu", "GeluTanh", "Log", "Log1p", "Log2", "Log10", "Negative",
    "Positive", "Reciprocal", "Relu", "Sigmoid", "Sin", "Softplus", "Sqrt", "Square", "Tanh",
]  # fmt: skip


class _OnePass(UnaryOp):
    """Base of the activations whose gradient the cpu has a kernel for; ``compose`` is the rule in other functions."""

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        found = activation_gradient(self.name, grad, saved) if xp is nd else None
        return self.compose(xp, grad, saved) if found is None else found

    def compose(self, xp: Any, grad: Any, saved: Any) -> Any:
        """What ``derive`` is."""
        raise TypeError(f"{type(self).__name__} defines no compose")


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
    """The absolute value; its gradient at 0 is 0. That of a complex x is x / |x|."""

    name, holomorphic = "abs", False

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


class Tanh(_OnePass):
    """The hyperbolic tangent."""

    name, saves = "tanh", "y"

    def compose(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (1.0 - saved * saved)


class Sigmoid(_OnePass):
    """1 / (1 + exp(-x))."""

    name, saves = "sigmoid", "y"

    def compose(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (saved * (1.0 - saved))


class Erf(UnaryOp):
    """The error function; its derivative is 2/sqrt(pi) exp(-x^2)."""

    name = "erf"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * (xp.exp(-(saved * saved)) * (2.0 / math.sqrt(math.pi)))


class Relu(_OnePass):
    """max(x, 0); its gradient at 0 is 0."""

    name, saves = "relu", "y"

    def compose(self, xp: Any, grad: Any, saved: Any) -> Any:
        return xp.where(saved <= 0.0, 0.0, grad)


class Softplus(UnaryOp):
    """log(1 + exp(x)); its derivative is the sigmoid."""

    name = "softplus"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return grad * xp.sigmoid(saved)


class Exp2(UnaryOp):
    """2 to the power x."""

    name, saves = "exp2", "y"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, y: g * (y * math.log(2.0)), (saved, 0.0))


class Log2(UnaryOp):
    """The logarithm to base 2."""

    name = "log2"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g / (x * math.log(2.0)), (saved, 1.0))


class Log10(UnaryOp):
    """The logarithm to base 10."""

    name = "log10"

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        return guarded(xp, grad, lambda g, x: g * (1.0 / math.log(10.0)) / x, (saved, 1.0))


class Gelu(_OnePass):
    """x times the normal distribution's cumulative probability P of x; its derivative is P(x) + x * P'(x)."""

    name = "gelu"

    def compose(self, xp: Any, grad: Any, saved: Any) -> Any:
        def rule(g: Any, x: Any) -> Any:
            below = 0.5 + 0.5 * xp.erf(x * math.sqrt(0.5))
            return g * (below + x * (xp.exp(-0.5 * (x * x)) * (1.0 / math.sqrt(2.0 * math.pi))))

        return guarded(xp, grad, rule, (saved, 0.0))


class GeluTanh(_OnePass):
    """x * sigmoid(2 u) with u = sqrt(2/pi) * (x + 0.044715 x^3), the approximation of gelu."""

    name = "gelu_tanh"

    def compose(self, xp: Any, grad: Any, saved: Any) -> Any:
        scale = 2.0 * math.sqrt(2.0 / math.pi)

        def rule(g: Any, x: Any) -> Any:
            x = xp.clip(x, -30.0, 30.0)  # where the slope is 0 or 1 already, and no square overflows in float16
            square = x * x
            below = xp.sigmoid(x * (scale + (scale * 0.044715) * square))
            return g * (below + below * (1.0 - below) * (x * (scale + (3.0 * scale * 0.044715) * square)))

        return guarded(xp, grad, rule, (saved, 0.0))


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
exp2 = Exp2()
log2 = Log2()
log10 = Log10()
gelu = Gelu()
gelu_tanh = GeluTanh()
