"""What hooks make of gradients: the part of the engine that runs only where somebody has registered one."""

from typing import Any

from treadle.autograd._tensor import Tensor, constant
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
        given = results if create_graph else tuple(_shown(each) for each in results)
        changed = hook(node, given, grad if create_graph else _shown(grad))
        if changed is None:
            continue
        changed = changed if type(changed) is tuple else (changed,)
        if len(changed) != len(results):
            raise OpContractError(
                f"op hook {hook!r} of {node.op}: it gave {len(changed)} gradients for {len(results)} inputs"
            )
        results = tuple(each.data if not create_graph and isinstance(each, Tensor) else each for each in changed)
    return results


def _shown(value: Any) -> Any:
    return constant(value) if type(value) is NDArray else value


def _fits(result: Tensor, node: Tensor) -> bool:
    return result.shape == node.shape and result.dtype is node.dtype and result.device is node.device
