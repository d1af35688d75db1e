"""What hooks make of gradients: the part of the engine that runs only where somebody has registered one."""

from typing import Any

from treadle.autograd._tensor import Tensor, constant
from treadle.autograd._tuples import TensorTuple, TupleGradient
from treadle.autograd.errors import OpContractError
from treadle.ndarray import NDArray

__all__ = ["hooked", "op_hooked"]


def hooked(node: Tensor, grad: Any, create_graph: bool) -> Any:
    """The whole gradient of a node as its hooks leave it: an array, or a tensor under ``create_graph``."""
    for hook in node.hooks:
        result = hook(grad if create_graph else constant(grad))
        if result is None:
            continue
        if not isinstance(result, Tensor) or not _fits(result, node):
            expected = f"expected None or a Tensor of shape {node.shape}, dtype {node.dtype}"
            found = f"shape {result.shape}, dtype {result.dtype}" if isinstance(result, Tensor) else type(result)
            raise OpContractError(f"hook {hook!r} of {node.op or 'a leaf'}: {expected}, got {found}")
        grad = result if create_graph else result.data
    return grad


def op_hooked(node: Tensor, results: tuple[Any, ...], grad: Any, create_graph: bool) -> tuple[Any, ...]:
    """The gradients of a node's inputs, which its rule has given, as its op hooks leave them."""
    for hook in node.op_hooks:
        changed = hook(node, tuple(_shown(each) for each in results), _shown(grad))
        if changed is None:
            continue
        changed = changed if type(changed) is tuple else (changed,)
        if len(changed) != len(results):
            raise OpContractError(
                f"op hook {hook!r} of {node.op}: it gave {len(changed)} gradients for {len(results)} inputs"
            )
        results = tuple(_taken(each, not create_graph) for each in changed)
        for index, operand in enumerate(node.inputs):
            if isinstance(operand, TensorTuple) and not isinstance(results[index], TupleGradient):
                raise OpContractError(
                    f"op hook {hook!r} of {node.op}: the gradient of input {index}, the result of {operand.op}, must "
                    f"be a tuple with a Tensor or None for each item, not {type(changed[index]).__name__}"
                )
    return results


def _shown(gradient: Any) -> Any:
    """A gradient as hooks see it: a tensor, or a tuple of them for an op with several results."""
    if isinstance(gradient, TupleGradient):
        return tuple(_shown(each) for each in gradient.items)
    return constant(gradient) if type(gradient) is NDArray else gradient


def _taken(gradient: Any, plain: bool) -> Any:
    """What a hook gave, as the engine computes with it."""
    if type(gradient) is tuple:
        return TupleGradient(tuple(_taken(each, plain) for each in gradient))
    return gradient.data if plain and isinstance(gradient, Tensor) else gradient


def _fits(result: Tensor, node: Tensor) -> bool:
    return result.shape == node.shape and result.dtype is node.dtype and result.device is node.device
