"""Forms of the functions that work element by element."""

import math
from collections.abc import Callable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.export.program import Call, Value
from treadle.ndarray import DType
from treadle.ndarray.opset import OPS

__all__ = ["ELEMENTWISE", "operands"]

Form = Callable[..., Any]


def common(call: Call) -> DType:
    """The dtype that the operands are promoted to."""
    found: DType = nd.result_type(*[each.dtype if isinstance(each, Value) else each for each in call.arguments])
    row = OPS[call.function]
    if row.accepts == "floating" and found.kind not in "fc":
        found = call.results[0].dtype if call.results[0].dtype.kind == "f" else nd.float32
    return found


def operands(e: Any, call: Call) -> list[str]:
    """The operands in their common dtype."""
    dtype = common(call)
    return [e.of(each, dtype) for each in call.arguments]


def _plain(op: str, **attributes: Any) -> Form:
    """One node, whose result has the dtype that it must have."""
    return lambda e, call: e.node(op, *operands(e, call), **attributes)


def _composed(build: Callable[..., Any]) -> Form:
    """Several nodes: ``build(n, number, *operands)``, with ``n("Op", ...)`` for a node, ``number`` for a constant."""

    def form(e: Any, call: Call) -> Any:
        dtype = common(call)
        return build(e.node, lambda value: e.of(value, dtype), *operands(e, call))

    return form


def _logical(op: str) -> Form:
    return lambda e, call: e.node(op, *[e.of(each, nd.bool) for each in call.arguments])


def _bitwise(op: str, of_bools: str) -> Form:
    return lambda e, call: e.node(of_bools if common(call) is nd.bool else op, *operands(e, call))


def _absolute(e: Any, call: Call) -> Any:
    return e.node("Abs", *operands(e, call))


def _floor_divide(e: Any, call: Call) -> Any:
    x, y = operands(e, call)
    kind, n = common(call).kind, e.node
    quotient = n("Div", x, y)
    if kind == "f":
        return n("Floor", quotient)
    if kind == "u":
        return quotient
    zero = e.of(0, common(call))
    rest = n("Not", n("Equal", n("Mul", quotient, y), x))
    below = n("And", rest, n("Xor", n("Less", x, zero), n("Less", y, zero)))
    return n("Sub", quotient, e.cast(below, common(call)))


def _remainder(e: Any, call: Call) -> Any:
    x, y = operands(e, call)
    if common(call).kind != "f":
        return e.node("Mod", x, y)
    n, zero = e.node, e.of(0.0, common(call))
    rest = n("Mod", x, y, fmod=1)
    wrong = n("And", n("Xor", n("Less", rest, zero), n("Less", y, zero)), n("Not", n("Equal", rest, zero)))
    return n("Where", wrong, n("Add", rest, y), rest)


def _shift(direction: str) -> Form:
    def form(e: Any, call: Call) -> Any:
        if common(call).kind != "u":
            raise e.refusal(f"ONNX shifts unsigned integers only, not {common(call).name}; use astype")
        return e.node("BitShift", *operands(e, call), direction=direction)

    return form


def _where(e: Any, call: Call) -> Any:
    condition, x, y = call.arguments
    dtype = call.results[0].dtype
    return e.node("Where", e.of(condition, nd.bool), e.of(x, dtype), e.of(y, dtype))


def _clip(e: Any, call: Call) -> Any:
    x, *limits = (*call.arguments, None, None)[:3]
    return e.node("Clip", e.of(x), *["" if each is None else e.of(each, x.dtype) for each in limits])


def _gelu(approximate: str) -> Form:
    def form(e: Any, call: Call) -> Any:
        (x,) = operands(e, call)
        n: Any = e.node
        dtype = common(call)
        if e.opset >= 20:
            return n("Gelu", x, approximate=approximate)
        if approximate == "none":
            inner = n("Erf", n("Mul", x, e.of(math.sqrt(0.5), dtype)))
        else:
            cubed = n("Mul", n("Mul", n("Mul", x, x), x), e.of(0.044715, dtype))
            inner = n("Tanh", n("Mul", n("Add", x, cubed), e.of(math.sqrt(2.0 / math.pi), dtype)))
        return n("Mul", n("Mul", x, e.of(0.5, dtype)), n("Add", inner, e.of(1.0, dtype)))

    return form


def _sign_bit(e: Any, call: Call) -> Any:
    (x,) = operands(e, call)
    return _negative(e.node, lambda value: e.of(value, common(call)), x)


def _negative(n: Any, number: Any, x: str) -> Any:
    """Whether the sign is minus; that of a zero shows in its reciprocal."""
    return n("Or", n("Less", x, number(0)), n("Less", n("Reciprocal", x), number(0)))


def _log1p(n: Any, number: Any, x: str) -> Any:
    """2 atanh(x / (x + 2)) near 0, where 1 + x would lose x."""
    near = n("Less", n("Abs", x), number(0.5))
    ratio = n("Div", x, n("Add", x, number(2.0)))
    safe = n("Where", near, ratio, number(0.0))
    return n("Where", near, n("Mul", n("Atanh", safe), number(2.0)), n("Log", n("Add", x, number(1.0))))


def _log_add_exp(n: Any, number: Any, x: str, y: str) -> Any:
    distance = n("Neg", n("Abs", n("Sub", x, y)))
    return n("Add", n("Max", x, y), _log1p(n, number, n("Exp", distance)))


def _atan2(n: Any, number: Any, y: str, x: str) -> Any:
    """The angle by the quadrant; on the axes by the signs of zeros."""
    angle = n("Atan", n("Div", y, x))
    left = _negative(n, number, x)
    half_turn = n("Where", _negative(n, number, y), number(-math.pi), number(math.pi))
    turned = n("Where", left, n("Add", angle, half_turn), angle)
    straight = n("Where", left, half_turn, y)  # y = 0: 0 or pi, with y's sign
    return n("Where", n("Equal", y, number(0.0)), straight, turned)


_UNARY = {
    "positive": "Identity", "negative": "Neg", "sign": "Sign", "reciprocal": "Reciprocal", "sqrt": "Sqrt",
    "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "sigmoid": "Sigmoid", "erf": "Erf",
    "relu": "Relu", "softplus": "Softplus", "floor": "Floor", "ceil": "Ceil", "round": "Round", "isnan": "IsNaN",
    "isinf": "IsInf", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
    "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "add": "Add", "subtract": "Sub", "multiply": "Mul",
    "divide": "Div", "pow": "Pow", "maximum": "Max", "minimum": "Min", "equal": "Equal", "less": "Less",
    "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual",
}  # fmt: skip

ELEMENTWISE: dict[str, Form] = {
    **{name: _plain(op) for name, op in _UNARY.items()},
    "abs": _absolute,
    "square": _composed(lambda n, number, x: n("Mul", x, x)),
    # e^x - 1 = tanh(x / 2) (e^x + 1), which loses nothing near 0
    "expm1": _composed(
        lambda n, number, x: n("Mul", n("Tanh", n("Mul", x, number(0.5))), n("Add", n("Exp", x), number(1.0)))
    ),
    "log1p": _composed(_log1p),
    "exp2": _composed(lambda n, number, x: n("Pow", number(2.0), x)),
    "log2": _composed(lambda n, number, x: n("Div", n("Log", x), number(math.log(2.0)))),
    "log10": _composed(lambda n, number, x: n("Div", n("Log", x), number(math.log(10.0)))),
    "trunc": _composed(lambda n, number, x: n("Mul", n("Sign", x), n("Floor", n("Abs", x)))),
    "isfinite": _composed(lambda n, number, x: n("Not", n("Or", n("IsNaN", x), n("IsInf", x)))),
    "not_equal": _composed(lambda n, number, x, y: n("Not", n("Equal", x, y))),
    "hypot": _composed(lambda n, number, x, y: n("Sqrt", n("Add", n("Mul", x, x), n("Mul", y, y)))),
    "logaddexp": _composed(_log_add_exp), "atan2": _composed(_atan2),
    "copysign": _composed(
        lambda n, number, x, y: n("Where", _negative(n, number, y), n("Neg", n("Abs", x)), n("Abs", x))
    ),
    "signbit": _sign_bit, "floor_divide": _floor_divide, "remainder": _remainder,
    "logical_and": _logical("And"), "logical_or": _logical("Or"), "logical_xor": _logical("Xor"),
    "logical_not": _logical("Not"), "bitwise_and": _bitwise("BitwiseAnd", "And"),
    "bitwise_or": _bitwise("BitwiseOr", "Or"), "bitwise_xor": _bitwise("BitwiseXor", "Xor"),
    "bitwise_invert": _bitwise("BitwiseNot", "Not"), "bitwise_left_shift": _shift("LEFT"),
    "bitwise_right_shift": _shift("RIGHT"), "where": _where, "clip": _clip, "gelu": _gelu("none"),
    "gelu_tanh": _gelu("tanh"), "astype": lambda e, call: e.cast(e.of(call.arguments[0]), call.results[0].dtype),
}  # fmt: skip
"""By the array function's name."""
