"""What a graph will cost, told before it runs: its ops and rules run on a device without elements."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._standin import StandIn, stand_in
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd._tuples import TupleItem
from treadle.autograd.errors import GradientError
from treadle.autograd.gradients import backward as run_backward
from treadle.autograd.graph import Graph, operands_first
from treadle.autograd.mode import lazy, set_grad_enabled
from treadle.autograd.ops.manipulation import ToDevice
from treadle.autograd.ops.unary import positive
from treadle.ndarray import Device
from treadle.ndarray._memory import block_size

__all__ = ["Phase", "Prediction", "predict"]


@dataclass(frozen=True, slots=True)
class Phase:
    """The work of the forward or of the backward run.

    ``flops_by_kind`` has "products" (of matrices, and convolutions), "elementwise" and "reductions"; a multiply-add
    counts as two. ``bytes_moved`` are those of the operands read and the results written, once for each kernel.
    """

    flops_by_kind: dict[str, int] = field(default_factory=dict)
    bytes_moved: int = 0

    @property
    def flops(self) -> int:
        """All floating-point operations."""
        return sum(self.flops_by_kind.values())


@dataclass(frozen=True, slots=True)
class Prediction:
    """What :func:`predict` gives. Bytes are those beyond what the leaves hold already.

    ``peak_memory`` is the most in use at once, ``graph_memory`` what the graph holds between forward and backward,
    ``gradient_memory`` what the leaves' gradients hold afterwards.
    """

    forward: Phase
    backward: Phase
    peak_memory: int
    graph_memory: int
    gradient_memory: int

    @property
    def flops(self) -> int:
        """Floating-point operations of both runs."""
        return self.forward.flops + self.backward.flops

    @property
    def bytes_moved(self) -> int:
        """Bytes that both runs read and write."""
        return self.forward.bytes_moved + self.backward.bytes_moved

    def __str__(self) -> str:
        lines = [f"{'':10}{'FLOPs':>18}{'of products':>18}{'bytes moved':>18}"]
        for name, phase in (("forward", self.forward), ("backward", self.backward)):
            products = phase.flops_by_kind.get("products", 0)
            lines.append(f"{name:10}{phase.flops:18,}{products:18,}{phase.bytes_moved:18,}")
        held = (("peak memory", self.peak_memory), ("graph", self.graph_memory), ("gradients", self.gradient_memory))
        return "\n".join(lines + [f"{name:11}{nbytes:17,} B" for name, nbytes in held])


def predict(*outputs: Tensor | Graph, backward: bool = True) -> Prediction:
    """FLOPs, bytes moved and peak memory of computing the outputs and differentiating their sum, before either runs.

    Build the graph in a :func:`lazy` block, which computes nothing, or take one that exists. Its ops, rules and the
    engine run on a device whose arrays have shapes but no elements: temporary arrays, and the order in which memory is
    freed, are those of a real run on the cpu. Ops see zeros (or identity matrices) where they read values. Small
    buffers that kernels take for themselves are not counted, nor is what was computed while the graph was built, such
    as a dropout's mask. Gradients that leaves have already are added to. ``backward=False`` leaves the gradients out.

    Raises GradientError where nothing requires grad, unless ``backward=False``; GraphFreedError for a freed graph;
    BackendError where a shape depends on values (an index by a mask).

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([[0.5] * 64] * 64, requires_grad=True)
    >>> with ag.lazy():
    ...     loss = ag.sum(ag.matmul(w, w))
    >>> found = ag.predict(loss)
    >>> found.forward.flops_by_kind["products"], found.backward.flops_by_kind["products"]
    (524288, 1048576)
    >>> loss.is_realized, found.peak_memory
    (False, 65664)
    """
    roots = [each for given in outputs for each in _tensors_of(given)]
    if backward and not all(each.requires_grad for each in roots):
        raise GradientError("predict: an output requires no grad; pass backward=False to predict the forward run alone")
    backend, device = stand_in()
    with nd.use_device(device), lazy(False):
        leaves: list[Tensor] = []
        shadows = _replayed(roots, backend, device, leaves)
        forward, graph_memory = _phase(backend), backend.in_use
        if backward:
            run_backward(shadows)
        back = _phase(backend)
        del shadows[:]
        gradient_memory = sum(_counted(leaf.grad) for leaf in leaves if leaf.grad is not None)
    return Prediction(forward, back, backend.peak, graph_memory, gradient_memory)


def _tensors_of(given: Tensor | Graph) -> list[Tensor]:
    if not isinstance(given, (Tensor, Graph)):
        raise nd.DTypeError(f"predict: an output is a {type(given).__name__}, not a Tensor or a Graph")
    return [given] if isinstance(given, Tensor) else [given.nodes[each].tensor for each in given.outputs]


def _counted(tensor: Tensor) -> int:
    return block_size(tensor.data.nbytes)


def _phase(backend: StandIn) -> Phase:
    """What was counted since the last time."""
    phase = Phase({kind: count for kind, count in backend.flops.items() if count}, backend.moved)
    backend.flops.clear()
    backend.moved = 0
    return phase


def _call_of(node: Tensor) -> tuple[Any, tuple[Tensor, ...]]:
    """The op and the operands of a node, computed or put off; (None, ()) for a leaf."""
    waiting = node.waiting
    if waiting is not None:
        return waiting[0], waiting[1]
    return node.op, node.inputs


def _replayed(roots: list[Tensor], backend: StandIn, device: Device, leaves: list[Tensor]) -> list[Tensor]:
    """The outputs once more, on the stand-in device. A node that nobody needs any more is let go, as in a real run."""
    order = list(operands_first(roots, lambda node: _call_of(node)[1]))
    uses = Counter(id(each) for node in order for each in _call_of(node)[1])
    uses.update(id(each) for each in roots)
    made: dict[int, Any] = {}
    for node in order:
        if _call_of(node)[0] is None:
            made[id(node)] = _leaf_like(node, device)
            leaves.append(made[id(node)])
    backend.in_use = backend.peak = backend.moved = 0  # what exists already is not counted
    for node in order:
        op, inputs = _call_of(node)
        if op is None:
            continue
        with set_grad_enabled(node.requires_grad):
            made[id(node)] = _called(op, [made[id(each)] for each in inputs])
        for each in inputs:
            uses[id(each)] -= 1
            if not uses[id(each)]:
                del made[id(each)]
    return [made[id(each)] for each in roots]


def _leaf_like(node: Tensor, device: Device) -> Tensor:
    leaf = constant(nd.empty(node.shape, dtype=node.dtype, device=device))
    leaf.requires_grad = node.requires_grad
    if node.grad is not None:  # a sum is then made beside the two
        leaf.grad = _leaf_like(node.grad, device)
    return leaf


def _called(op: Op, inputs: list[Any]) -> Any:
    if isinstance(op, TupleItem):
        return inputs[0][op.index]
    if isinstance(op, ToDevice):  # to the one device there is
        return positive(inputs[0])
    return op(*inputs)
