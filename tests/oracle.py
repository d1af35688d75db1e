"""The results that NumPy says an op has, computed from its row of the op table."""

from typing import Any

import numpy as np

from strategies import DEVICES
from treadle.ndarray import reference
from treadle.ndarray.opset import Accepts, Op, Result

ULPS = {"exp": 2, "log": 2, "tanh": 3, "sigmoid": 4, "softplus": 4, "erf": 2, "pow": 2}
ULPS |= dict.fromkeys(["tan", "sinh", "cosh", "asinh", "acosh", "atanh"], 4)  # two libraries, each off by 2
if "cuda" in DEVICES:  # CUDA C++ Programming Guide, "Mathematical Functions", and NumPy's own last place
    ULPS |= dict.fromkeys(["atan2", "hypot", "sin", "cos", "asin", "acos", "atan", "exp", "log10", "erf"], 3)
    ULPS |= {"pow": 5}
ULPS |= dict.fromkeys(["gelu", "gelu_tanh"], 256)  # NumPy's float64 shows the rounding of its exponential's argument
"""Units in the last place by which the ops that are not exact may differ; 2 where none is named."""

EXACT = frozenset([
    "positive", "negative", "abs", "sign", "square", "reciprocal", "sqrt", "relu", "floor", "ceil", "trunc", "round",
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "where", "clip",
    "copysign", "nextafter",
])  # fmt: skip
"""Ops whose IEEE 754 result is defined to the last bit."""

ANY_ZERO = frozenset(["maximum", "minimum", "clip", "relu", "max", "min"])
"""Ops that may give either of 0.0 and -0.0 where both are operands."""


def promoted(*dtypes: Any) -> Any:
    """Where dtypes meet: as in NumPy, but integers never widen a float."""
    floats = [dtype for dtype in dtypes if dtype.kind == "f"]
    return np.result_type(*(floats or dtypes))


def operand_dtype(op: Op, *dtypes: Any) -> Any:
    """The dtype that an op computes in."""
    dtype = promoted(*dtypes)
    return np.dtype("float32") if op.accepts is Accepts.FLOATING and dtype.kind != "f" else dtype


def result_dtype(op: Op, dtype: Any) -> Any:
    """The dtype of the result, from that of the operands."""
    if op.result is Result.BOOL:
        return np.dtype("bool")
    if op.result is Result.INDEX:
        return np.dtype("int64")
    if op.result is Result.SUM and dtype.kind in "bi":
        return np.dtype("int64")
    if op.result is Result.SUM and dtype.kind == "u":
        return np.dtype("uint64")
    return dtype


def ulps(op: Op) -> int:
    """By how many units in the last place a float result may differ."""
    return 0 if op.name in EXACT else ULPS.get(op.name, 2)


def elementwise(op: Op, *operands: Any) -> Any:
    """The result of a unary, binary or ternary op."""
    condition = operands[:1] if op.name == "where" else ()
    values = operands[len(condition) :]
    dtype = operand_dtype(op, *(value.dtype for value in values))
    with np.errstate(all="ignore"):
        values = tuple(value.astype(dtype) for value in values)
        if dtype.kind in "iu" and op.name in ("floor", "ceil", "trunc", "round"):
            return values[0]
        if dtype == np.float32 and op.name not in EXACT:
            values = tuple(value.astype(np.float64) for value in values)
        result = reference.resolve(op.reference)(*condition, *values)
        return np.asarray(result).astype(result_dtype(op, dtype))


def reduction(op: Op, x: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """The result over ``axis``, and the absolute error that rounding in float64 may leave in it."""
    dtype = operand_dtype(op, x.dtype)
    into = result_dtype(op, dtype)
    wide = np.float64 if dtype.kind == "f" else into
    function = reference.resolve(op.reference)
    with np.errstate(all="ignore"):
        values = x.astype(dtype)
        if op.name in ("sum", "prod"):
            result = function(values, axis=axis, dtype=wide, keepdims=keepdims)
        elif op.name == "mean":
            total = np.sum(values, axis=axis, dtype=np.float64, keepdims=keepdims)
            result = total / np.float64(values.size // total.size if total.size else 0)
        else:
            result = function(values, axis=axis, keepdims=keepdims)
        magnitude = np.sum(np.abs(values.astype(np.float64)), axis=axis, keepdims=keepdims)
        slack = np.nan_to_num(magnitude, nan=0.0, posinf=0.0) * x.size * 2.0**-52
        slack = slack if op.name in ("sum", "mean") and into.kind == "f" else np.zeros_like(slack)
        return np.asarray(result).astype(into), slack


def scan(op: Op, x: Any, axis: int) -> tuple[Any, Any]:
    """The running result along ``axis``, and the absolute error that rounding in float64 may leave in it."""
    into = result_dtype(op, operand_dtype(op, x.dtype))
    wide = np.float64 if into.kind == "f" else into
    with np.errstate(all="ignore"):
        result = reference.resolve(op.reference)(x.astype(wide), axis=axis)
        magnitude = np.cumsum(np.abs(x.astype(np.float64)), axis=axis)
        slack = np.nan_to_num(magnitude, nan=0.0, posinf=0.0) * x.size * 2.0**-52
        slack = slack if op.name == "cumsum" and into.kind == "f" else np.zeros_like(slack)
        return result.astype(into), slack
