"""The graph behind a tensor, to be looked at: as a table and as a picture."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.autograd._location import Location
from treadle.autograd._op import expected_tensor
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._text import aligned, named, printable, shape_text
from treadle.autograd._tuples import TupleItem
from treadle.autograd.checkpointing import Checkpoint
from treadle.autograd.cost import flops_of
from treadle.autograd.drawing import Box, Drawable
from treadle.autograd.errors import GradientError
from treadle.autograd.modules import ModuleGraph, ModuleNames

__all__ = ["Graph", "GraphNode", "behind", "operands_first", "reaches"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One tensor of a graph: its number in topological order and those of its operands."""

    number: int
    tensor: Tensor
    inputs: tuple[int, ...]
    name: str

    def __repr__(self) -> str:
        """A line without the values: they are ``tensor``'s."""
        tensor = self.tensor
        behind = "".join(f" %{number}" for number in self.inputs)
        return f"%{self.number} {self.label}{behind}: shape {shape_text(tensor.shape)}, {tensor.dtype.name}"

    @property
    def kind(self) -> str:
        """ "parameter" (a leaf that requires grad), "constant" (one that does not), or "op"."""
        return "op" if not self.tensor.is_leaf else "parameter" if self.tensor.requires_grad else "constant"

    @property
    def label(self) -> str:
        """The op and its configuration, or the leaf's name or kind."""
        tensor = self.tensor
        if self.name or not tensor.is_leaf:
            item = tensor.op
            made_by = f"{tensor.inputs[0].op}[{item.index}]" if isinstance(item, TupleItem) else repr(item)
            return printable(self.name or made_by)
        return self.kind if tensor.waiting is None else f"{tensor.waiting[0]} (not computed yet)"

    @property
    def nbytes(self) -> int:
        """Bytes of the value."""
        tensor = self.tensor
        return math.prod(tensor.shape) * tensor.dtype.itemsize

    @property
    def flops(self) -> int:
        """Floating-point operations of the op's forward call; see :mod:`treadle.autograd.cost`."""
        op = self.tensor.op
        return 0 if op is None else flops_of(op, tuple(each.shape for each in self.tensor.inputs), self.tensor.shape)

    @property
    def location(self) -> Location | None:
        """The user's line that built the node."""
        return self.tensor.location


class Graph(Drawable):
    """The nodes behind some tensors, operands before results. It keeps them alive.

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([1.0, 2.0], requires_grad=True, name="w")
    >>> loss = (w * w).sum()
    >>> graph = ag.Graph.of(loss)
    >>> [node.label for node in graph]
    ['w', 'Multiply()', 'Sum()']
    >>> w in graph
    True
    """

    def __init__(self, nodes: list[GraphNode], outputs: tuple[int, ...]) -> None:
        self.nodes = nodes
        self.outputs = outputs
        self._numbers = {id(node.tensor): node.number for node in nodes}
        self._trainable: set[int] | None = None

    def leads_to_parameter(self, node: GraphNode) -> bool:
        """Whether the node lies on a path from an output to a parameter: a leaf that requires grad."""
        if self._trainable is None:
            found: set[int] = set()
            for each in self.nodes:
                if each.kind == "parameter" or any(number in found for number in each.inputs):
                    found.add(each.number)
            self._trainable = found
        return node.number in self._trainable and node.tensor.requires_grad

    @classmethod
    def of(cls, *outputs: Tensor, names: Mapping[str, Tensor] | None = None) -> "Graph":
        """The graph behind the outputs. Leaves that have no name of their own get that in ``names`` (such as
        ``dict(model.named_parameters())``), or in the module that uses them. Raises GraphFreedError where backward has
        freed it.
        """
        for each in outputs:
            if not isinstance(each, Tensor):
                raise expected_tensor("Graph.of", each)
        tensors = list(operands_first(outputs))
        named = _names_in_modules(tensors) | {id(tensor): name for name, tensor in (names or {}).items()}
        numbers: dict[int, int] = {}
        nodes: list[GraphNode] = []
        for tensor in tensors:
            numbers[id(tensor)] = len(nodes)
            inputs = tuple(numbers[id(each)] for each in tensor.inputs)
            nodes.append(GraphNode(len(nodes), tensor, inputs, tensor.name or named.get(id(tensor), "")))
        return cls(nodes, tuple(numbers[id(each)] for each in outputs))

    def __iter__(self) -> Iterator[GraphNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, tensor: object) -> bool:
        return id(tensor) in self._numbers

    def __getitem__(self, tensor: Tensor) -> GraphNode:
        """The node of a tensor. Raises KeyError if it is not in the graph."""
        number = self._numbers.get(id(tensor))
        if number is None:
            given: Any = tensor
            what = f"a tensor of shape {tensor.shape}" if isinstance(given, Tensor) else type(given).__name__
            raise KeyError(f"{what} is not in this graph of {len(self)} nodes")
        return self.nodes[number]

    def table(self) -> str:
        """A line a node: number, op, the call of its module, operands, shape, dtype, bytes, FLOPs, whether a
        gradient is of use, the line.
        """
        names = ModuleNames(node.tensor.scope for node in self.nodes)
        rows = [["", "node", "inputs", "shape", "dtype", "bytes", "flops", "grad", "built at"]]
        for node in self.nodes:
            tensor, place = node.tensor, node.location
            where = "" if place is None else f"{place.short}  {place.text}".rstrip()
            flops = f"{node.flops:,}" if tensor.op is not None else ""
            flows = "yes" if self.leads_to_parameter(node) else ""
            rows.append([
                f"%{node.number}", node.label, named(node.inputs), str(tensor.shape), tensor.dtype.name,
                f"{node.nbytes:,}", flops, flows, where,
            ])  # fmt: skip
        if names.calls:
            rows[0].insert(2, "module")
            for node, row in zip(self.nodes, rows[1:], strict=True):
                scope = node.tensor.scope
                row.insert(2, "" if scope is None else names.label(scope))
        return aligned(rows, right=(6, 7) if names.calls else (5, 6))

    def collapse(self, depth: int | None = None) -> ModuleGraph:
        """The graph with one box for each call of a module, with summed operations, bytes and parameters.

        ``depth`` 0 keeps the outermost calls whole, 1 the calls inside these, and so on; None the innermost. A module
        that is called twice has two boxes; a parameter that two modules share counts once in the sum.

        >>> import treadle.autograd as ag
        >>> class Double(ag.Scoped):
        ...     def forward(self, x):
        ...         return x + x
        >>> class Model(ag.Scoped):
        ...     def __init__(self):
        ...         self.double = Double()
        ...
        ...     def named_parts(self):
        ...         return [("double", self.double)]
        ...
        ...     def forward(self, x):
        ...         return ag.tanh(self.double(x))
        >>> model = Model()
        >>> graph = ag.Graph.of(model(ag.Tensor([1.0], requires_grad=True, name="x")))
        >>> [box.label for box in graph.collapse()]
        ['x', 'double (Double)', 'Tanh()']
        >>> [box.label for box in graph.collapse(depth=0)]
        ['x', 'Model']
        """
        return ModuleGraph(self, depth)

    def tree(self, depth: int | None = 40) -> str:
        """The graph as a tree, from the outputs to the leaves, indented where an op has several operands.

        What was shown above is named by its number only. Below ``depth`` branchings the tree is cut, and a last line
        says how many nodes that leaves out; None shows all, in lines as long as the graph is deep.

        >>> import treadle.autograd as ag
        >>> w = ag.Tensor([1.0, 2.0], requires_grad=True, name="w")
        >>> print(ag.Graph.of((w * w).sum()).tree())
        %2 Sum() ()
        %1 Multiply() (2,)
        ├─ %0 w (2,)
        └─ %0 ...
        """
        if depth is not None and depth < 0:
            raise ValueError(f"Graph.tree: depth must be 0 or more, not {depth}")
        lines: list[str] = []
        shown: set[int] = set()
        stack = [(number, "", "", 0) for number in reversed(self.outputs)]
        while stack:
            number, lead, follow, level = stack.pop()
            node = self.nodes[number]
            if number in shown:
                lines.append(f"{lead}%{number} ...")
                continue
            cut = depth is not None and level >= depth and bool(node.inputs)
            lines.append(f"{lead}%{number} {node.label} {node.tensor.shape}" + (" ..." if cut else ""))
            if cut:
                continue  # it may come again at a place less deep
            shown.add(number)
            last = len(node.inputs) - 1
            if last == 0:
                stack.append((node.inputs[0], follow, follow, level))
                continue
            for at in range(last, -1, -1):
                branch, further = ("└─ ", "   ") if at == last else ("├─ ", "│  ")
                stack.append((node.inputs[at], follow + branch, follow + further, level + 1))
        left = len(self) - len(shown)
        if left:
            lines.append(f"({left:,} nodes lie deeper than {depth} branchings; depth= shows more)")
        return "\n".join(lines)

    def replace(self, tensor: Tensor, op: Op) -> "Graph":
        """A new graph in which ``op`` takes the place of the op that made ``tensor``.

        What depends on it is computed anew, by the same ops on the same leaves; the rest is shared. This graph stays as
        it is. For one of several results of an op, an op with as many takes the place of all, and one with a single
        result that of this one. Raises GradientError for a leaf or a wrong number of results, KeyError for a tensor of
        another graph.

        >>> import treadle.autograd as ag
        >>> x = ag.Tensor([1.0, 4.0], requires_grad=True)
        >>> y = ag.exp(x)
        >>> graph = ag.Graph.of(y.sum()).replace(y, ag.ops.Sqrt())
        >>> graph.nodes[-1].tensor.item()
        3.0
        """
        if tensor.op is None:
            raise GradientError("Graph.replace: a leaf has no op; exchange its data instead")
        made = self._replaced(self[tensor], op)  # tensors, and a tuple of them for an op with several results
        for node in self.nodes:
            maker: Any = node.tensor.op
            if node.number in made or not any(number in made for number in node.inputs):
                continue
            if isinstance(maker, TupleItem):
                made[node.number] = made[node.inputs[0]][maker.index]
                continue
            if isinstance(maker, Checkpoint) and any(number in made for number in node.inputs[maker.count :]):
                raise GradientError(
                    f"Graph.replace: {maker} refers to a tensor that the replacement changes; make it an argument of "
                    "the checkpointed function"
                )
            made[node.number] = maker(*[made.get(number, self.nodes[number].tensor) for number in node.inputs])
        names = {node.name: made.get(node.number, node.tensor) for node in self.nodes if node.name}
        return Graph.of(*[made.get(each, self.nodes[each].tensor) for each in self.outputs], names=names)

    def _replaced(self, chosen: GraphNode, op: Op) -> dict[int, Any]:
        """What ``op`` gives in the place of the op that made the chosen node."""
        item = chosen.tensor.op
        source = self.nodes[chosen.inputs[0]] if isinstance(item, TupleItem) else chosen
        result: Any = op(*source.tensor.inputs)
        if isinstance(result, Tensor):
            return {chosen.number: result}
        if not isinstance(item, TupleItem) or len(result) != item.count:
            count = item.count if isinstance(item, TupleItem) else 1
            raise GradientError(f"Graph.replace: {op} has {len(result)} results where the graph has {count}")
        return {source.number: result}

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        leaves = sum(node.tensor.is_leaf for node in self.nodes)
        return f"<Graph of {len(self)} nodes, {leaves} of them leaves>"

    def boxes(self) -> list[Box]:
        """The boxes of the picture."""
        boxes = []
        for node in self.nodes:
            place = node.location
            lines = [node.label.removesuffix("()"), shape_text(node.tensor.shape, " × ")]
            if node.tensor.is_leaf and node.name:
                lines.insert(1, node.kind)
            tip = f"{node.label}: shape {node.tensor.shape}, {node.tensor.dtype.name}, {node.tensor.device}"
            kind = "output" if node.number in self.outputs else node.kind
            boxes.append(Box(lines, kind, node.inputs, tip + (f"\n{place}\n{place.text}" if place else "")))
        return boxes


def _names_in_modules(tensors: list[Tensor]) -> dict[int, str]:
    """The names of parameters and buffers, by id, in the modules whose calls have them as operands."""
    called = [(each, each.scope) for each in tensors]
    modules = ModuleNames(scope for _, scope in called)
    return {
        id(operand): modules.part(scope, operand)
        for tensor, scope in called
        if scope is not None
        for operand in tensor.inputs
        if operand.is_leaf
    }


def operands_first(
    outputs: Sequence[Tensor], operands_of: Callable[[Tensor], Sequence[Tensor]] = lambda tensor: tensor.inputs
) -> Iterator[Tensor]:
    """Every tensor behind the outputs, in depth-first post-order, with a stack of its own instead of recursion."""
    seen: set[int] = set()
    stack: list[tuple[Tensor, bool]] = [(each, False) for each in reversed(outputs)]
    while stack:
        tensor, finished = stack.pop()
        if finished:
            yield tensor
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            stack.append((tensor, True))
            stack.extend((each, False) for each in reversed(operands_of(tensor)))


def reaches(tensor: Tensor, output: Tensor) -> bool:
    """Whether ``output`` was computed from ``tensor``, directly or through other nodes.

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([1.0], requires_grad=True)
    >>> ag.reaches(w, (w * 2).sum()), ag.reaches(w, (w.detach() * 2).sum())
    (True, False)
    """
    for each in (tensor, output):
        if not isinstance(each, Tensor):
            raise expected_tensor("reaches", each)
    return any(each is tensor for each in behind(output))


def behind(output: Tensor) -> Iterator[Tensor]:
    """The output and every tensor that it was computed from, each once."""
    seen: set[int] = set()
    stack = [output]
    while stack:
        each = stack.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            stack.extend(each.inputs)
