"""Walking through a graph node by node, in either direction, with breakpoints.

The stepper computes what the engine computes, in the engine's order and to the same bits, but in plain Python and one
node at a time; nothing of it runs, or costs anything, unless one is made. The graph and all ``.grad`` stay as they are.
"""

import math
import pdb
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._hooking import hooked, op_hooked
from treadle.autograd._op import rule_of
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._tuples import TupleGradient, TupleItem
from treadle.autograd.errors import GradientError, OpContractError
from treadle.autograd.graph import Graph, GraphNode
from treadle.ndarray import NDArray

__all__ = ["Breakpoint", "Step", "Stepper"]


@dataclass(frozen=True, slots=True)
class Step:
    """One node's turn. Forward: ``inputs`` and the ``value`` computed from them. Backward: ``grad``, the node's whole
    gradient, and ``gradients``, what the rule gave for each operand (None where none is wanted).
    """

    direction: str
    number: int
    node: GraphNode
    inputs: tuple[NDArray, ...]
    value: NDArray
    grad: NDArray | None = None
    gradients: tuple[NDArray | None, ...] = ()
    hit: "Breakpoint | None" = None

    @property
    def op(self) -> Op | None:
        """The op of the node; None for a leaf, which backward comes to at the end of a path."""
        return self.node.tensor.op

    def __str__(self) -> str:
        place = self.node.location
        where = f"  {place}: {place.text}" if place else ""
        lines = [f"{self.direction} {self.number}: %{self.node.number} {self.node.label}{where}"]
        for number, each in enumerate(self.inputs):
            lines.append(f"  input {number}  {_summary(each)}")
        lines.append(f"  value    {_summary(self.value)}")
        if self.grad is not None:
            lines.append(f"  grad     {_summary(self.grad)}")
            lines += [
                f"  to input {number}  {_summary(each)}"
                for number, each in enumerate(self.gradients)
                if each is not None
            ]
        if self.hit is not None:
            lines.append(f"  stopped by {self.hit}")
        return "\n".join(lines)

    __repr__ = __str__


def _norm(array: Any) -> float:
    if isinstance(array, TupleGradient):
        return math.hypot(*[_norm(each) for each in array.items if each is not None])
    if not array.size:
        return 0.0
    sizes = nd.abs(array) if array.dtype.kind == "c" else array
    return float(nd.sqrt(nd.sum(nd.square(nd.astype(sizes, nd.float64)))))


def _summary(array: Any) -> str:
    if isinstance(array, TupleGradient):
        return "; ".join("nothing" if each is None else _summary(each) for each in array.items)
    return f"{array.shape!s:12} {array.dtype.name}  norm {_norm(array):.6g}  {str(array).replace(chr(10), ' ')[:60]}"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where to stop: all that is given must hold. Numbers compare with the norm of the value or gradient at hand."""

    op: type[Op] | str | None = None
    name: str | None = None
    shape: tuple[int, ...] | None = None
    nonfinite: bool = False
    norm_above: float | None = None
    norm_below: float | None = None
    when: Callable[[Step], bool] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        given = [
            (each.name, getattr(self, each.name)) for each in fields(self) if getattr(self, each.name) != each.default
        ]
        return f"Breakpoint({', '.join(f'{name}={value!r}' for name, value in given)})"

    def holds(self, step: Step) -> bool:
        """Whether the step is one to stop at."""
        given = [step.value] if step.grad is None else [step.grad, *step.gradients]
        arrays: list[Any] = [each for each in given if each is not None]
        op = step.op
        if self.op is not None:
            same = type(op).__name__ == self.op if isinstance(self.op, str) else isinstance(op, self.op)
            if not same:
                return False
        if self.name is not None and step.node.name != self.name:
            return False
        if self.shape is not None and step.value.shape != tuple(self.shape):
            return False
        flat = [part for each in arrays for part in (each.items if isinstance(each, TupleGradient) else (each,))]
        checked = [each for each in flat if each is not None and each.dtype.kind in "fc"]
        if self.nonfinite and all(bool(nd.all(nd.isfinite(each))) for each in checked):
            return False
        if self.norm_above is not None and not any(_norm(each) > self.norm_above for each in arrays):
            return False
        if self.norm_below is not None and not any(_norm(each) < self.norm_below for each in arrays):
            return False
        return self.when is None or bool(self.when(step))


class Stepper:
    """Steps through the graph behind ``outputs``.

    ``names`` as in :meth:`Graph.of`; ``grad`` is the gradient of a single output, ones by default. Begin a walk with
    :meth:`forward` or :meth:`backward`; :meth:`step` does one node, :meth:`run` goes on to the next breakpoint. While
    it stands, :meth:`value_of` and :meth:`gradient_of` show everything computed so far.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0, -4.0], requires_grad=True, name="x")
    >>> stepper = ag.Stepper(ag.sqrt(x).sum())
    >>> _ = stepper.break_on(nonfinite=True)
    >>> stepper.forward().run().op
    Sqrt()
    >>> [str(step.op) for step in ag.Stepper((x * 3.0).sum()).backward()]
    ['Sum()', 'Multiply(right=3.0)', 'None']
    """

    def __init__(self, *outputs: Tensor, names: Mapping[str, Tensor] | None = None, grad: Tensor | None = None) -> None:
        if grad is not None and len(outputs) != 1:
            raise GradientError(f"Stepper: one gradient for {len(outputs)} outputs")
        self.graph = Graph.of(*outputs, names=names)
        self.breakpoints: list[Breakpoint] = []
        self._outputs = outputs
        self._seed = grad
        self._begun: Iterator[Step] | None = None
        self._values: dict[int, NDArray] = {}
        self._gradients: dict[int, NDArray] = {}
        self._parts: dict[int, tuple[NDArray, ...]] = {}  # all results of the ops with several
        self._into_rules = False

    def break_on(self, **conditions: Any) -> Breakpoint:
        """Add a :class:`Breakpoint`: ``op=`` (class or name), ``name=``, ``shape=``, ``nonfinite=``, ``norm_above=``,
        ``norm_below=`` or ``when=`` (a function of the step). Returns it, for ``breakpoints.remove``.
        """
        made = Breakpoint(**conditions)
        self.breakpoints.append(made)
        return made

    def forward(self) -> "Stepper":
        """Begin to compute every op again from the leaves' present values, operands first. Returns self."""
        self._values = {id(node.tensor): node.tensor.data for node in self.graph if node.tensor.is_leaf}
        self._gradients = {}
        self._begun = self._forward()
        return self

    def backward(self) -> "Stepper":
        """Begin to differentiate, outputs first, with the values that the graph holds. Returns self."""
        self._values = {id(node.tensor): node.tensor.data for node in self.graph}
        self._gradients = {}
        self._begun = self._backward()
        return self

    def step(self, into: bool = False) -> Step | None:
        """Do one node; None at the end. With ``into``, the debugger (pdb) stops at the first line of its rule."""
        self._into_rules = into
        step = next(self._walk, None)
        self._into_rules = False
        return step

    def run(self) -> Step | None:
        """Go on to the next breakpoint and return its step, ``hit`` set; None at the end."""
        for step in self._walk:
            for each in self.breakpoints:
                if each.holds(step):
                    return Step(
                        step.direction, step.number, step.node, step.inputs, step.value, step.grad, step.gradients, each
                    )
        return None

    def __iter__(self) -> Iterator[Step]:
        return self._walk

    def value_of(self, tensor: Tensor) -> NDArray | None:
        """The value of a tensor of the graph, None where the walk has not come to it yet."""
        return self._values.get(id(self.graph[tensor].tensor))

    def gradient_of(self, tensor: Tensor) -> NDArray | None:
        """The gradient of a tensor as far as it has been added up; None where nothing has arrived."""
        return self._gradients.get(id(self.graph[tensor].tensor))

    @property
    def _walk(self) -> Iterator[Step]:
        if self._begun is None:
            raise GradientError("Stepper: begin a walk with forward() or backward()")
        return self._begun

    def _call(self, rule: Callable[..., Any], *arguments: Any) -> Any:
        return pdb.runcall(rule, *arguments) if self._into_rules else rule(*arguments)

    def _forward(self) -> Iterator[Step]:
        count = 0
        for node in self.graph:
            tensor = node.tensor
            if tensor.op is None:
                continue
            inputs = tuple(self._values[id(each)] for each in tensor.inputs)
            if isinstance(tensor.op, TupleItem):
                value = self._parts[id(tensor.inputs[0])][tensor.op.index]
            else:
                value, _ = self._call(tensor.op.forward, nd, *inputs)
                if isinstance(value, tuple):
                    self._parts[id(tensor)] = value
                    value = value[0]
            self._values[id(tensor)] = value
            yield Step("forward", count, node, inputs, value)
            count += 1

    def _backward(self) -> Iterator[Step]:
        order, pending = self._discover()
        for number, output in enumerate(self._outputs):
            seed = nd.ones_like(output.data) if self._seed is None or number else self._seed.data
            self._add(output, seed)
        ready = [node for node in order if pending[id(node)] == 0]
        count = 0
        while ready:
            tensor = ready.pop()
            grad = self._gradients[id(tensor)]
            if tensor.hooks:
                grad = self._gradients[id(tensor)] = hooked(tensor, grad, create_graph=False)
            gradients: tuple[NDArray | None, ...] = ()
            if tensor.op is not None:
                gradients = self._rule(tensor, grad)
                for operand, gradient in zip(tensor.inputs, gradients, strict=True):
                    if operand.requires_grad and gradient is not None:
                        self._add(operand, gradient)
            inputs = tuple(each.data for each in tensor.inputs)
            yield Step("backward", count, self.graph[tensor], inputs, tensor.data, grad, gradients)
            count += 1
            for operand in tensor.inputs:
                if operand.requires_grad:
                    pending[id(operand)] -= 1
                    if pending[id(operand)] == 0:
                        ready.append(operand)

    def _rule(self, tensor: Tensor, grad: NDArray) -> tuple[NDArray | None, ...]:
        op: Any = tensor.op
        results = self._call(rule_of(op, tensor.dtype), nd, grad, tensor)
        results = results if type(results) is tuple else tuple(results) if type(results) is list else (results,)
        if len(results) != len(tensor.inputs):
            raise OpContractError(f"{op}: backward gave {len(results)} gradients for {len(tensor.inputs)} inputs")
        results = op_hooked(tensor, results, grad, create_graph=False)
        return tuple(
            each if operand.requires_grad else None for each, operand in zip(results, tensor.inputs, strict=True)
        )

    def _add(self, tensor: Tensor, gradient: NDArray) -> None:
        before = self._gradients.get(id(tensor))
        self._gradients[id(tensor)] = gradient if before is None else before + gradient

    def _discover(self) -> tuple[list[Tensor], dict[int, int]]:
        """The nodes that require grad, breadth first as the engine finds them, and their in-degrees."""
        order: list[Tensor] = []
        pending: dict[int, int] = {}
        for output in self._outputs:
            if not output.requires_grad:
                raise GradientError("Stepper: an output requires no grad, so there is no backward to step through")
            if id(output) not in pending:
                pending[id(output)] = 0
                order.append(output)
        for tensor in order:
            for operand in tensor.inputs:
                if operand.requires_grad:
                    if id(operand) not in pending:
                        pending[id(operand)] = 0
                        order.append(operand)
                    pending[id(operand)] += 1
        return order, pending
