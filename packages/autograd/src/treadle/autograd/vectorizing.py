"""``vmap``: a function of one example, applied to a whole batch at once.

Inside, each argument is a :class:`Batched`: a tensor with its batch axis in front that shows the shape of one example.
An op called on one is rewritten for the batch: elementwise ops line up the axes behind the batch axis, reductions and
views count their axes from behind it, products take it as a batch axis of matmul. Any other op is called once for each
example, and the results are stacked; so every op works, and gradients flow through all of it.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from treadle.autograd._elementwise import BinaryOp, UnaryOp
from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import GradientError
from treadle.autograd.mode import intercepting
from treadle.autograd.ops import (
    AsType,
    BroadcastTo,
    Clip,
    ExpandDims,
    Flip,
    Linear,
    LogSoftmax,
    MatMul,
    MatrixTranspose,
    PermuteDims,
    Reshape,
    Softmax,
    Squeeze,
    Where,
)  # fmt: skip
from treadle.autograd.ops._common import axes_of
from treadle.autograd.ops.manipulation import expand_dims, moveaxis, reshape, stack
from treadle.autograd.ops.reductions import ReduceOp
from treadle.ndarray import DTypeError, ShapeError

__all__ = ["Batched", "batched_call", "vmap"]

Axes = int | None | Sequence[int | None]


class Batched(Tensor):
    """A tensor inside :func:`vmap`: it holds the whole batch, and looks like one example."""

    def __init__(self, whole: Tensor, level: object) -> None:
        super().__init__(whole.data)
        self.whole = whole
        self.level = level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.whole.shape[1:]

    @property
    def ndim(self) -> int:
        """The number of axes of one example."""
        return len(self.whole.shape) - 1

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        return math.prod(self.shape)

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:  # type: ignore[override]
        """Whether gradients flow to the whole batch."""
        return self.whole.requires_grad

    def _value(self) -> Any:
        """Not to be had: code that looks at values would have to do so for each example."""
        raise GradientError(
            "vmap: the function looks at values (.data, .numpy(), a comparison, bool()), which differ from example to "
            "example; use ops, such as where() and maximum(), or a loop"
        )


class _Level:
    """One call of a function that vmap made."""

    open = True


def _active(level: Any) -> bool:
    return bool(level.open)


def _all(values: Sequence[Tensor]) -> list[Tensor]:
    return [each.whole if isinstance(each, Batched) else each for each in values]


def batched_call(op: Any, inputs: tuple[Any, ...]) -> Any:
    """What an op call with a Batched operand does."""
    levels = {id(each.level): each.level for each in inputs if isinstance(each, Batched)}
    if len(levels) > 1:
        raise GradientError(f"vmap: {op} meets batches of two vmaps, one inside the other; map over one axis at a time")
    (level,) = levels.values()
    if not _active(level):
        raise GradientError(f"vmap: {op} is called on a tensor of a vmap that is over; return it from the function")
    for kind, rule in _RULES:
        if isinstance(op, kind):
            found = rule(op, inputs)
            if found is not None:
                return Batched(found, level)
    return _each(op, inputs, level)


def _each(op: Any, inputs: tuple[Any, ...], level: object) -> Any:
    """The op on one example after another."""
    count = next(each.whole.shape[0] for each in inputs if isinstance(each, Batched))
    if count == 0:
        raise ShapeError(f"vmap: {op} has no rule for a batch, and cannot be called on an empty one")
    results = [op(*[each.whole[at] if isinstance(each, Batched) else each for each in inputs]) for at in range(count)]
    if isinstance(results[0], tuple):
        columns = [Batched(stack(list(items)), level) for items in zip(*results, strict=True)]
        return results[0]._make(columns) if hasattr(results[0], "_make") else tuple(columns)
    return Batched(stack(results), level)


def _elementwise(op: Any, inputs: tuple[Any, ...]) -> Tensor:
    """Axes of length 1 behind the batch axis until all examples have as many; the op does the rest."""
    most = max(each.ndim for each in inputs)
    lined = []
    for each in inputs:
        if isinstance(each, Batched):
            whole = each.whole
            gap = (1,) * (most - each.ndim)
            lined.append(reshape(whole, (whole.shape[0], *gap, *whole.shape[1:])) if gap else whole)
        else:
            lined.append(each)
    result: Tensor = op(*lined)
    return result


def _matmul(op: Any, inputs: tuple[Any, ...]) -> Tensor:
    a, b = inputs
    row, column = a.ndim == 1, b.ndim == 1
    if (op.transpose_a and row) or (op.transpose_b and column):
        raise ShapeError(f"{op}: an operand of 1 dimension has no transpose")
    left, right = _all(inputs)
    if row:
        left = expand_dims(left, axis=-2)
    if column:
        right = expand_dims(right, axis=-1)
    most = max(len(left.shape) - isinstance(a, Batched), len(right.shape) - isinstance(b, Batched))
    left, right = (_lead(x, most, isinstance(each, Batched)) for x, each in ((left, a), (right, b)))
    out: Tensor = op(left, right)
    kept = [length for at, length in enumerate(out.shape) if not (row and at == out.ndim - 2)]
    if column:
        kept.pop()
    return reshape(out, tuple(kept)) if row or column else out


def _lead(x: Tensor, most: int, batched: bool) -> Tensor:
    gap = (1,) * (most - (x.ndim - batched))
    return reshape(x, (x.shape[0], *gap, *x.shape[1:])) if batched and gap else x


def _linear(op: Any, inputs: tuple[Any, ...]) -> Tensor | None:
    if any(isinstance(each, Batched) for each in inputs[1:]):
        return None
    out: Tensor = op(*_all(inputs))
    return out


def _reduce(op: Any, inputs: tuple[Any, ...]) -> Tensor:
    (x,) = inputs
    axes = tuple(axis + 1 for axis in axes_of(op.axis, x.ndim, op))
    twin = _twin(op, axis=axes)
    if x.ndim == 0:  # a reduction of each single element
        whole = _twin(op, axis=1, keepdims=False)(reshape(x.whole, (x.whole.shape[0], 1)))
        return whole  # type: ignore[no-any-return]
    result: Tensor = twin(x.whole)
    return result


def _along(op: Any, inputs: tuple[Any, ...]) -> Tensor:
    (x,) = inputs
    (axis,) = axes_of(op.axis, x.ndim, op)
    result: Tensor = _twin(op, axis=axis + 1)(x.whole)
    return result


def _view(op: Any, inputs: tuple[Any, ...]) -> Tensor:
    (x,) = inputs
    shape = op.infer((x.shape,), (x.dtype,))[0]
    whole = x.whole
    if isinstance(op, PermuteDims):
        axes = [axis % len(op.axes) for axis in op.axes]
        return PermuteDims((0, *[axis + 1 for axis in axes]))(whole)
    if isinstance(op, MatrixTranspose):
        return op(whole)
    if isinstance(op, Flip):
        return Flip(tuple(axis + 1 for axis in axes_of(op.axis, x.ndim, op)))(whole)
    if isinstance(op, BroadcastTo):
        gap = (1,) * (len(shape) - x.ndim)
        return BroadcastTo((whole.shape[0], *shape))(reshape(whole, (whole.shape[0], *gap, *x.shape)))
    return reshape(whole, (whole.shape[0], *shape))  # Reshape, ExpandDims, Squeeze


def _twin(op: Any, **changed: Any) -> Any:
    """An op of the same class and configuration, but for what changes."""
    kind: Any = type(op)
    twin = kind.__new__(kind)
    twin.__dict__.update(op.__dict__)
    twin.__dict__.update(changed)
    return twin


_RULES: tuple[tuple[Any, Callable[[Any, tuple[Any, ...]], Tensor | None]], ...] = (
    ((UnaryOp, BinaryOp, Where, Clip, AsType), _elementwise),
    (MatMul, _matmul),
    (Linear, _linear),
    (ReduceOp, _reduce),
    ((Softmax, LogSoftmax), _along),
    ((PermuteDims, MatrixTranspose, Flip, BroadcastTo, Reshape, ExpandDims, Squeeze), _view),
)


def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: int = 0) -> Callable[..., Any]:
    """The function, written for one example, for a batch: over axis ``in_axes`` of its arguments.

    ``in_axes`` is one axis for all positional arguments, or one for each, None for those that are no batch. The results
    have the batch at ``out_axes``. Elementwise ops, products, reductions and views run once over the whole batch; any
    other op runs once for each example. Gradients flow to the arguments, and to tensors that the function uses beside
    them.

    Raises ShapeError for batches of different lengths, GradientError when the function looks at values.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import vmap
    >>> rows = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> vmap(lambda x, y: x @ y, in_axes=(0, None))(rows, ag.Tensor([1.0, 10.0])).tolist()
    [21.0, 43.0]
    """

    @functools.wraps(function)
    def mapped(*arguments: Any, **keywords: Any) -> Any:
        axes = [in_axes] * len(arguments) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(axes) != len(arguments):
            raise ShapeError(f"vmap: in_axes names {len(axes)} arguments, and {len(arguments)} were given")
        given, lengths, level = [], set(), _Level()
        for index, (value, axis) in enumerate(zip(arguments, axes, strict=True)):
            if axis is None:
                given.append(value)
                continue
            if not isinstance(value, Tensor):
                raise DTypeError(f"vmap: argument {index} is a {type(value).__name__}; give it the axis None")
            whole = value.whole if isinstance(value, Batched) else value
            if isinstance(value, Batched):
                raise GradientError("vmap: a batch inside a batch; map over one axis at a time, or use a batched op")
            (place,) = axes_of(axis, whole.ndim, "vmap")
            lengths.add(whole.shape[place])
            given.append(Batched(moveaxis(whole, place, 0) if place else whole, level))
        if len(lengths) != 1:
            raise ShapeError(f"vmap: batches of lengths {sorted(lengths)}; there must be one, and of one length")
        (length,) = lengths
        try:
            with intercepting():
                result = function(*given, **keywords)
        finally:
            level.open = False
        if isinstance(result, tuple | list):
            return type(result)(_out(each, length, out_axes) for each in result)
        return _out(result, length, out_axes)

    return mapped


def _out(value: Any, length: int, axis: int) -> Tensor:
    if not isinstance(value, Tensor):
        raise DTypeError(f"vmap: the function returned a {type(value).__name__}, not a Tensor")
    whole = value.whole if isinstance(value, Batched) else BroadcastTo((length, *value.shape))(value)
    return moveaxis(whole, 0, axis) if axis else whole
