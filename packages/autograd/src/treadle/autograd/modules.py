"""A graph collapsed by module: what each call of a module did, cost and holds.

Modules are whatever derives from :class:`Scoped` (``treadle.nn.Module`` does). A node knows the innermost call it was
made in; the calls around it follow from there, and names are looked up in the modules only when somebody asks. A call
is one box: what is made between a node of a call and a later node of the same call belongs to the call, or was made by
another thread, so that the boxes have no cycle. A call that was not collapsed leaves its own ops as they are.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from treadle.autograd._location import Scope, Scoped
from treadle.autograd._tensor import Tensor
from treadle.autograd._text import aligned, named, shape_text
from treadle.autograd.drawing import Box, Drawable

if TYPE_CHECKING:
    from treadle.autograd.graph import Graph, GraphNode

__all__ = ["ModuleGraph", "ModuleNames", "ModuleNode", "Scoped"]

_Key = tuple[str, int]  # ("call", id of a Scope) or ("node", number in the graph)


@dataclass(frozen=True, slots=True)
class ModuleNode:
    """A box of a collapsed graph: one call of a module, an op beside such calls, or a leaf.

    ``name`` is the module's dotted name (its class's for the model itself), ``kind`` its class, and for an op or a leaf
    ``name`` is its label and ``kind`` empty. ``nodes`` are the ops inside, ``parameters`` the trainable leaves they use
    directly, ``outputs`` those whose results are used outside, ``calls`` the calls around it, outermost first.
    """

    number: int
    name: str
    kind: str
    inputs: tuple[int, ...]
    nodes: "tuple[GraphNode, ...]"
    outputs: "tuple[GraphNode, ...]"
    parameters: tuple[Tensor, ...]
    calls: tuple[Scope, ...] = field(repr=False)

    @property
    def label(self) -> str:
        """Name and class."""
        return f"{self.name} ({self.kind})" if self.kind and self.kind != self.name else self.name

    @property
    def ops(self) -> int:
        """How many ops."""
        return sum(node.tensor.op is not None for node in self.nodes)

    @property
    def flops(self) -> int:
        """Floating-point operations of the forward calls inside."""
        return sum(node.flops for node in self.nodes)

    @property
    def nbytes(self) -> int:
        """Bytes of the results inside."""
        return sum(node.nbytes for node in self.nodes if node.tensor.op is not None)

    @property
    def parameter_count(self) -> int:
        """How many numbers the parameters hold, each parameter once."""
        return _count(self.parameters)


def _count(parameters: Sequence[Tensor]) -> int:
    return sum(math.prod(each.shape) for each in {id(each): each for each in parameters}.values())


class ModuleNames:
    """The dotted names of modules, parameters and buffers, read off the modules that were called.

    ``scopes`` are all calls by identity, also those around the ones given; ``calls`` says which call of its module each
    is.
    """

    def __init__(self, innermost: Iterable[Scope | None]) -> None:
        self._chains: dict[int, tuple[Scope, ...]] = {}
        for each in innermost:
            if each is not None and id(each) not in self._chains:
                self._chains[id(each)] = _chain(each)
        self.scopes = {id(each): each for chain in self._chains.values() for each in chain}
        scopes = list(self.scopes.values())
        self._known: dict[int, dict[int, str]] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # while ids are compared, nothing may be freed
        roots: dict[str, list[int]] = {}
        self._root_names: dict[int, str] = {}
        self.calls: dict[int, int] = {}
        total: dict[int, int] = {}
        for scope in scopes:
            module = scope.module()
            self._kept.append(module)
            if module is not None:
                total[id(module)] = self.calls[id(scope)] = total.get(id(module), 0) + 1
            if scope.outer is None:
                same = roots.setdefault(scope.kind, [])
                key = id(scope) if module is None else id(module)
                if key not in same:
                    same.append(key)
                number = same.index(key) + 1
                self._root_names[id(scope)] = scope.kind + (f"#{number}" if number > 1 else "")
        parents = {self._root_names[id(_outermost(each))] for each in scopes if each.outer is not None}
        self._several = len(parents) > 1
        self._repeated = {key for key, count in total.items() if count > 1}

    def chain(self, scope: Scope | None) -> tuple[Scope, ...]:
        """The calls around a node, outermost first."""
        return () if scope is None else self._chains[id(scope)]

    def parts(self, module: Any) -> dict[int, str]:
        """The dotted names of all parts of a module by id."""
        found = self._known.get(id(module))
        if found is None:
            pairs = [] if module is None else list(module.named_parts())
            self._kept.extend(part for _, part in pairs)
            found = self._known[id(module)] = {}
            for name, part in pairs:
                found.setdefault(id(part), name)
        return found

    def name(self, scope: Scope) -> str:
        """The name of the module that was called: "encoder.0", or its class where no module around it has it."""
        known = self._names.get(id(scope))
        if known is None:
            known = self._names[id(scope)] = self._look_up(scope)
        return known

    def _look_up(self, scope: Scope) -> str:
        if scope.outer is None:
            return self._root_names[id(scope)]
        module, around = scope.module(), scope.outer
        while module is not None:
            relative = self.parts(around.module()).get(id(module))
            if relative:
                return self._below(around, relative)
            if around.outer is None:
                break
            around = around.outer
        return self._below(scope.outer, scope.kind)

    def _below(self, around: Scope, relative: str) -> str:
        if around.outer is None and not self._several:
            return relative
        return f"{self.name(around)}.{relative}"

    def part(self, scope: Scope, tensor: Tensor) -> str:
        """The name of a parameter or buffer of the model that a call belongs to; "" where it has none."""
        root = _outermost(scope)
        found = self.parts(root.module()).get(id(tensor), "")
        return f"{self._root_names[id(root)]}.{found}" if found and self._several else found

    def label(self, scope: Scope) -> str:
        """The name, and which call it is where the module was called several times."""
        again = id(scope.module()) in self._repeated
        return self.name(scope) + (f" [call {self.calls[id(scope)]}]" if again else "")


def _outermost(scope: Scope) -> Scope:
    while scope.outer is not None:
        scope = scope.outer
    return scope


def _chain(scope: Scope | None) -> tuple[Scope, ...]:
    """The calls around a node, outermost first."""
    chain: list[Scope] = []
    while scope is not None:
        chain.append(scope)
        scope = scope.outer
    return tuple(reversed(chain))


class ModuleGraph(Drawable):
    """A graph with one box a module call; made by :meth:`Graph.collapse`. Printed, it is a table.

    ``nodes`` are in topological order, ``outputs`` the numbers of the boxes that the graph's outputs come from.
    """

    what = "module calls"

    def __init__(self, graph: "Graph", depth: int | None = None) -> None:
        if depth is not None and depth < 0:
            raise ValueError(f"Graph.collapse: depth must be 0 or more, not {depth}")
        self.graph = graph
        self.names = ModuleNames(node.tensor.scope for node in graph)
        self._scopes = scopes = self.names.scopes
        around = {id(each.outer) for each in scopes.values() if each.outer is not None}
        folded = self._folded()
        keys: dict[int, _Key] = {}
        for node in graph:
            scope = node.tensor.scope
            chain = self.names.chain(scope)
            if depth is not None and len(chain) > depth:
                keys[node.number] = ("call", id(chain[depth]))
            elif chain and id(chain[-1]) not in around:
                keys[node.number] = ("call", id(chain[-1]))
            elif node.number not in folded:
                keys[node.number] = ("node", node.number)
        self.nodes, self.outputs = self._boxes_of(keys)

    def _folded(self) -> set[int]:
        """The leaves that are shown inside of what uses them: parameters and buffers that their modules alone use."""
        owned: set[int] = set()
        for scope in self._scopes.values():
            if scope.outer is None or id(scope.module()) not in owned:
                owned.update(self.names.parts(scope.module()))
        inside: set[int] = set()
        outside: set[int] = set()
        for node in self.graph:
            (outside if node.tensor.scope is None else inside).update(node.inputs)
        return {
            number
            for number in inside - outside
            if self.graph.nodes[number].tensor.is_leaf and id(self.graph.nodes[number].tensor) in owned
        }

    def _boxes_of(self, keys: dict[int, _Key]) -> tuple[list[ModuleNode], tuple[int, ...]]:
        order = _topological(self.graph, keys)
        members: dict[_Key, list[GraphNode]] = {key: [] for key in order}
        for number, key in keys.items():
            members[key].append(self.graph.nodes[number])
        numbers = {key: number for number, key in enumerate(order)}
        ends = set(self.graph.outputs) | {
            operand
            for node in self.graph
            for operand in node.inputs
            if keys.get(operand) is not None and keys[operand] != keys[node.number]
        }
        nodes = []
        for key, number in numbers.items():
            inside = tuple(members[key])
            operands = dict.fromkeys(operand for node in inside for operand in node.inputs)
            leaves = [self.graph.nodes[each].tensor for each in operands if each not in keys]
            if inside[0].kind == "parameter":
                leaves.append(inside[0].tensor)
            inputs = dict.fromkeys(numbers[keys[each]] for each in operands if each in keys and keys[each] != key)
            name, kind, calls = self._title(key)
            nodes.append(
                ModuleNode(
                    number, name, kind, tuple(inputs), inside, tuple(node for node in inside if node.number in ends),
                    tuple(each for each in leaves if each.requires_grad), calls,
                )
            )  # fmt: skip
        outputs = dict.fromkeys(numbers[keys[each]] for each in self.graph.outputs if each in keys)
        return nodes, tuple(outputs)

    def _title(self, key: _Key) -> tuple[str, str, tuple[Scope, ...]]:
        """Name, class and calls around of a box."""
        if key[0] == "call":
            scope = self._scopes[key[1]]
            return self.names.label(scope), scope.kind, _chain(scope.outer)
        node = self.graph.nodes[key[1]]
        return node.label, "", self.names.chain(node.tensor.scope)

    def __iter__(self) -> Iterator[ModuleNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def flops(self) -> int:
        """Floating-point operations of one forward pass."""
        return sum(node.flops for node in self.nodes)

    @property
    def nbytes(self) -> int:
        """Bytes of all results."""
        return sum(node.nbytes for node in self.nodes)

    @property
    def parameter_count(self) -> int:
        """How many numbers the parameters hold; a parameter that several modules share counts once."""
        return _count([each for node in self.nodes for each in node.parameters])

    def table(self) -> str:
        """A line a box, and the sum: number, module, operands, shapes of the results, ops, FLOPs, bytes, parameters.

        "shared" marks parameters that a line above has counted.
        """
        rows = [("", "module", "inputs", "result", "ops", "FLOPs", "bytes", "parameters", "")]
        counted: set[int] = set()
        for node in self.nodes:
            shared = any(id(each) in counted for each in node.parameters)
            counted.update(id(each) for each in node.parameters)
            rows.append((
                f"%{node.number}", node.label, named(node.inputs), _results(node.outputs), *_costs([node]),
                "shared" if shared else "",
            ))  # fmt: skip
        rows.append(("", "in all", "", "", *_costs(self.nodes), ""))
        return aligned(rows, right=(4, 5, 6, 7))

    def tree(self) -> str:
        """The calls as they lie in each other, with the sums over what lies in each: FLOPs, bytes, parameters."""
        entries: list[tuple[str, list[ModuleNode]]] = []
        self._branch(self.nodes, 0, "", entries)
        rows = [("module", "ops", "FLOPs", "bytes", "parameters")]
        rows += [(text, *_costs(nodes)) for text, nodes in entries]
        rows.append(("in all", *_costs(self.nodes)))
        return aligned(rows, right=(1, 2, 3, 4))

    def _branch(
        self, nodes: list[ModuleNode], level: int, follow: str, entries: list[tuple[str, list[ModuleNode]]]
    ) -> None:
        """Add the lines for nodes that share their first ``level`` calls."""
        groups: dict[int, list[ModuleNode]] = {}
        for node in nodes:
            if node.nodes[0].tensor.op is not None:
                key = id(node.calls[level]) if len(node.calls) > level else -1 - node.number
                groups.setdefault(key, []).append(node)
        for at, inside in enumerate(groups.values()):
            last = at == len(groups) - 1
            branch, further = ("", "") if level == 0 else ("└─ ", "   ") if last else ("├─ ", "│  ")
            if len(inside[0].calls) <= level:
                entries.append((follow + branch + inside[0].label, inside))
                continue
            call = inside[0].calls[level]
            name = self.names.label(call)
            entries.append((follow + branch + name + ("" if name == call.kind else f" ({call.kind})"), inside))
            self._branch(inside, level + 1, follow + further, entries)

    def boxes(self) -> list[Box]:
        """The boxes of the picture."""
        boxes = []
        for node in self.nodes:
            lines = [node.name.removesuffix("()"), _results(node.outputs, " × ") or "scalar"]
            if node.kind and node.kind != node.name:
                lines.insert(1, node.kind)
            if node.flops or node.parameters:
                count = f"{_short(node.parameter_count)} parameters" if node.parameters else ""
                cost = f"{_short(node.flops)} FLOP" if node.flops else ""
                lines.append(", ".join(part for part in (cost, count) if part))
            leaf = node.nodes[0].kind if node.nodes[0].tensor.is_leaf else ""
            kind = leaf or ("output" if node.number in self.outputs else "module" if node.kind else "op")
            tip = f"{node.label}: {node.ops} ops, {node.flops:,} FLOPs, {node.nbytes:,} bytes of results, "
            boxes.append(Box(lines, kind, node.inputs, tip + f"{node.parameter_count:,} parameters"))
        return boxes

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<ModuleGraph of {len(self)} boxes over {len(self.graph)} nodes>"


def _topological(graph: "Graph", keys: dict[int, _Key]) -> list[_Key]:
    """The keys in a topological order near the graph's (Kahn). Boxes that threads have tied into a cycle fall apart
    into their ops.
    """
    while True:
        first: dict[_Key, int] = {}
        operands: dict[_Key, set[_Key]] = {}
        for number, key in keys.items():
            first.setdefault(key, number)
            found = operands.setdefault(key, set())
            found.update(keys[each] for each in graph.nodes[number].inputs if each in keys and keys[each] != key)
        users: dict[_Key, list[_Key]] = {key: [] for key in operands}
        for key, found in operands.items():
            for each in found:
                users[each].append(key)
        pending = {key: len(found) for key, found in operands.items()}
        heap = [(first[key], key) for key, count in pending.items() if count == 0]
        heapify(heap)
        order = []
        while heap:
            _, key = heappop(heap)
            order.append(key)
            for each in users[key]:
                pending[each] -= 1
                if pending[each] == 0:
                    heappush(heap, (first[each], each))
        if len(order) == len(pending):
            return order
        stuck = set(pending) - set(order)
        keys.update({number: ("node", number) for number, key in keys.items() if key in stuck})


def _costs(nodes: Sequence[ModuleNode]) -> tuple[str, str, str, str]:
    parameters = _count([each for node in nodes for each in node.parameters])
    return (
        f"{sum(node.ops for node in nodes):,}",
        f"{sum(node.flops for node in nodes):,}",
        f"{sum(node.nbytes for node in nodes):,}",
        f"{parameters:,}" if parameters else "",
    )


def _results(nodes: "Sequence[GraphNode]", times: str = "") -> str:
    return ", ".join(dict.fromkeys(shape_text(node.tensor.shape, times) for node in nodes))


def _short(number: int) -> str:
    """A count in at most four figures: 1234567 is 1.23 M."""
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)
