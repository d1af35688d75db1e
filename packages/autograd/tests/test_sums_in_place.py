"""Gradients that the engine alone holds are summed where they are."""

from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def test_parts_of_a_tensor_add_to_one_gradient(device: str) -> None:
    rows = np.arange(6000.0).reshape(4, 1500)
    x = ag.Tensor(rows, requires_grad=True)
    y = x * 1.0
    parts = [y[1:], y[:, ::2], y[2], y[..., None], y]
    total: Any = sum((part * part).sum() for part in parts)
    before = [each.data.copy() for each in parts]
    total.backward()
    counts = 2.0 + (np.arange(4) >= 1)[:, None] + (np.arange(1500) % 2 == 0) + (np.arange(4) == 2)[:, None]
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * rows * counts)
    assert all((now.data == then).all() for now, then in zip(parts, before, strict=True))


def test_a_sum_in_place_touches_nothing_that_somebody_holds(device: str) -> None:
    x = ag.Tensor(np.ones((2, 2000)), requires_grad=True)
    y = x * 1.0
    seen: list[Any] = []
    uses = [y + 0.0, y * 3.0, y[0], y.sum(axis=0), y * 5.0, y.reshape(4000)]  # the first and the last pass it on
    for each in uses:
        each.register_hook(lambda grad: seen.append((grad, grad.numpy().copy())))
    kept = uses[0].retain_grad()
    seeds = [ag.Tensor(np.full(each.shape, 1.0 + at)) for at, each in enumerate(uses)]
    ag.backward(uses, seeds)
    assert x.grad is not None
    expected = np.full((2, 2000), 1.0 + 6.0 + 4.0 + 25.0 + 6.0)
    expected[0] += 3.0
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    assert len(seen) == 6 and all((grad.numpy() == then).all() for grad, then in seen)
    assert (kept.grad.numpy() == 1.0).all()
    assert all((seed.numpy() == 1.0 + at).all() for at, seed in enumerate(seeds))


class Given(ag.Op):
    """The operand itself, whose gradient is memory of NumPy's."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def forward(self, xp: Any, *arrays: Any) -> Any:
        return arrays[0] + 0.0, ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return nd.asarray(self.memory)


def test_memory_of_other_libraries_is_neither_summed_into_nor_kept() -> None:
    memory = np.ones(2000)
    x = ag.Tensor(np.ones(2000), requires_grad=True)
    y = x * 1.0
    uses = [Given(memory)(y), y * 3.0, y[5:], Given(memory)(y)]
    for order in (uses, uses[::-1]):
        sum(each.sum() for each in order).backward(retain_graph=True)  # type: ignore[union-attr]
        assert (memory == 1.0).all()
    z = ag.Tensor(np.ones(2000), requires_grad=True)
    z.register_hook(lambda grad: ag.Tensor(nd.asarray(memory)))
    (z * 2.0).sum().backward()
    assert z.grad is not None and z.grad.numpy()[0] == 1.0
    z.grad.data += 1.0
    assert (memory == 1.0).all()


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 0)])
def test_a_part_of_a_gradient_that_was_broadcast(shape: tuple[int, ...], device: str) -> None:
    """Where it has one element or none it looks like memory of its own: it is not to be written into all the same."""
    x = ag.Tensor(nd.ones(shape), requires_grad=True)
    ag.sum(ag.concat([x[..., 0:1], x, ag.Tensor(nd.ones(shape))], axis=-1)).backward()
    assert x.grad is not None and bool(nd.all(x.grad.data == 2.0))
    x.grad = None
    ag.sum(ag.concat([x, ag.Tensor(nd.ones(shape))], axis=-1)).backward()
    assert x.grad is not None
    x.grad.data[...] = 5.0  # as clipping does
    assert bool(nd.all(x.grad.data == 5.0))
