"""Ops that do in one node what a composition of others does in many.

Their backward rules are written for arrays. Where gradients are to be differentiated again, the composition is built
anew and differentiated instead, so that it also says what the op means: a test compares the two.
"""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Op, Tensor, TupleOp, enable_grad, positive
from treadle.autograd import grad as gradients_of

__all__ = ["FusedOp", "FusedTupleOp", "dense", "in_one_dtype", "is_half", "is_host"]


def dense(array: Any) -> Any:
    """The array, or a copy of it in C order, as kernels want it."""
    return array if array.is_contiguous else array.copy()


def is_half(tensor: Tensor) -> bool:
    """Whether it is of float16 or bfloat16: where sums and squares of those would overflow, float32 computes."""
    return tensor.dtype.kind == "f" and tensor.dtype.itemsize == 2


def is_host(device: nd.Device) -> bool:
    """Whether elements can be looked at: of another device's they are waited for, and not there in a capture."""
    return device.type in ("cpu", "numpy")


def in_one_dtype(*operands: Tensor) -> tuple[Tensor, ...]:
    """The operands in the dtype in which all meet: the rules of fused ops give every gradient in one dtype."""
    first = operands[0].dtype
    if all(each.dtype is first for each in operands):
        return operands
    common = nd.result_type(*[each.dtype for each in operands])
    return tuple(each.astype(common) for each in operands)


def _through_composition(op: Any, node: Any, seeds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients of the op's inputs as nodes of a graph of their own."""
    node.saved  # noqa: B018 - the operands must be what they were
    inputs = [positive(each) if each.requires_grad else each.detach() for each in node.inputs]
    with enable_grad():
        outputs = op.composition(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    used = [(out, seed) for out, seed in zip(outputs, seeds, strict=True) if seed is not None]
    wanted = tuple(each for each in inputs if each.requires_grad)
    found = iter(
        gradients_of(
            tuple(out for out, _ in used),
            wanted,
            tuple(seed for _, seed in used),
            retain_graph=True,
            create_graph=True,
            allow_unused=True,
        )
    )
    return tuple(_or_zeros(next(found), each) if each.requires_grad else None for each in inputs)


def _or_zeros(gradient: Tensor | None, operand: Tensor) -> Tensor:
    return Tensor(nd.zeros_like(operand.data)) if gradient is None else gradient


class FusedOp(Op):
    """A fused op with one result: ``forward``, ``rule`` on arrays, and ``composition`` on tensors."""

    def composition(self, *inputs: Tensor) -> Any:
        """The same result from other ops."""
        raise TypeError(f"{type(self).__name__} defines no composition")

    def rule(self, grad: Any, node: Any) -> Any:
        """The gradients of the inputs, as arrays."""
        raise TypeError(f"{type(self).__name__} defines no rule")

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return self.rule(grad, node) if xp is nd else _through_composition(self, node, (grad,))


class FusedTupleOp(TupleOp):
    """A fused op with several results; ``array_rule`` takes a gradient, or None, for each of them."""

    def composition(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The same results from other ops."""
        raise TypeError(f"{type(self).__name__} defines no composition")

    def array_rule(self, grads: tuple[Any, ...], node: Any) -> Any:
        """The gradients of the inputs, as arrays."""
        raise TypeError(f"{type(self).__name__} defines no array_rule")

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        return self.array_rule(grads, node) if xp is nd else _through_composition(self, node, grads)
