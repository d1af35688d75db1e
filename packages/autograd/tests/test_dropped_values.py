"""What only the graph holds of a node's value is dropped before the rules run; nobody can tell but by the memory."""

import gc
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd

SHAPE = (256, 256)  # 256 KB


def leaf(seed: int = 0) -> ag.Tensor:
    return ag.Tensor(nd.random.Generator(seed).normal(0.0, 0.1, SHAPE), requires_grad=True)


def chain(x: ag.Tensor, count: int = 12) -> ag.Tensor:
    """Sums, whose rules save nothing."""
    for _ in range(count):
        x = x + x
    return x.sum()


def peak_of_backward(loss: ag.Tensor, **keywords: Any) -> int:
    """Blocks of an array's size that backward took above what stood before it."""
    gc.collect()
    before = nd.memory_statistics()["in_use"]
    nd.reset_peak_memory()
    loss.backward(**keywords)
    return round((nd.memory_statistics()["peak"] - before) / (4 * SHAPE[0] * SHAPE[1]))


@pytest.mark.eager_only("what was put off is computed in backward, and is its peak")
def test_memory_falls_before_the_rules_run() -> None:
    x = leaf()
    assert peak_of_backward(chain(x)) <= 0  # twelve sums go, the gradients take less
    assert nd.all(x.grad.data == 4096.0)
    x.grad = None
    assert peak_of_backward(chain(x), retain_graph=True) >= 1
    assert nd.all(x.grad.data == 4096.0)


def test_what_is_held_keeps_its_value() -> None:
    x = leaf()
    first = x + x
    second = first * 3.0
    view = second.reshape(-1)
    wanted = [each.numpy().copy() for each in (first, second, view)]
    (ag.exp(view.reshape(*SHAPE) + first) + x).sum().backward()
    for each, value in zip((first, second, view), wanted, strict=True):
        assert (each.numpy() == value).all()


def test_a_retained_graph_keeps_all_values() -> None:
    x = leaf()
    loss = (x + x).sum()
    loss.backward(retain_graph=True)
    assert nd.all(loss.inputs[0].data == x.data * 2.0)
    loss.backward()
    assert nd.all(x.grad.data == 4.0)


def test_hooks_see_values() -> None:
    x, seen = leaf(), []
    middle = (x + x) + 1.0
    middle.register_op_hook(lambda node, gradients, grad: seen.append(node.inputs[0].data.copy()))
    loss = middle.sum()
    del middle
    loss.backward()
    assert nd.all(seen[0] == x.data * 2.0)


def test_rules_of_users_see_values() -> None:
    class Cube(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> Any:
            return arrays[0] ** 3, ()

        def backward(self, xp: Any, grad: Any, node: Any) -> Any:
            return grad * 3 * node.inputs[0].data ** 2

        def infer(self, shapes: Any, dtypes: Any) -> Any:
            return shapes[0], dtypes[0]

    x = leaf()
    Cube()(x + x).sum().backward()
    assert nd.all(nd.abs(x.grad.data - 24.0 * x.data**2) < 1e-5)


@pytest.mark.eager_only("what was put off keeps its op, which can compute it again")
def test_a_run_that_fails_leaves_no_wrong_values() -> None:
    x = leaf()
    held = (x + x) + 1.0
    saved = held * 1.0
    loss = ag.square(saved).sum()
    saved.data[0, 0] = 5.0
    with pytest.raises(ag.SavedValueError):
        loss.backward()
    with pytest.raises(ag.GraphFreedError):
        held.inputs  # noqa: B018 - the sum's value is gone
    with pytest.raises(ag.GraphFreedError):
        loss.backward()
    assert nd.all(held.data == x.data * 2.0 + 1.0)


def test_gradients_of_some_tensors() -> None:
    x, y = leaf(0), leaf(1)
    middle = x + y
    loss = (ag.exp(middle + x) + y).sum()
    of_middle, of_x = ag.grad(loss, (middle, x))
    assert nd.all(nd.abs(of_x.data - 2.0 * of_middle.data) < 1e-5)
    assert nd.all(middle.data == x.data + y.data)
