"""``vmap``: a function of one example, applied to a whole batch at once.

Inside, each argument is a :class:`Batched`: a tensor with its batch axis in front that shows the shape of one example.
An op called on one is rewritten for the batch: elementwise ops line up the axes behind the batch axis, reductions and
views count their axes from behind it, products take it as a batch axis of matmul. Any other op is called once for each
example, and the results are stacked; so every op works, and gradients flow through all of it.

A vmap inside another has batches of batches: each op is rewritten for the innermost one, by calls of ops on what that
holds, which are batches of the next.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from treadle.autograd import _op
from treadle.autograd._elementwise import BinaryOp, UnaryOp
from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import GradientError
from treadle.autograd.mode import intercepting
from treadle.autograd.ops import (
    AsType,
    Attention,
    BroadcastTo,
    Clip,
    Concat,
    Conj,
    ExpandDims,
    Flip,
    Imag,
    Linear,
    LogSoftmax,
    MatMul,
    MatrixTranspose,
    PermuteDims,
    Real,
    Reshape,
    Softmax,
    Squeeze,
    Stack,
    Where,
)  # fmt: skip
from treadle.autograd.ops._common import axes_of
from treadle.autograd.ops.manipulation import expand_dims, moveaxis, reshape, stack
from treadle.autograd.ops.reductions import ReduceOp
from treadle.ndarray import DTypeError, ShapeError

__all__ = ["Batched", "batched_call", "batched_constant", "batched_item", "batched_made", "vmap"]

Axes = int | None | Sequence[int | None]


class _Level:
    """One call of a function that vmap made; of levels that are open in a thread the later is the inner."""

    def __init__(self, length: int) -> None:
        self.number = next(_numbers)
        self.length = length
        self.open = True


_numbers = itertools.count()


class Batched(Tensor):
    """A tensor inside :func:`vmap`: it holds the whole batch, and looks like one example."""

    def __init__(self, whole: Tensor, level: _Level) -> None:
        super().__init__(())
        self._exchange(None)  # type: ignore[arg-type]  # no values of its own
        self.whole = whole
        self.level = level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.whole.shape[1:]

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.whole.dtype

    @property
    def device(self) -> Any:
        """Where the values lie."""
        return self.whole.device

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
        if not self.level.open:
            raise GradientError("vmap: a tensor of a vmap that is over holds no values; return it from the function")
        raise GradientError(
            "vmap: the function looks at values (.data, .numpy(), bool()), which differ from example to example; use "
            "ops, such as where() and maximum(), or a loop"
        )

    def detach(self) -> "Batched":
        """The same values, and no gradient."""
        return Batched(self.whole.detach(), self.level)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("vmap: an example without axes has no length")
        return self.shape[0]

    def _compared(self, name: str, compare: Any, other: Any) -> Any:
        from treadle.autograd import functions

        if not isinstance(other, Tensor) and _op.as_scalar(other) is None and not _op.is_data(other):
            return NotImplemented  # as outside of vmap: None and texts are equal to no tensor
        return getattr(functions, name)(self, other)

    def __repr__(self) -> str:
        return f"Batched(shape={self.shape}, dtype={self.dtype.name}, batch={self.whole.shape[0]})"


class _Operand:
    """An operand as a rule sees it: ``whole`` has the batch in front if ``batched``; ``shape`` is an example's."""

    __slots__ = ("batched", "shape", "whole")

    def __init__(self, value: Any, level: _Level) -> None:
        self.batched = isinstance(value, Batched) and value.level is level
        self.whole: Any = value.whole if self.batched else value
        self.shape: tuple[int, ...] = value.shape if isinstance(value, Tensor) else ()

    @property
    def ndim(self) -> int:
        """The number of axes of an example."""
        return len(self.shape)

    def with_axes(self, count: int) -> Any:
        """The whole with axes of length 1 behind the batch, until an example has so many."""
        gap = (1,) * (count - self.ndim)
        if not self.batched or not gap:
            return self.whole
        return reshape(self.whole, (self.whole.shape[0], *gap, *self.whole.shape[1:]))

    def spread(self, length: int) -> Any:
        """The whole, repeated if it is no batch."""
        return self.whole if self.batched else BroadcastTo((length, *self.shape))(self.whole)


def _innermost(what: object, values: Sequence[Any]) -> _Level:
    levels = [each.level for each in values if isinstance(each, Batched)]
    if not all(each.open for each in levels):
        raise GradientError(f"vmap: {what} is called on a tensor of a vmap that is over; return it from the function")
    return max(levels, key=lambda level: level.number)


def batched_call(op: Any, inputs: tuple[Any, ...]) -> Any:
    """What an op call with a Batched operand does."""
    level = _innermost(op, inputs)
    operands = [_Operand(each, level) for each in inputs]
    for kind, rule in _RULES:
        if isinstance(op, kind):
            found = rule(op, operands)
            if found is not None:
                return Batched(found, level)
    return _each(op, operands, level)


def batched_constant(function: Callable[..., Any], values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function without a gradient does with a Batched operand: elementwise, or over ``axis``."""
    level = _innermost(function.__name__, values)
    operands = [_Operand(each, level) for each in values]
    if "axis" not in options:
        most = max(each.ndim for each in operands)
        return Batched(function(*[each.with_axes(most) for each in operands], **options), level)
    (x,), axis = operands, options["axis"]
    if axis is None:  # of all elements, in one axis behind the batch; keepdims shows in the shape alone
        flat = function(reshape(x.whole, (x.whole.shape[0], math.prod(x.shape))), axis=1)
        kept = options.get("keepdims", False)
        return Batched(reshape(flat, (*flat.shape, *(1,) * x.ndim)) if kept else flat, level)
    axes = tuple(each + 1 for each in axes_of(axis, x.ndim, function.__name__))
    result = function(x.whole, **options | {"axis": axes[0] if isinstance(axis, int) else axes})
    return Batched(result, level)


def batched_made(make: Callable[..., Any], values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function makes in the likeness of a Batched, or for each of its elements: the same of the whole batch."""
    example, *others = values
    level = _innermost(make.__name__, [example])
    return Batched(make(example.whole, *others, **options), level)


def batched_item(get_item: Callable[..., Any], x: Tensor, index: Any) -> Any:
    """An example's item at an index that differs from example to example; None for another, and for a mask, whose
    number of elements would differ."""
    items = index if isinstance(index, tuple) else (index,)
    batched = [each for each in items if isinstance(each, Batched)]
    if not batched or any(each.dtype.kind == "b" for each in batched):
        return None
    level = _innermost("get_item", [x, *batched])
    operands = [_Operand(each, level) for each in (x, *items)]

    @functools.wraps(get_item)
    def item(x: Any, *items: Any) -> Any:
        return get_item(x, items)

    return _each(item, operands, level)


def _each(op: Any, operands: list[_Operand], level: _Level) -> Any:
    """The op on one example after another."""
    if level.length == 0:
        raise ShapeError(
            f"vmap: {getattr(op, '__name__', op)} has no rule for a batch, and cannot be called on an empty one"
        )
    results = [op(*[each.whole[at] if each.batched else each.whole for each in operands]) for at in range(level.length)]
    if isinstance(results[0], tuple):
        columns = [Batched(stack(list(items)), level) for items in zip(*results, strict=True)]
        return results[0]._make(columns) if hasattr(results[0], "_make") else tuple(columns)
    return Batched(stack(results), level)


def _elementwise(op: Any, operands: list[_Operand]) -> Tensor:
    """Axes of length 1 behind the batch axis until all examples have as many; the op does the rest."""
    most = max(each.ndim for each in operands)
    result: Tensor = op(*[each.with_axes(most) for each in operands])
    return result


def _matmul(op: Any, operands: list[_Operand]) -> Tensor:
    a, b = operands
    row, column = a.ndim == 1, b.ndim == 1
    if (op.transpose_a and row) or (op.transpose_b and column):
        raise ShapeError(f"{op}: an operand of 1 dimension has no transpose")
    if row:
        a = _replaced(a, expand_dims(a.whole, axis=-2))
    if column:
        b = _replaced(b, expand_dims(b.whole, axis=-1))
    most = max(a.ndim, b.ndim)
    out: Tensor = op(a.with_axes(most), b.with_axes(most))
    kept = [length for at, length in enumerate(out.shape) if not (row and at == out.ndim - 2)]
    if column:
        kept.pop()
    return reshape(out, tuple(kept)) if row or column else out


def _replaced(operand: _Operand, whole: Tensor) -> _Operand:
    twin = _Operand.__new__(_Operand)
    twin.batched, twin.whole = operand.batched, whole
    twin.shape = whole.shape[1:] if operand.batched else whole.shape
    return twin


def _linear(op: Any, operands: list[_Operand]) -> Tensor | None:
    if any(each.batched for each in operands[1:]):
        return None
    out: Tensor = op(*[each.whole for each in operands])
    return out


def _attention(op: Any, operands: list[_Operand]) -> Tensor:
    query, mask = operands[0], operands[-1]
    if not any(each.batched for each in operands[:3]):  # the mask, which cannot lend the scores its batch
        query.whole, query.batched = query.spread(mask.whole.shape[0]), True
    return _elementwise(op, operands)


def _reduce(op: Any, operands: list[_Operand]) -> Tensor:
    (x,) = operands
    axes = tuple(axis + 1 for axis in axes_of(op.axis, x.ndim, op))
    if x.ndim == 0:  # a reduction of each single element
        whole = _twin(op, axis=1, keepdims=False)(reshape(x.whole, (x.whole.shape[0], 1)))
        return whole  # type: ignore[no-any-return]
    result: Tensor = _twin(op, axis=axes)(x.whole)
    return result


def _along(op: Any, operands: list[_Operand]) -> Tensor:
    (x,) = operands
    (axis,) = axes_of(op.axis, x.ndim, op)
    result: Tensor = _twin(op, axis=axis + 1)(x.whole)
    return result


def _joined(op: Any, operands: list[_Operand]) -> Tensor:
    length = next(each.whole.shape[0] for each in operands if each.batched)
    (axis,) = axes_of(op.axis, operands[0].ndim + isinstance(op, Stack), op)
    result: Tensor = _twin(op, axis=axis + 1)(*[each.spread(length) for each in operands])
    return result


def _view(op: Any, operands: list[_Operand]) -> Tensor:
    (x,) = operands
    whole = x.whole
    shape = op.infer((x.shape,), (whole.dtype,))[0]
    if isinstance(op, PermuteDims):
        axes = [axis % len(op.axes) for axis in op.axes]
        return PermuteDims((0, *[axis + 1 for axis in axes]))(whole)
    if isinstance(op, MatrixTranspose):
        return op(whole)
    if isinstance(op, Flip):
        return Flip(tuple(axis + 1 for axis in axes_of(op.axis, x.ndim, op)))(whole)
    if isinstance(op, BroadcastTo):
        return BroadcastTo((whole.shape[0], *shape))(x.with_axes(len(shape)))
    return reshape(whole, (whole.shape[0], *shape))  # Reshape, ExpandDims, Squeeze


def _twin(op: Any, **changed: Any) -> Any:
    """An op of the same class and configuration, but for what changes."""
    kind: Any = type(op)
    twin = kind.__new__(kind)
    twin.__dict__.update(op.__dict__)
    twin.__dict__.update(changed)
    return twin


_RULES: tuple[tuple[Any, Callable[[Any, list[_Operand]], Tensor | None]], ...] = (
    ((UnaryOp, BinaryOp, Where, Clip, AsType, Real, Imag, Conj), _elementwise),
    (MatMul, _matmul),
    (Linear, _linear),
    (Attention, _attention),
    (ReduceOp, _reduce),
    ((Softmax, LogSoftmax), _along),
    ((Concat, Stack), _joined),
    ((PermuteDims, MatrixTranspose, Flip, BroadcastTo, Reshape, ExpandDims, Squeeze), _view),
)


def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: int = 0) -> Callable[..., Any]:
    """The function, written for one example, for a batch: over axis ``in_axes`` of its arguments.

    ``in_axes`` is one axis for all positional arguments, or one for each, None for those that are no batch. The results
    (a tensor, or tuples, named ones too, lists and dicts of them) have the batch at ``out_axes``. Elementwise ops and
    comparisons, products, reductions and views run once over the whole batch; any other op runs once for each example.
    Gradients flow to the arguments, and to tensors that the function uses beside them. A vmap may stand inside another.

    Raises ShapeError for batches of different lengths, GradientError when the function looks at values, and when one
    of its tensors is used after it has returned.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import vmap
    >>> rows = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> vmap(lambda x, y: x @ y, in_axes=(0, None))(rows, ag.Tensor([1.0, 10.0])).tolist()
    [21.0, 43.0]
    """

    @functools.wraps(function)
    def mapped(*arguments: Any, **keywords: Any) -> Any:
        several = isinstance(in_axes, list | tuple)
        axes: list[Any] = list(in_axes) if several else [in_axes] * len(arguments)  # type: ignore[arg-type]
        if len(axes) != len(arguments):
            raise ShapeError(f"vmap: in_axes names {len(axes)} arguments, and {len(arguments)} were given")
        wholes = [_in_front(*each) for each in enumerate(zip(arguments, axes, strict=True))]
        lengths = {each.shape[0] for each, axis in zip(wholes, axes, strict=True) if axis is not None}
        if len(lengths) != 1:
            raise ShapeError(f"vmap: batches of lengths {sorted(lengths)}; there must be one, and of one length")
        level = _Level(lengths.pop())
        given = [each if axis is None else Batched(each, level) for each, axis in zip(wholes, axes, strict=True)]
        try:
            with intercepting():
                return _out(function(*given, **keywords), level, out_axes)
        finally:
            level.open = False

    return mapped


def _in_front(index: int, given: tuple[Any, int | None]) -> Any:
    """An argument with its batch axis in front."""
    value, axis = given
    if axis is None:
        return value
    if not isinstance(value, Tensor):
        raise DTypeError(f"vmap: argument {index} is a {type(value).__name__}; give it the axis None")
    (place,) = axes_of(axis, value.ndim, "vmap")
    return moveaxis(value, place, 0) if place else value


def _out(value: Any, level: _Level, axis: int) -> Any:
    if isinstance(value, dict):
        return {name: _out(each, level, axis) for name, each in value.items()}
    if isinstance(value, tuple | list):
        items = [_out(each, level, axis) for each in value]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if not isinstance(value, Tensor):
        raise DTypeError(f"vmap: the function returned a {type(value).__name__}, not a Tensor")
    whole = _Operand(value, level).spread(level.length)
    return moveaxis(whole, 0, axis) if axis else whole
