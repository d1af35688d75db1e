"""What ``grad`` leaves alone: what lies behind its inputs, and what is on no way to them."""

import numpy as np
import pytest

import treadle.autograd as ag


def _grad(of: ag.Tensor, by: ag.Tensor) -> list[float]:
    (found,) = ag.grad(of, by)
    assert found is not None
    result: list[float] = found.tolist()
    return result


def test_gradients_of_results_leave_what_lies_behind_them() -> None:
    """As in PyTorch, which runs and frees only what is on a way to an input."""
    leaf = ag.Tensor([1.0, 2.0], requires_grad=True)
    x = leaf * 2
    for _ in range(2):
        assert _grad((x * x).sum(), x) == [4.0, 8.0]
    other = leaf * 3
    first, second = ag.grad((x * other).sum(), (x, other))
    assert first is not None and second is not None
    assert (first.tolist(), second.tolist()) == ([3.0, 6.0], [2.0, 4.0])
    (x * other).sum().backward()  # both still know where they come from
    assert leaf.grad is not None and leaf.grad.tolist() == [12.0, 24.0]
    assert _grad((x * x).sum(), x) == [4.0, 8.0]
    with pytest.raises(ag.GraphFreedError):
        ag.grad((x * x).sum(), leaf)


def test_ways_to_no_input_are_kept() -> None:
    a, b = (ag.Tensor(each, requires_grad=True) for each in ([1.0, 2.0], [3.0, 4.0]))
    left, right = ag.exp(a), b * b
    assert _grad((left + right).sum(), a) == pytest.approx([np.e, np.e**2])
    right.sum().backward()
    assert b.grad is not None and b.grad.tolist() == [6.0, 8.0]
    with pytest.raises(ag.GraphFreedError):
        left.sum().backward()


def test_large_values_on_ways_to_no_input_stay() -> None:
    """Those that are run for may be dropped before their turn; the others not."""
    a, b = ag.Tensor(np.ones(40_000), requires_grad=True), ag.Tensor(np.full(40_000, 3.0), requires_grad=True)
    inner = ag.exp(b * b * 0.1)
    total = (ag.exp(a * 2.0) * 3.0).sum() + inner.sum()
    assert ag.grad(total, a)[0] is not None
    inner.sum().backward()
    assert b.grad is not None
    np.testing.assert_allclose(b.grad.numpy(), np.full(40_000, 0.6 * np.exp(0.9)), rtol=1e-6)
