"""What lazy mode does: build a node without computing it, and compute it, with what it needs, when it is asked for."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._node import STATE, broken
from treadle.autograd._op import miscounted
from treadle.autograd._tensor import Op, Tensor, apply, deferred
from treadle.autograd.errors import OpContractError, SavedValueError
from treadle.autograd.mode import is_grad_enabled, is_lazy, lazy
from treadle.autograd.ops.manipulation import ToDevice
from treadle.autograd.vectorizing import Batched, batched_call
from treadle.ndarray import DeviceError, NDArray

__all__ = ["defer", "intercept", "realize"]


def intercept(op: Op, inputs: tuple[Tensor, ...], requires_grad: bool) -> Tensor | None:
    """What an op call becomes inside vmap or in lazy mode; None for a call as usual."""
    if any(isinstance(each, Batched) for each in inputs):
        result: Tensor = batched_call(op, inputs)
        return result
    return defer(op, inputs, requires_grad) if is_lazy() else None


def defer(op: Op, inputs: tuple[Tensor, ...], requires_grad: bool) -> Tensor:
    """The node of an op call that is put off; computed at once where the op cannot tell its result beforehand."""
    if type(op).infer is Op.infer or not inputs:
        with lazy(False):
            return apply(op, inputs)
    device = inputs[0].device
    for each in inputs:
        if each.device is not device:
            raise DeviceError(f"{op}: operands on {device} and {each.device}; move one with to()")
    try:
        shape, dtype = op.infer(tuple([each.shape for each in inputs]), tuple([each.dtype for each in inputs]))
    except (TypeError, ValueError, IndexError) as error:
        raise miscounted(op, len(inputs), error)  # noqa: B904
    target = nd.device(op.device) if isinstance(op, ToDevice) else device
    flows = requires_grad and dtype.kind in "fc" and is_grad_enabled()
    tensor = deferred(op, inputs, (shape, dtype, target), flows)
    if not flows:
        integral = dtype.kind not in "fc"
        reason = f"the result of {op} is of dtype {dtype.name}, through which no gradient flows"
        broken(tensor, reason if integral else "computed under no_grad()", inputs)
    return tensor


def realize(tensor: Tensor) -> None:
    """Compute a tensor and what it needs, operands first, without recursion."""
    stack: list[Tensor] = [tensor]
    while stack:
        node = stack[-1]
        waiting = node.waiting
        if waiting is None:
            stack.pop()
            continue
        inputs = waiting[1]
        missing = [each for each in inputs if each.waiting is not None]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        _compute(node, *waiting)


def _compute(node: Tensor, op: Any, inputs: tuple[Tensor, ...], known: list[Any], versions: list[int]) -> None:
    for each, array, version in zip(inputs, known, versions, strict=True):
        now, then = (each.data.version, each.first_version) if array is None else (array.version, version)
        if now != then:
            raise SavedValueError(
                f"{op}: an operand was overwritten in place before the op, which lazy mode put off, was computed"
                f"{node._built_at()}; call realize() before writing"
            )
    arrays = [each.data if array is None else array for each, array in zip(inputs, known, strict=True)]
    result = op.forward(nd, *arrays)
    if type(result) is not tuple or len(result) != 2 or type(result[0]) is not NDArray or type(result[1]) is not tuple:
        raise OpContractError(f"{op}: forward must return (array, saved)")
    data, saved = result
    if data.shape != node.shape or data.dtype is not node.dtype:
        raise OpContractError(
            f"{op}: infer said shape {node.shape}, dtype {node.dtype}; forward gave {data.shape}, {data.dtype}"
        )
    node._arrive(data, saved)
    if STATE.watcher is not None:
        STATE.watcher.realized(node, op, inputs)
