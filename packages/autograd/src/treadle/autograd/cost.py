"""What an op costs, told from shapes: floating-point operations and bytes moved.

A multiply-add counts as two operations. An elementwise op counts one for each element of its result, whatever the
function; moving and selecting count none. Bytes moved are those of the operands read and the result written, once each,
as in the roofline model (Williams, Waterman and Patterson, 2009); a view moves nothing.
"""

import math
from collections.abc import Callable
from typing import Any

from treadle.autograd._tensor import Op
from treadle.autograd.ops import (
    QR,
    SVD,
    AsType,
    AvgPool,
    AvgPoolGradient,
    BroadcastTo,
    Cholesky,
    Concat,
    Conv,
    ConvInputGradient,
    ConvWeightGradient,
    Det,
    Diagonal,
    DiagonalPut,
    Eigh,
    Einsum,
    ExpandDims,
    Flip,
    GetItem,
    Inv,
    Linear,
    MatMul,
    MatrixTranspose,
    MaxPool,
    Pad,
    PermuteDims,
    Pinv,
    PutItem,
    Reshape,
    Roll,
    SetItem,
    SlogDet,
    Solve,
    Squeeze,
    Stack,
    Take,
    TakeAlongAxis,
    ToDevice,
    Triangle,
)  # fmt: skip
from treadle.autograd.ops.losses import CrossEntropy
from treadle.autograd.ops.normalizing import LogSumExp, Softmax
from treadle.autograd.ops.reductions import Norm, ReduceOp, Var

__all__ = ["bytes_of", "flops_of", "is_view"]

Shape = tuple[int, ...]
Count = Callable[[Any, tuple[Shape, ...], Shape], int]

_VIEWS = (BroadcastTo, Diagonal, ExpandDims, Flip, MatrixTranspose, PermuteDims, Reshape, Squeeze)
_MOVES = (
    AsType, Concat, DiagonalPut, GetItem, Pad, PutItem, Roll, SetItem, Stack, Take, TakeAlongAxis, ToDevice, Triangle,
)  # fmt: skip


def is_view(op: Op) -> bool:
    """Whether the op's result shares its operand's memory (a reshape of a dense operand, a basic index, ...)."""
    if isinstance(op, GetItem):
        return not any(hasattr(each, "dtype") or isinstance(each, bool) for each in op.index)
    return isinstance(op, _VIEWS)


def _matmul(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    a = shapes[0]
    inner = a[-2] if getattr(op, "transpose_a", False) and len(a) > 1 else a[-1]
    return 2 * math.prod(out) * inner


def _linear(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    return 2 * math.prod(out) * shapes[0][-1] + (math.prod(out) if len(shapes) == 3 else 0)


def _conv(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    return 2 * math.prod(out) * math.prod(shapes[1][1:]) + (math.prod(out) if len(shapes) == 3 else 0)


def _conv_input(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    return 2 * math.prod(shapes[0]) * math.prod(shapes[1][1:])


def _conv_weight(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    return 2 * math.prod(shapes[0]) * math.prod(out[1:])


def _pool(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    count = len(out) - 2
    kernel = (op.kernel,) * count if isinstance(op.kernel, int) else tuple(op.kernel)
    return math.prod(out) * math.prod(kernel)


def _einsum(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
    from treadle.autograd.ops.contractions import explicit

    terms, _ = explicit(op.subscripts, [len(shape) for shape in shapes])
    lengths: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, length in zip(term, shape, strict=True):
            lengths[letter] = max(lengths.get(letter, 1), length)
    return (2 if len(shapes) > 1 else 1) * math.prod(lengths.values())


def _cubic(factor: float) -> Count:
    def count(op: Any, shapes: tuple[Shape, ...], out: Shape) -> int:
        shape = shapes[0]
        m, n = shape[-2:]
        return int(factor * math.prod(shape[:-2]) * m * n * min(m, n))

    return count


_COUNTS: dict[type, Count] = {
    MatMul: _matmul, Linear: _linear, Conv: _conv, ConvInputGradient: _conv_input, ConvWeightGradient: _conv_weight,
    MaxPool: _pool, AvgPool: _pool, AvgPoolGradient: lambda op, shapes, out: math.prod(out), Einsum: _einsum,
    Inv: _cubic(2.0), Det: _cubic(2 / 3), SlogDet: _cubic(2 / 3), Solve: _cubic(2 / 3), Cholesky: _cubic(1 / 3),
    Pinv: _cubic(23.0), QR: _cubic(2.0), Eigh: _cubic(9.0), SVD: _cubic(21.0),
    Softmax: lambda op, shapes, out: 4 * math.prod(out),
    LogSumExp: lambda op, shapes, out: 3 * math.prod(shapes[0]),
    CrossEntropy: lambda op, shapes, out: 4 * math.prod(shapes[0]),
    Var: lambda op, shapes, out: 4 * math.prod(shapes[0]),
    Norm: lambda op, shapes, out: 2 * math.prod(shapes[0]),
}  # fmt: skip


def flops_of(op: Op, shapes: tuple[Shape, ...], out: Shape) -> int:
    """Floating-point operations of one forward call. An op of one's own says it with a method ``flops(shapes, out)``.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.cost import flops_of
    >>> flops_of(ag.ops.MatMul(), ((2, 3), (3, 4)), (2, 4))
    48
    """
    own = getattr(op, "flops", None)
    if own is not None:
        return int(own(shapes, out))
    for kind in type(op).__mro__:
        if kind in _COUNTS:
            return _COUNTS[kind](op, shapes, out)
    if isinstance(op, _VIEWS + _MOVES):
        return 0
    if isinstance(op, ReduceOp):
        return math.prod(shapes[0])
    return math.prod(out)


def bytes_of(op: Op, inputs: tuple[int, ...], out: int) -> int:
    """Bytes that one forward call reads and writes, from those of its operands and of its result."""
    return 0 if is_view(op) else sum(inputs) + out
