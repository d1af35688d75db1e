"""The op set of treadle as data: one row an op.

Kernels, public functions, backends, property tests, gradient tests and benchmarks iterate over :data:`OPS`.
The scalar body of an elementwise op stands in ``include/treadle/elementwise.h``; everything else that is to be
known of the op stands in its row here. ``docs/adding-an-op.md`` walks through an addition.
"""

import functools
from enum import StrEnum
from typing import NamedTuple

__all__ = ["COMPLEX", "OPS", "Accepts", "Family", "Op", "Result", "family"]


class Family(StrEnum):
    """The shape of an op's signature; a backend has one method a family."""

    UNARY = "unary"
    BINARY = "binary"
    TERNARY = "ternary"
    REDUCE = "reduce"
    ARG_REDUCE = "arg_reduce"
    SCAN = "scan"


class Accepts(StrEnum):
    """The dtypes an op is defined on."""

    ALL = "all"
    NUMERIC = "numeric"
    FLOATING = "floating"  # integer and boolean input is converted to the default float first
    INTEGER = "integer"
    BITWISE = "bitwise"  # integer or boolean


class Result(StrEnum):
    """How the result dtype follows from the (promoted) operand dtype."""

    SAME = "same"
    BOOL = "bool"
    SUM = "sum"  # small integers are widened to the default integer of their kind
    INDEX = "index"  # int64


class Op(NamedTuple):
    """One row of the table.

    ``reference`` names the NumPy function with the same meaning (``numpy.exp``) or one of
    ``treadle.ndarray.reference`` (``reference.sigmoid``); it is resolved only when used.
    ``domain`` is the interval that tests sample; the nasty values (NaN, infinities, ...) are added by the tests.
    ``smooth`` is the interval (or the part of it away from kinks) where the derivative exists, for gradient checks.
    """

    name: str
    family: Family
    accepts: Accepts
    result: Result
    reference: str
    differentiable: bool
    summary: str
    example: str
    domain: tuple[float, float] = (-10.0, 10.0)
    smooth: tuple[float, float] | None = None


def _elementwise(
    name: str,
    accepts: Accepts,
    summary: str,
    example: str,
    *,
    family: Family,
    reference: str = "",
    result: Result = Result.SAME,
    differentiable: bool = False,
    domain: tuple[float, float] = (-10.0, 10.0),
    smooth: tuple[float, float] | None = None,
) -> Op:
    reference = reference or f"numpy.{name}"
    return Op(name, family, accepts, result, reference, differentiable, summary, example, domain, smooth)


_unary = functools.partial(_elementwise, family=Family.UNARY)
_binary = functools.partial(_elementwise, family=Family.BINARY)


def _compare(name: str, summary: str, example: str) -> Op:
    return _binary(name, Accepts.ALL, summary, example, result=Result.BOOL)


def _reduce(
    name: str,
    accepts: Accepts,
    result: Result,
    summary: str,
    example: str,
    *,
    family: Family = Family.REDUCE,
    reference: str = "",
    differentiable: bool = False,
) -> Op:
    return Op(name, family, accepts, result, reference or f"numpy.{name}", differentiable, summary, example)


_ALL, _NUMERIC, _FLOATING, _INTEGER, _BITWISE = (
    Accepts.ALL,
    Accepts.NUMERIC,
    Accepts.FLOATING,
    Accepts.INTEGER,
    Accepts.BITWISE,
)

_ROWS = (
    # --- unary ---------------------------------------------------------------------------------------------------
    _unary("positive", _NUMERIC, "A copy of x.", "positive([1, -2]) -> [1, -2]", differentiable=True),
    _unary("negative", _NUMERIC, "-x, element by element.", "negative([1, -2]) -> [-1, 2]", differentiable=True),
    _unary("abs", _NUMERIC, "The absolute value of x; abs(-0.0) is 0.0.", "abs([1, -2]) -> [1, 2]", differentiable=True, smooth=(0.1, 10.0)),
    _unary("sign", _NUMERIC, "-1, 0 or 1 by the sign of x; NaN stays NaN.", "sign([3, 0, -2]) -> [1, 0, -1]"),
    _unary("square", _NUMERIC, "x * x.", "square([1, -2]) -> [1, 4]", differentiable=True),
    _unary("reciprocal", _FLOATING, "1 / x.", "reciprocal([2.0, 4.0]) -> [0.5, 0.25]", differentiable=True, smooth=(0.5, 4.0)),
    _unary("sqrt", _FLOATING, "The non-negative square root; NaN for x < 0.", "sqrt([4.0, 9.0]) -> [2.0, 3.0]", differentiable=True, domain=(0.0, 100.0), smooth=(0.5, 9.0)),
    _unary("exp", _FLOATING, "e to the power x.", "exp([0.0]) -> [1.0]", differentiable=True, domain=(-100.0, 80.0), smooth=(-2.0, 2.0)),
    _unary("expm1", _FLOATING, "exp(x) - 1, exact near 0.", "expm1([0.0]) -> [0.0]", differentiable=True, domain=(-50.0, 80.0), smooth=(-2.0, 2.0)),
    _unary("log", _FLOATING, "The natural logarithm; -inf at 0, NaN below.", "log([1.0]) -> [0.0]", differentiable=True, domain=(0.0, 1e6), smooth=(0.5, 9.0)),
    _unary("log1p", _FLOATING, "log(1 + x), exact near 0.", "log1p([0.0]) -> [0.0]", differentiable=True, domain=(-1.0, 1e6), smooth=(-0.5, 9.0)),
    _unary("sin", _FLOATING, "The sine of x in radians.", "sin([0.0]) -> [0.0]", differentiable=True, domain=(-100.0, 100.0)),
    _unary("cos", _FLOATING, "The cosine of x in radians.", "cos([0.0]) -> [1.0]", differentiable=True, domain=(-100.0, 100.0)),
    _unary("tanh", _FLOATING, "The hyperbolic tangent.", "tanh([0.0]) -> [0.0]", differentiable=True, smooth=(-2.0, 2.0)),
    _unary("sigmoid", _FLOATING, "1 / (1 + exp(-x)), without overflow at either end.", "sigmoid([0.0]) -> [0.5]", reference="reference.sigmoid", differentiable=True, domain=(-100.0, 100.0), smooth=(-4.0, 4.0)),
    _unary("erf", _FLOATING, "The error function 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.", "erf([0.0]) -> [0.0]", reference="reference.erf", differentiable=True, smooth=(-2.0, 2.0)),
    _unary("relu", _NUMERIC, "max(x, 0), NaN kept.", "relu([-1.0, 2.0]) -> [0.0, 2.0]", reference="reference.relu", differentiable=True, smooth=(0.1, 10.0)),
    _unary("softplus", _FLOATING, "log(1 + exp(x)), without overflow.", "softplus([1000.0]) -> [1000.0]", reference="reference.softplus", differentiable=True, domain=(-100.0, 100.0), smooth=(-4.0, 4.0)),
    _unary("floor", _NUMERIC, "The largest whole number not above x.", "floor([1.5, -1.5]) -> [1.0, -2.0]"),
    _unary("ceil", _NUMERIC, "The smallest whole number not below x.", "ceil([1.5, -1.5]) -> [2.0, -1.0]"),
    _unary("trunc", _NUMERIC, "x without its fraction.", "trunc([1.5, -1.5]) -> [1.0, -1.0]"),
    _unary("round", _NUMERIC, "The nearest whole number, ties to even; of each part of a complex number.", "round([0.5, 1.5]) -> [0.0, 2.0]"),
    _unary("bitwise_invert", _BITWISE, "Every bit inverted; not, for booleans.", "bitwise_invert([0, 1]) -> [-1, -2]"),
    _unary("logical_not", _ALL, "True where x is zero.", "logical_not([0, 2]) -> [True, False]", result=Result.BOOL),
    _unary("isnan", _ALL, "True where x is NaN.", "isnan([1.0]) -> [False]", result=Result.BOOL),
    _unary("isinf", _ALL, "True where x is an infinity.", "isinf([1.0]) -> [False]", result=Result.BOOL),
    _unary("isfinite", _ALL, "True where x is neither NaN nor an infinity.", "isfinite([1.0]) -> [True]", result=Result.BOOL),
    _unary("tan", _FLOATING, "The tangent of x in radians.", "tan([0.0]) -> [0.0]", differentiable=True, smooth=(-1.2, 1.2)),
    _unary("asin", _FLOATING, "The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1].", "asin([0.0]) -> [0.0]", differentiable=True, domain=(-1.0, 1.0), smooth=(-0.8, 0.8)),
    _unary("acos", _FLOATING, "The angle in [0, pi] whose cosine is x; NaN outside [-1, 1].", "acos([1.0]) -> [0.0]", differentiable=True, domain=(-1.0, 1.0), smooth=(-0.8, 0.8)),
    _unary("atan", _FLOATING, "The angle in [-pi/2, pi/2] whose tangent is x.", "atan([0.0]) -> [0.0]", differentiable=True, domain=(-100.0, 100.0), smooth=(-4.0, 4.0)),
    _unary("sinh", _FLOATING, "The hyperbolic sine.", "sinh([0.0]) -> [0.0]", differentiable=True, domain=(-80.0, 80.0), smooth=(-2.0, 2.0)),
    _unary("cosh", _FLOATING, "The hyperbolic cosine.", "cosh([0.0]) -> [1.0]", differentiable=True, domain=(-80.0, 80.0), smooth=(-2.0, 2.0)),
    _unary("asinh", _FLOATING, "The number whose hyperbolic sine is x.", "asinh([0.0]) -> [0.0]", differentiable=True, domain=(-1e6, 1e6), smooth=(-4.0, 4.0)),
    _unary("acosh", _FLOATING, "The non-negative number whose hyperbolic cosine is x; NaN below 1.", "acosh([1.0]) -> [0.0]", differentiable=True, domain=(1.0, 1e6), smooth=(1.5, 9.0)),
    _unary("atanh", _FLOATING, "The number whose hyperbolic tangent is x; NaN outside [-1, 1].", "atanh([0.0]) -> [0.0]", differentiable=True, domain=(-1.0, 1.0), smooth=(-0.8, 0.8)),
    _unary("exp2", _FLOATING, "2 to the power x.", "exp2([3.0]) -> [8.0]", differentiable=True, domain=(-140.0, 120.0), smooth=(-2.0, 2.0)),
    _unary("log2", _FLOATING, "The logarithm to base 2; -inf at 0, NaN below.", "log2([8.0]) -> [3.0]", differentiable=True, domain=(0.0, 1e6), smooth=(0.5, 9.0)),
    _unary("log10", _FLOATING, "The logarithm to base 10; -inf at 0, NaN below.", "log10([100.0]) -> [2.0]", differentiable=True, domain=(0.0, 1e6), smooth=(0.5, 9.0)),
    _unary("gelu", _FLOATING, "x times the normal distribution's cumulative probability of x, by the error function (Hendrycks and Gimpel, arXiv:1606.08415).", "gelu([0.0, 100.0]) -> [0.0, 100.0]", reference="reference.gelu", differentiable=True, smooth=(-2.0, 2.0)),
    _unary("gelu_tanh", _FLOATING, "gelu with the cumulative probability approximated by tanh (the same paper, section 2).", "gelu_tanh([0.0, 100.0]) -> [0.0, 100.0]", reference="reference.gelu_tanh", differentiable=True, smooth=(-2.0, 2.0)),
    _unary("signbit", _FLOATING, "True where the sign bit is set: below zero, -0.0, and NaN with it.", "signbit([-0.0, 0.0]) -> [True, False]", result=Result.BOOL),
    # --- binary --------------------------------------------------------------------------------------------------
    _binary("add", _ALL, "x + y; or, for booleans.", "add([1, 2], 3) -> [4, 5]", differentiable=True),
    _binary("subtract", _NUMERIC, "x - y.", "subtract([1, 2], 3) -> [-2, -1]", differentiable=True),
    _binary("multiply", _ALL, "x * y; and, for booleans.", "multiply([1, 2], 3) -> [3, 6]", differentiable=True),
    _binary("divide", _FLOATING, "x / y, always of a floating dtype.", "divide([1, 2], 2) -> [0.5, 1.0]", differentiable=True, smooth=(0.5, 4.0)),
    _binary("floor_divide", _NUMERIC, "The largest whole number not above x / y; an integer over 0 is 0.", "floor_divide([-7, 7], 2) -> [-4, 3]"),
    _binary("remainder", _NUMERIC, "x - y * floor_divide(x, y): it has the sign of the divisor.", "remainder([-7, 7], 2) -> [1, 1]", differentiable=True, smooth=(1.55, 1.95)),
    _binary("pow", _NUMERIC, "x to the power y.", "pow([2, 3], 2) -> [4, 9]", reference="numpy.power", differentiable=True, domain=(0.0, 6.0), smooth=(0.5, 3.0)),
    _binary("maximum", _ALL, "The larger of x and y; NaN if either is.", "maximum([1, 5], 3) -> [3, 5]", differentiable=True),
    _binary("minimum", _ALL, "The smaller of x and y; NaN if either is.", "minimum([1, 5], 3) -> [1, 3]", differentiable=True),
    _binary("bitwise_and", _BITWISE, "And, bit by bit.", "bitwise_and([6], 3) -> [2]"),
    _binary("bitwise_or", _BITWISE, "Or, bit by bit.", "bitwise_or([6], 3) -> [7]"),
    _binary("bitwise_xor", _BITWISE, "Exclusive or, bit by bit.", "bitwise_xor([6], 3) -> [5]"),
    _compare("logical_and", "True where both are non-zero.", "logical_and([0, 2], 1) -> [False, True]"),
    _compare("logical_or", "True where either is non-zero.", "logical_or([0, 2], 0) -> [False, True]"),
    _compare("logical_xor", "True where just one is non-zero.", "logical_xor([0, 2], 1) -> [True, False]"),
    _compare("equal", "x == y, element by element.", "equal([1, 2], 2) -> [False, True]"),
    _compare("not_equal", "x != y, element by element.", "not_equal([1, 2], 2) -> [True, False]"),
    _compare("less", "x < y, element by element.", "less([1, 3], 2) -> [True, False]"),
    _compare("less_equal", "x <= y, element by element.", "less_equal([1, 3], 2) -> [True, False]"),
    _compare("greater", "x > y, element by element.", "greater([1, 3], 2) -> [False, True]"),
    _compare("greater_equal", "x >= y, element by element.", "greater_equal([1, 3], 2) -> [False, True]"),
    _binary("atan2", _FLOATING, "The angle of the point (y, x), whose ordinate comes first, in [-pi, pi].", "atan2([0.0], 1.0) -> [0.0]", differentiable=True, smooth=(0.5, 4.0)),
    _binary("hypot", _FLOATING, "sqrt(x * x + y * y) without overflow on the way.", "hypot([3.0], 4.0) -> [5.0]", differentiable=True, smooth=(0.5, 4.0)),
    _binary("logaddexp", _FLOATING, "log(exp(x) + exp(y)) without overflow.", "logaddexp([1000.0], 0.0) -> [1000.0]", differentiable=True, domain=(-100.0, 100.0), smooth=(-2.0, 2.0)),
    _binary("copysign", _FLOATING, "The magnitude of x with the sign of y.", "copysign([1.0], -0.0) -> [-1.0]", differentiable=True, smooth=(0.5, 4.0)),
    _binary("nextafter", _FLOATING, "The number next to x on the way to y.", "nextafter([1.0], 1.0) -> [1.0]"),
    _binary("bitwise_left_shift", _INTEGER, "The bits of x moved up by y; 0 where y is negative or no less than their number.", "bitwise_left_shift([1, 3], 2) -> [4, 12]", reference="numpy.left_shift", domain=(-3.0, 30.0)),
    _binary("bitwise_right_shift", _INTEGER, "The bits of x moved down by y, the sign repeated; as if all were moved out where y is negative or no less than their number.", "bitwise_right_shift([5, -5], 1) -> [2, -3]", reference="numpy.right_shift", domain=(-3.0, 30.0)),
    # --- ternary -------------------------------------------------------------------------------------------------
    Op("where", Family.TERNARY, _ALL, Result.SAME, "numpy.where", True, "x where the boolean condition holds, y elsewhere.", "where([True, False], [1, 2], 0) -> [1, 0]"),
    Op("clip", Family.TERNARY, _NUMERIC, Result.SAME, "numpy.clip", True, "x cut to the interval from min to max, either of which may be None.", "clip([1, 5, 9], 2, 6) -> [2, 5, 6]"),
    # --- reductions ----------------------------------------------------------------------------------------------
    _reduce("sum", _ALL, Result.SUM, "The sum over axis; 0 of nothing.", "sum([1, 2, 3]) -> 6", differentiable=True),
    _reduce("prod", _ALL, Result.SUM, "The product over axis; 1 of nothing.", "prod([1, 2, 3]) -> 6", differentiable=True),
    _reduce("max", _ALL, Result.SAME, "The largest element over axis; NaN if one is.", "max([1, 3, 2]) -> 3", differentiable=True),
    _reduce("min", _ALL, Result.SAME, "The smallest element over axis; NaN if one is.", "min([1, 3, 2]) -> 1", differentiable=True),
    _reduce("mean", _FLOATING, Result.SAME, "The arithmetic mean over axis; NaN of nothing.", "mean([1.0, 2.0]) -> 1.5", differentiable=True),
    _reduce("any", _ALL, Result.BOOL, "True if an element over axis is non-zero.", "any([0, 2]) -> True"),
    _reduce("all", _ALL, Result.BOOL, "True if no element over axis is zero.", "all([0, 2]) -> False"),
    _reduce("argmax", _ALL, Result.INDEX, "The index of the first largest element along axis.", "argmax([1, 3, 2]) -> 1", family=Family.ARG_REDUCE),
    _reduce("argmin", _ALL, Result.INDEX, "The index of the first smallest element along axis.", "argmin([1, 3, 2]) -> 0", family=Family.ARG_REDUCE),
    # --- scans ---------------------------------------------------------------------------------------------------
    _reduce("cumsum", _NUMERIC, Result.SUM, "The running sum along axis.", "cumsum([1, 2, 3]) -> [1, 3, 6]", family=Family.SCAN, differentiable=True),
    _reduce("cumprod", _NUMERIC, Result.SUM, "The running product along axis.", "cumprod([1, 2, 3]) -> [1, 2, 6]", family=Family.SCAN, differentiable=True),
)  # fmt: skip

OPS: dict[str, Op] = {row.name: row for row in _ROWS}

COMPLEX = frozenset([
    "positive", "negative", "abs", "sign", "square", "reciprocal", "round", "sqrt", "exp", "expm1", "log", "log1p", "log2",
    "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "logical_not", "isnan",
    "isinf", "isfinite", "add", "subtract", "multiply", "divide", "pow", "equal", "not_equal", "logical_and", "logical_or",
    "logical_xor", "where", "sum", "prod", "mean", "any", "all", "cumsum", "cumprod",
])  # fmt: skip
"""The ops that complex dtypes have too (array API standard 2025.12); ``abs`` gives the real dtype of the parts."""


def family(name: Family) -> list[Op]:
    """The rows of one family, in table order."""
    return [row for row in OPS.values() if row.family is name]
