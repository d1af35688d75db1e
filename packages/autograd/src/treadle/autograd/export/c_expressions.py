"""Elementwise functions in C99: an expression for each name of the op table, by the kind of its elements.

A template holds ``{0}``, ``{1}``, ... for the operands and ``{s}`` for the suffix of libm's functions. What needs more
than an expression is a helper, a small static function that is written only where it is used. Integers wrap around as
in the array, by way of the unsigned type.
"""

import re
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.errors import ExportError
from treadle.ndarray import DType, NDArray

__all__ = ["C_TYPES", "cast", "elementwise", "helper_source", "literal", "literals", "repeats"]

C_TYPES = {
    "float32": "float", "float64": "double", "bool": "uint8_t",
    "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}  # fmt: skip

_FLOAT = {
    "positive": "{0}", "negative": "(-{0})", "abs": "fabs{s}({0})", "square": "({0} * {0})",
    "reciprocal": "({one} / {0})", "sqrt": "sqrt{s}({0})", "exp": "exp{s}({0})", "expm1": "expm1{s}({0})",
    "log": "log{s}({0})", "log1p": "log1p{s}({0})", "sin": "sin{s}({0})", "cos": "cos{s}({0})", "tanh": "tanh{s}({0})",
    "erf": "erf{s}({0})", "floor": "floor{s}({0})", "ceil": "ceil{s}({0})", "trunc": "trunc{s}({0})",
    "round": "rint{s}({0})", "tan": "tan{s}({0})", "asin": "asin{s}({0})", "acos": "acos{s}({0})",
    "atan": "atan{s}({0})", "sinh": "sinh{s}({0})", "cosh": "cosh{s}({0})", "asinh": "asinh{s}({0})",
    "acosh": "acosh{s}({0})", "atanh": "atanh{s}({0})", "exp2": "exp2{s}({0})", "log2": "log2{s}({0})",
    "log10": "log10{s}({0})", "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})",
    "divide": "({0} / {1})", "pow": "pow{s}({0}, {1})", "atan2": "atan2{s}({0}, {1})", "hypot": "hypot{s}({0}, {1})",
    "copysign": "copysign{s}({0}, {1})", "nextafter": "nextafter{s}({0}, {1})",
}  # fmt: skip

_INTEGER = {
    "positive": "{0}", "floor": "{0}", "ceil": "{0}", "trunc": "{0}", "round": "{0}",
    "negative": "({T})(({U})0 - ({U}){0})", "add": "({T})(({U}){0} + ({U}){1})",
    "subtract": "({T})(({U}){0} - ({U}){1})", "multiply": "({T})(({W}){0} * ({W}){1})",
    "square": "({T})(({W}){0} * ({W}){0})", "abs": "({T})({0} < 0 ? ({U})0 - ({U}){0} : ({U}){0})",
    "sign": "({T})(({0} > 0) - ({0} < 0))", "relu": "({T})({0} > 0 ? {0} : 0)",
    "bitwise_invert": "({T})~({U}){0}", "bitwise_and": "({T})(({U}){0} & ({U}){1})",
    "bitwise_or": "({T})(({U}){0} | ({U}){1})", "bitwise_xor": "({T})(({U}){0} ^ ({U}){1})",
    "maximum": "({T})({0} > {1} ? {0} : {1})", "minimum": "({T})({0} < {1} ? {0} : {1})",
}  # fmt: skip
_UNSIGNED = {"abs": "{0}", "sign": "({T})({0} > 0)"}
_BOOL = {
    "positive": "{0}", "add": "(uint8_t)({0} | {1})", "multiply": "(uint8_t)({0} & {1})",
    "bitwise_invert": "(uint8_t)!{0}", "bitwise_and": "(uint8_t)({0} & {1})", "bitwise_or": "(uint8_t)({0} | {1})",
    "bitwise_xor": "(uint8_t)({0} ^ {1})", "maximum": "(uint8_t)({0} | {1})", "minimum": "(uint8_t)({0} & {1})",
}  # fmt: skip

_TRUTH = {  # those whose result is a bool, of operands of any one type
    "logical_not": "(uint8_t)({0} == 0)", "logical_and": "(uint8_t)({0} != 0 && {1} != 0)",
    "logical_or": "(uint8_t)({0} != 0 || {1} != 0)", "logical_xor": "(uint8_t)(({0} != 0) != ({1} != 0))",
    "equal": "(uint8_t)({0} == {1})", "not_equal": "(uint8_t)({0} != {1})", "less": "(uint8_t)({0} < {1})",
    "less_equal": "(uint8_t)({0} <= {1})", "greater": "(uint8_t)({0} > {1})",
    "greater_equal": "(uint8_t)({0} >= {1})",
}  # fmt: skip
_TRUTH_OF_FLOAT = {
    "isnan": "(uint8_t)(isnan({0}) != 0)", "isinf": "(uint8_t)(isinf({0}) != 0)",
    "isfinite": "(uint8_t)(isfinite({0}) != 0)", "signbit": "(uint8_t)(signbit({0}) != 0)",
}  # fmt: skip
_TRUTH_OF_INTEGER = {"isnan": "(uint8_t)0", "isinf": "(uint8_t)0", "isfinite": "(uint8_t)1"}

_HELPERS = {
    "sign": "return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? (T)0 : x;",
    "relu": "return x > 0 || x != x ? x : (T)0;",
    "sigmoid": "const T e = expS(-fabsS(x)); return (x < 0 ? e : (T)1) / ((T)1 + e);",
    "softplus": "return (x > 0 ? x : x < 0 ? (T)0 : x + x) + log1pS(expS(-fabsS(x)));",
    # gelu in double: the tails would multiply a rounding of the argument
    "gelu": "if (isinf(x)) return x > 0 ? x : (T)-0.0;\n"
    "    return (T)(0.5 * (double)x * erfc((double)x * -0.70710678118654752440));",
    "gelu_tanh": "if (isinf(x)) return x > 0 ? x : (T)-0.0;\n    const double y = x;\n"
    "    return (T)(y / (1.0 + exp(-1.5957691216057308 * (y + 0.044715 * y * y * y))));",
    "maximum": "return x > y || x != x ? x : y == y ? (x == y && !signbit(x) ? x : y) : y;",
    "minimum": "return x < y || x != x ? x : y == y ? (x == y && signbit(x) ? x : y) : y;",
    "logaddexp": "if (x == y) return x + (T)0.69314718055994530942;\n"
    "    return x > y ? x + log1pS(expS(y - x)) : y > x ? y + log1pS(expS(x - y)) : x + y;",
    "remainder": "const T r = fmodS(x, y);\n"
    "    return r == 0 ? copysignS((T)0, y) : (r < 0) != (y < 0) ? r + y : r;",
    "floor_divide": "if (y == 0) return x / y;\n    T r = fmodS(x, y), q = (x - r) / y;\n"
    "    if (r != 0 && (r < 0) != (y < 0)) q -= (T)1;\n"
    "    return q == 0 ? copysignS((T)0, x / y) : rintS(q);",
}  # fmt: skip
_INTEGER_HELPERS = {
    "pow": "U base = (U)x, power = 1;\n    if (y < 0) return (T)(x == 1 ? 1 : x == (T)-1 ? ((y & 1) ? -1 : 1) : 0);\n"
    "    for (T n = y; n > 0; n = (T)(n >> 1)) {\n"
    "        if (n & 1) power = (U)((W)power * (W)base);\n        base = (U)((W)base * (W)base);\n    }\n"
    "    return (T)power;",
    "floor_divide": "if (y == 0) return 0;\n    if (y == (T)-1) return (T)((U)0 - (U)x);\n"
    "    const T q = (T)(x / y), r = (T)(x % y);\n    return (T)(r != 0 && (r < 0) != (y < 0) ? q - 1 : q);",
    "remainder": "if (y == 0 || y == (T)-1) return 0;\n    const T r = (T)(x % y);\n"
    "    return (T)(r != 0 && (r < 0) != (y < 0) ? r + y : r);",
    "bitwise_left_shift": "return (T)(y < 0 || y >= (T)(8 * sizeof x) ? 0 : (U)x << y);",
    "bitwise_right_shift": "return (T)(y < 0 || y >= (T)(8 * sizeof x) ? (x < 0 ? -1 : 0) : x >> y);",
}  # fmt: skip
_UNSIGNED_HELPERS = {
    "pow": "T base = x, power = 1;\n    for (T n = y; n > 0; n = (T)(n >> 1)) {\n"
    "        if (n & 1) power = (T)((W)power * (W)base);\n        base = (T)((W)base * (W)base);\n    }\n"
    "    return power;",
    "floor_divide": "return (T)(y == 0 ? 0 : x / y);",
    "remainder": "return (T)(y == 0 ? 0 : x % y);",
    "bitwise_left_shift": "return (T)(y >= (T)(8 * sizeof x) ? 0 : (W)x << y);",
    "bitwise_right_shift": "return (T)(y >= (T)(8 * sizeof x) ? 0 : x >> y);",
}  # fmt: skip
_BINARY_HELPERS = frozenset([
    "maximum", "minimum", "logaddexp", "remainder", "floor_divide", "pow", "bitwise_left_shift", "bitwise_right_shift",
])  # fmt: skip


def _wide(dtype: DType) -> str:
    """An unsigned type in which a product of two elements neither overflows a signed int nor loses its low bits."""
    return "uint64_t" if dtype.itemsize == 8 else "uint32_t"


def _names(dtype: DType) -> dict[str, str]:
    suffix = "f" if dtype.name == "float32" else ""
    unsigned = C_TYPES[dtype.name] if dtype.kind != "i" else f"u{C_TYPES[dtype.name]}"
    return {"s": suffix, "T": C_TYPES[dtype.name], "U": unsigned, "W": _wide(dtype), "one": "1.0f" if suffix else "1.0"}


def _table(dtype: DType) -> dict[str, str]:
    if dtype.kind == "f":
        return {**_TRUTH, **_TRUTH_OF_FLOAT, **_FLOAT}
    kind = _BOOL if dtype.kind == "b" else {**_INTEGER, **_UNSIGNED} if dtype.kind == "u" else _INTEGER
    return {**_TRUTH, **_TRUTH_OF_INTEGER, **kind}


def elementwise(name: str, dtype: DType, operands: list[str], helpers: dict[str, str]) -> str:
    """The C expression of a function of the op table on operands of ``dtype``; helpers it needs go into ``helpers``.

    Raises ExportError for a function that has no form in C.
    """
    template = _table(dtype).get(name)
    if template is not None:
        return template.format(*operands, **_names(dtype))
    source = helper_source(name, dtype)
    if source is None:
        raise ExportError(f"export to C: {name} of {dtype.name} has no form in C")
    called = f"{name}_{dtype.name}"
    helpers[called] = source
    return f"{called}({', '.join(operands)})"


def repeats(name: str, dtype: DType, at: int) -> bool:
    """Whether the expression of a function names operand ``at`` more than once."""
    return _table(dtype).get(name, "").count(f"{{{at}}}") > 1


def helper_source(name: str, dtype: DType) -> str | None:
    """The C source of a helper; None if there is none."""
    if dtype.kind == "f":
        body = _HELPERS.get(name)
    elif dtype.kind == "b":
        return None
    else:
        body = (_UNSIGNED_HELPERS if dtype.kind == "u" else _INTEGER_HELPERS).get(name)
    if body is None:
        return None
    names = _names(dtype)
    for function in ("exp", "fabs", "log1p", "fmod", "copysign", "rint"):
        body = body.replace(f"{function}S(", f"{function}{names['s']}(")
    parameters = "T x, T y" if name in _BINARY_HELPERS else "T x"
    text = f"static inline T {name}_{dtype.name}({parameters})\n{{\n    {body}\n}}\n"
    for placeholder in ("T", "U", "W"):
        text = _replace_word(text, placeholder, names[placeholder])
    return text


def _replace_word(text: str, word: str, by: str) -> str:
    return re.sub(rf"\b{word}\b", by, text)


def cast(text: str, source: DType, target: DType, helpers: dict[str, str]) -> str:
    """A conversion as ``astype`` does it: floats out of an integer's range saturate, NaN gives 0."""
    if source is target:
        return text
    if target.kind == "b":
        return f"(uint8_t)({text} != 0)"
    wanted = C_TYPES[target.name]
    if source.kind == "f" and target.kind in "iu":
        called = f"{target.name}_of_{source.name}"
        helpers[called] = _saturating(called, source, target)
        return f"{called}({text})"
    return f"({wanted}){text}"


def _saturating(called: str, source: DType, target: DType) -> str:
    bits = 8 * target.itemsize - (target.kind == "i")
    kind, goal = C_TYPES[source.name], C_TYPES[target.name]
    suffix = "f" if source.name == "float32" else ""
    top = f"{float(2**bits)!r}{suffix}"
    width = 8 * target.itemsize
    least = f"INT{width}_MIN" if target.kind == "i" else "0"
    most = f"INT{width}_MAX" if target.kind == "i" else f"UINT{width}_MAX"
    below = f"x < -{top}" if target.kind == "i" else "x < 0"
    return (
        f"static inline {goal} {called}({kind} x)\n{{\n"
        f"    if (x != x) return 0;\n    if ({below}) return {least};\n"
        f"    if (x >= {top}) return {most};\n    return ({goal})x;\n}}\n"
    )


def literal(value: Any, dtype: DType) -> str:
    """A constant of ``dtype`` in C, exact."""
    return literals(nd.asarray([value], dtype=dtype))[0]  # rounded once, to the type that it is read as


def literals(array: NDArray) -> list[str]:
    """The elements of an array as constants in C, exact, in C order."""
    write = _float_literal if array.dtype.kind == "f" else _integer_literal
    name = array.dtype.name
    return [write(each, name) for each in array.reshape(-1).tolist()]


def _float_literal(number: float, name: str) -> str:
    single = name == "float32"
    text = f"{number:.9g}" if single else f"{number:.17g}"
    if text[-1] in "nf":  # nan, inf, -inf
        text = ("" if single else "(double)") + ("NAN" if text[-1] == "n" else "INFINITY")
        return f"(-{text})" if number < 0 else text
    if "." not in text and "e" not in text:
        text += ".0"
    if single:
        text += "f"
    return f"({text})" if text[0] == "-" else text


def _integer_literal(number: int, name: str) -> str:
    if name in ("int64", "uint64"):
        return "INT64_MIN" if number == -(2**63) else f"{'U' * (name[0] == 'u')}INT64_C({number:d})"
    if name == "int32" and number == -(2**31):
        return "INT32_MIN"
    text = f"{number:d}{'u' * (name == 'uint32')}"
    return f"({text})" if number < 0 else text
