"""Where a gradient came from: by the ops that used the tensor, and by whole paths to the output.

By edges it is exact: the contributions are those that the engine adds, in its order, and their sum is the gradient bit
for bit. By paths it needs the linearity of backward rules in the gradient: the gradient of a tensor is the sum over all
paths from the output, each path carrying its own gradient. There may be 2^60 of them, so at every node only the largest
partial sums are carried on (a beam search), and the rest is told as a remainder.
"""

from dataclasses import dataclass
from math import log10
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._engine import differentiate
from treadle.autograd._op import expected_tensor, rule_of
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd._tuples import TupleGradient
from treadle.autograd._watching import Watcher
from treadle.autograd.errors import GradientError
from treadle.autograd.graph import behind
from treadle.ndarray import NDArray

__all__ = ["Contribution", "Path", "Paths", "Why", "why"]

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one use of the tensor added to its gradient.

    ``consumer`` is the result of the op that used it, ``index`` which operand it was there, ``order`` the place in the
    engine's order of addition, ``gradient`` the contribution and ``magnitude`` the sum of its absolute values.
    """

    consumer: Tensor
    index: int
    order: int
    gradient: Tensor
    magnitude: float

    def __str__(self) -> str:
        place = self.consumer.location
        where = f"  {place}: {place.text}" if place else ""
        return f"{self.magnitude:12.6g}  operand {self.index} of {self.consumer.op}{where}"


@dataclass(frozen=True, slots=True)
class Path:
    """One way from the output to the tensor: the nodes on it, output first, and what the gradient is along it."""

    nodes: tuple[Tensor, ...]
    gradient: Tensor
    magnitude: float

    def __str__(self) -> str:
        ops = [str(node.op) for node in self.nodes[:-1]]
        if len(ops) > 2 * _SHOWN:
            ops[_SHOWN:-_SHOWN] = [f"... {len(ops) - 2 * _SHOWN:,} ops ..."]
        return f"{self.magnitude:12.6g}  " + " <- ".join(ops)


@dataclass(frozen=True, slots=True)
class Paths:
    """The largest paths, how many there are in all, and what the others add up to."""

    largest: tuple[Path, ...]
    count: int
    remainder: Tensor

    def __str__(self) -> str:
        rest = float(nd.sum(nd.abs(self.remainder.data)))
        lines = [str(each) for each in self.largest]
        if self.count > len(self.largest):
            others = self.count - len(self.largest)
            number = f"{others:,}" if others < 10**15 else f"about 10^{log10(others):.0f}"
            lines.append(f"{rest:12.6g}  in {number} other paths together")
        return "\n".join(lines)


class Why:
    """The gradient of a tensor, taken apart. Printed, it is a table with the largest contribution first.

    ``edges`` are the contributions, largest first; ``gradient`` is their sum, and ``result`` what the tensor's own
    hooks make of it: the same, bit for bit, where there are none.
    """

    def __init__(
        self, tensor: Tensor, output: Tensor, seed: Tensor | None, edges: list[Contribution], result: Tensor
    ) -> None:
        self.tensor = tensor
        self.result = result
        self._output = output
        self._seed = seed
        self._in_order = edges
        self.edges = sorted(edges, key=lambda each: (-each.magnitude, each.order))

    @property
    def gradient(self) -> Tensor:
        """The contributions added in the engine's order: what backward() leaves in ``.grad``, bit for bit, unless the
        tensor has hooks, which change it to ``result``.
        """
        total: NDArray | None = None
        for each in self._in_order:
            total = each.gradient.data if total is None else total + each.gradient.data
        if total is None:  # the tensor is the output itself
            return constant(nd.ones_like(self.tensor.data)) if self._seed is None else self._seed
        return constant(total)

    def paths(self, k: int = 5, beam: int | None = None) -> Paths:
        """The ``k`` paths whose gradients are largest by the sum of absolute values, and the remainder.

        At each node the ``beam`` largest partial paths are followed: while no node has more, the answer is exact, and
        beyond that the k are the largest among those followed. By default that is 64, and less in a graph of more than
        some thousand nodes, where so many would take minutes. The remainder is the gradient less the k. Paths are
        followed through the rules; what hooks on the way have changed is found in the remainder.
        """
        return _paths(self.tensor, self._output, self._seed, self.gradient, k, beam)

    def __str__(self) -> str:
        whole = float(nd.sum(nd.abs(self.gradient.data)))
        head = (
            f"gradient of {self.tensor.name or 'a tensor'} of shape {self.tensor.shape}: sum of magnitudes {whole:.6g}"
        )
        lines = [head, *[f"  {each}" for each in self.edges[: 2 * _SHOWN]]]
        others = self.edges[2 * _SHOWN :]
        if others:
            lines.append(f"  ... and {len(others):,} other uses, none of them above {others[0].magnitude:.6g}")
        if self.tensor.hooks:
            lines.append(f"  hooks of the tensor change this; afterwards: {_magnitude(self.result.data):.6g}")
        return "\n".join(lines)

    __repr__ = __str__


class _Contributions(Watcher):
    """Keeps what is added to one tensor's gradient; not what a rule adds that differentiates a graph of its own."""

    def __init__(self, tensor: Tensor, output: Tensor) -> None:
        super().__init__()
        self.tensor = tensor
        self.graph = {id(each) for each in behind(output)}
        self.edges: list[Contribution] = []

    def on_contribution(self, node: Tensor, index: int, operand: Tensor, gradient: NDArray) -> None:
        """Note it, with a copy of the values: the engine may hand the same array on."""
        if operand is self.tensor and id(node) in self.graph:
            copied = constant(gradient.copy())
            self.edges.append(Contribution(node, index, len(self.edges), copied, _magnitude(gradient)))


def _magnitude(array: Any) -> float:
    if isinstance(array, TupleGradient):
        return sum(_magnitude(each) for each in array.items if each is not None)
    return float(nd.sum(nd.abs(array), dtype="float64")) if array.size else 0.0


def why(tensor: Tensor, output: Tensor, grad: Tensor | None = None) -> Why:
    """Take the gradient of ``output`` with respect to ``tensor`` apart, by the ops that used it and by paths.

    Hooks run, as they do in backward, and change the contributions; what the tensor's own hooks make of the sum is told
    apart from it (``result``).

    ``grad`` is the gradient of the output itself, ones by default. The graph is kept and no ``.grad`` changes. Raises
    GradientError when no gradient flows from the output to the tensor.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> loss = (x * x + 10.0 * x).sum()
    >>> reasons = ag.why(x, loss)
    >>> [(str(each.consumer.op), each.magnitude) for each in reasons.edges]
    [('Multiply(left=10.0)', 20.0), ('Multiply()', 3.0), ('Multiply()', 3.0)]
    >>> reasons.gradient.tolist()
    [12.0, 14.0]
    """
    for each in (tensor, output):
        if not isinstance(each, Tensor):
            raise expected_tensor("why", each)
    if not output.requires_grad:
        raise GradientError("why: the output requires no grad; see connection() for where the path breaks")
    if not tensor.requires_grad:
        raise GradientError("why: the tensor does not require grad, so it has no gradient to explain")
    with _Contributions(tensor, output) as watcher:
        found = differentiate((output,), (grad,), (tensor,), True, False)
    if not found or found[0] is None:
        raise GradientError("why: the output does not depend on the tensor; see connection() for where the path breaks")
    return Why(tensor, output, grad, watcher.edges, found[0])


class _Order(Watcher):
    """Keeps the nodes in the order in which the engine comes to them."""

    def __init__(self, output: Tensor) -> None:
        super().__init__()
        self.graph = {id(each) for each in behind(output)}
        self.nodes: list[Tensor] = []

    def on_gradient(self, node: Tensor, grad: NDArray) -> None:
        """Note the node."""
        if id(node) in self.graph:
            self.nodes.append(node)


_MOST_CALLS = 300_000  # of rules, in following paths
_Partial = tuple[float, NDArray, Any]  # magnitude, gradient, (node, path before it) from the output down


def _paths(tensor: Tensor, output: Tensor, seed: Tensor | None, whole: Tensor, k: int, beam: int | None) -> Paths:
    with _Order(output) as watcher:
        differentiate((output,), (seed,), (tensor,), True, False)
    if beam is None:
        beam = min(64, _MOST_CALLS // max(len(watcher.nodes), 1))
    beam = max(beam, k, 1)
    first = nd.ones_like(output.data) if seed is None else seed.data
    carried: dict[int, list[_Partial]] = {id(output): [(_magnitude(first), first, (output, None))]}
    counts: dict[int, int] = {id(output): 1}
    on_the_way = {id(node) for node in watcher.nodes} | {id(tensor)}
    for node in watcher.nodes:
        if node is tensor and node is not output:
            continue
        partials = _largest(carried.pop(id(node), []), beam)
        count = counts.get(id(node), 0)
        for operand in node.inputs:
            if operand.requires_grad and id(operand) in on_the_way:
                counts[id(operand)] = counts.get(id(operand), 0) + count
        for _, gradient, route in partials:
            results: Any = rule_of(node.op, node.dtype)(nd, gradient, node)
            results = results if isinstance(results, tuple | list) else (results,)
            for operand, result in zip(node.inputs, results, strict=True):
                if operand.requires_grad and id(operand) in on_the_way:
                    arriving = carried.setdefault(id(operand), [])
                    arriving.append((_magnitude(result), result, (operand, route)))
                    if len(arriving) > 4 * beam:
                        carried[id(operand)] = _largest(arriving, beam)
    chosen = _largest(carried.get(id(tensor), []), k)
    remainder = whole.data
    for _, gradient, _ in chosen:
        remainder = remainder - gradient
    largest = tuple(Path(_nodes(route), constant(gradient), magnitude) for magnitude, gradient, route in chosen)
    return Paths(largest, counts.get(id(tensor), 0), constant(remainder))


def _largest(partials: list[_Partial], count: int) -> list[_Partial]:
    return sorted(partials, key=lambda each: -each[0])[:count]


def _nodes(route: Any) -> tuple[Tensor, ...]:
    nodes = []
    while route is not None:
        node, route = route
        nodes.append(node)
    return tuple(reversed(nodes))
