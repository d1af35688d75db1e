"""Ops of ONNX that work element by element, and matrix products."""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_files import NUMBERS, dtype_of
from treadle.autograd.export.onnx_narrow import held_in, narrowed

__all__ = ["ARITHMETIC", "activation", "axis_of", "numbers", "whole"]

Op = Callable[..., Any]


def numbers(value: Tensor | None) -> list[Any]:
    """The elements of a tensor that says how, such as a list of axes."""
    return [] if value is None else list(F.reshape(value, (-1,)).tolist())


def whole(value: Tensor | None, default: int = 0) -> int:
    """The one element of a tensor of integers."""
    return default if value is None else int(numbers(value)[0])


def axis_of(axis: int, ndim: int) -> int:
    """An axis from 0 on. Raises OnnxError for one that lies outside: it would be taken for another."""
    if not -ndim <= axis < max(ndim, 1):
        raise OnnxError(f"axis {axis} lies outside of {ndim} dimensions")
    return axis % ndim if ndim else 0


def _unary(function: Op) -> Op:
    return lambda at, x: function(x)


def _broadcast(at: Any, x: Tensor, y: Tensor) -> Tensor:
    """The second operand, which before version 7 said by ``axis`` where it lies along the first."""
    axis = at.get("axis")
    if at.version >= 7 or axis is None or not at.get("broadcast"):
        return y
    return F.reshape(y, (*y.shape, *(1,) * (x.ndim - axis_of(axis, x.ndim) - y.ndim)))


def _binary(function: Op) -> Op:
    return lambda at, x, y: function(x, _broadcast(at, x, y))


def _variadic(function: Op) -> Op:
    return lambda at, *operands: reduce(function, operands)


def _mean(at: Any, *operands: Tensor) -> Tensor:
    return reduce(F.add, operands) / len(operands)


def _divide(x: Tensor, y: Tensor) -> Tensor:
    """Division; of integers cut towards zero, and by zero anything."""
    if x.dtype.kind == "f" or x.dtype.kind == "c":
        return F.divide(x, y)
    safe = F.where(y == 0, F.ones_like(y), y)
    floor = F.floor_divide(x, safe)
    if x.dtype.kind == "u":
        return floor
    rest = x - floor * safe
    negative = F.logical_xor(x < 0, safe < 0)
    return floor + F.astype(F.logical_and(rest != 0, negative), x.dtype)


def _remainder(at: Any, x: Tensor, y: Tensor) -> Tensor:
    if not at.get("fmod", 0):
        return F.remainder(x, y)
    size = F.remainder(F.abs(x), F.abs(y)) if x.dtype.kind != "u" else F.remainder(x, y)
    return size if x.dtype.kind == "u" else F.where(x < 0, -size, size)


def _power(x: Tensor, y: Tensor) -> Tensor:
    """x**y in x's dtype."""
    if x.dtype is y.dtype and x.dtype.kind == "f":
        return F.pow(x, y)
    if x.dtype.kind == "f":
        return F.pow(x, F.astype(y, x.dtype))
    if y.dtype.kind == "f":
        return F.astype(F.pow(F.astype(x, y.dtype), y), x.dtype)
    return F.pow(x, F.astype(y, x.dtype))


def _shift(at: Any, x: Tensor, y: Tensor) -> Tensor:
    left = at.attributes["direction"] == "LEFT"
    return (F.bitwise_left_shift if left else F.bitwise_right_shift)(x, y)


def _clip(at: Any, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    least = at.get("min", low) if at.version < 11 else low
    most = at.get("max", high) if at.version < 11 else high
    if least is not None:
        x = F.maximum(x, least)
    return x if most is None else F.minimum(x, most)


def cast(x: Tensor, dtype: Any) -> Tensor:
    """The elements in another dtype."""
    return x if x.dtype is dtype else F.astype(x, dtype)


def _cast(at: Any, x: Tensor, number: int) -> Tensor:
    """To a dtype, or to a narrow type that one holds."""
    if held_in(number) is None:
        return cast(x, dtype_of(number))
    at.gives(number)
    return narrowed(x, number, bool(at.get("saturate", 1)), at.get("round_mode", "up"))


def _is_infinite(at: Any, x: Tensor) -> Tensor:
    found = F.isinf(x)
    if not at.get("detect_negative", 1):
        found = F.logical_and(found, x > 0)
    return found if at.get("detect_positive", 1) else F.logical_and(found, x < 0)


def _bits(at: Any, x: Tensor) -> Tensor:
    dtype = dtype_of(at.attributes["to"])
    if dtype.itemsize != x.dtype.itemsize:
        raise OnnxError(f"bits of {x.dtype.name} as {dtype.name}, of another size")
    raw = x.data.numpy().tobytes() if x.dtype is not nd.bfloat16 else None
    if raw is None or dtype is nd.bool:
        raise OnnxError(f"bits of {x.dtype.name} as {dtype.name}")
    return constant(
        nd.frombuffer(bytearray(raw), dtype=dtype).reshape(x.shape) if raw else nd.zeros(x.shape, dtype=dtype)
    )


def _gelu(at: Any, x: Tensor) -> Tensor:
    return F.gelu_tanh(x) if at.get("approximate", "none") == "tanh" else F.gelu(x)


# --- activations, as the attributes of the recurrent ops name them too ------------------------------------------------
def _elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return F.where(x < 0, F.expm1(F.minimum(x, 0.0)) * alpha, x)


def _selu(x: Tensor, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Tensor:
    return _elu(x, alpha) * gamma


def _celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return F.maximum(x, 0.0) + F.minimum(F.expm1(F.minimum(x, 0.0) / alpha) * alpha, 0.0)


def _leaky(x: Tensor, alpha: float = 0.01) -> Tensor:
    return F.where(x < 0, x * alpha, x)


def _hard_sigmoid(x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return F.clip(x * alpha + beta, 0.0, 1.0)


def _thresholded(x: Tensor, alpha: float = 1.0) -> Tensor:
    return F.where(x > alpha, x, 0.0)


def _softsign(x: Tensor) -> Tensor:
    return x / (F.abs(x) + 1.0)


def _affine(x: Tensor, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
    return x * alpha + beta


def _scaled_tanh(x: Tensor, alpha: float = 1.0, beta: float = 1.0) -> Tensor:
    return F.tanh(x * beta) * alpha


def _shrink(x: Tensor, lambd: float = 0.5, bias: float = 0.0) -> Tensor:
    found = F.where(x < -lambd, x + bias, F.where(x > lambd, x - bias, F.zeros_like(x)))
    return cast(found, x.dtype)  # of integers, too


def _swish(x: Tensor, alpha: float = 1.0) -> Tensor:
    return x * F.sigmoid(x * alpha)


_ACTIVATIONS: dict[str, tuple[Op, tuple[str, ...]]] = {
    "Relu": (F.relu, ()), "Tanh": (F.tanh, ()), "Sigmoid": (F.sigmoid, ()), "Softplus": (F.softplus, ()),
    "Softsign": (_softsign, ()), "Elu": (_elu, ("alpha",)), "LeakyRelu": (_leaky, ("alpha",)),
    "ThresholdedRelu": (_thresholded, ("alpha",)), "HardSigmoid": (_hard_sigmoid, ("alpha", "beta")),
    "Affine": (_affine, ("alpha", "beta")), "ScaledTanh": (_scaled_tanh, ("alpha", "beta")),
    "Selu": (_selu, ("alpha", "gamma")), "Celu": (_celu, ("alpha",)), "Shrink": (_shrink, ("lambd", "bias")),
    "Swish": (_swish, ("alpha",)),
}  # fmt: skip
"""By name: the function, and the attributes that are its further arguments."""


def activation(name: str, values: Mapping[str, Iterator[float]]) -> Op:
    """An activation of a recurrent op, which takes the next of the ``values`` of every attribute that it has."""
    for known, (function, attributes) in _ACTIVATIONS.items():
        if known.lower() == name.lower():
            taken = {each: next(values[each], None) for each in attributes if each in values}
            given = {each: value for each, value in taken.items() if value is not None}
            return lambda x: function(x, **given)
    raise OnnxError(f"treadle has no activation {name}")


def _activated(name: str) -> Op:
    function, attributes = _ACTIVATIONS[name]
    return lambda at, x: function(x, **{each: at.attributes[each] for each in attributes if each in at.attributes})


# --- products ---------------------------------------------------------------------------------------------------------
def _gemm(at: Any, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    a = F.matrix_transpose(a) if at.get("transA") else a
    b = F.matrix_transpose(b) if at.get("transB") else b
    out = F.matmul(a, b)
    alpha, beta = at.get("alpha", 1.0), at.get("beta", 1.0)
    out = out if alpha == 1.0 else cast(out * alpha, out.dtype)
    if c is None:
        return out
    return out + (c if beta == 1.0 else cast(c * beta, c.dtype))


def _determinant(at: Any, x: Tensor) -> Tensor:
    return F.linalg.det(x)


ARITHMETIC: dict[str, Op] = {
    "Abs": _unary(F.abs), "Neg": _unary(F.negative), "Sign": _unary(F.sign), "Exp": _unary(F.exp),
    "Log": _unary(F.log), "Sqrt": _unary(F.sqrt), "Sin": _unary(F.sin), "Cos": _unary(F.cos), "Tan": _unary(F.tan),
    "Asin": _unary(F.asin), "Acos": _unary(F.acos), "Atan": _unary(F.atan), "Sinh": _unary(F.sinh),
    "Cosh": _unary(F.cosh), "Asinh": _unary(F.asinh), "Acosh": _unary(F.acosh), "Atanh": _unary(F.atanh),
    "Erf": _unary(F.erf), "Floor": _unary(F.floor), "Ceil": _unary(F.ceil), "Round": _unary(F.round),
    "Reciprocal": _unary(F.reciprocal), "Not": _unary(F.logical_not), "BitwiseNot": _unary(F.bitwise_invert),
    "IsNaN": _unary(F.isnan), "IsInf": _is_infinite, "Identity": _unary(lambda x: x),
    "Mish": _unary(lambda x: x * F.tanh(F.softplus(x))), "Gelu": _gelu,
    "HardSwish": _unary(lambda x: x * _hard_sigmoid(x, 1.0 / 6.0, 0.5)),
    "PRelu": lambda at, x, slope: F.where(x < 0, x * slope, x),
    **{name: _activated(name) for name in _ACTIVATIONS if name not in ("Affine", "ScaledTanh")},
    "Add": _binary(F.add), "Sub": _binary(F.subtract), "Mul": _binary(F.multiply), "Div": _binary(_divide),
    "Pow": _binary(_power), "Mod": _remainder, "And": _binary(F.logical_and), "Or": _binary(F.logical_or),
    "Xor": _binary(F.logical_xor), "Equal": _binary(F.equal), "Less": _binary(F.less),
    "LessOrEqual": _binary(F.less_equal), "Greater": _binary(F.greater), "GreaterOrEqual": _binary(F.greater_equal),
    "BitwiseAnd": _binary(F.bitwise_and), "BitwiseOr": _binary(F.bitwise_or), "BitwiseXor": _binary(F.bitwise_xor),
    "BitShift": _shift, "Max": _variadic(F.maximum), "Min": _variadic(F.minimum), "Sum": _variadic(F.add),
    "Mean": _mean, "Where": lambda at, condition, x, y: F.where(condition, x, y), "Clip": _clip,
    "Cast": lambda at, x: _cast(at, x, at.attributes["to"]),
    "CastLike": lambda at, x, like: _cast(at, x, at.narrow(1) or NUMBERS[like.dtype.name]),
    "BitCast": _bits,
    "MatMul": _binary(F.matmul), "Gemm": _gemm, "Det": _determinant,
    "Einsum": lambda at, *operands: F.einsum(at.attributes["equation"].replace(" ", ""), *operands),
}  # fmt: skip
"""By name."""
