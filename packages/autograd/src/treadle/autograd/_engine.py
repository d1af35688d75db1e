"""The engine: reverse-mode differentiation of a graph, without recursion. It holds no data between runs.

1. Discovery. From the roots, breadth first, every node that requires grad gets a slot, and every edge adds one to the
   in-degree of its operand: the number of contributions its gradient will be summed from. Then large values that
   nobody can see any more, and no rule reads, are dropped.
2. Kahn's algorithm. A slot whose in-degree has fallen to 0 has its whole gradient; its rule runs, its results are
   checked against the operands and added to theirs, and the gradient, the links to the operands and the saved values
   are dropped at once, so that memory falls as the run goes on. A sum that the run alone holds grows where it is.
3. A leaf adds what arrives to ``.grad`` under a lock, in memory of its own.

Compiled by Cython with the types of ``_engine.pxd``.
"""

import sys
import threading
from typing import Any

import treadle.ndarray as _nd
from treadle.autograd._arrays import alike, nbytes, version
from treadle.autograd._hooking import hooked, op_hooked
from treadle.autograd._node import STATE, GraphView
from treadle.autograd._op import mirrored
from treadle.autograd._tables import Integers, Slots
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd._tuples import TensorTuple, TupleGradient
from treadle.autograd.errors import GradientError, OpContractError
from treadle.autograd.mode import enable_grad
from treadle.ndarray import DeviceError, NDArray, ShapeError

__all__ = ["bind", "differentiate"]

_array_type = NDArray
_functions: Any = None
_lock = threading.Lock()
_IN_PLACE = 1 << 10  # elements from which on it pays to look who else holds an array


def bind(functions: Any) -> None:
    """Take the functions that rules compute with under ``create_graph``."""
    global _functions
    _functions = functions


def differentiate(
    roots: tuple[Tensor, ...],
    gradients: tuple[Any, ...],
    targets: tuple[Tensor, ...] | None,
    retain_graph: bool,
    create_graph: bool,
    boundary: bool = False,
    accumulate: bool = True,
) -> list[Any] | None:
    """Run backward from the roots: into the leaves' ``.grad``, or, with targets, to a list of their gradients.

    Unless ``accumulate``, what stood in ``.grad`` is replaced.

    What is on no way to a target is neither run nor freed. With ``boundary`` the run ends at the targets: one does not
    count what reaches it through another, their hooks do not run, and what lies behind them is left alone.
    """
    if create_graph:
        with enable_grad():
            return Run(roots, gradients, targets, True, True, boundary, accumulate).finish()
    return Run(roots, gradients, targets, retain_graph, False, boundary, accumulate).finish()


class Run:
    """One run of the engine. Lists are indexed by the nodes' slots; edges by position, from ``starts`` of a slot."""

    def __init__(
        self,
        roots: tuple[Tensor, ...],
        gradients: tuple[Any, ...],
        targets: tuple[Tensor, ...] | None,
        retain_graph: bool,
        create_graph: bool,
        boundary: bool,
        accumulate: bool,
    ) -> None:
        self.boundary = boundary
        self.accumulate = accumulate
        final = targets is not None and (boundary or len(targets) == 1)  # nothing behind one target is a target
        self.ends = set(map(id, targets or ())) if final else set()
        self.watcher = STATE.watcher
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.xp = _functions if create_graph else _nd
        self.nodes: list[Any] = []
        self.grads: list[Any] = []
        self.pending = Integers()
        self.edges = Integers()
        self.starts = Integers()
        self.needed: list[bool] | None = None
        self.found: list[Any] | None = None
        self.target_slots: dict[int, list[int]] = {}
        self.dropped = False
        slots = self._discover(roots)
        for root, gradient in zip(roots, gradients, strict=True):
            self._seed(root, gradient, slots.find(root))
        if targets is not None:
            self._aim(targets, slots)

    def _discover(self, roots: tuple[Tensor, ...]) -> Slots:
        slots = Slots()
        nodes = self.nodes
        edges = self.edges
        pending = self.pending
        for root in roots:
            if not root._requires_grad:
                raise GradientError(
                    "backward: this tensor requires no grad: it depends on no leaf with requires_grad=True, or was "
                    "computed under no_grad() or from detached or integer tensors"
                )
            root.data  # noqa: B018 - lazy mode may have put it off
            if slots.find(root) < 0:
                slots.put(root, len(nodes))
                nodes.append(root)
                pending.push(0)
        position = 0
        while position < len(nodes):
            node = nodes[position]
            position += 1
            self.starts.push(edges.length())
            if node._op is None or (self.ends and id(node) in self.ends):
                continue
            inputs = node._inputs
            if inputs is None:
                raise node._freed()
            for operand in inputs:
                if not operand._requires_grad:
                    edges.push(-1)
                    continue
                slot = slots.find(operand)
                if slot < 0:
                    slot = len(nodes)
                    slots.put(operand, slot)
                    nodes.append(operand)
                    pending.push(0)
                pending.add(slot, 1)
                edges.push(slot)
        self.starts.push(edges.length())
        self.grads = [None] * len(nodes)
        return slots

    def _seed(self, root: Tensor, gradient: Any, slot: int) -> None:
        """Put the gradient that backward starts with at a root."""
        if gradient is None and root.dtype.kind == "c":
            raise GradientError(
                f"backward: the tensor is complex ({root.dtype}), which has no gradient by default; give one, or take "
                "real(), imag() or abs() first"
            )
        if gradient is None:
            gradient = constant(_nd.ones_like(root.data))
        elif not isinstance(gradient, Tensor):
            raise OpContractError(f"backward: the first gradient must be a Tensor, not {type(gradient).__name__}")
        elif gradient.shape != root.shape:
            raise ShapeError(f"backward: the first gradient has shape {gradient.shape}, the tensor {root.shape}")
        elif gradient.dtype != root.dtype:
            raise OpContractError(f"backward: the first gradient has dtype {gradient.dtype}, the tensor {root.dtype}")
        elif gradient.device is not root.device:
            raise DeviceError(f"backward: the first gradient is on {gradient.device}, the tensor on {root.device}")
        value = gradient if self.create_graph else gradient.data
        self.grads[slot] = value if self.grads[slot] is None else self.grads[slot] + value

    def _aim(self, targets: tuple[Tensor, ...], slots: Slots) -> None:
        """Mark the nodes from which a target is reached; rules run for those only."""
        self.found = [None] * len(targets)
        for index, target in enumerate(targets):
            slot = slots.find(target)
            if slot >= 0:
                self.target_slots.setdefault(slot, []).append(index)
        needed = [False] * len(self.nodes)
        leads = [False] * len(self.nodes)
        for slot in reversed(self._order()):
            for edge in self._edges_of(slot):
                if edge >= 0 and leads[edge]:
                    needed[slot] = True
            leads[slot] = needed[slot] or slot in self.target_slots
        self.needed = needed

    def _edges_of(self, slot: int) -> list[int]:
        """The slots of a node's operands, -1 for those without gradient."""
        return [self.edges.at(place) for place in range(self.starts.at(slot), self.starts.at(slot + 1))]

    def _order(self) -> list[int]:
        """The slots in topological order, results before operands."""
        pending = self.pending.copied()
        order = [slot for slot in range(pending.length()) if pending.at(slot) == 0]
        position = 0
        while position < len(order):
            slot = order[position]
            position += 1
            for edge in self._edges_of(slot):
                if edge >= 0 and pending.add(edge, -1) == 0:
                    order.append(edge)
        return order

    def finish(self) -> list[Any] | None:
        """Run the rules; what is left of a graph without values when one fails is freed."""
        if not self.retain_graph and self.watcher is None:
            self._drop_values()
        if not self.dropped:
            return self._walk()
        try:
            return self._walk()
        except BaseException:
            for slot, node in enumerate(self.nodes):
                if node is not None and node._op is not None and self._runs(slot):
                    node._release()
            raise

    def _runs(self, slot: int) -> bool:
        """Whether the rule of a node is run; the others are left as they are."""
        return self.needed is None or self.needed[slot]

    def _drop_values(self) -> None:
        """Put arrays without memory in the place of large values that only the graph holds.

        Such a value lives on if a rule's saved values have it.
        """
        for slot in self._unseen():
            node = self.nodes[slot]
            value = node._data
            node._data = _nd.broadcast_to(_nd.empty((), dtype=value.dtype, device=value.device), value.shape)
            self.dropped = True

    def _unseen(self) -> list[int]:
        """The slots of large values that nobody could look at but through the graph: neither hooks nor users' rules."""
        nodes = self.nodes
        found: list[int] = []
        for slot in range(len(nodes)):
            node = nodes[slot]
            if node._op is not None and self._runs(slot) and nbytes(node._data) >= _LARGE:
                found.append(slot)
        if not found:
            return found
        for node in nodes:
            if node._hooks is not None or node._op_hooks is not None:
                return []
            if node._op is not None and not type(node._op).__module__.startswith(_OWN_RULES):
                return []
        node = None
        return [slot for slot in found if _count_node(nodes, slot) - self.pending.at(slot) == _ALONE]

    def _walk(self) -> list[Any] | None:
        """Kahn's algorithm."""
        nodes = self.nodes
        grads = self.grads
        pending = self.pending
        ready = Integers()
        for slot in range(len(nodes)):
            if pending.at(slot) == 0:
                ready.push(slot)
        while ready.length() > 0:
            slot = ready.pop()
            node = nodes[slot]
            grad = grads[slot]
            nodes[slot] = None
            grads[slot] = None
            if node._hooks is not None and grad is not None and not (self.boundary and slot in self.target_slots):
                grad = hooked(node, grad, self.create_graph)
            if self.found is not None and slot in self.target_slots:
                for index in self.target_slots[slot]:
                    self.found[index] = self._own(grad)
            if node._op is None or (self.ends and id(node) in self.ends):
                if self.found is None:
                    self._accumulate(node, grad)
                continue
            if node._retain_grad and self.found is None:
                self._accumulate(node, grad)
            start = self.starts.at(slot)
            runs = self._runs(slot)
            if runs:
                if self.watcher is not None:
                    self.watcher.gradient(node, grad)
                try:
                    if not self._puts(node, grad, start):
                        self._propagate(node, grad, start)
                except Exception as error:
                    _tell(error, node)
                    raise
            for place in range(start, self.starts.at(slot + 1)):
                edge = self.edges.at(place)
                if edge >= 0 and pending.add(edge, -1) == 0:
                    ready.push(edge)
            if runs and not self.retain_graph:
                node._release()
        return self.found

    def _propagate(self, node: Tensor, grad: Any, start: int) -> None:
        """Run the rule of a node and add its results to the gradients of the operands."""
        op: Any = node._op
        inputs: Any = node._inputs
        results: Any
        if node._data.dtype.kind == "c" and op.holomorphic:
            results = mirrored(op, self.xp, grad, GraphView(node, constant) if self.create_graph else node)
        elif self.create_graph:
            results = op.backward(self.xp, grad, GraphView(node, constant))
        elif op._is_direct:
            results = op._gradients(grad, node)
        else:
            as_given = version(grad)
            results = op.backward(self.xp, grad, node)
            if version(grad) != as_given:  # which other rules, and the caller, may hold too
                raise OpContractError(f"{op}: backward writes into the gradient that it is given{node._built_at()}")
        if type(results) is not tuple:
            results = tuple(results) if type(results) is list else (results,)
        if len(results) != len(inputs):
            raise OpContractError(
                f"{op}: backward gave {len(results)} gradients for {len(inputs)} inputs{node._built_at()}"
            )
        if node._op_hooks is not None:
            results = op_hooked(node, results, grad, self.create_graph)
        grads = self.grads
        for index in range(len(inputs)):
            slot = self.edges.at(start + index)
            if slot < 0:
                continue
            gradient = results[index]
            operand = inputs[index]
            if self.create_graph:
                if not isinstance(gradient, Tensor) or not alike(gradient.data, operand._data):
                    _check_items(node, index, operand, gradient, Tensor)
            elif not alike(gradient, operand._data):
                _check_items(node, index, operand, gradient, NDArray)
            if self.watcher is not None:
                self.watcher.contribution(node, index, operand, gradient)
            before = grads[slot]
            if before is None:
                grads[slot] = gradient
            elif self.create_graph or type(before) is not _array_type or before.size < _IN_PLACE:
                grads[slot] = before + gradient
            else:
                grads[slot] = None
                grads[slot] = _nd.add(before, gradient, out=before) if self._is_ours(before) else before + gradient

    def _puts(self, node: Tensor, grad: Any, start: int) -> bool:
        """Whether an op that selects a part of its operand added its gradient to what the operand's holds already."""
        op: Any = node._op
        slot = self.edges.at(start)
        if slot < 0 or self.grads[slot] is None or self.create_graph or not op.selects_part:
            return False
        before = self.grads[slot]
        if type(before) is not _array_type or self.watcher is not None or node._op_hooks is not None:
            return False
        self.grads[slot] = None
        fits = self._is_ours(before)
        self.grads[slot] = before
        if fits:
            op.add_into(before, grad)
        return fits

    def _is_ours(self, array: NDArray) -> bool:
        """Whether the caller's variable is all that holds an array and its memory, in which elements lie apart."""
        return array.is_contiguous and _references(array) == _UNSHARED

    def _accumulate(self, node: Tensor, grad: Any) -> None:
        """Add to ``.grad``, or put into its place."""
        with _lock:
            before = node._grad if self.accumulate else None
            if before is None:
                node._grad = self._own(grad)
            elif self.create_graph:
                node._grad = before + grad
            else:
                node._grad = constant(before.data + grad)

    def _own(self, grad: Any) -> Tensor:
        """A tensor of the gradient that shares its memory with nothing; rules hand one array to several operands."""
        if self.create_graph:
            copied: Tensor = _functions.positive(grad)
            return copied
        if _references(grad) == _UNSHARED and grad.is_contiguous:
            return constant(grad)
        return constant(grad.copy())


def _tell(error: Exception, node: Tensor) -> None:
    """Note at an error which op's rule or hook it left, and which line called that op; errors of graphs say so."""
    if not isinstance(error, GradientError | OpContractError):
        error.add_note(f"in the backward pass of {node._op}{node._built_at()}")


def _check_items(node: Tensor, index: int, operand: Tensor, gradient: Any, kind: type) -> None:
    """A tensor tuple's gradient is one for each of its items, or None; all else that comes here does not fit."""
    if not isinstance(gradient, TupleGradient) or not isinstance(operand, TensorTuple) or not operand.takes(gradient):
        raise _misfit(node, index, operand, gradient, kind)


def _misfit(node: Tensor, index: int, operand: Tensor, gradient: Any, kind: type) -> OpContractError:
    expected = f"expected {kind.__name__} of shape {operand.shape}, dtype {operand.dtype}"
    if isinstance(gradient, kind):
        got: Any = gradient
        found = f"shape {got.shape}, dtype {got.dtype}"
        if got.device is not operand.device:
            expected += f", device {operand.device}"
            found += f", device {got.device}"
    else:
        found = "None" if gradient is None else type(gradient).__name__
    return OpContractError(f"{node._op}: gradient of input {index}: {expected}, got {found}{node._built_at()}")


def _references(array: NDArray) -> tuple[int, int, bool]:
    """How many references there are to an array, and to its memory (one for each view of it); and whether that is
    another library's, which may look at it without any, or not to be written: a part of one that was broadcast."""
    buffer = array.buffer
    return sys.getrefcount(array), sys.getrefcount(buffer), buffer.borrowed or array.readonly


def _count_unshared(array: NDArray) -> tuple[int, int, bool]:
    return _references(array)


def _calibrate() -> Any:
    """What :func:`_references` gives when one caller's variable is the only reference, as in :meth:`Run.finish`."""
    grads = [_nd.zeros((1,))]
    grad = grads[0]
    grads[0] = None  # type: ignore[call-overload]
    return _count_unshared(grad)


def _count_node(nodes: list[Any], slot: int) -> int:
    """How many references there are to a node in a list."""
    return sys.getrefcount(nodes[slot])


_UNSHARED = _calibrate()

_LARGE = 1 << 16  # bytes of a value that is worth dropping before its node's turn
# Where the ops stand whose rules read of their operands only what was saved, the shape, the dtype and the device. Told
# by module, since a user's subclass of one of them may read more:
_OWN_RULES = ("treadle.autograd.ops.", "treadle.autograd._tuples", "treadle.nn.functional.")
_ALONE = _count_node([constant(_nd.zeros((1,)))], 0)
