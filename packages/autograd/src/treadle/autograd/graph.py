"""The graph behind a tensor, to be looked at: as a table and as a picture."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from treadle.autograd._location import Location
from treadle.autograd._tensor import Tensor
from treadle.autograd.drawing import Box, draw

__all__ = ["Graph", "GraphNode", "reaches"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One tensor of a graph: its number in topological order and those of its operands."""

    number: int
    tensor: Tensor
    inputs: tuple[int, ...]
    name: str

    @property
    def kind(self) -> str:
        """ "parameter" (a leaf that requires grad), "constant" (one that does not), or "op"."""
        return "op" if not self.tensor.is_leaf else "parameter" if self.tensor.requires_grad else "constant"

    @property
    def label(self) -> str:
        """The op and its configuration, or the leaf's name or kind."""
        return self.name or (self.kind if self.tensor.is_leaf else repr(self.tensor.op))

    @property
    def location(self) -> Location | None:
        """The user's line that built the node."""
        return self.tensor.location


class Graph:
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

    @classmethod
    def of(cls, *outputs: Tensor, names: Mapping[str, Tensor] | None = None) -> "Graph":
        """The graph behind the outputs. ``names`` (such as ``dict(model.named_parameters())``) name leaves that have no
        name of their own. Raises GraphFreedError where backward has freed it.
        """
        named = {id(tensor): name for name, tensor in (names or {}).items()}
        numbers: dict[int, int] = {}
        nodes: list[GraphNode] = []
        for tensor in _operands_first(outputs):
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
            raise KeyError(f"a tensor of shape {tensor.shape} is not in this graph of {len(self)} nodes")
        return self.nodes[number]

    def table(self) -> str:
        """A line a node: number, op, operands, shape, dtype, whether a gradient flows, the user's line."""
        rows = [("", "node", "inputs", "shape", "dtype", "grad", "built at")]
        for node in self.nodes:
            tensor, place = node.tensor, node.location
            where = "" if place is None else f"{Path(place.file).name}:{place.line}  {place.text}".rstrip()
            inputs = " ".join(f"%{number}" for number in node.inputs)
            flows = "yes" if tensor.requires_grad else ""
            rows.append((f"%{node.number}", node.label, inputs, str(tensor.shape), tensor.dtype.name, flows, where))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([lines[0], "-" * max(len(line) for line in lines), *lines[1:]])

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        leaves = sum(node.tensor.is_leaf for node in self.nodes)
        return f"<Graph of {len(self)} nodes, {leaves} of them leaves>"

    def svg(self, path: str | Path | None = None) -> str:
        """The graph as an SVG picture, layer by layer from the leaves down to the outputs.

        Written to ``path`` if given. Needs nothing but the standard library; meant for graphs of up to some 200 nodes.
        """
        boxes = []
        for node in self.nodes:
            place = node.location
            lines = [node.label.removesuffix("()"), " × ".join(str(each) for each in node.tensor.shape) or "scalar"]
            if node.tensor.is_leaf and node.name:
                lines.insert(1, node.kind)
            tip = f"{node.label}: shape {node.tensor.shape}, {node.tensor.dtype.name}, {node.tensor.device}"
            kind = "output" if node.number in self.outputs else node.kind
            boxes.append(Box(lines, kind, node.inputs, tip + (f"\n{place}\n{place.text}" if place else "")))
        picture = draw(boxes)
        if path is not None:
            Path(path).write_text(picture, encoding="utf-8")
        return picture


def _operands_first(outputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Every tensor behind the outputs, in depth-first post-order, with a stack of its own instead of recursion."""
    seen: set[int] = set()
    order: list[Tensor] = []
    stack: list[tuple[Tensor, bool]] = [(each, False) for each in reversed(outputs)]
    while stack:
        tensor, finished = stack.pop()
        if finished:
            order.append(tensor)
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            stack.append((tensor, True))
            stack.extend((each, False) for each in reversed(tensor.inputs))
    return order


def reaches(tensor: Tensor, output: Tensor) -> bool:
    """Whether ``output`` was computed from ``tensor``, directly or through other nodes.

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([1.0], requires_grad=True)
    >>> ag.reaches(w, (w * 2).sum()), ag.reaches(w, (w.detach() * 2).sum())
    (True, False)
    """
    seen: set[int] = set()
    stack = [output]
    while stack:
        each = stack.pop()
        if each is tensor:
            return True
        if id(each) not in seen:
            seen.add(id(each))
            stack.extend(each.inputs)
    return False
