"""Lazy mode: nodes without values, computed once, on demand; errors when they are built."""

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


class Counted(ag.Op):
    """Doubles, and counts its forward calls."""

    def __init__(self) -> None:
        self.calls = 0

    def forward(self, xp: Any, *arrays: Any) -> Any:
        self.calls += 1
        return arrays[0] * 2.0, ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return grad * 2.0

    def infer(self, shapes: Any, dtypes: Any) -> Any:
        return shapes[0], dtypes[0]


def test_values_are_computed_once_and_dead_branches_never() -> None:
    used, dead = Counted(), Counted()
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    with ag.lazy():
        y = used(x)
        dead(y)
        loss = (y * y + y).sum()
    assert (used.calls, loss.is_realized, loss.shape, loss.dtype) == (0, False, (), "float32")
    assert "not computed yet" in repr(loss)
    loss.backward()
    assert (loss.item(), used.calls, dead.calls) == (26.0, 1, 0)
    assert y.is_realized and x.grad is not None and x.grad.tolist() == [10.0, 18.0]


def test_errors_of_shape_dtype_and_device_come_when_the_node_is_built() -> None:
    with ag.lazy():
        with pytest.raises(nd.ShapeError):
            ag.ones((2, 3)) @ ag.ones((2, 3))
        with pytest.raises(nd.ShapeError):
            ag.ones(2) + ag.ones(3)
        with pytest.raises(nd.ShapeError):
            ag.reshape(ag.ones(6), (4, 2))
        with pytest.raises(nd.DeviceError, match="numpy"):
            ag.ones(2) + ag.ones(2, device="numpy")
        with pytest.raises(nd.DTypeError):
            ag.scatter_add(ag.ones(2), ag.Tensor([0]), ag.ones(1, dtype="float64"))


def test_operands_are_those_of_the_call() -> None:
    x = ag.Tensor([1.0])
    with ag.lazy():
        y = x * 3.0
    x.data = nd.asarray([100.0])
    assert y.item() == 3.0
    with ag.lazy():
        y = ag.exp(x * 1.0)
    x.data[0] = 0.0
    with pytest.raises(ag.SavedValueError, match=r"(?s)Multiply.*test_laziness.py.*realize"):
        y.item()


def test_gradients_flow_as_they_would_have_at_the_call() -> None:
    x = ag.Tensor([2.0], requires_grad=True)
    with ag.lazy(), ag.no_grad():
        y = x * 3.0
    assert not y.requires_grad and y.is_leaf and y.item() == 6.0 and y.is_leaf
    with ag.lazy():
        z = x * 3.0
    with ag.no_grad():
        assert z.item() == 6.0
    assert z.requires_grad
    (first,) = ag.grad(z * z, x, create_graph=True)
    assert first is not None and first.requires_grad and first.item() == 36.0


def test_lazy_nests_and_decorates() -> None:
    x = ag.ones(1)
    with ag.lazy():
        with ag.lazy(False):
            assert (x * 2.0).is_realized
        assert not (x * 2.0).is_realized
    assert ag.is_lazy() or (x * 2.0).is_realized
    assert not ag.lazy()(lambda: x * 2.0)().is_realized


def test_a_long_chain_is_built_and_computed_without_recursion_and_freed() -> None:
    gc.collect()  # of what other tests left in the tracebacks of their errors
    before = ag.live_tensor_count()
    x = ag.Tensor([0.5], requires_grad=True)
    y = x
    with ag.lazy():
        for _ in range(50_000):
            y = y + 1.0
    assert y.item() == 50_000.5
    y.backward()
    del y, x
    assert ag.live_tensor_count() == before
    with ag.lazy():
        y = ag.ones(1)
        for _ in range(50_000):
            y = y + 1.0
        del y
    assert ag.live_tensor_count() == before


def test_a_wrong_infer_is_named() -> None:
    class Wrong(Counted):
        def infer(self, shapes: Any, dtypes: Any) -> Any:
            return (7,), dtypes[0]

    with ag.lazy():
        y = Wrong()(ag.ones(2))
    with pytest.raises(ag.OpContractError, match=r"infer said shape \(7,\)"):
        y.item()


def test_ops_without_infer_are_computed_at_once() -> None:
    class Own(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> Any:
            return arrays[0] + 1.0, ()

    with ag.lazy():
        assert Own()(ag.ones(2) * 2.0).is_realized


def test_realize_and_conversions_ask_for_values() -> None:
    with ag.lazy():
        y = ag.ones(2) * 2.0
        assert y.realize() is y and y.is_realized
        np.testing.assert_array_equal((ag.ones(2) * 3.0).numpy(), [3.0, 3.0])
        assert bool((ag.ones(1) * 3.0) > 2.0)
        assert (ag.ones(2) * 2.0).detach().tolist() == [2.0, 2.0]


def test_the_environment_variable_makes_it_the_default() -> None:
    program = "import treadle.autograd as ag; print(ag.is_lazy(), (ag.ones(1) * 2.0).is_realized)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"TREADLE_LAZY": "1"} | _environment()
    )
    assert done.stdout.split() == ["True", "False"], done.stderr


def _environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if key != "TREADLE_LAZY"}
