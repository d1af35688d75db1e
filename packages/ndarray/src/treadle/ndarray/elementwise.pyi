# Written by tools/write_stubs.py from the op table.
from treadle.ndarray._dispatch import BinaryFunction, UnaryFunction
from treadle.ndarray._dispatch import clip as clip
from treadle.ndarray._dispatch import where as where

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "gelu",
    "gelu_tanh",
    "greater",
    "greater_equal",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]
functions: dict[str, UnaryFunction | BinaryFunction]
positive: UnaryFunction
negative: UnaryFunction
abs: UnaryFunction
sign: UnaryFunction
square: UnaryFunction
reciprocal: UnaryFunction
sqrt: UnaryFunction
exp: UnaryFunction
expm1: UnaryFunction
log: UnaryFunction
log1p: UnaryFunction
sin: UnaryFunction
cos: UnaryFunction
tanh: UnaryFunction
sigmoid: UnaryFunction
erf: UnaryFunction
relu: UnaryFunction
softplus: UnaryFunction
floor: UnaryFunction
ceil: UnaryFunction
trunc: UnaryFunction
round: UnaryFunction
bitwise_invert: UnaryFunction
logical_not: UnaryFunction
isnan: UnaryFunction
isinf: UnaryFunction
isfinite: UnaryFunction
tan: UnaryFunction
asin: UnaryFunction
acos: UnaryFunction
atan: UnaryFunction
sinh: UnaryFunction
cosh: UnaryFunction
asinh: UnaryFunction
acosh: UnaryFunction
atanh: UnaryFunction
exp2: UnaryFunction
log2: UnaryFunction
log10: UnaryFunction
gelu: UnaryFunction
gelu_tanh: UnaryFunction
signbit: UnaryFunction
add: BinaryFunction
subtract: BinaryFunction
multiply: BinaryFunction
divide: BinaryFunction
floor_divide: BinaryFunction
remainder: BinaryFunction
pow: BinaryFunction
maximum: BinaryFunction
minimum: BinaryFunction
bitwise_and: BinaryFunction
bitwise_or: BinaryFunction
bitwise_xor: BinaryFunction
logical_and: BinaryFunction
logical_or: BinaryFunction
logical_xor: BinaryFunction
equal: BinaryFunction
not_equal: BinaryFunction
less: BinaryFunction
less_equal: BinaryFunction
greater: BinaryFunction
greater_equal: BinaryFunction
atan2: BinaryFunction
hypot: BinaryFunction
logaddexp: BinaryFunction
copysign: BinaryFunction
nextafter: BinaryFunction
bitwise_left_shift: BinaryFunction
bitwise_right_shift: BinaryFunction
