"""Hooks on the gradients of modules."""

from typing import Any

import numpy as np
import pytest

from treadle import nn
from treadle.autograd import Tensor, grad


def call(layer: Any, requires_grad: bool = True) -> tuple[Tensor, Tensor]:
    x = Tensor(np.array([[1.0, 2.0]], "f4"), requires_grad=requires_grad)
    return x, layer(x)


def double() -> nn.Linear:
    layer = nn.Linear(2, 2, bias=False)
    layer.weight.data[...] = layer.weight.data * 0.0
    layer.weight.data[0, 0] = layer.weight.data[1, 1] = 2.0
    return layer


def test_hooks_see_the_gradients() -> None:
    layer, seen = double(), []
    layer.register_full_backward_pre_hook(
        lambda module, out: seen.append(("before", module, [g.tolist() for g in out]))
    )
    layer.register_full_backward_hook(
        lambda module, into, out: seen.append(("after", module, [g.tolist() for g in into], [g.tolist() for g in out]))
    )
    x, y = call(layer)
    (y * 3.0).sum().backward()
    assert seen == [
        ("before", layer, [[[3.0, 3.0]]]),
        ("after", layer, [[[6.0, 6.0]]], [[[3.0, 3.0]]]),
    ]
    assert x.grad.tolist() == [[6.0, 6.0]]


def test_hooks_change_the_gradients() -> None:
    layer = double()
    layer.register_full_backward_pre_hook(lambda module, out: (out[0] * 10.0,))
    layer.register_full_backward_hook(lambda module, into, out: (into[0] + 1.0,))
    x, y = call(layer)
    y.sum().backward()
    assert x.grad.tolist() == [[21.0, 21.0]]
    assert layer.weight.grad.tolist() == [[10.0, 20.0], [10.0, 20.0]]


def test_hooks_can_be_removed_and_come_in_order() -> None:
    layer, order = double(), []
    layer.register_full_backward_hook(lambda *_: order.append(1))
    layer.register_full_backward_hook(lambda *_: order.append(0), prepend=True)
    with layer.register_full_backward_hook(lambda *_: order.append(2)):
        call(layer)[1].sum().backward()
    call(layer)[1].sum().backward()
    assert order == [0, 1, 2, 0, 1]


def test_a_hook_runs_where_no_input_has_a_gradient() -> None:
    layer, seen = double(), []
    layer.register_full_backward_hook(lambda module, into, out: seen.append((into, out[0].tolist())))
    call(layer, requires_grad=False)[1].sum().backward()
    assert seen == [((None,), [[1.0, 1.0]])]
    assert layer.weight.grad is not None


def test_several_results_some_unused() -> None:
    layer, seen = nn.LSTMCell(2, 2), []
    layer.register_full_backward_hook(lambda module, into, out: seen.append([g is None for g in (*into, *out)]))
    _, (_, c) = call(layer)
    c.sum().backward()
    assert seen == [[False, True, False]]


def test_hooks_of_gradients_that_are_differentiated_again() -> None:
    class Cube(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * x * x

    layer = Cube()
    layer.register_full_backward_hook(lambda module, into, out: (into[0] * 2.0,))
    x = Tensor(np.array([2.0]), requires_grad=True)
    (first,) = grad(layer(x), x, create_graph=True)
    (second,) = grad(first, x)
    assert first.item() == 24.0
    assert second.item() == 24.0  # d/dx of 2 * 3x^2; the hook is not called again, as in PyTorch


def test_a_hook_that_returns_too_much() -> None:
    layer = double()
    layer.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
    _, y = call(layer)
    with pytest.raises(ValueError, match="a backward hook returned 2 gradients for 1"):
        y.sum().backward()
