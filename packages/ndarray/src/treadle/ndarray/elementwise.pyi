# Written by tools/write_stubs.py from the op table.
from treadle.ndarray._dispatch import BinaryFunction, UnaryFunction
from treadle.ndarray._dispatch import clip as clip
from treadle.ndarray._dispatch import where as where

__all__ = [
    "abs",
    "add",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clip",
    "cos",
    "divide",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "subtract",
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
