"""Values saved for backward: overwriting one is noticed, whichever way it happens."""

from collections.abc import Callable
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def _leaf(*values: float) -> ag.Tensor:
    return ag.Tensor(list(values), requires_grad=True, dtype="float64")


def _grad(x: ag.Tensor) -> list[float]:
    assert x.grad is not None
    result: list[float] = x.grad.tolist()
    return result


def _overwrite_view(x: ag.Tensor) -> None:
    x.data[1:][0] = 5.0


@pytest.mark.parametrize(
    "write",
    [lambda x: x.data.fill(1.0), lambda x: x.__setitem__(0, 5.0), lambda x: x.data.__iadd__(1.0), _overwrite_view],
)
def test_overwritten_saved_values_raise(write: Any, device: str) -> None:  # pytorch/pytorch#24853
    x = _leaf(1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    with ag.no_grad():
        write(y)
    with pytest.raises(
        ag.SavedValueError, match=r"Multiply\(\).*built at .*test_saved_values.py:\d+: z = \(y \* y\)\.sum\(\)"
    ):
        z.backward()


def test_rebinding_does_not_touch_saved_values() -> None:  # pytorch/pytorch#24853
    x = _leaf(1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    y += 1
    z.backward()
    assert _grad(x) == [8.0, 16.0]


@pytest.mark.eager_only("an op that was put off needs its operands as they were")
def test_writes_to_what_no_rule_needs_are_free() -> None:
    x = _leaf(1.0, 2.0)
    y = x + 1
    z = (y + 1).sum()
    y.data[...] = 0.0
    z.backward()
    assert _grad(x) == [1.0, 1.0]


@pytest.mark.eager_only("lazy mode keeps a copy of index arrays")
def test_overwritten_index_arrays_raise() -> None:
    x, index = _leaf(1.0, 2.0, 3.0), ag.Tensor([0, 2])
    y = x[index].sum()
    index.data[0] = 1
    with pytest.raises(ag.SavedValueError, match="GetItem"):
        y.backward()


def test_exchanged_data_is_noticed_by_second_derivatives() -> None:
    x = _leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data = nd.zeros(2, dtype="float64")
    with pytest.raises(ag.SavedValueError, match="exchanged"):
        y.backward(create_graph=True)
    y = (x * x).sum()
    x.data = nd.ones(2, dtype="float64")
    y.backward()
    assert _grad(x) == [0.0, 0.0]  # from the values that were saved


def test_a_checkpoint_notices_what_its_function_uses_changing() -> None:
    x = ag.Tensor([3.0], requires_grad=True)
    w = ag.Tensor([2.0], requires_grad=True)

    def run(change: Callable[[ag.Tensor], object], chain: bool = False) -> None:
        factor = ag.Tensor([5.0])

        def function(x: ag.Tensor) -> ag.Tensor:
            inner = ag.checkpoint(lambda y: y * factor, x) if chain else x * (factor * 2.0)
            return inner * w + ag.zeros(1)

        y = ag.checkpoint(function, x)
        change(factor)
        y.backward()

    run(lambda factor: None)
    assert x.grad is not None and x.grad.tolist() == [20.0]

    def exchange(tensor: ag.Tensor) -> None:
        tensor.data = nd.asarray([7.0])

    for change in (lambda factor: factor.__setitem__(0, 6.0), exchange, lambda factor: exchange(w)):
        for chain in (False, True):
            with pytest.raises(ag.SavedValueError, match="function uses was overwritten"):
                run(change, chain)


def test_a_checkpoint_does_not_mind_what_its_result_does_not_depend_on() -> None:
    x, running = ag.Tensor([3.0], requires_grad=True), ag.Tensor([0.0])

    def function(x: ag.Tensor) -> ag.Tensor:
        with ag.no_grad():
            running[...] = running * 0.9 + x * 0.1  # as batch normalisation does
        return x * x

    y = ag.checkpoint(function, x)
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [6.0]
