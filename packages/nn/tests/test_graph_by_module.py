"""Modules know their calls, and a graph is collapsed by their names."""

import copy
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.nn as nn


class Tied(nn.Module):
    """A layer, an activation used twice, and a second layer with the first one's weight."""

    def __init__(self) -> None:
        self.layers = [nn.Linear(4, 4), nn.Linear(4, 4)]
        self.layers[1].weight = self.layers[0].weight
        self.act = nn.ReLU()
        self.register_buffer("scale", ag.ones(4))

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        for layer in self.layers:
            x = self.act(layer(x))
        return x * self.scale  # type: ignore[attr-defined]


def test_names_are_those_of_named_modules() -> None:
    model = nn.Sequential(nn.Linear(3, 4), Tied(), nn.Linear(4, 2))
    loss = nn.MSELoss()(model(ag.ones((5, 3))), ag.zeros((5, 2)))
    graph = ag.Graph.of(loss).collapse()
    names = [box.label for box in graph]
    assert names == [
        "constant", "0 (Linear)", "1.layers.0 (Linear)", "1.act [call 1] (ReLU)", "1.layers.1 (Linear)",
        "1.act [call 2] (ReLU)", "Multiply()", "2 (Linear)", "constant", "MSELoss",
    ]  # fmt: skip
    modules = dict(model.named_modules())
    assert all(box.name.partition(" [")[0] in modules for box in graph if box.kind in ("Linear", "ReLU"))
    assert graph.parameter_count == sum(parameter.size for parameter in model.parameters())
    assert [box.parameter_count for box in graph if box.kind == "Linear"] == [16, 20, 20, 10]
    assert [line.split()[-1] for line in str(graph).splitlines() if "1.layers.1" in line] == ["shared"]
    outer = ag.Graph.of(loss).collapse(depth=0)
    assert [(box.label, box.parameter_count) for box in outer][1] == ("Sequential", graph.parameter_count)


def test_hooks_and_copies_keep_their_calls() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    seen: list[Any] = []
    model[0].register_forward_hook(lambda module, args, output: seen.append(output.scope) or output * 2.0)  # type: ignore[func-returns-value]
    twin = copy.deepcopy(model)
    for each in (model, twin):
        labels = [box.label for box in ag.Graph.of(each(ag.ones((1, 3)))).collapse()]
        assert labels == ["constant", "0 (Linear)", "1 (ReLU)"]
    assert len(seen) == 2 and all(scope.kind == "Linear" and scope.outer.kind == "Sequential" for scope in seen)


def test_a_call_with_keywords_and_without_forward() -> None:
    class Scaled(nn.Module):
        def forward(self, x: ag.Tensor, *, by: float = 1.0) -> ag.Tensor:
            return x * by

    assert Scaled()(ag.ones(1), by=3.0).tolist() == [3.0]
    with pytest.raises(TypeError, match="defines no forward"):
        nn.Module()(1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        Scaled()(ag.ones(1), other=1)


def test_endless_recursion_is_an_error_and_no_crash() -> None:
    class Endless(nn.Module):
        def forward(self, x: ag.Tensor) -> ag.Tensor:
            result: ag.Tensor = self(x)
            return result

    with pytest.raises(RecursionError):
        Endless()(ag.ones(1))
    assert (ag.Tensor([1.0], requires_grad=True) * 2.0).scope is None
