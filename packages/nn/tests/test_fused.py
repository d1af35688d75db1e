"""Fused ops of the layers: each against its composition, and their gradients of first and second order."""

from typing import Any

import numpy as np
import pytest

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, gradcheck, gradgradcheck
from treadle.nn import functional
from treadle.nn.functional.normalization import Normalize
from treadle.nn.functional.recurrent import GRUSequence, LSTMSequence, RNNSequence


def draw(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = np.random.default_rng(3)
    return [Tensor(generator.normal(size=shape), requires_grad=True) for shape in shapes]


CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "lstm": (LSTMSequence(), [(3, 2, 8), (2, 2), (2, 2), (8, 2)]),
    "lstm projected": (LSTMSequence(), [(3, 2, 8), (2, 1), (2, 2), (8, 1), (1, 2)]),
    "lstm of one step": (LSTMSequence(), [(1, 1, 4), (1, 1), (1, 1), (4, 1)]),
    "gru": (GRUSequence(), [(3, 2, 6), (2, 2), (6, 2), (6,)]),
    "gru without bias": (GRUSequence(), [(2, 1, 3), (1, 1), (3, 1)]),
    "rnn": (RNNSequence(), [(3, 2, 2), (2, 2), (2, 2)]),
    "rnn with relu": (RNNSequence("relu"), [(3, 2, 2), (2, 2), (2, 2)]),
    "batch": (Normalize((0, 2), 1e-5, (3, 1), has_weight=True), [(2, 3, 2), (3,), (3,)]),
    "batch with bias alone": (Normalize((0, 2), 1e-5, (3, 1)), [(2, 3, 2), (3,)]),
    "layer": (Normalize((1, 2), 1e-3, (2, 3), has_weight=True), [(2, 2, 3), (2, 3), (2, 3)]),
    "layer without parameters": (Normalize((1,), 1e-5, (4,)), [(2, 4)]),
    "root mean square": (Normalize((1,), 1e-5, (4,), False, True), [(2, 4), (4,)]),
}


def results(op: Any, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    found = op(*inputs)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", CASES)
def test_fused_is_its_composition(name: str) -> None:
    op, shapes = CASES[name]
    inputs = draw(*shapes)
    expected = op.composition(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for mine, other in zip(results(op, inputs), expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_fused_gradients(name: str) -> None:
    op, shapes = CASES[name]
    inputs = tuple(draw(*shapes))

    def every(*tensors: Tensor) -> Tensor:
        return autograd.concat([each.reshape(-1) for each in results(op, list(tensors))])

    assert gradcheck(every, inputs)
    assert gradgradcheck(every, inputs)


@pytest.mark.parametrize("used", [0, 1])
def test_one_result_of_an_lstm_is_enough(used: int) -> None:
    def one(*tensors: Tensor) -> Tensor:
        return LSTMSequence()(*tensors)[used]

    inputs = tuple(draw((3, 2, 8), (2, 2), (2, 2), (8, 2)))
    assert gradcheck(one, inputs)
    assert gradgradcheck(one, inputs)


def test_fused_ops_are_few_nodes() -> None:
    """The point of them: the graph does not grow with the steps."""
    x = Tensor(np.zeros((50, 2, 3), "f4"), requires_grad=True)
    out, _ = nn.LSTM(3, 4)(x)
    assert len(autograd.Graph.of(out).nodes) < 20
    y = nn.BatchNorm1d(3)(Tensor(np.ones((4, 3), "f4"), requires_grad=True))
    assert len(autograd.Graph.of(y).nodes) == 4  # x, weight, bias, result


@pytest.mark.parametrize("device", ["numpy"])
@pytest.mark.parametrize("name", CASES)
def test_fused_ops_on_other_devices(name: str, device: str) -> None:
    op, shapes = CASES[name]
    inputs = draw(*shapes)
    away = [Tensor(each.data.to_device(device), requires_grad=True) for each in inputs]
    for mine, other in zip(results(op, away), results(op, inputs), strict=True):
        assert str(mine.device) == device
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12, atol=1e-14)
        mine.sum().backward(retain_graph=True)
    assert all(str(each.grad.device) == device for each in away)


@pytest.mark.parametrize("dtype", [nd.float16, nd.bfloat16])
def test_halves_are_normalised_in_float32(dtype: Any) -> None:
    """The result is the float32 one rounded once, though the mean has more digits than the dtype."""
    x = nd.asarray(np.random.default_rng(0).normal(100.0, 1.0, size=(64, 33)).astype("f4")).astype(dtype)
    wide = x.astype(nd.float32)
    for name, arguments in (
        ("layer_norm", ((33,),)),
        ("rms_norm", ((33,), None, 1e-5)),
        ("group_norm", (3,)),
        ("batch_norm", (None, None, None, None, True)),
    ):
        half = getattr(functional, name)(Tensor(x), *arguments)
        assert half.dtype is dtype
        expected = getattr(functional, name)(Tensor(wide), *arguments).data.astype(dtype)
        assert half.tolist() == expected.tolist()


def test_large_means_do_not_cancel() -> None:
    """A variance of mean squares less the squared mean would be 0 or negative here."""
    x = np.array([[1e4], [1e4 + 1], [1e4 + 2]], "f4")
    y = functional.batch_norm(Tensor(x), None, None, training=True)
    np.testing.assert_allclose(y.numpy().ravel(), [-1.224744, 0.0, 1.224744], atol=1e-4)


def states_of_gates(gates: Tensor, weight: Tensor) -> Tensor:
    return LSTMSequence()(gates, gates[0, :, :2], gates[1, :, 2:4] * 2.0, weight)[0]


def same_twice(x: Tensor) -> Tensor:
    return RNNSequence()(x[None], x, x)[0]


@pytest.mark.parametrize(("function", "shapes"), [(states_of_gates, [(2, 1, 8), (8, 2)]), (same_twice, [(2, 2)])])
def test_operands_that_depend_on_each_other_are_told_apart(function: Any, shapes: Any) -> None:
    """The gradient by one operand must not run on through another, where gradients are differentiated again."""
    inputs = draw(*shapes)
    plain = autograd.grad(function(*inputs).sum(), inputs)
    again = autograd.grad(function(*inputs).sum(), inputs, create_graph=True)
    for first, second in zip(plain, again, strict=True):
        np.testing.assert_allclose(second.numpy(), first.numpy(), rtol=1e-12)
    assert gradgradcheck(function, tuple(inputs))
