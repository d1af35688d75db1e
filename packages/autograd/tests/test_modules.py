"""Graphs collapsed by module, over a small base of modules of our own: autograd knows none."""

import gc
import re
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle.autograd as ag
from treadle.autograd.export import to_c


class Module(ag.Scoped):
    """Finds its parts in its attributes."""

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        for name, value in vars(self).items():
            for key, part in value.items() if isinstance(value, dict) else ((None, value),):
                whole = name if key is None else f"{name}.{key}"
                yield whole, part
                if isinstance(part, Module):
                    yield from ((f"{whole}.{below}", each) for below, each in part.named_parts())


class Linear(Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = ag.ones((inputs, outputs)).requires_grad_()

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        return x @ self.weight


class Tanh(Module):
    def forward(self, x: ag.Tensor) -> ag.Tensor:
        return ag.tanh(x)


class Block(Module):
    def __init__(self, width: int, act: Module) -> None:
        self.inner = Linear(width, width)
        self.act = act

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        return x + self.act(self.inner(x)) * 2.0


class Net(Module):
    def __init__(self) -> None:
        act = Tanh()
        self.first = Linear(4, 3)
        self.blocks = {"0": Block(3, act), "1": Block(3, act)}
        self.scale = ag.ones(3)

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        x = self.first(x)
        for block in self.blocks.values():
            x = block(x)
        return x * self.scale


def _labels(graph: Any, depth: int | None = None) -> list[str]:
    return [box.label for box in graph.collapse(depth)]


def test_boxes_are_calls_down_to_a_depth() -> None:
    net = Net()
    graph = ag.Graph.of(net(ag.ones((2, 4))).sum())
    assert _labels(graph, 0) == ["constant", "Net", "Sum()"]
    assert _labels(graph, 1) == [
        "constant", "first (Linear)", "blocks.0 (Block)", "blocks.1 (Block)", "Multiply()", "Sum()",
    ]  # fmt: skip
    assert _labels(graph) == [
        "constant", "first (Linear)",
        "blocks.0.inner (Linear)", "blocks.0.act [call 1] (Tanh)", "Multiply(right=2.0)", "Add()",
        "blocks.1.inner (Linear)", "blocks.1.act [call 2] (Tanh)", "Multiply(right=2.0)", "Add()",
        "Multiply()", "Sum()",
    ]  # fmt: skip
    for depth in (0, 1, 2, None):
        for box in graph.collapse(depth):
            assert all(number < box.number for number in box.inputs)
    with pytest.raises(ValueError, match="depth"):
        graph.collapse(-1)


def test_costs_are_summed_over_what_lies_inside() -> None:
    net = Net()
    graph = ag.Graph.of(net(ag.ones((2, 4))).sum())
    whole = graph.collapse(0)
    box = whole.nodes[1]
    assert box.parameter_count == 4 * 3 + 2 * 3 * 3 == whole.parameter_count
    products = 2 * 2 * 3 * 4 + 2 * (2 * 2 * 3 * 3)
    elementwise = 2 * (3 * 6) + 6
    assert box.flops == products + elementwise
    assert box.nbytes == 4 * 6 * (1 + 2 * 4 + 1) and box.ops == 10
    assert whole.flops == box.flops + 6
    for depth in (1, 2, None):
        parts = graph.collapse(depth)
        assert (parts.flops, parts.nbytes, parts.parameter_count) == (whole.flops, whole.nbytes, whole.parameter_count)
    block = graph.collapse(1).nodes[2]
    assert block.parameter_count == 9 and block.ops == 4 and block.outputs[0].tensor.shape == (2, 3)
    assert "blocks.0" in str(whole.graph.collapse(1)) and "in all" in str(whole)


def test_shared_weights_count_once_and_are_marked() -> None:
    first, second = Linear(3, 3), Linear(3, 3)
    second.weight = first.weight
    collapsed = ag.Graph.of(second(first(ag.ones((1, 3))))).collapse()
    assert [box.parameter_count for box in collapsed] == [0, 9, 9] and collapsed.parameter_count == 9
    lines = collapsed.table().splitlines()
    assert lines[-2].endswith("shared") and lines[-1].split()[-1] == "9" and "Linear#2" in lines[-2]


def test_the_tree_nests_calls_and_adds_up() -> None:
    net = Net()
    tree = ag.Graph.of(net(ag.ones((2, 4))).sum()).collapse().tree().splitlines()
    assert [re.split(r" +[0-9]+ ", line)[0] for line in tree[2:]] == [
        "Net", "├─ first (Linear)",
        "├─ blocks.0 (Block)", "│  ├─ blocks.0.inner (Linear)", "│  ├─ blocks.0.act [call 1] (Tanh)",
        "│  ├─ Multiply(right=2.0)", "│  └─ Add()",
        "├─ blocks.1 (Block)", "│  ├─ blocks.1.inner (Linear)", "│  ├─ blocks.1.act [call 2] (Tanh)",
        "│  ├─ Multiply(right=2.0)", "│  └─ Add()",
        "└─ Multiply()", "Sum()", "in all",
    ]  # fmt: skip
    assert tree[4].split()[-1] == "9" and tree[2].split()[-1] == tree[-1].split()[-1] == "30"


def test_pictures_show_modules() -> None:
    net = Net()
    collapsed = ag.Graph.of(net(ag.ones((2, 4))).sum()).collapse(1)
    picture = collapsed.svg()
    assert "blocks.0" in picture and "call of a module" in picture and "9 parameters" in picture
    text = collapsed.dot()
    assert "n1 -> n2" in text and "blocks.1" in text
    table = str(collapsed.graph).splitlines()
    assert table[0].split()[:3] == ["node", "module", "inputs"]
    assert "blocks.1.act [call 2]" in next(line for line in table[::-1] if "Tanh()" in line)
    assert repr(collapsed) == "<ModuleGraph of 6 boxes over 16 nodes>"


def test_weights_outside_of_modules_stay_leaves() -> None:
    x, w = ag.ones((1, 3)), ag.ones((3, 3)).requires_grad_()
    w.name = "w"
    layer = Linear(3, 3)
    collapsed = ag.Graph.of(layer(x @ w)).collapse()
    assert [box.label for box in collapsed] == ["constant", "w", "MatMul()", "Linear"]
    assert collapsed.parameter_count == 18


def test_leaves_are_called_as_the_module_calls_them() -> None:
    model, other = Net(), Net()
    x = ag.Tensor([[1.0, 2.0, 3.0, 4.0]], name="x")
    leaves = [node.label for node in ag.Graph.of(model(x)) if node.tensor.is_leaf]
    assert leaves == ["x", "first.weight", "blocks.0.inner.weight", "blocks.1.inner.weight", "scale"]
    graph = ag.Graph.of(model(x) + other(x), names={"mine": model.first.weight})
    assert graph[model.first.weight].label == "mine"
    assert graph[other.first.weight].label == "Net#2.first.weight"
    assert repr(graph[model.first.weight]) == f"%{graph[model.first.weight].number} mine: shape (4, 3), float32"


def test_steps_in_c_name_their_module(tmp_path: Path) -> None:
    to_c(Net(), ag.ones((1, 4)), tmp_path / "model.c")
    source = (tmp_path / "model.c").read_text()
    assert "MatMul() in module first: (1, 4), (4, 3) -> (1, 3) float32" in source
    assert "in module blocks.1.inner" in source


def test_two_models_keep_their_names_apart() -> None:
    one, other = Net(), Net()
    graph = ag.Graph.of(one(ag.ones((1, 4))).sum() + other(ag.ones((1, 4))).sum())
    names = _labels(graph, 1)
    assert "Net.first (Linear)" in names and "Net#2.first (Linear)" in names
    assert _labels(graph, 0)[1] == "Net" and "Net#2 (Net)" in _labels(graph, 0)


def test_a_module_that_is_gone_leaves_its_class() -> None:
    net = Net()
    alive = weakref.ref(net)
    loss = net(ag.ones((2, 4))).sum()
    gc.collect()
    gc.disable()
    try:
        del net
        assert alive() is None  # a graph keeps no module alive
    finally:
        gc.enable()
    assert _labels(ag.Graph.of(loss), 1)[:3] == ["constant", "parameter", "Linear"]


def test_scopes_end_with_the_call_also_by_an_error() -> None:
    class Failing(Module):
        def forward(self, x: ag.Tensor) -> ag.Tensor:
            ag.tanh(x)
            raise RuntimeError("no")

    x = ag.Tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="no"):
        Failing()(x)
    assert (x * 2.0).scope is None and x.scope is None
    scope = Tanh()(x).scope
    assert scope is not None and scope.kind == "Tanh" and scope.outer is None


def test_scopes_belong_to_a_thread_and_what_threads_entangle_falls_apart() -> None:
    class Parallel(Module):
        def forward(self, x: ag.Tensor) -> ag.Tensor:
            made = []
            first = ag.exp(x)
            thread = threading.Thread(target=lambda: made.append(ag.tanh(first)))
            thread.start()
            thread.join()
            return made[0] + first

    x = ag.Tensor([1.0], requires_grad=True, name="x")
    parallel = Parallel()
    y = parallel(x)
    assert y.inputs[0].scope is None and y.scope is not None
    assert _labels(ag.Graph.of(y)) == ["x", "Exp()", "Tanh()", "Add()"]


def test_lazy_nodes_know_their_module() -> None:
    with ag.lazy():
        net = Net()
        y = net(ag.ones((2, 4))).sum()
    labels = _labels(ag.Graph.of(y), 1)
    assert not y.is_realized
    with ag.lazy(False):
        assert labels == _labels(ag.Graph.of(net(ag.ones((2, 4))).sum()), 1)


def test_the_stack_does_not_grow_and_calls_leave_nothing() -> None:
    layer = Tanh()
    x = ag.Tensor([1.0], requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        before = ag.live_tensor_count()
        for _ in range(100):
            layer(layer(x))
        assert ag.live_tensor_count() == before
    finally:
        gc.enable()
