"""Ops with several results.

Such an op makes one hidden node, the tensor tuple, which holds all results; each result that the user sees is a node
of its own that picks one item of it. The gradient of the tuple is a tuple with None for the items that nothing used.
"""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._node import STATE, broken
from treadle.autograd._op import miscounted, refuse
from treadle.autograd._tensor import Op, Tensor, constant, recorded
from treadle.autograd.errors import GradientError, OpContractError
from treadle.autograd.mode import is_grad_enabled
from treadle.ndarray import DType, NDArray

__all__ = ["TensorTuple", "TupleGradient", "TupleItem", "TupleOp"]


class TupleGradient:
    """The gradients of a tuple's items, None for those that nothing used; sums go item by item."""

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items

    def __add__(self, other: "TupleGradient") -> "TupleGradient":
        pairs = zip(self.items, other.items, strict=True)
        return TupleGradient(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


class TensorTuple(Tensor):
    """The node of an op with several results. Its ``data`` is the first of ``parts``."""

    parts: tuple[NDArray, ...] = ()

    def register_hook(self, hook: Any) -> Any:
        raise GradientError(f"register_hook: this is all results of {self.op} together; register it at one of them")

    def retain_grad(self) -> Any:
        raise GradientError(f"retain_grad: this is all results of {self.op} together; ask one of them for it")

    def takes(self, gradient: TupleGradient) -> bool:
        """Whether a gradient has an array, or tensor, of its shape and dtype for each result, or None."""
        if len(gradient.items) != len(self.parts):
            return False
        pairs = zip(gradient.items, self.parts, strict=True)
        return all(g is None or (g.shape == part.shape and g.dtype is part.dtype) for g, part in pairs)

    def item_of(self, value: NDArray) -> Tensor | None:
        """The item whose values an array is, as a node; None for another array."""
        for index, part in enumerate(self.parts):
            if part is value:
                return recorded(TupleItem(index, len(self.parts)), (self,), part, ())
        return None


class TupleItem(Op):
    """The result number ``index`` of an op that has ``count``."""

    def __init__(self, index: int, count: int) -> None:
        self.index = index
        self.count = count

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        raise OpContractError(f"{self}: an item is taken from a tensor tuple by the op that makes it")

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return TupleGradient(tuple(grad if at == self.index else None for at in range(self.count)))

    def infer(self, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[DType, ...]) -> tuple[tuple[int, ...], DType]:
        return shapes[0], dtypes[0]


class TupleOp(Op):
    """Base of the ops with several results.

    ``forward`` returns ``(results, saved)`` with a tuple of arrays; ``rule(self, xp, grads, node)`` is the backward
    rule, whose ``grads`` has None for results that nothing used; the call gives a tuple of tensors.

    >>> import treadle.autograd as ag
    >>> class Halves(ag.TupleOp):
    ...     def forward(self, xp, x):
    ...         return (x * 0.25, x * 0.75), ()
    ...
    ...     def rule(self, xp, grads, node):
    ...         parts = [g * s for g, s in zip(grads, (0.25, 0.75)) if g is not None]
    ...         return parts[0] if len(parts) == 1 else parts[0] + parts[1]
    >>> x = ag.Tensor([4.0], requires_grad=True)
    >>> first, second = Halves()(x)
    >>> (first + 2.0 * second).backward()
    >>> x.grad.tolist()
    [1.75]
    """

    def __call__(self, *inputs: Any) -> Any:
        for index, value in enumerate(inputs):
            if not isinstance(value, Tensor):
                raise refuse(self, index, value)
        if STATE.lazy_blocks:
            from treadle.autograd.vectorizing import Batched, batched_call  # made of ops, as this is a base of

            if any(isinstance(each, Batched) for each in inputs):
                return batched_call(self, inputs)
        try:
            result: Any = self.forward(nd, *[each.data for each in inputs])
        except (TypeError, ValueError) as error:
            raise miscounted(self, len(inputs), error)  # noqa: B904
        if (
            type(result) is not tuple
            or len(result) != 2
            or type(result[0]) is not tuple
            or type(result[1]) is not tuple
            or not result[0]
            or not all(isinstance(each, NDArray) for each in result[0])
        ):
            raise OpContractError(f"{self}: forward must return ((array, ...), saved), both tuples")
        arrays, saved = result
        flows = is_grad_enabled() and any(each.requires_grad for each in inputs)
        if not flows:
            items = [constant(each) for each in arrays]
            for each in items:
                broken(each, "computed under no_grad()", inputs)
            return self.packed(_shown(self, inputs, items))
        bundle = _bundle(self, inputs, arrays, saved)
        items = [_item(self, bundle, index, inputs) for index in range(len(arrays))]
        return self.packed(_shown(self, inputs, items))

    def packed(self, items: list[Tensor]) -> Any:
        """The results as the call gives them: a tuple, or the subclass's named tuple."""
        return tuple(items)

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        """The backward rule."""
        raise OpContractError(f"{type(self).__name__} defines no rule")

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return self.rule(xp, grad.items, node)


def _shown(op: Op, inputs: tuple[Tensor, ...], items: list[Tensor]) -> list[Tensor]:
    """Show the results of a call to who watches."""
    if STATE.watcher is not None:
        for each in items:
            STATE.watcher.made(each, op, inputs)
    return items


def _bundle(op: Op, inputs: tuple[Tensor, ...], arrays: tuple[NDArray, ...], saved: tuple[Any, ...]) -> TensorTuple:
    bundle: TensorTuple = recorded(op, inputs, arrays[0], saved, TensorTuple)  # type: ignore[assignment]
    bundle.parts = arrays
    return bundle


def _item(op: Op, bundle: TensorTuple, index: int, inputs: tuple[Tensor, ...]) -> Tensor:
    array = bundle.parts[index]
    if array.dtype.kind in "fc":
        return recorded(TupleItem(index, len(bundle.parts)), (bundle,), array, ())
    item = constant(array)
    broken(item, f"result {index} of {op} is of dtype {array.dtype.name}, through which no gradient flows", inputs)
    return item
