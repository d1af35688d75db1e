"""The tensor functions: what rules are given as ``xp`` under ``create_graph``, and what ``treadle.autograd`` offers.

They have the names and signatures of the array functions, so a rule written once works with both. The differentiable
ones stand beside their ops in ``ops/``; here are those without a gradient, and the makers of constants.
"""

import builtins
from collections.abc import Callable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import fft, linalg
from treadle.autograd._node import STATE
from treadle.autograd._op import as_scalar, refuse
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd._watching import without_gradient
from treadle.autograd.ops.attention import attention
from treadle.autograd.ops.binary import (
    add,
    copysign,
    divide,
    logaddexp,
    maximum,
    minimum,
    multiply,
    pow,
    remainder,
    subtract,
)
from treadle.autograd.ops.complex_parts import angle, conj, imag, real
from treadle.autograd.ops.contractions import dot, einsum, outer, tensordot, vecdot
from treadle.autograd.ops.convolution import (
    avg_pool,
    avg_pool_gradient,
    conv,
    conv_input_gradient,
    conv_transpose,
    conv_weight_gradient,
    max_pool,
    max_pool_gradient,
)
from treadle.autograd.ops.indexing import get_item, scatter_add, set_item, take, take_along_axis
from treadle.autograd.ops.linalg import linear, matmul
from treadle.autograd.ops.losses import cross_entropy
from treadle.autograd.ops.manipulation import (
    astype,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    reshape,
    squeeze,
    stack,
    swapaxes,
    to_device,
)
from treadle.autograd.ops.normalizing import log_softmax, logcumsumexp, logsumexp, softmax
from treadle.autograd.ops.rearranging import (
    diagonal,
    diff,
    kron,
    pad,
    repeat,
    roll,
    rot90,
    split,
    tile,
    trace,
    tril,
    triu,
    unstack,
)
from treadle.autograd.ops.reductions import cumprod, cumsum, max, mean, min, norm, prod, std, sum, var
from treadle.autograd.ops.sorting import argsort, sort, topk
from treadle.autograd.ops.ternary import clip, where
from treadle.autograd.ops.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cosh,
    hypot,
    sinh,
    tan,
)
from treadle.autograd.ops.unary import (
    abs,
    cos,
    erf,
    exp,
    exp2,
    expm1,
    gelu,
    gelu_tanh,
    log,
    log1p,
    log2,
    log10,
    negative,
    positive,
    reciprocal,
    relu,
    sigmoid,
    sin,
    softplus,
    sqrt,
    square,
    tanh,
)
from treadle.autograd.vectorizing import Batched, batched_constant, batched_made
from treadle.ndarray._edge import guard_all
from treadle.ndarray.opset import OPS, Family


def _data(name: str, index: int, value: Any) -> Any:
    """An operand as the array functions take it."""
    if isinstance(value, Tensor):
        return value.data
    scalar = as_scalar(value)
    if scalar is None:
        raise refuse(name, index, value)
    return scalar


_OVER_AXES = frozenset(row.name for row in OPS.values() if row.family in (Family.REDUCE, Family.ARG_REDUCE))


def _without_gradient(name: str) -> Callable[..., Tensor]:
    """The tensor function for an array function that has no gradient: its result is a constant."""
    compute = getattr(nd, name)
    reason = f"{name}() has no gradient"

    def function(*operands: Any, **options: Any) -> Tensor:
        if STATE.lazy_blocks and builtins.any(isinstance(each, Batched) for each in operands):
            if name in _OVER_AXES:
                options.setdefault("axis", None)
            return batched_constant(function, operands, options)  # type: ignore[no-any-return]
        result = constant(compute(*[_data(name, index, each) for index, each in enumerate(operands)], **options))
        return without_gradient(name, result, operands, options, reason)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "treadle.autograd"
    function.__doc__ = f"{str(compute.__doc__).partition(chr(10))[0]}\n\nThe result is a constant: no gradient flows."
    return function


def _maker(name: str) -> Callable[..., Tensor]:
    """The tensor function for one that makes arrays."""
    make = getattr(nd, name)

    def function(*arguments: Any, **options: Any) -> Tensor:
        if STATE.lazy_blocks and arguments and isinstance(arguments[0], Batched):
            return batched_made(function, arguments, options)  # type: ignore[no-any-return]
        plain = [each.data if isinstance(each, Tensor) else each for each in arguments]
        return without_gradient(
            name, constant(make(*plain, **options)), arguments, options, f"{name}() makes a constant"
        )

    function.__name__ = function.__qualname__ = name
    function.__module__ = "treadle.autograd"
    function.__doc__ = f"{str(make.__doc__).partition(chr(10))[0]}\n\nThe result is a constant tensor."
    return function


floor = _without_gradient("floor")
ceil = _without_gradient("ceil")
trunc = _without_gradient("trunc")
round = _without_gradient("round")
bitwise_invert = _without_gradient("bitwise_invert")
bitwise_and = _without_gradient("bitwise_and")
bitwise_or = _without_gradient("bitwise_or")
bitwise_xor = _without_gradient("bitwise_xor")
bitwise_left_shift = _without_gradient("bitwise_left_shift")
bitwise_right_shift = _without_gradient("bitwise_right_shift")
signbit = _without_gradient("signbit")
nextafter = _without_gradient("nextafter")
logical_not = _without_gradient("logical_not")
logical_and = _without_gradient("logical_and")
logical_or = _without_gradient("logical_or")
logical_xor = _without_gradient("logical_xor")
isnan = _without_gradient("isnan")
isinf = _without_gradient("isinf")
isfinite = _without_gradient("isfinite")
floor_divide = _without_gradient("floor_divide")
equal = _without_gradient("equal")
not_equal = _without_gradient("not_equal")
less = _without_gradient("less")
less_equal = _without_gradient("less_equal")
greater = _without_gradient("greater")
greater_equal = _without_gradient("greater_equal")
any = _without_gradient("any")
all = _without_gradient("all")
argmax = _without_gradient("argmax")
argmin = _without_gradient("argmin")

_sign = _without_gradient("sign")


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1 by the sign of x, a constant; of complex x, x / |x| (0 at 0), through which gradients flow.

    >>> import treadle.autograd as ag
    >>> ag.sign(ag.Tensor([3.0, 0.0, -2.0])).tolist()
    [1.0, 0.0, -1.0]
    """
    if getattr(x, "dtype", nd.float32).kind != "c":  # a scalar is refused there
        return _sign(x)
    size = abs(x)
    return where(size == 0.0, 0.0, x / where(size == 0.0, 1.0, size))


arange = _maker("arange")
empty = _maker("empty")
empty_like = _maker("empty_like")
eye = _maker("eye")
full = _maker("full")
full_like = _maker("full_like")
linspace = _maker("linspace")
one_hot = _maker("one_hot")
ones = _maker("ones")
ones_like = _maker("ones_like")
zeros = _maker("zeros")
zeros_like = _maker("zeros_like")

__all__ = [
    "abs", "acos", "acosh", "add", "all", "angle", "any", "arange", "argmax", "argmin", "argsort", "asin", "asinh",
    "astype", "atan", "atan2", "atanh", "attention", "avg_pool", "avg_pool_gradient", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "broadcast_to", "ceil", "clip", "concat",
    "conj", "conv", "conv_input_gradient", "conv_transpose", "conv_weight_gradient", "copysign", "cos", "cosh",
    "cross_entropy", "cumprod", "cumsum", "diagonal", "diff", "divide", "dot", "einsum", "empty", "empty_like", "equal",
    "erf", "exp", "exp2", "expand_dims", "expm1", "eye", "fft", "flip", "floor", "floor_divide", "full", "full_like",
    "gelu", "gelu_tanh", "get_item", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "kron",
    "less", "less_equal", "linalg", "linear", "linspace", "log", "log1p", "log2", "log10", "log_softmax", "logaddexp",
    "logcumsumexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "matmul",
    "matrix_transpose", "max", "max_pool", "max_pool_gradient", "maximum", "mean", "min", "minimum", "moveaxis",
    "multiply", "negative", "nextafter", "norm", "not_equal", "one_hot", "ones", "ones_like", "outer", "pad",
    "permute_dims", "positive", "pow", "prod", "real", "reciprocal", "relu", "remainder", "repeat", "reshape", "roll",
    "rot90", "round", "scatter_add", "set_item", "sigmoid", "sign", "signbit", "sin", "sinh", "softmax", "softplus",
    "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "to_device", "topk", "trace", "tril", "triu", "trunc",
    "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip

guard_all(globals(), __all__, "treadle.autograd")
